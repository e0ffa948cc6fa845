"""An S3 server on this machine (moto), and what lies in it."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlencode

import pyarrow.parquet as pq
import pytest

AS_NOBODY = {
    "AWS_ACCESS_KEY_ID": "nobody",
    "AWS_SECRET_ACCESS_KEY": "nothing",
    "AWS_EC2_METADATA_DISABLED": "true",
}


@dataclass(frozen=True)
class Store:
    """As text, the query of addresses in it."""

    port: int

    def __str__(self):
        return f"?endpoint_override=127.0.0.1:{self.port}&scheme=http&region=us-east-1"

    def upload(self, bucket, files):
        from pyarrow import fs

        system, _ = fs.FileSystem.from_uri(f"s3://{bucket}/x{self}&allow_bucket_creation=true")
        system.create_dir(bucket)
        for name, data in files.items():
            with system.open_output_stream(f"{bucket}/{name}", compression=None) as stream:
                if isinstance(data, bytes):
                    stream.write(data)
                else:
                    pq.write_table(data, stream, row_group_size=40)

    @contextmanager
    def only_for_one(self):
        """From now on nobody but one user is let in: her key and secret."""
        user = {"UserName": f"eve-{time.time_ns()}"}
        rule = '[{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]'
        rules = f'{{"Version": "2012-10-17", "Statement": {rule}}}'
        self._iam(Action="CreateUser", **user)
        self._iam(Action="PutUserPolicy", PolicyName="all", PolicyDocument=rules, **user)
        made = self._iam(Action="CreateAccessKey", **user)
        key, secret = (
            re.search(f"<{part}>(.*)</{part}>", made)[1]
            for part in ("AccessKeyId", "SecretAccessKey")
        )
        self._post("moto-api/reset-auth", b"0")
        try:
            yield key, secret
        finally:
            self._post("moto-api/reset-auth", b"inf")

    def _iam(self, **asked):
        return self._post("", urlencode({**asked, "Version": "2010-05-08"}).encode())

    def _post(self, path, body):
        signed = "AWS4-HMAC-SHA256 Credential=x/20240101/us-east-1/iam/aws4_request, Signature=x"
        kind = "text/plain" if path else "application/x-www-form-urlencoded"
        headers = {"Authorization": signed, "Content-Type": kind}
        address = f"http://127.0.0.1:{self.port}/{path}"
        with urllib.request.urlopen(urllib.request.Request(address, body, headers)) as answer:
            return answer.read().decode()


def quoted(secret):
    """A secret as it stands in an address."""
    return quote(secret, "")


def moto() -> str | None:
    """The program, beside this Python or where MOTO_SERVER says; not any that is on the path."""
    beside = Path(sys.executable).parent / "moto_server"
    return os.environ.get("MOTO_SERVER") or shutil.which(beside)


@contextmanager
def serving():
    """A server, and credentials in the environment."""
    program = moto()
    if program is None:
        pytest.skip("needs an S3 server: pip install 'moto[server]', or set MOTO_SERVER")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [program, "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(300):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.1)
        with pytest.MonkeyPatch.context() as patch:
            for name, value in AS_NOBODY.items():
                patch.setenv(name, value)
            yield Store(port)
    finally:
        server.kill()
        server.wait()

"""Datasets of Minari with damage of every kind, `jumar convert`, folders of logs, DataFrames."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import random
import tempfile
from pathlib import Path
from typing import Any

import counting
import deep
import mutate
import seeds
import wishes
from cases import Case

MIXED: dict[str, Any] = {  # spaces of all kinds
    "type": "Dict",
    "subspaces": {
        "angle": {"type": "Box", "dtype": "float32", "shape": [2], "low": -1, "high": 1},
        "gear": {"type": "Tuple", "subspaces": [{"type": "Discrete", "n": 2, "start": 0}]},
        "lamps": {"type": "MultiDiscrete", "nvec": [2, 2]},
    },
}
ODD_GROUPS = ("x", "episode_x", "episode_99", "episode_-1", "episode_٣", "episode_" + "9" * 5000)
SPACES: tuple[Any, ...] = (
    {"type": "Discrete", "dtype": "int64", "start": 0, "n": 2},
    {"type": "Discrete", "n": 10**12},
    {"type": "Discrete", "n": -3},
    {"type": "Discrete", "n": 0, "start": -1},
    {"type": "Discrete", "n": 2.5},
    {"type": "Discrete", "n": [2]},
    {"type": "Discrete", "n": "2"},
    {"type": "Discrete", "n": 2, "start": 10**30},
    {"type": "MultiDiscrete", "nvec": [2]},
    {"type": "MultiDiscrete", "nvec": [[2, 2], [2]]},
    {"type": "MultiDiscrete", "nvec": [2] * 101},
    {"type": "MultiDiscrete", "nvec": []},
    {"type": "Box", "dtype": "float32", "shape": [10**7, 10**7], "low": 0, "high": 1},
    {"type": "Box", "dtype": "int8", "shape": [1], "low": [0], "high": [1]},
    {"type": "Box", "dtype": "object", "shape": [1], "low": [0], "high": [1]},
    {"type": "Box", "dtype": "float32", "shape": [-1], "low": 0, "high": 1},
    {"type": "Box", "dtype": "int64", "shape": [], "low": "-inf", "high": float("nan")},
    {"type": "Box", "dtype": "int64", "shape": [1], "low": float("-inf"), "high": float("inf")},
    {"type": "Box"},
    {"type": "Tuple", "subspaces": []},
    {"type": "Dict", "subspaces": {}},
    {"type": "Dict", "subspaces": []},
    {"type": "Dict", "subspaces": {"": {"type": "Discrete", "n": 2}}},
    {"type": "Text"},
    [],
    None,
    1,
    "Discrete",
)


@functools.cache
def folders() -> dict[str, dict[str, bytes]]:
    """Small datasets as files: one that is written here, and one of many spaces."""
    import h5py
    import numpy as np

    import jumar as jm

    made: dict[str, dict[str, bytes]] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name in ("log.csv", "coin.toml"):
            (folder / name).write_bytes(seeds.files()[name])
        log = jm.read_logs(folder / "log.csv").select(np.arange(4))
        coin = jm.load_controller(folder / "coin.toml")
        data = jm.write_minari(log, "log-v0", folder=folder, discount=0.9, controller=coin)
        made["hdf5"] = _bytes(data)
        about = {"data_format": "hdf5", "dataset_id": "mixed-v0"}
        about["observation_space"] = json.dumps(MIXED)
        about["action_space"] = json.dumps(SPACES[0])
        (folder / "mixed").mkdir()
        (folder / "mixed" / "metadata.json").write_text(json.dumps(about))
        with h5py.File(folder / "mixed" / "main_data.hdf5", "w") as file:
            for e in range(3):
                group = file.create_group(f"episode_{e}")
                group["observations/angle"] = np.linspace(-1, 1, 8, dtype=np.float32).reshape(4, 2)
                group["observations/gear/_index_0"] = np.array([0, 1, 0, 1])
                group["observations/lamps"] = np.zeros((4, 2), np.int8)
                group["actions"] = np.array([0, 1, 0])
                group["rewards"] = np.array([1.0, 0.5, -1.0])
                group["terminations"] = np.array([False, False, e == 0])
                group["truncations"] = np.array([False, False, e != 0])
                group["infos/note"] = np.array(["a", "b", "c", "d"], h5py.string_dtype())
                group["infos/speed"] = np.arange(4.0)
        made["mixed"] = _bytes(folder / "mixed")
    return made


def _bytes(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


# ---- damage ------------------------------------------------------------------------------------


def _metadata(data: bytes, rng: random.Random) -> bytes:
    kind = rng.randrange(8)
    if kind == 0:
        return mutate.damage(data, rng)
    if kind == 1:
        return mutate.reword(data, rng)
    if kind == 2 and rng.randrange(4) == 0:
        return rng.choice((b"", b"null", b"[]", b"[" * 100_000, b"\xff", b'{"data_format": 1}'))
    document = json.loads(data)
    if kind < 5:
        root = rng.choice(("observation_space", "action_space"))
        space = json.loads(document[root])
        space = rng.choice(SPACES) if rng.randrange(2) else mutate.revalue({"x": space}, rng)
        if isinstance(space, dict) and "x" in space:
            space = space["x"]
        document[root] = json.dumps(space)
        if rng.randrange(20) == 0:
            deep_one = '{"type": "Tuple", "subspaces": [' * 3000
            document[root] = rng.choice(("[" * 100_000, deep_one, "{", ""))
    elif kind < 7 and "jumar" in document:
        document["jumar"] = mutate.revalue({"x": document["jumar"]}, rng).get("x")
    else:
        document = mutate.revalue(document, rng)
    return mutate.as_json(document)


def _hdf5(data: bytes, rng: random.Random) -> bytes:
    """Groups and arrays of other kinds, shapes and names."""
    import h5py
    import numpy as np

    odd: tuple[Any, ...] = (
        np.zeros(0),
        np.array(1.0),
        np.zeros((4, 3)),
        np.full(4, np.nan),
        np.full(4, 1e308),
        np.array([0, 1, 2, 10**18]),
        np.array([True, False]),
        np.array([-1, 0, 1, 7]),
        np.array([b"a", b"b", b"c"]),
        np.zeros(3, np.complex128),
        np.zeros(3, [("a", "i4"), ("b", "f8")]),
        np.array([0.5, 0.5, 0.5]),
        np.zeros(3, "V3"),
    )
    buffer = io.BytesIO(data)
    with h5py.File(buffer, "r+") as file:
        names: list[str] = []
        file.visit(names.append)
        for _ in range(rng.choice((1, 1, 2))):
            name, kind = rng.choice(names), rng.randrange(9)
            with contextlib.suppress(KeyError, ValueError, RuntimeError, OSError, TypeError):
                if kind == 0:
                    del file[name]
                elif kind == 1:
                    file.move(name, rng.choice((*names, *ODD_GROUPS)))
                elif kind == 2:
                    del file[name]
                    file.create_group(name)
                elif kind == 3:
                    del file[name]
                    file[name] = rng.choice(
                        (
                            h5py.SoftLink("/none"),
                            h5py.SoftLink(name),
                            h5py.ExternalLink("none.hdf5", "/"),
                            h5py.Empty("f"),
                        )
                    )
                elif kind == 4:
                    del file[name]
                    shape = rng.choice(((10**12,), (10**6, 10**6), (0,), (3, 0)))
                    file.create_dataset(name, shape, rng.choice(("f8", "i1")), chunks=True)
                elif kind == 5:
                    del file[name]
                    file[name] = np.array(rng.choice((["a", "\x1b[2J", "c"], ["ok"] * 4)),
                                          h5py.string_dtype())  # fmt: skip
                else:
                    del file[name]
                    file[name] = rng.choice(odd)
    return buffer.getvalue()


def dataset(rng: random.Random) -> Case:
    """A damaged dataset of Minari."""
    kind = rng.choice(("hdf5", "hdf5", "mixed"))
    files = dict(folders()[kind])
    data = [name for name in files if name != "metadata.json"]
    change = rng.randrange(10)
    if change < 5:
        files["metadata.json"] = _metadata(files["metadata.json"], rng)
    elif change < 7:
        name = rng.choice(data)
        files[name] = mutate.damage(files[name], rng)
    elif change == 7:
        name = rng.choice(data)
        if rng.randrange(2):
            del files[name]
        else:
            files[rng.choice(("x", "99/data.arrow"))] = files.pop(name)
    else:
        name = rng.choice(data)
        files[name] = _hdf5(files[name], rng)
    place = rng.choice(("data", "data", "datasets/x/log-v0/data"))
    named = "minari:x/log-v0" if place != "data" else rng.choice(("data", "data", "."))
    words = _on_dataset(rng, named, kind)
    return Case("minari", tuple(words), {**{f"{place}/{n}": d for n, d in files.items()},
                                         "coin.toml": seeds.files()["coin.toml"]})  # fmt: skip


def _on_dataset(rng: random.Random, named: str, kind: str) -> list[str]:
    choice = rng.randrange(8)
    if choice < 3:
        words = ["convert", named, "-o", rng.choice(("out.csv", "out.parquet", "minari:y-v0"))]
    elif choice < 5:
        words = ["improve", named, "--policy", "estimate", "--algorithm", "basic"]
        words += ["--discount", "0.9"] if rng.randrange(2) else []
    elif choice == 5:
        words = ["check", named, "--policy", "coin.toml"]
    elif choice == 6:
        words = ["count", named, "--policy", "coin.toml", "-o", "counts.parquet"]
    else:
        words = ["init", named, "--yes"]
    if kind == "mixed" and rng.randrange(6):
        words += ["--columns", "observation=" + rng.choice((
            "observation.angle.0", "observation.gear.0", "observation.gear.0+observation.lamps.1",
            "info.note", "info.speed"))]  # fmt: skip
        words += ["--bins", "observation.angle.0=low:0:high"] if rng.randrange(2) else []
    return words + (["--json"] if rng.randrange(2) else [])


# ---- logs in other formats ---------------------------------------------------------------------

OUTPUTS = (
    *("out.csv", "out.tsv", "out.parquet", "out.arrow", "out.ndjson", "out.csv.gz", "minari:a-v0"),
    *("minari:x/y-v3", "out.feather", "out.json", "out.xlsx", "out", "no/out.csv", "."),
    *("minari:", "minari:..-v0", "minari:../x-v0", "minari:a", "minari:a-v" + "9" * 400),
)


def convert(rng: random.Random) -> Case:
    """A log, odd or damaged, into another format."""
    if rng.randrange(2):
        case = deep.log(rng)
        name = next(name for name in case.files if name.startswith("log."))
        data = case.files[name]
    else:
        ending = rng.choice(counting.ENDINGS)
        name = f"log.{ending}"
        data = counting._changed(counting._table(rng), ending, rng)
    output = rng.choice(OUTPUTS[:8]) if rng.randrange(4) else rng.choice((*OUTPUTS, name))
    words = ["convert", name, "-o", output, *rng.choice(counting.READING)]
    words += ["--missing", "symbol"] if rng.randrange(4) == 0 and "--missing" not in words else []
    words += ["--policy", "coin.toml"] if rng.randrange(4) == 0 else []
    words += ["--discount", rng.choice(mutate.ODD_NUMBERS)] if rng.randrange(4) == 0 else []
    words += ["--json"] if rng.randrange(2) else []
    files = {name: data, "coin.toml": seeds.files()["coin.toml"]}
    return Case("convert", tuple(words), files)


def parts(rng: random.Random) -> Case:
    """`jumar improve` on a folder of logs, thorough or not; half of them are damaged somewhere."""
    files = _folder(rng, damaged=bool(rng.randrange(2)))
    words = ["improve", rng.choice(("logs", "logs", "logs", "logs/**/*"))]
    words += ["--policy", rng.choice((*counting.CONTROLLERS, *counting.CONTROLLERS, "estimate"))]
    words += ["--discount", rng.choice(("0.9", "0.9", "0", "0.9999999"))]
    words += rng.choice(counting.READING) if rng.randrange(3) == 0 else ()
    words += ["--thorough"] if rng.randrange(4) else []
    words += ["--sort"] if rng.randrange(6) == 0 else []
    words += ["--each-file"] if rng.randrange(4) == 0 else []
    words += ["--window", rng.choice(("1", "2", "3"))] if rng.randrange(4) == 0 else []
    words += ["--rewards", "-2:1"] if rng.randrange(4) == 0 else []
    words += wishes.wishes(rng, seeds.SIGNALS) if rng.randrange(6) == 0 else []
    words += ["-o", "out"] if rng.randrange(8) == 0 else []
    words += ["--json"] if rng.randrange(2) else []
    files |= {name: seeds.files()[name] for name in set(counting.CONTROLLERS)}
    return Case("parts", tuple(words), files)


def _folder(rng: random.Random, *, damaged: bool) -> dict[str, bytes]:
    """A log in several files of a folder, cut where an episode ends or anywhere."""
    table, copies = counting._table(rng), range(rng.choice((1, 2, 5)))
    rows = [{**row, "episode": row["episode"] + 100 * copy} for copy in copies for row in table]
    ending, inside = rng.choice(counting.ENDINGS), rng.choice(("", "", "plant=a/", "b/c/"))
    ends = [i + 1 for i, row in enumerate(rows) if row["terminated"]] or [len(rows)]
    anywhere = list(range(len(rows) + 1))
    cuts = sorted(rng.choices(ends if rng.randrange(4) else anywhere, k=rng.choice((0, 1, 3))))
    pieces = [rows[i:j] for i, j in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    hurt = rng.randrange(len(pieces)) if damaged else -1
    return {
        f"logs/{inside}log-{i}.{ending}": counting._changed(piece, ending, rng)
        if i == hurt
        else mutate.table_bytes(piece, ending, rng)
        for i, piece in enumerate(pieces)
    }


def frames(rng: random.Random) -> Case:
    """A table as a DataFrame of some library, read as a log and given back."""
    rows = seeds.rows() if rng.randrange(2) else deep._rows(rng, ["ok", "é"], ["run", "名"])[0]
    if rng.randrange(4):
        rows = mutate.retable(rows, rng)
    ending = rng.choice(("parquet", "arrow"))
    data = mutate.table_bytes(rows, ending, rng)
    kind = rng.choice(("pandas", "polars", "lazy", "arrow", "batches"))
    more = rng.choice(("", "", "missing=symbol", "ends=cut", "missing=drop", "repeated=drop"))
    return Case("frames", ("@frames", f"log.{ending}", kind, more), {f"log.{ending}": data})

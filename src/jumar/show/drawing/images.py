"""From DOT to PNG and PDF, for slides and documents that take no SVG.

Graphviz draws with the fonts of the system. Where there are none (a small container), letters
would be missing, so the fonts that come with matplotlib are offered to it as well. It reads this
setting once per process and keeps it, and the layout of every SVG would follow; so it draws in a
process of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from xml.sax.saxutils import escape

from jumar.core.errors import JumarError, ParameterError, not_one_of

IMAGES = ("png", "pdf")
DOTS_PER_INCH = 144  # of a PNG: sharp on screens and slides
LONGEST = 120  # seconds

_DRAW = f"""
import sys, pygraphviz
kind = sys.argv[1]
drawn = pygraphviz.AGraph(string=sys.stdin.buffer.read().decode())
drawn.graph_attr["bgcolor"] = "white"
if kind == "png":
    drawn.graph_attr["dpi"] = "{DOTS_PER_INCH}"
sys.stdout.buffer.write(drawn.draw(format=kind, prog="dot"))
"""

_FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <include ignore_missing="yes">{system}</include>
  <dir>{fonts}</dir>
  <cachedir>{cache}</cachedir>
</fontconfig>
"""


def check_images(kinds: str | Sequence[str] | None) -> tuple[str, ...]:
    """The kinds of images that are wanted, each once.

    >>> check_images("png, pdf"), check_images(["pdf"]), check_images(None)
    (('png', 'pdf'), ('pdf',), ())
    """
    if kinds is None:
        return ()
    words = kinds.split(",") if isinstance(kinds, str) else kinds
    chosen = [word.strip().lower().removeprefix(".") for word in words]
    for word in chosen:
        if word not in IMAGES:
            raise ParameterError("pictures: " + not_one_of("kind", word, IMAGES))
    return tuple(dict.fromkeys(chosen))


def image(dot: str, kind: str) -> bytes:
    """The drawing of a DOT text as PNG or PDF.

    >>> image("digraph { a -> b }", "png")[1:4]
    b'PNG'
    """
    (kind,) = check_images([kind])
    try:
        with tempfile.TemporaryDirectory(prefix="jumar-") as folder:
            return subprocess.run(
                [sys.executable, "-c", _DRAW, kind],
                input=dot.encode(),
                capture_output=True,
                env=_environment(Path(folder)),
                timeout=LONGEST,
                check=True,
            ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise JumarError(
            f"Graphviz could not draw a picture as {kind.upper()}. Draw an .svg, and convert it."
        ) from error


def _environment(folder: Path) -> dict[str, str]:
    """That of this process, with fonts to fall back on."""
    known = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    found = find_spec("matplotlib")
    if found is None or found.origin is None:
        return known
    fonts = Path(found.origin).parent / "mpl-data" / "fonts" / "ttf"
    system = os.environ.get("FONTCONFIG_FILE", "/etc/fonts/fonts.conf")
    text = _FONTS.format(system=escape(system), fonts=escape(str(fonts)), cache=escape(str(folder)))
    (folder / "fonts.conf").write_text(text, encoding="utf-8")
    return {**known, "FONTCONFIG_FILE": str(folder / "fonts.conf")}

"""From DOT to an SVG that can stand alone or inside a page.

Graphviz lays it out; what it writes is then taken apart and put together again with nothing but
shapes and text: no document type, no links, no ids that two drawings on one page would share, no
fixed colours. Lines and letters take the colour of the text around the drawing, so it follows a
page from light to dark; the colour of what changed is ``--jumar-changed``, if the page sets it.
Opened alone (or as an image) the drawing is its own page, and follows the reader's preference.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from xml.etree import ElementTree as ET

from jumar.core.errors import WriteError
from jumar.show.drawing.dot import INK

_SVG = "{http://www.w3.org/2000/svg}"
_SHAPES = {"g", "polygon", "path", "text", "ellipse", "polyline"}
_KEPT = {
    "d", "points", "x", "y", "cx", "cy", "rx", "ry", "transform",
    "text-anchor", "font-size", "font-weight", "stroke-width",
}  # fmt: skip
_BOTH = "#c4570a"  # readable on white and on black, for viewers that know no better
_LIGHT, _DARK = "#b84500", "#ffa657"

# colour in the DOT text -> (paint, opacity)
_CHANGE = f"var(--jumar-changed, light-dark({_LIGHT}, {_DARK}))"
_PAINT = {
    INK["ink"]: ("currentColor", 1.0),
    INK["muted"]: ("currentColor", 0.72),
    INK["line"]: ("currentColor", 0.55),
    INK["head"]: ("currentColor", 0.09),
    INK["changed"]: (_CHANGE, 1.0),
    INK["mark"]: (_CHANGE, 0.12),
    "none": ("none", 1.0),
}

# :root is the drawing only where it is a document of its own; inside a page it fits nothing
_ALONE = (
    f"svg:root{{color:#1f2328;background:#fff;--jumar-changed:{_LIGHT}}}"
    "@media (prefers-color-scheme:dark){"
    f"svg:root{{color:#e6edf3;background:#0d1117;--jumar-changed:{_DARK}}}}}"
)

_ONE_AT_A_TIME = threading.Lock()  # Graphviz keeps global state, and standard error is one


def render(dot: str, title: str, description: str, prefix: str) -> str:
    """The drawing of a DOT text as SVG, with a title and a text alternative.

    >>> svg = render("digraph { a -> b }", "Two", "a leads to b.", "first")
    >>> 'aria-labelledby="first-title first-desc"' in svg, "DOCTYPE" in svg
    (True, False)
    """
    drawn = ET.fromstring(_laid_out(dot))
    width, height = (round(float(side)) for side in drawn.attrib["viewBox"].split()[2:])
    svg = ET.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "class": "jumar-drawing",
            "role": "img",
            "aria-labelledby": f"{prefix}-title {prefix}-desc",
            "viewBox": f"0 0 {width} {height}",
            "width": f"{width}",
            "height": f"{height}",
            "style": "max-width:100%;height:auto",
            "font-family": "Arial, Helvetica, 'Liberation Sans', sans-serif",
            "fill": "currentColor",
        },
    )
    ET.SubElement(svg, "title", id=f"{prefix}-title").text = title
    ET.SubElement(svg, "desc", id=f"{prefix}-desc").text = description
    ET.SubElement(svg, "style").text = _ALONE
    for element in drawn:
        _copy(element, svg)
    return ET.tostring(svg, encoding="unicode") + "\n"


def _copy(element: ET.Element, parent: ET.Element) -> None:
    """The element and what is in it, without all that is not needed to draw it."""
    tag = element.tag.removeprefix(_SVG)
    if tag not in _SHAPES:  # the titles of Graphviz are names of its own
        return
    if tag == "text" and not (element.text or "").strip():
        return
    made = ET.SubElement(parent, tag)
    made.text = element.text if tag == "text" else None
    for name, value in element.attrib.items():
        if name in _KEPT:
            made.set(name, value)
    for side in ("fill", "stroke"):
        if side in element.attrib:
            _paint(made, side, element.attrib[side])
    for child in element:
        _copy(child, made)


def _paint(element: ET.Element, side: str, color: str) -> None:
    paint, opacity = _PAINT.get(color, ("currentColor", 1.0))
    # a viewer that knows no variables draws the plain colour
    element.set(side, _BOTH if paint == _CHANGE else paint)
    if paint == _CHANGE:
        element.set("style", f"{element.get('style', '')}{side}:{paint};")
    if opacity < 1:
        element.set(f"{side}-opacity", f"{opacity:g}")


def _laid_out(dot: str) -> bytes:
    import pygraphviz

    try:
        with _quiet():
            drawn: bytes = pygraphviz.AGraph(string=dot).draw(format="svg", prog="dot")
    except OSError as error:  # Graphviz is handed its text in a temporary file
        raise WriteError(
            f"The drawing needs a temporary file, which cannot be written "
            f"({error.strerror or error}). Make room where temporary files are, or name another "
            "folder: TMPDIR=FOLDER jumar ..."
        ) from error
    return drawn


@contextmanager
def _quiet() -> Iterator[None]:
    """Nothing reaches standard error: Graphviz and fontconfig write there what is nobody's fault,
    past Python, so the file descriptor itself has to lead elsewhere for a moment."""
    with _ONE_AT_A_TIME:
        with suppress(AttributeError, OSError, ValueError):  # there may be no standard error
            sys.stderr.flush()
        try:
            kept = os.dup(2)
        except OSError:  # it is closed already
            yield
            return
        try:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 2)
            os.close(nowhere)
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)

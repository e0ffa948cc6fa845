"""What the site does beyond its tools.

Formulas become MathML, which browsers draw by themselves: no script, no network. Links to
`examples/` lead to the pages of the site. A site that would fetch anything from elsewhere fails.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util.logging import getLogger

LOGGER = getLogger(__name__)
README = re.compile(r"\]\((?:\.\./)+examples/([\w-]+)/README\.md\)")
ARRAY = re.compile(r"ndarray\[tuple\[Any, \.\.\.\], dtype\[([a-z]+)\d*\]\]")
# what makes a browser fetch something: an attribute of a page, or a word of a style sheet
FETCHED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|object)\b[^>]*?\b(?:src|data)="((?:https?:)?//[^"]+)
    |<link\b[^>]*?\bhref="((?:https?:)?//[^"]+)
    |url\(['"]?((?:https?:)?//[^)'"]+)
    |@import\s+['"]((?:https?:)?//[^'"]+)""",
    re.VERBOSE,
)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (inline_formula, None), (displayed_formula, None))
    app.connect("source-read", lead_to_pages)
    app.connect("doctree-read", trim_examples)
    app.connect("autodoc-process-signature", name_arrays)
    app.connect("build-finished", warn_of_what_is_fetched)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def inline_formula(translator: Any, node: Any) -> None:
    translator.body.append(convert(node.astext()))
    raise nodes.SkipNode  # or the LaTeX would stand beside the formula


def displayed_formula(translator: Any, node: Any) -> None:
    translator.body.append(f'<div class="math">{convert(node.astext(), display="block")}</div>')
    raise nodes.SkipNode


def lead_to_pages(app: Sphinx, page: str, source: list[str]) -> None:
    """In a checkout an example is a folder with a README; in the site it is a page."""
    source[0] = README.sub(r"](/examples/\1.md)", source[0])


def trim_examples(app: Sphinx, page: nodes.document) -> None:
    """Examples end with an empty line, for doctest; a reader need not see it."""
    for block in page.findall(nodes.literal_block):
        text = block.astext().rstrip("\n")
        block.rawsource = text
        block.children = [nodes.Text(text)]


def name_arrays(app: Sphinx, what: str, name: str, thing: Any, options: Any, *words: Any) -> Any:
    """An array in a signature by a short name: FloatArray, IntArray, BoolArray."""
    return tuple(word and ARRAY.sub(_short, word) for word in words)


def _short(found: re.Match[str]) -> str:
    return f"{found[1].capitalize()}Array"


def warn_of_what_is_fetched(app: Sphinx, failed: Exception | None) -> None:
    """The site must read the same without a network. A warning stops the build (`make docs`)."""
    if failed is not None or app.builder.format != "html":
        return
    for path in sorted(Path(app.outdir).rglob("*")):
        if path.suffix in (".html", ".css", ".svg"):
            for found in FETCHED.finditer(path.read_text(encoding="utf-8")):
                address = next(filter(None, found.groups()))
                place = path.relative_to(app.outdir)
                LOGGER.warning("%s: %s would be fetched from elsewhere", place, address)

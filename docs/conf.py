"""The documentation as a site: `make docs` builds it in out/site. Every warning is an error.

Pages are Markdown that also reads well in a checkout; nothing of the site needs the network.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # site_extension.py
sys.path.insert(0, str(HERE.parent / "src"))

import ziamath  # noqa: E402

import jumar  # noqa: E402

project = "jumar"
copyright = "The jumar developers, MIT licence"  # the name Sphinx reads
version = release = jumar.__version__

extensions = [
    "myst_parser",  # pages in Markdown
    "sphinx.ext.autodoc",  # the reference, from docstrings
    "sphinx.ext.napoleon",
    "site_extension",
]
exclude_patterns = ["pictures/*.py"]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3  # links such as logs.md#who-acted, as in a checkout

default_role = "code"  # `name` in a docstring is code
napoleon_google_docstring = False
napoleon_use_rtype = False  # what is returned is a sentence, beside its type
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 80
add_module_names = False
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = f"jumar {version}"
# formulas look the same everywhere: a mathematical font comes with the tool that makes them
html_static_path = ["static", str(Path(ziamath.__file__).parent / "fonts")]
html_css_files = ["site.css"]
html_favicon = "static/favicon.svg"
html_copy_source = html_show_sourcelink = False
html_math_renderer = "mathml"

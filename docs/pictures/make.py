"""Make the pictures of the documentation: the drawn controller always, and the figures from a
finished `jumar paper -o FOLDER`, if that folder is given."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from pathlib import Path

from jumar.controller_files import load_controller
from jumar.drawing import draw as draw_controller
from jumar.study.figures import draw
from jumar.study.spec import FigureSpec
from jumar.study.store import Store
from jumar.study.summary import Results

HERE = Path(__file__).parent
COPIED = ("performance", "voicemail-memoryless", "heatmap-tiger-k1")


def controllers() -> None:
    """The difference of the two controllers that stand on the page about pictures."""
    blocks = re.findall(r"```toml\n(.*?)```", (HERE.parent / "pictures.md").read_text(), re.DOTALL)
    with tempfile.TemporaryDirectory() as folder:
        found = []
        for i, block in enumerate(blocks):
            path = Path(folder, f"{i}.toml")
            path.write_text(block)
            found.append(load_controller(path))
    drawing = draw_controller(found[1], behavior=found[0])
    (HERE / "bridge-controller.svg").write_text(drawing.svg)


def figures(folder: str) -> None:
    """The figures of the paper."""
    store = Store(folder)
    first_look = FigureSpec("first-look", "curves", ("tiger:2",), (20,))
    figure = draw(first_look, Results(store), {})
    figure.savefig(HERE / "first-look.svg", metadata={"Date": None})
    for name in COPIED:
        shutil.copy(store.folder / "figures" / f"{name}.svg", HERE)


if __name__ == "__main__":
    controllers()
    if len(sys.argv) > 1:
        figures(sys.argv[1])

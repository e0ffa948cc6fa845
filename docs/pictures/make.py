"""Make the pictures of the documentation from a finished `jumar paper -o FOLDER`."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from jumar.study.figures import draw
from jumar.study.spec import FigureSpec
from jumar.study.store import Store
from jumar.study.summary import Results

HERE = Path(__file__).parent
COPIED = ("performance", "voicemail-memoryless", "heatmap-tiger-k1")


def main(folder: str) -> None:
    store = Store(folder)
    first_look = FigureSpec("first-look", "curves", ("tiger:2",), (20,))
    figure = draw(first_look, Results(store), {})
    figure.savefig(HERE / "first-look.svg", metadata={"Date": None})
    for name in COPIED:
        shutil.copy(store.folder / "figures" / f"{name}.svg", HERE)


if __name__ == "__main__":
    main(sys.argv[1])

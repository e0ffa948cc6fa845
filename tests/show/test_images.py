"""Pictures as PNG and PDF: drawn from the same text as the SVG, with letters on every system."""

from __future__ import annotations

import struct

import pytest

from facts import refuses
from jumar.core.errors import JumarError, ParameterError
from jumar.policy.controller import Controller
from jumar.show.drawing import draw, images
from jumar.show.drawing.images import image

UMLAUTS = Controller.uniform(("größer", "日本", "<&>\\N"), ("prüfen", "lassen"), name="Brücke ▲")


def size(png: bytes) -> tuple[int, int]:
    width, height = struct.unpack(">II", png[16:24])
    return width, height


def test_a_png_is_twice_as_large_as_the_svg():
    drawing = draw(UMLAUTS)
    # 144 dots per inch beside 72 points; fonts may differ a little
    assert 1.7 < size(drawing.image("png"))[0] / drawing.width < 2.3


def test_a_system_without_fonts_still_has_letters(tmp_path, monkeypatch):
    empty = tmp_path / "fonts.conf"
    empty.write_text("<fontconfig></fontconfig>")
    monkeypatch.setenv("FONTCONFIG_FILE", str(empty))
    assert b"DejaVuSans" in draw(UMLAUTS).image("pdf")  # the one that comes with matplotlib


def test_nothing_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(images.tempfile, "tempdir", str(tmp_path))
    image("digraph { a }", "png")
    assert list(tmp_path.iterdir()) == []


def test_a_renderer_that_fails_is_told_with_a_way_out():
    with pytest.raises(JumarError, match="could not draw a picture as PDF"):
        image("digraph { a [", "pdf")


@pytest.mark.parametrize("kinds", ["gif", ["png", "jpg"], "png,,pdf"])
def test_other_kinds_are_refused(kinds):
    with refuses(ParameterError, "pictures: kind"):
        images.check_images(kinds)

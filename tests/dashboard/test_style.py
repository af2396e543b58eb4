"""The colours of the style sheet: all that figures name exist, and text and shapes stand out in both themes."""

import math
import re
from itertools import combinations

import pytest

from dashboard import kinds
from dashboard.assets import STATIC

CSS = (STATIC / "app.css").read_text()
TOKENS = {name: (light, dark) for name, light, dark in re.findall(r"(--[\w-]+): light-dark\((#\w{6}), (#\w{6})\)", CSS)}


def linear(colour: str) -> list[float]:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def luminance(colour: str) -> float:
    red, green, blue = linear(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("text", ["--text", "--muted", "--accent", "--bad", "--warn"])
@pytest.mark.parametrize("ground", ["--page", "--card", "--raised", "--sunken"])
def test_text_is_readable(theme: int, text: str, ground: str) -> None:
    assert contrast(TOKENS[text][theme], TOKENS[ground][theme]) >= 4.5


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("kind", kinds.ALL, ids=lambda kind: kind.name)
def test_every_kind_stands_out_from_its_ground(theme: int, kind: kinds.Kind) -> None:
    assert contrast(TOKENS[f"--kind-{kind.name}"][theme], TOKENS["--card"][theme]) >= 3


# How linear red, green and blue are seen (Machado, Oliveira and Fernandes 2009, full severity).
EYES = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "red-blind": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "green-blind": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.01182, 0.04294, 0.968881)),
    "blue-blind": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.3039)),
}


def seen(colour: str, eyes: str) -> tuple[float, float, float]:
    """The colour as these eyes see it, in CIELAB."""
    rgb = linear(colour)
    red, green, blue = (min(1, max(0, sum(a * b for a, b in zip(row, rgb, strict=True)))) for row in EYES[eyes])
    x = (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505
    y = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    z = (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089
    fx, fy, fz = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("eyes", EYES)
def test_no_two_kinds_look_alike(theme: int, eyes: str) -> None:
    colours = {kind.name: seen(TOKENS[f"--kind-{kind.name}"][theme], eyes) for kind in kinds.ALL}
    for (one, first), (other, second) in combinations(colours.items(), 2):
        assert math.dist(first, second) > 11, (one, other)


def test_figures_name_only_colours_that_exist() -> None:
    named = set(re.findall(r"var\((--[\w-]+)\)", " ".join(path.read_text() for path in STATIC.parent.glob("*.py"))))
    assert named - {"--kind-empty"} <= set(TOKENS)
    assert {f"--kind-{kind.name}" for kind in kinds.ALL} <= set(TOKENS)
    assert {f".kind-{kind.name}" for kind in kinds.ALL} <= set(re.findall(r"\.kind-\w+", CSS))

"""Small lines in tiles and tables: values in order to the path of an SVG of 100 by 20. Pure."""

from collections.abc import Sequence
from itertools import groupby

WIDTH, HEIGHT = 100.0, 20.0
_MARGIN = 2.0


def paths(values: Sequence[float | None]) -> tuple[str, ...]:
    """One path for each run of known values: gaps stay gaps. A lone value is a short stroke; the scale begins at 0."""
    most = max((value for value in values if value is not None), default=0.0) or 1.0
    step = WIDTH / max(1, len(values) - 1)

    def point(number: int, value: float) -> str:
        return f"{number * step:.1f} {HEIGHT - _MARGIN - value / most * (HEIGHT - 2 * _MARGIN):.1f}"

    found = []
    for known, run in groupby(enumerate(values), key=lambda pair: pair[1] is not None):
        if known:
            points = [point(number, value) for number, value in run if value is not None]
            found.append("M" + "L".join(points) if len(points) > 1 else f"M{points[0]}h1")
    return tuple(found)

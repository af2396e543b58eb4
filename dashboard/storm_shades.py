"""Storms as shaded stretches behind a chart over time. Pure."""

from collections.abc import Callable, Iterable
from typing import Any

from dashboard.time_axis import Axis

SHADE = "var(--storm)"


def shaded(drawn: Callable[[], dict[str, Any]], storms: Iterable[tuple[int, int | None]], axis: Axis) -> Callable[[], dict[str, Any]]:
    """The same chart with the storms, given as from when to when (None: still), shaded over the slots that they reach into."""
    stretches = tuple(storms)

    def draw() -> dict[str, Any]:
        figure = drawn()
        layout = figure["layout"]
        return {**figure, "layout": {**layout, "shapes": [*layout.get("shapes", ()), *shapes(stretches, axis)]}}

    return draw


def shapes(storms: Iterable[tuple[int, int | None]], axis: Axis) -> list[dict[str, Any]]:
    """The rectangles of storms that reach into the axis, each over whole slots and over the whole height.

    Storms at the same time are one rectangle: shades over each other would hide the bars.
    """
    stretches = tuple(storms)
    reached = [
        number
        for number, slot in enumerate(axis.slots)
        if (axis.running is None or number <= axis.running)
        and any(slot.to_ns > from_ns and (to_ns is None or slot.from_ns < to_ns) for from_ns, to_ns in stretches)
    ]
    first = [number for number in reached if number - 1 not in reached]
    last = [number for number in reached if number + 1 not in reached]
    place = {"type": "rect", "xref": "x", "yref": "paper", "y0": 0, "y1": 1}
    look = {"fillcolor": SHADE, "line": {"width": 0}, "layer": "below"}
    return [place | {"x0": start - 0.5, "x1": end + 0.5} | look for start, end in zip(first, last, strict=True)]

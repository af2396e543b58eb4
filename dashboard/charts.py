"""The look of all charts, and the shapes they share. Pure: colours are CSS tokens that the browser resolves for its theme."""

from collections.abc import Mapping, Sequence
from typing import Any

from dashboard import links
from dashboard.filters import Filter
from dashboard.time_axis import Axis

# As Plotly has it in JSON. Its Python objects say the same and take a hundred times as long; the tests put figures through them.
Figure = dict[str, Any]

CLEAR = "rgba(0,0,0,0)"
_AXIS: Mapping[str, Any] = {
    "gridcolor": "var(--line)",
    "linecolor": "var(--line)",
    "zeroline": False,
    "automargin": True,
    "fixedrange": True,
    "tickfont": {"color": "var(--muted)", "size": 11},
}
SHARES: Mapping[str, Any] = {"rangemode": "tozero", "tickformat": ".1~%", "nticks": 5}


def counts(most: float) -> dict[str, Any]:
    """An axis of whole numbers from 0: few of them, and never half a call."""
    step = 10 ** max(0, len(str(int(most))) - 1)
    dtick = next(one for one in (step / 5, step / 2, step, step * 2, step * 5) if one * 5 >= most)
    return {"rangemode": "tozero", "tickformat": ",~s", "dtick": max(1, int(dtick)), "tick0": 0}


def look() -> Figure:
    """What all charts have in common; colours are tokens of static/app.css."""
    return {
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "font": {"family": "system-ui, sans-serif", "size": 12, "color": "var(--text)"},
        "margin": {"l": 8, "r": 8, "t": 18, "b": 8},
        "bargap": 0.12,
        # The page writes the legend itself: with counts, with links, and wrapping on a phone.
        "showlegend": False,
        "hoverlabel": {
            "bgcolor": "var(--raised)",
            "bordercolor": "var(--edge)",
            "font": {"color": "var(--text)", "size": 12},
            "align": "left",
            "namelength": -1,
        },
        # Plotly's own look is for white paper.
        "template": {"layout": {"xaxis": dict(_AXIS), "yaxis": dict(_AXIS)}},
    }


def over_time(traces: Sequence[Figure], question: Filter, axis: Axis, yaxis: Mapping[str, Any], height: int = 250) -> Figure:
    """A chart over the slots of an axis: a click lists the calls of a bar, a selection becomes the range of the page.

    Traces have a value for each slot and no `x`: the script gives them the labels of the axis, which are sent once.
    """
    layout = look() | {
        "height": height,
        "dragmode": "zoom",
        "hovermode": "x unified",
        # What the page's script needs to turn a click or a selection into a question.
        "meta": {
            "calls": links.calls(question),
            "starts_ms": [slot.from_ns // 1_000_000 for slot in axis.slots],
            "end_ms": question.to_ns // 1_000_000,
        },
        "xaxis": {
            "type": "category",
            "categoryorder": "array",
            "categoryarray": axis.labels,
            "range": [-0.5, len(axis.slots) - 0.5],
            "fixedrange": False,
            "showgrid": False,
            "tickmode": "array",
            "tickvals": [number for number, _ in axis.ticks],
            "ticktext": [text for _, text in axis.ticks],
            "tickangle": 0,
            "ticks": "outside",
            "ticklen": 4,
            "tickcolor": "var(--line)",
            "showspikes": False,
        },
        "yaxis": yaxis,
        "shapes": [],
        "annotations": [],
    }
    if axis.running is not None:
        left, right = axis.running - 0.5, axis.running + 0.5
        place = {"type": "rect", "x0": left, "x1": right, "y0": 0, "y1": 1, "yref": "paper"}
        layout["shapes"].append(place | {"line": {"width": 0}, "fillcolor": "var(--running)", "layer": "below"})
        layout["annotations"].append(_note("partial ▾", "var(--muted)", x=right, y=1, yref="paper", xanchor="right"))
    return {"data": list(traces), "layout": layout}


def threshold(figure: Figure, at: float, label: str) -> None:
    """A horizontal line that the values are held against, with its name at the left."""
    line = {"color": "var(--warn)", "width": 1.5, "dash": "dash"}
    place = {"type": "line", "x0": 0, "x1": 1, "xref": "paper", "y0": at, "y1": at}
    figure["layout"]["shapes"].append(place | {"line": line, "layer": "below"})
    figure["layout"]["annotations"].append(_note(label, "var(--warn)", x=0, xref="paper", y=at, xanchor="left"))


def _note(text: str, colour: str, **place: Any) -> Figure:
    return {"text": text, "font": {"size": 10, "color": colour}, "showarrow": False, "yanchor": "bottom", **place}

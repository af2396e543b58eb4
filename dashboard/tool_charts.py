"""Charts of tools beside each other, and of one tool's durations. Records to Plotly figures, pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dashboard import kinds, links, words
from dashboard.charts import CLEAR, SHARES, Figure, counts, look
from dashboard.filters import Filter
from dashboard.queries import ToolTally
from dashboard.tally import Tally
from dashboard.text import plotly_text
from dashboard.time_charts import duration_axis
from schemas.histogram import A_DOUBLING, ZERO, unpack

MOST_TOOLS = 10
MOST_DOTS = 500
# Bars of the histogram for each doubling of the duration.
BARS_A_DOUBLING = 4

Row = tuple[str, Tally, dict[str, str | None] | None]


def failure_mix(tools: Sequence[ToolTally], question: Filter, share: bool = False) -> Figure:
    """Failures by category for the tools with most of them, one horizontal bar a tool, the others folded into one.

    With `share` every bar is as long, and shows how the failures of its tool divide.
    """
    rows = _rows(tools)
    bars = [
        {
            "type": "bar",
            "name": kind.label,
            "orientation": "h",
            # Positions instead of names: names may repeat after cutting, or look like numbers or dates.
            "y": list(range(len(rows))),
            "x": [kind.of(tally) / tally.failure if share else kind.of(tally) for _, tally, _ in rows],
            "marker": {"color": kind.colour, "line": {"width": 0}},
            "customdata": [
                [
                    links.calls(question, **(filters or {}), **kind.filters),
                    label,
                    f"{kind.of(tally):,} of {tally.failure:,} failures",
                ]
                for label, tally, filters in rows
            ],
            "hovertemplate": f"%{{customdata[1]}}<br>{kind.label}: %{{customdata[2]}}<extra></extra>",
        }
        for kind in kinds.FAILED
        if any(kind.of(tally) for _, tally, _ in rows)
    ]
    most = max((tally.failure for _, tally, _ in rows), default=0)
    layout = _still(max(150, 36 * len(rows) + 44)) | {
        "barmode": "stack",
        "bargap": 0.3,
        "xaxis": {**SHARES, "range": [0, 1]} if share else counts(most),
        "yaxis": {
            "tickmode": "array",
            "tickvals": list(range(len(rows))),
            "ticktext": [label for label, _, _ in rows],
            "autorange": "reversed",
            "showgrid": False,
            # Room between a name and its bar.
            "ticks": "outside",
            "ticklen": 6,
            "tickcolor": CLEAR,
            "tickfont": {"color": "var(--text)", "size": 12},
        },
    }
    return {"data": bars, "layout": layout}


def _still(height: int) -> Figure:
    """The layout of a chart in which nothing can be selected, but each mark leads somewhere."""
    return look() | {"height": height, "margin": {"l": 8, "r": 8, "t": 6, "b": 8}, "hovermode": "closest", "dragmode": False}


def _rows(tools: Sequence[ToolTally]) -> list[Row]:
    failing = sorted((tool for tool in tools if tool.tally.failure), key=lambda tool: -tool.tally.failure)
    shown = failing[:MOST_TOOLS]
    names = [tool.tool for tool in shown]
    rows: list[Row] = [
        (
            plotly_text(f"{tool.tool} · {tool.server}" if names.count(tool.tool) > 1 else tool.tool, 24),
            tool.tally,
            {"server": tool.server, "tool": tool.tool},
        )
        for tool in shown
    ]
    rest = sum((tool.tally for tool in failing[MOST_TOOLS:]), Tally())
    if rest.failure:
        rows.append((f"other ({len(failing) - MOST_TOOLS:,} names)", rest, None))
    return rows


def on_scatter(tools: Sequence[ToolTally]) -> list[ToolTally]:
    """The tools of which both shares can be told, those with most calls first: smaller dots lie on larger ones."""
    told = [tool for tool in tools if tool.tally.failure_ratio.enough and tool.tally.empty_ratio.enough]
    return sorted(told, key=lambda tool: -tool.tally.calls)[:MOST_DOTS]


def failing_against_empty(tools: Sequence[ToolTally], question: Filter) -> Figure:
    """A dot a tool: how often it fails, how often it is known to come back empty, and by its size how often it is called.

    Tools of which either share rests on fewer than 20 calls are left out: they stand in the table.
    """
    drawn = on_scatter(tools)
    most = max((tool.tally.calls for tool in drawn), default=1)

    def said(tool: ToolTally) -> list[str]:
        failing, empty = tool.tally.failure_ratio, tool.tally.empty_ratio
        return [
            links.tool(question, tool.server, tool.tool),
            plotly_text(tool.tool or "(unnamed)"),
            plotly_text(tool.server or "(no server)"),
            f"fails {words.percent(failing.value)} · {failing.part:,} of {failing.whole:,}",
            f"known empty {words.percent(empty.value)} · {empty.part:,} of {empty.whole:,}",
            f"{tool.tally.calls:,} calls",
        ]

    dots = {
        "type": "scatter",
        "x": [tool.tally.failure_ratio.value for tool in drawn],
        "y": [tool.tally.empty_ratio.value for tool in drawn],
        "mode": "markers",
        # Whole also where a share is 0.
        "cliponaxis": False,
        "marker": {
            # The area says how many calls.
            "size": [7 + 33 * (tool.tally.calls / most) ** 0.5 for tool in drawn],
            "color": "var(--kind-empty)",
            "opacity": 0.75,
            "line": {"color": "var(--text)", "width": 1},
        },
        "customdata": [said(tool) for tool in drawn],
        "hovertemplate": "<br>".join(f"%{{customdata[{n}]}}" for n in (1, 2, 3, 4, 5)) + "<extra></extra>",
    }
    # From a little below 0, so that dots on the axes are whole; never beyond what the data needs.
    failing = max((tool.tally.failure_ratio.value or 0 for tool in drawn), default=0)
    axis = {**SHARES, "zeroline": True, "zerolinecolor": "var(--line)"}
    layout = _still(360) | {
        "xaxis": {**axis, "range": [-0.02 * (failing or 1), max(0.05, failing * 1.12)], "title": _title("failure share")},
        "yaxis": {**axis, "range": [-0.05, 1.06], "title": _title("known-empty share")},
    }
    return {"data": [dots] if drawn else [], "layout": layout}


def _title(text: str) -> dict[str, object]:
    return {"text": text, "font": {"size": 11, "color": "var(--muted)"}, "standoff": 6}


@dataclass(frozen=True, slots=True)
class DurationBar:
    """How many calls took longer than `from_ns` and at most `to_ns`, by outcome."""

    from_ns: float
    to_ns: float
    calls: Mapping[str, int]


def duration_bars(by_outcome: Mapping[str, bytes]) -> tuple[DurationBar, ...]:
    """Packed histograms as bars of a quarter of a doubling, the shortest first; bars without calls are left out."""
    found: dict[int, dict[str, int]] = {}
    for outcome, packed in by_outcome.items():
        for index, calls in unpack([packed]).items():
            # What took no time at all stands at the left end, as a nanosecond.
            of_bar = found.setdefault(max(index, ZERO + 1) * BARS_A_DOUBLING // A_DOUBLING, {})
            of_bar[outcome] = of_bar.get(outcome, 0) + calls
    return tuple(
        DurationBar(2 ** (bar / BARS_A_DOUBLING) * 1e9, 2 ** ((bar + 1) / BARS_A_DOUBLING) * 1e9, calls)
        for bar, calls in sorted(found.items())
    )


def duration_histogram(bars: Sequence[DurationBar], outcomes: Sequence[str]) -> Figure:
    """How many calls took how long, by outcome, on a logarithmic axis."""
    drawn = {outcome: [bar for bar in bars if bar.calls.get(outcome)] for outcome in outcomes}
    traces = [
        {
            "type": "bar",
            "name": outcome,
            "x": [bar.from_ns / 1e9 for bar in of],
            "offset": 0,
            "width": [(bar.to_ns - bar.from_ns) / 1e9 for bar in of],
            "y": [bar.calls[outcome] for bar in of],
            "marker": {"color": outcome_colour(outcome), "line": {"width": 0}},
            "customdata": [f"{words.duration(bar.from_ns)} to {words.duration(bar.to_ns)}" for bar in of],
            "hovertemplate": f"{outcome}: %{{y:,}} calls took %{{customdata}}<extra></extra>",
        }
        for outcome, of in drawn.items()
    ]
    least, longest = (bars[0].from_ns, bars[-1].to_ns) if bars else (1e9, 1e9)
    most = max((sum(bar.calls.values()) for bar in bars), default=0)
    layout = _still(220) | {
        "barmode": "stack",
        "xaxis": {**duration_axis(least / 1e9, longest / 1e9), "showgrid": False},
        "yaxis": counts(most),
    }
    return {"data": traces, "layout": layout}


def outcome_colour(outcome: str) -> str:
    """The colour of all calls of an outcome: that of data for a success, of failures for a failure."""
    return {"success": "var(--kind-data)", "failure": "var(--bad)"}.get(outcome, f"var(--kind-{outcome})")

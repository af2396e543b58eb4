"""From records to Plotly figures. Pure: colours are CSS tokens that the browser resolves, so one template serves light and dark."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import plotly.graph_objects as go

from dashboard import kinds, links, words
from dashboard.filters import Filter
from dashboard.queries import Bucket, ToolTally, bucket_width
from dashboard.tally import Ratio, Tally
from dashboard.text import plotly_text

MOST_TOOLS = 10
_CLEAR = "rgba(0,0,0,0)"
_AXIS: Mapping[str, Any] = {
    "gridcolor": "var(--line)",
    "linecolor": "var(--line)",
    "zeroline": False,
    "automargin": True,
    "fixedrange": True,
    "tickfont": {"color": "var(--muted)", "size": 11},
}


def template() -> go.layout.Template:
    """The look of all charts; colours are tokens of static/app.css."""
    return go.layout.Template(
        layout={
            "paper_bgcolor": _CLEAR,
            "plot_bgcolor": _CLEAR,
            "font": {"family": "system-ui, sans-serif", "size": 12, "color": "var(--text)"},
            "margin": {"l": 8, "r": 8, "t": 18, "b": 8},
            "xaxis": _AXIS,
            "yaxis": _AXIS,
            "bargap": 0.12,
            # The page writes the legend itself: with counts, with links, and wrapping on a phone.
            "showlegend": False,
            "hoverlabel": {
                "bgcolor": "var(--raised)",
                "bordercolor": "var(--line)",
                "font": {"color": "var(--text)", "size": 12},
                "align": "left",
                "namelength": -1,
            },
            "hovermode": "x unified",
        }
    )


def figure_json(figure: go.Figure) -> dict[str, Any]:
    """A figure as JSON-ready data and layout."""
    made: dict[str, Any] = figure.to_plotly_json()
    return {"data": made["data"], "layout": made["layout"]}


def outcomes_over_time(buckets: Sequence[Bucket], question: Filter, now_ns: int) -> go.Figure:
    """All calls by kind, stacked; the sum of all bars is the number of calls."""
    return _stack(buckets, question, now_ns, kinds.ALL)


def failures_over_time(buckets: Sequence[Bucket], question: Filter, now_ns: int) -> go.Figure:
    """Failures by category, stacked, on an axis of their own: among thousands of successes they would not show."""
    return _stack(buckets, question, now_ns, kinds.FAILED)


def _stack(buckets: Sequence[Bucket], question: Filter, now_ns: int, drawn: Sequence[kinds.Kind]) -> go.Figure:
    starts = [words.iso(bucket.bucket_ns) for bucket in buckets]
    shown = [kind for kind in drawn if any(kind.of(bucket.tally) for bucket in buckets)]
    bars = [
        go.Bar(
            name=kind.label,
            x=starts,
            y=[kind.of(bucket.tally) for bucket in buckets],
            # From the start of the bucket to its end, not around its start.
            offset=0,
            width=bucket_width(question) / 1e6 * 0.9,
            marker={"color": kind.colour, "line": {"width": 0}},
            hovertemplate="%{y:,}",
            meta={"query": urlencode(kind.filters)},
        )
        for kind in shown
    ]
    figure = _over_time(bars, question, now_ns)
    figure.update_layout(barmode="stack", yaxis={"rangemode": "tozero", "tickformat": ",~s", "nticks": 5})
    return figure


def _over_time(traces: Sequence[go.Bar | go.Scatter], question: Filter, now_ns: int) -> go.Figure:
    width = bucket_width(question)
    figure = go.Figure(data=traces)
    figure.update_layout(
        template=template(),
        height=260,
        dragmode="zoom",
        # What the page's script needs to turn a click or a selection into a question.
        meta={
            "calls": links.calls(question),
            "width_ms": width // 1_000_000,
            "from_ms": question.from_ns // 1_000_000,
            "to_ms": question.to_ns // 1_000_000,
        },
        xaxis={
            "type": "date",
            "range": [words.iso(question.from_ns), words.iso(question.to_ns)],
            "fixedrange": False,
            "showgrid": False,
            "hoverformat": "%b %-d %H:%M UTC",
        },
    )
    running = now_ns - now_ns % width
    if question.from_ns < running + width and running < question.to_ns:
        start, end = words.iso(max(running, question.from_ns)), words.iso(min(running + width, question.to_ns))
        figure.add_shape(type="rect", x0=start, x1=end, y0=0, y1=1, yref="paper", line_width=0, fillcolor="var(--running)", layer="below")
        figure.add_annotation(
            x=start, y=1, yref="paper", xanchor="right", yanchor="top", showarrow=False, text="running ▾",
            font={"size": 10, "color": "var(--muted)"},
        )  # fmt: skip
    return figure


def failures_and_empties(buckets: Sequence[Bucket], question: Filter, now_ns: int) -> go.Figure:
    """Failure share and known-empty share by time, with gaps where there is nothing to divide by."""

    def line(name: str, colour: str, dash: str, ratio: Callable[[Tally], Ratio]) -> go.Scatter:
        ratios = [ratio(bucket.tally) if bucket else None for bucket in filled]
        return go.Scatter(
            name=name,
            x=starts,
            y=[value.value if value else None for value in ratios],
            mode="lines+markers",
            line={"color": colour, "dash": dash, "width": 2},
            marker={"size": 4},
            connectgaps=False,
            customdata=[f"{value.part:,} of {value.whole:,}" if value else "" for value in ratios],
            hovertemplate="%{y:.1%} · %{customdata}",
        )

    starts, filled = _gapped(buckets, question)
    traces = [
        line("failure share", "var(--bad)", "solid", lambda tally: tally.failure_ratio),
        line("known-empty share", "var(--kind-empty)", "dash", lambda tally: tally.empty_ratio),
    ]
    figure = _over_time(traces, question, now_ns)
    figure.update_layout(yaxis={"rangemode": "tozero", "tickformat": ".0%", "nticks": 5})
    return figure


def durations(buckets: Sequence[Bucket], question: Filter, now_ns: int) -> go.Figure:
    """Median, 95th percentile and longest duration by time, in seconds, on a logarithmic axis; gaps where too few are known."""
    starts, filled = _gapped(buckets, question)

    def line(name: str, colour: str, dash: str, of: Callable[[Bucket], float | None]) -> go.Scatter:
        values = [of(bucket) if bucket else None for bucket in filled]
        return go.Scatter(
            name=name,
            x=starts,
            # A logarithmic axis has no place for 0: a microsecond stands for less.
            y=[None if value is None else max(value, 1000) / 1e9 for value in values],
            mode="lines+markers",
            line={"color": colour, "dash": dash, "width": 2},
            marker={"size": 4},
            connectgaps=False,
            customdata=[words.duration(value) for value in values],
            hovertemplate="%{customdata}",
        )

    traces = [
        line("p50", "var(--accent)", "solid", lambda bucket: bucket.times.p50_ns),
        line("p95", "var(--kind-partial)", "dash", lambda bucket: bucket.times.p95_ns),
        line("longest", "var(--muted)", "dot", lambda bucket: bucket.tally.max_ns),
    ]
    figure = _over_time(traces, question, now_ns)
    seconds = [value for trace in traces for value in trace.y if value is not None]
    ticks = _decades(min(seconds), max(seconds)) if seconds else [1.0]
    figure.update_layout(
        yaxis={
            "type": "log",
            "tickmode": "array",
            "tickvals": ticks,
            "ticktext": [words.duration(tick * 1e9) for tick in ticks],
        }
    )
    return figure


def _decades(least: float, most: float) -> list[float]:
    # Few labels that are whole numbers of a unit: powers of ten, and between them a 3 where the range is short.
    powers = range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1)
    steps = (1, 3) if len(powers) <= 4 else (1,)
    return [float(f"{step}e{power}") for power in powers for step in steps]


def _gapped(buckets: Sequence[Bucket], question: Filter) -> tuple[list[str], list[Bucket | None]]:
    width = bucket_width(question)
    found = {bucket.bucket_ns: bucket for bucket in buckets}
    starts = range(question.from_ns - question.from_ns % width, question.to_ns, width)
    # A line's point stands in the middle of its bucket.
    return [words.iso(start + width // 2) for start in starts], [found.get(start) for start in starts]


def failure_mix(tools: Sequence[ToolTally], question: Filter) -> go.Figure:
    """Failures by category for the tools with most of them, one horizontal bar a tool, the other tools folded into one."""
    failing = sorted((tool for tool in tools if tool.tally.failure), key=lambda tool: -tool.tally.failure)
    shown = failing[:MOST_TOOLS]
    rest = sum((tool.tally for tool in failing[MOST_TOOLS:]), Tally())
    repeated = {tool.tool for i, tool in enumerate(shown) if any(tool.tool == other.tool for other in shown[:i])}
    rows: list[tuple[str, Tally, dict[str, str | None] | None]] = [
        (
            plotly_text(f"{tool.tool} · {tool.server}" if tool.tool in repeated else tool.tool, 24),
            tool.tally,
            {"server": tool.server, "tool": tool.tool},
        )
        for tool in shown
    ]
    if rest.failure:
        rows.append((f"other ({len(failing) - MOST_TOOLS:,} names)", rest, None))
    bars = [
        go.Bar(
            name=kind.label,
            orientation="h",
            # Positions instead of names: names may repeat after cutting, or look like numbers or dates.
            y=list(range(len(rows))),
            x=[kind.of(tally) for _, tally, _ in rows],
            marker={"color": kind.colour, "line": {"width": 0}},
            customdata=[
                [
                    links.calls(question, **(filters or {}), **kind.filters),
                    label,
                    f"{kind.of(tally):,} of {tally.failure:,} failures",
                ]
                for label, tally, filters in rows
            ],
            hovertemplate=f"%{{customdata[1]}}<br>{kind.label}: %{{customdata[2]}}<extra></extra>",
        )
        for kind in kinds.FAILED
        if any(kind.of(tally) for _, tally, _ in rows)
    ]
    figure = go.Figure(data=bars)
    figure.update_layout(
        template=template(),
        barmode="stack",
        height=max(160, 38 * len(rows) + 44),
        margin_t=4,
        hovermode="closest",
        dragmode=False,
        bargap=0.3,
        xaxis={"tickformat": ",~s", "nticks": 5, "rangemode": "tozero"},
        yaxis={
            "tickmode": "array",
            "tickvals": list(range(len(rows))),
            "ticktext": [label for label, _, _ in rows],
            "autorange": "reversed",
            "showgrid": False,
            # Room between a name and its bar.
            "ticks": "outside",
            "ticklen": 6,
            "tickcolor": _CLEAR,
            "tickfont": {"color": "var(--text)", "size": 12},
        },
    )
    return figure

"""How calls are retried: the numbers of all operations, by tool, by client and over time."""

from operator import attrgetter
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from dashboard import alert_queries, chain_queries, queries, retry_charts, retry_queries, storm_shades, time_axis
from dashboard.filters import KIND_NAMES, Filter, FilterError
from dashboard.retry_metrics import METRICS, record
from dashboard.retrying import Retries
from dashboard.site import Site, TheSite, as_csv, as_json, ask, choice, figure, frame, page, wants_csv
from schemas.operations import STRENGTHS

router = APIRouter()

LATEST = 10
BY_SLOT = ("retry_ratio", "retries_per_operation", "amplification", "operation_success", "retry_success_rate")


def ask_operations(site: Site, request: Request, now_ns: int, *beside: str) -> tuple[Filter, str]:
    """The question of a request about operations, and how strong their links must be. Raises FilterError."""
    question = ask(site, request, now_ns, "strength", *beside)
    if kinds := [name for name in KIND_NAMES if getattr(question, name) is not None]:
        raise FilterError([f"“{name}” is a filter for calls; an operation has several, of any {name}." for name in kinds])
    # The weakest first: unless asked for, nothing is left out.
    return question, choice(request, "strength", STRENGTHS[::-1])


@router.get("/retries", include_in_schema=False)
def retries_page(request: Request, site: TheSite) -> Response:
    """The page."""
    now_ns = site.clock()
    question, strength = ask_operations(site, request, now_ns)
    with queries.snapshot(site.engine) as connection:
        around = frame(site, connection, request, question, now_ns)
        data = retry_queries.by_tool_and_client(connection, question, now_ns, strength)
        buckets = retry_queries.over_time(connection, question, now_ns, strength)
        chains = chain_queries.list_chains(connection, question, now_ns, LATEST, None, strength)
        storms = alert_queries.storms(connection, question)
    axis = time_axis.axis(question, now_ns, around["zone"], time_axis.share_width(question, data.total.attempts))
    bars = retry_charts.gap_bars(data.total)
    return page(
        request,
        site,
        "retries.html",
        data=data,
        chains=chains.records,
        axis=axis,
        by_slot={name: retry_charts.on_axis(buckets, axis, attrgetter(name)) for name in BY_SLOT},
        bars=bars,
        figures={
            "ratio": storm_shades.shaded(figure(retry_charts.retry_ratio, buckets, question, axis), storms, axis),
            "amplification": storm_shades.shaded(figure(retry_charts.amplification, buckets, question, axis), storms, axis),
            "gaps": figure(retry_charts.gap_histogram, bars),
        },
        metrics={metric.key: metric for metric in METRICS},
        strength=strength,
        strengths=STRENGTHS[::-1],
        budget=retry_charts.ATTEMPT_BUDGET,
        keep={"strength": strength if strength != STRENGTHS[-1] else ""},
        **around,
    )


@router.get("/api/v1/retries", tags=["read"])
def retries_json(request: Request, site: TheSite) -> Response:
    """Operations, retries and what they achieve (docs/metrics.md): total, tools, clients, and buckets over time.

    `strength` (declared, same_arguments, same_tool) leaves out operations held together by weaker links; `format=csv` gives the
    table of tools, with `by=client` that of clients.
    """
    now_ns = site.clock()
    question, strength = ask_operations(site, request, now_ns, "by")
    by, to_csv = choice(request, "by", ("tool", "client")), wants_csv(request)
    with queries.snapshot(site.engine) as connection:
        data = retry_queries.by_tool_and_client(connection, question, now_ns, strength)
        buckets = () if to_csv else retry_queries.over_time(connection, question, now_ns, strength)
    tools = [{"server": server, "tool": tool, **record(one)} for (server, tool), one in data.tools]
    clients = [{"client": client, **record(one)} for client, one in data.clients]
    if to_csv:
        return _as_csv(by, tools if by == "tool" else clients)
    return as_json(
        {
            "from_ns": question.from_ns,
            "to_ns": question.to_ns,
            "strength": strength,
            "total": record(data.total),
            "tools": tools,
            "clients": clients,
            "buckets": [bucket.record() for bucket in buckets],
        }
    )


def _as_csv(by: str, rows: list[dict[str, Any]]) -> Response:
    """One row a tool or client; each ratio has its part and its whole beside it."""

    def flat(row: dict[str, Any]) -> dict[str, Any]:
        counts = {f"{name}_{what}": n for name, of in row["of"].items() for what, n in zip(("part", "of"), of, strict=True)}
        strengths = {f"retries_{name}": n for name, n in row["retries_by_strength"].items()}
        return {name: value for name, value in row.items() if name not in ("of", "funnel", "retries_by_strength")} | strengths | counts

    names = {"tool": ["server", "tool"], "client": ["client"]}[by]
    header = [*names, *flat(record(Retries()))]
    return as_csv("retries", header, ([row[name] for name in header] for row in map(flat, rows)))

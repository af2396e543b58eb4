"""Every element of the pages once, with made-up numbers: for developers, only where the setting `styleguide` is on."""

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from dashboard import charts, kinds, time_axis, time_charts, tool_charts
from dashboard.filters import parse
from dashboard.grouping import Group
from dashboard.queries import Bucket, ToolTally
from dashboard.site import TheSite, figure, only, page, zone_of_page
from dashboard.tally import Cell, Ratio, Tally, tally
from schemas.export import RECORD_KEYS

router = APIRouter(include_in_schema=False)

TOKENS = ("page", "card", "raised", "sunken", "line", "edge", "text", "muted", "accent", "bad", "warn", "good")


def made_up(number: int) -> Tally:
    """Calls of every kind, more of the earlier kinds."""
    cells = [
        Cell(
            "success" if kind in kinds.ANSWERED[:3] else "failure" if kind in kinds.FAILED else kind.name,
            kind.name if kind in kinds.ANSWERED[:3] else "",
            kind.name if kind in kinds.FAILED else "",
            ("true", "false")[number % 2] if kind in kinds.FAILED else "",
            max(1, 40 // (at + 1) + (number * (at + 3)) % 7),
            0,
            0,
            None,
            0,
        )
        for at, kind in enumerate(kinds.ALL)
    ]
    return tally(cells)


def sample_groups(now_ns: int) -> tuple[Group, ...]:
    """A call that stands alone, and an operation of two attempts."""
    failed: dict[str, Any] = dict.fromkeys(RECORD_KEYS)
    failed |= {"trace_id": "0" * 32, "call_id": "0" * 16, "tool": "search_docs", "server": "docs-mcp", "client": "agent", "flags": []}
    failed |= {"start_ns": now_ns, "outcome": "failure", "category": "transient", "retryable": True, "duration_ns": 30_000_000_000}
    failed |= {"error_type": "TimeoutError", "message": "The upstream did not answer within 30 s", "decided_by": "error_type"}
    went_well = failed | dict.fromkeys(("category", "retryable", "error_type", "message")) | {"outcome": "success", "emptiness": "data"}
    chain = {"chain_id": "0", "attempts": 2, "state": "recovered", "recovered_ns": 5_300_000_000}
    return Group((failed,), None), Group((went_well, failed), chain)


@router.get("/styleguide")
def styleguide_page(request: Request, site: TheSite) -> Response:
    """The page."""
    only(request)
    now_ns = site.clock()
    around = zone_of_page(site, request)
    question = parse([("range", "1h")], now_ns)
    axis = time_axis.axis(question, now_ns, around["zone"])
    buckets = [Bucket(slot.bucket_ns, made_up(number)) for number, slot in enumerate(axis.slots) if number % 11]
    tools = [ToolTally("docs-mcp", f"tool_{number}", made_up(number)) for number in range(5)]
    shares = time_charts.failing_and_empty(buckets, question, axis)
    charts.threshold(shares, 0.1, "10 % line")
    return page(
        request,
        site,
        "styleguide.html",
        tokens=TOKENS,
        total=sum((bucket.tally for bucket in buckets), Tally()),
        buckets=buckets,
        axis=axis,
        spread=axis.placed(buckets),
        asked=question,
        ratios={
            "many": (Ratio(42, 1340), Ratio(20, 1300)),
            "grown": (Ratio(420, 1340), Ratio(20, 1300)),
            "shrunk": (Ratio(10, 1340), Ratio(120, 1300)),
            "uncertain": (Ratio(7, 139), Ratio(5, 120)),
            "few": (Ratio(3, 12), Ratio(0, 0)),
            "none": (Ratio(0, 0), Ratio(0, 0)),
        },
        verdicts=[{"outcome": "success", "emptiness": one, "category": None} for one in ("data", "empty", "unknown")]
        + [{"outcome": one, "emptiness": None, "category": None} for one in ("partial", "cancelled", "deferred")]
        + [{"outcome": "failure", "emptiness": None, "category": kind.name} for kind in kinds.FAILED],
        groups=sample_groups(now_ns),
        figures={
            "outcomes": figure(time_charts.outcomes, buckets, question, axis),
            "shares": lambda: shares,
            "mix": figure(tool_charts.failure_mix, tools, question),
        },
        **around,
    )

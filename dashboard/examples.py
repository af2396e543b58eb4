"""One example of each JSON answer, made by the code that makes the real ones, so that the description cannot drift away. Pure."""

from collections.abc import Mapping
from typing import Any

import orjson

from dashboard import (
    chain_queries,
    emitter_queries,
    error_queries,
    fingerprints,
    health_queries,
    queries,
    suppression_queries,
    tool_queries,
    trace_queries,
)
from dashboard.alert_queries import AlertRecord, SilenceRecord
from dashboard.changes import Change
from dashboard.filters import Filter
from dashboard.moments import DAY_NS, HOUR_NS, MINUTE_NS
from dashboard.pages.call import OneCall
from dashboard.pages.empties import Empties
from dashboard.pages.health import Health
from dashboard.pages.overview import Overview
from dashboard.pages.tool import Tool
from dashboard.pages.tools import Tools
from dashboard.retry_metrics import record as retry_record
from dashboard.retry_queries import RetryBucket
from dashboard.retrying import Counts, Retries
from dashboard.review_example import LISTED, REVIEW
from dashboard.tally import Ratio, Tally
from schemas.contracts import CATEGORY, ContractFinding, ContractQuality
from schemas.export import RECORD_KEYS
from schemas.histogram import Percentiles
from schemas.suppression import BY_DESIGN_NS, CONFIRMED, Q1, ByDesign, Signal, Suspect

NOW_NS = 1_796_047_400 * 10**9
_TRACE, _SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
_HOUR = Filter(NOW_NS - NOW_NS % MINUTE_NS - HOUR_NS, NOW_NS - NOW_NS % MINUTE_NS)
_TIMES = Percentiles(1310, 61_800_000, 1_850_000_000, 30_000_000_000)
_TALLY = Tally(
    calls=1340, completed=1320, known=1150, success=1278, partial=2, failure=40, cancelled=15, deferred=5, data=1000, empty=150,
    unknown=128, transient=21, validation=7, business=6, permission=4, unclassified=2, retryable=21, not_retryable=17,
    retryable_unknown=2, timed=1310, duration_sum_us=92_000_000, duration_min_ns=900_000, duration_max_ns=30_000_000_000, last_ns=NOW_NS,
)  # fmt: skip
_CALL: dict[str, Any] = dict.fromkeys(RECORD_KEYS) | {
    "trace_id": _TRACE, "call_id": _SPAN, "spans": [_SPAN], "tool": "search_docs", "server": "docs-mcp", "client": "support-agent",
    "session": "conversation-17", "environment": "production", "start_ns": NOW_NS, "duration_ns": 30_000_000_000,
    "server_duration_ns": 31_000_000_000, "outcome": "failure", "emptiness": "data", "category": "transient", "retryable": True,
    "channel": "transport", "error_type": "TimeoutError", "message": "no answer within 30 s", "decided_by": "error_type",
    "category_decided_by": "class:TimeoutError", "link": "retry", "link_strength": "same_arguments", "attempt": 2,
    "chain_id": f"{_TRACE}{_SPAN}",
    "failed_children": [
        {"span_id": _SPAN, "name": "GET", "service": "docs", "error_type": "503", "http_status": 503, "peer": "db:80", "recovered": False}
    ],
    "flags": ["server_finished"],
}  # fmt: skip
_CHAIN = dict(
    zip(
        chain_queries.RECORD_KEYS,
        (
            *(f"{_TRACE}-{_SPAN}", NOW_NS, NOW_NS, "production", "docs-mcp", "support-agent", "search_docs", "conversation-17", 2, False),
            *("same_arguments", "failure", "transient", True, "success", "recovered", 5_300_000_000, NOW_NS, True),
        ),
        strict=True,
    )
)
_ALERT = AlertRecord(
    id="a1", rule="retry_storm", labels={"server": "docs-mcp", "tool": "search_docs"}, severity="page", class_="storm", state="firing",
    started_ns=NOW_NS, fired_ns=NOW_NS, resolved_ns=NOW_NS, stale_ns=None, flapping=False, acknowledged_by="Jo", acknowledged_note="",
    muted_by="silence", told="", evidence={"says": "41 of 90 attempts are retries"},
)  # fmt: skip
_SILENCE = SilenceRecord("s1", {"server": "docs-*"}, NOW_NS, NOW_NS + HOUR_NS, "Jo", "maintenance")
_ATTEMPT_KEYS = (
    *("trace_id", "call_id", "start_ns", "duration_ns", "client", "environment", "outcome", "category", "retryable", "error_type"),
    *("message", "link", "link_strength"),
)
_ATTEMPT = {name: _CALL.get(name) for name in _ATTEMPT_KEYS} | {
    "place": 2, "gap_ns": 1_200_000_000, "wasted": False, "early": False, "hot": False, "retry_after_ms": 2000, "attempt": 2,
}  # fmt: skip
_RETRIES = Retries(Counts(attempts=1340, failures=40, retries=22, failed_first=30, failed_retried=12, recovered=9, failed_last=24))
_MARK = ByDesign("docs-mcp", "search_docs", "the archive is empty at night", "Jo", NOW_NS, NOW_NS + BY_DESIGN_NS)
_SUSPECT = Suspect(
    environment="production", server="docs-mcp", tool="search_docs", class_=CONFIRMED, q=1.2e-9, empty=150, known=1150, failure=40,
    completed=1320, by_design=_MARK,
    signals=(
        Signal(
            Q1, 41, 150, 3.1e-12, examples=(f"{_TRACE}/{_SPAN}",),
            detail={"child": "GET to db:80 (503)", "sessions": 17, "against": "tool", "data_k": 2, "data_n": 1000},
        ),
    ),
)  # fmt: skip
_CONTRACT = ContractQuality(
    *("production", "docs-mcp", "search_docs", 40),
    (ContractFinding(CATEGORY, 31, 40, f"{_TRACE}/{_SPAN}", '{"isError": true, "errorCategory": "transient", "isRetryable": true}'),),
)
_VIEW = {
    "span_id": _SPAN, "layer": "client", "service": "support-agent", "scope": "mcp-python-sdk", "scope_version": "2.3.0",
    "name": "tools/call search_docs", "start_ns": NOW_NS, "duration_ns": 30_000_000_000, "outcome": "failure", "emptiness": "data",
    "category": "transient", "decided_by": "error_type", "category_decided_by": "class:TimeoutError",
}  # fmt: skip


def examples() -> Mapping[str, Any]:
    """Path -> an answer as JSON has it."""
    bucket = queries.Bucket(_HOUR.from_ns, _TALLY, _TIMES)
    tool = queries.ToolTally("docs-mcp", "search_docs", _TALLY, _TIMES)
    failure = fingerprints.Failure(NOW_NS, "transient", "-32001", "no answer within 30 s", "jsonrpc:-32001")
    errors = error_queries.Errors(fingerprints.types([failure]), fingerprints.grouped([failure]), 1, True)
    views = error_queries.Views((error_queries.Disagreement(_VERDICT, _VERDICT, ("server_finished",), 3),), 120, 500, False)
    marked = error_queries.MarkedEmpty("docs-mcp", "search_docs", "business", "0123456789ab", "No results", 4, NOW_NS)
    status = health_queries.Status(
        dict.fromkeys(health_queries.COUNTERS, 1340), 1340, NOW_NS - HOUR_NS, health_queries.Freshness(NOW_NS, 0, 0.0), "sqlite", "0001"
    )
    line = trace_queries.SpanLine(_SPAN, _SPAN, NOW_NS, NOW_NS, 3, 2, "tools/call search_docs", "support-agent", "mcp", "2.3.0")
    made = {
        "/api/v1/overview": Overview(
            total=_TALLY,
            before=_TALLY,
            buckets=(bucket,),
            tools=(tool,),
            tools_before={},
            retries=_RETRIES,
            retries_before=None,
            retry_buckets=(),
            changes=(Change("docs-mcp", "search_docs", Ratio(40, 1320), Ratio(20, 1300), "transient"),),
            latest_failures=(_CALL,),
            calls_a_minute=22.3,
        ).record(_HOUR),
        "/api/v1/tools": Tools(_TALLY, (tool,), (tool_queries.SeenTool("docs-mcp", "sleeper", NOW_NS),), frozenset(), {}, {}).record(_HOUR),
        "/api/v1/tools/{server}/{tool}": Tool(
            server="docs-mcp",
            tool="search_docs",
            total=_TALLY,
            before=None,
            times=_TIMES,
            by_outcome=(("success", _TIMES),),
            histograms={},
            buckets=(bucket,),
            packed={},
            clients=(("support-agent", _TALLY),),
            errors=errors,
            views=views,
            recent=(_CALL,),
            folded=(tool_queries.FoldedName("tool_9f3c", NOW_NS),),
            retries=_RETRIES,
            contracts=(_CONTRACT,),
        ).record(_HOUR),
        "/api/v1/retries": {
            "from_ns": _HOUR.from_ns,
            "to_ns": _HOUR.to_ns,
            "strength": "same_tool",
            "total": retry_record(_RETRIES),
            "tools": [{"server": "docs-mcp", "tool": "search_docs", **retry_record(_RETRIES)}],
            "clients": [{"client": "support-agent", **retry_record(_RETRIES)}],
            "buckets": [RetryBucket(_HOUR.from_ns, _RETRIES).record()],
        },
        "/api/v1/alerts": {"alerts": [_ALERT.record()]},
        "/api/v1/silences": {"silences": [_SILENCE]},
        "/api/v1/reviews": {"reviews": [LISTED.record()]},
        "/api/v1/reviews/{week}": REVIEW,
        "/api/v1/chains": {"chains": [_CHAIN], "next": f"{NOW_NS}.{_TRACE}-{_SPAN}"},
        "/api/v1/chains/{chain_id}": {"chain": _CHAIN, "attempts": [_ATTEMPT], "next": 200},
        "/api/v1/by-design": {"by_design": [_MARK.record()]},
        "/api/v1/empties": Empties(
            _TALLY,
            (tool,),
            (bucket,),
            error_queries.MarkedEmpties((marked,), 40, True),
            suppression_queries.Found(
                suppression_queries.Evaluated(NOW_NS, NOW_NS - 7 * DAY_NS, NOW_NS), (_SUSPECT,), (_MARK,), (_CONTRACT,), (_CALL,)
            ),
        ).record(_HOUR),
        "/api/v1/calls": {"calls": [_CALL], "next": f"{NOW_NS}.{_TRACE}.{_SPAN}", "searched_ns": NOW_NS},
        "/api/v1/calls/{trace_id}/{call_id}": OneCall(
            _CALL
            | {"end_ns": NOW_NS, "views": [_VIEW], "raw_category": "timeout", "retry_of": _SPAN, "retry_after_ms": 2000}
            | {"parent_span_id": _SPAN},
            trace_queries.SpanPage((line,), 1, 1, NOW_NS, NOW_NS),
            (trace_queries.ErrorBody(_SPAN, "server", (("category", "transient"),)),),
        ),
        "/api/v1/spans/{trace_id}/{span_id}": {"attributes": {"mcp.method.name": "tools/call"}, "status_message": "", "events": []},
        "/api/v1/health": Health(
            status,
            (health_queries.Refused("trace id is all zeros", "docs", 7, NOW_NS, NOW_NS, "span b7ad…"),),
            (health_queries.Emitter("docs", "mcp-python-sdk", "2.3.0", 1200, 3000, 0, NOW_NS, "POST /mcp"),),
            (emitter_queries.Understanding("mcp-python-sdk", "2.3.0", Ratio(40, 210), Ratio(800, 1000)),),
            health_queries.Storage(21_000_000, {"call": 1340, "tool_span": 1900}),
            (("docs-mcp", _TALLY),),
        ).record(),
        "/api/v1/status": status.record(),
    }
    return {path: orjson.loads(orjson.dumps(example)) for path, example in made.items()}


_VERDICT = {"outcome": "failure", "emptiness": None, "category": "transient"}

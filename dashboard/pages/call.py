"""One call: its verdict and the rule that decided, what each view says, and the tool spans of its trace."""

from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import Response
from sqlalchemy import Connection

from dashboard import inside, links, queries, trace_queries, waterfall
from dashboard.filters import Filter
from dashboard.moments import MINUTE_NS
from dashboard.site import TheSite, as_csv, as_json, choice, frame, only, page, wants_csv, whole_number

router = APIRouter()


@dataclass(frozen=True, slots=True)
class OneCall:
    """What the page and its JSON twin say."""

    call: dict[str, Any]
    spans: trace_queries.SpanPage
    error_bodies: tuple[trace_queries.ErrorBody, ...]


def read(connection: Connection, trace_id: str, call_id: str, number: int, failed: bool) -> OneCall:
    """The call and a page of the spans of its trace. Raises HTTPException 404 if there is none."""
    trace, call = _id(trace_id, 16), _id(call_id, 8)
    found = trace_queries.one_call(connection, trace, call)
    if found is None:
        raise HTTPException(404, "There is no such call. It may have aged out, or an outer span that came later gave it another id.")
    spans = trace_queries.trace_spans(connection, trace, number, failed)
    # A result that partly failed has an error body too; one that did not has none.
    views = found["views"] if found["outcome"] in ("failure", "partial") else ()
    return OneCall(found, spans, trace_queries.error_bodies(connection, trace, views))


def _id(text: str, size: int) -> bytes:
    if len(text) != 2 * size or not set(text) <= set("0123456789abcdef"):
        raise HTTPException(404, f"An id here is {2 * size} lower-case hexadecimal digits.")
    return bytes.fromhex(text)


def hour_around(start_ns: int, zone: str) -> Filter:
    """All calls within half an hour of a call: where its session and its tool are looked at from its page."""
    middle = max(start_ns - start_ns % MINUTE_NS, 30 * MINUTE_NS)
    return Filter(0, 0).between(middle - 30 * MINUTE_NS, middle + 30 * MINUTE_NS).but(zone=zone)


def _paging(request: Request) -> tuple[int, bool]:
    only(request, "page", "spans")
    spans = choice(request, "spans", ("all", "failed"))
    return whole_number(request, "page", 1, 100_000), spans == "failed"


@router.get("/calls/{trace_id}/{call_id}", include_in_schema=False)
def call_page(request: Request, site: TheSite, trace_id: str, call_id: str) -> Response:
    """The page."""
    now_ns = site.clock()
    number, failed = _paging(request)
    with queries.snapshot(site.engine) as connection:
        around = frame(site, connection, request, None, now_ns)
        data = read(connection, trace_id, call_id, number, failed)
    return page(
        request,
        site,
        "call.html",
        call=data.call,
        spans=data.spans,
        bodies=data.error_bodies,
        meaning=inside.meaning(data.call),
        about=hour_around(data.call["start_ns"], around["zone_asked"]),
        bars=waterfall.bars(data.spans, frozenset(data.call["spans"])),
        number=number,
        failed=failed,
        a_page=trace_queries.SPANS_A_PAGE,
        outside=links.external(site.settings.trace_url, {"trace_id": trace_id, "span_id": call_id}),
        **around,
    )


@router.get("/api/v1/calls/{trace_id}/{call_id}", tags=["read"])
def call_json(request: Request, site: TheSite, trace_id: str, call_id: str) -> Response:
    """One call with each view's own verdict, and the tool spans of its trace, a page of them (with `format=csv` alone)."""
    number, failed = _paging(request)
    to_csv = wants_csv(request)
    with queries.snapshot(site.engine) as connection:
        data = read(connection, trace_id, call_id, number, failed)
    if to_csv:
        names = tuple(trace_queries.SpanLine.__dataclass_fields__)
        return as_csv("spans", names, ([getattr(line, name) for name in names] for line in data.spans.lines))
    return as_json(data)


@router.get("/api/v1/spans/{trace_id}/{span_id}", tags=["read"])
def span_json(site: TheSite, trace_id: str, span_id: str) -> Response:
    """The stored evidence of one tool span."""
    with queries.snapshot(site.engine) as connection:
        evidence = trace_queries.span_evidence(connection, _id(trace_id, 16), _id(span_id, 8))
    if evidence is None:
        raise HTTPException(404, "There is no such tool span. Evidence is kept for a shorter time than calls.")
    return as_json(evidence)

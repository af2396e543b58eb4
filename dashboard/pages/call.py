"""One call: its verdict and the rule that decided, what each view says, and the tool spans of its trace."""

from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import Response
from sqlalchemy import Connection

from dashboard import call_queries, links, queries, waterfall
from dashboard.filters import FilterError
from dashboard.site import COMMON, TheSite, as_json, frame, page, whole_number

router = APIRouter()


@dataclass(frozen=True, slots=True)
class OneCall:
    """What the page and its JSON twin say."""

    call: dict[str, Any]
    spans: call_queries.SpanPage


def read(connection: Connection, trace_id: str, call_id: str, number: int, failed: bool) -> OneCall:
    """The call and a page of the spans of its trace. Raises HTTPException 404 if there is none."""
    trace, call = _id(trace_id, 16), _id(call_id, 8)
    found = call_queries.one_call(connection, trace, call)
    if found is None:
        raise HTTPException(404, "There is no such call. It may have aged out, or an outer span that came later gave it another id.")
    return OneCall(found, call_queries.trace_spans(connection, trace, number, failed))


def _id(text: str, size: int) -> bytes:
    if len(text) != 2 * size or not set(text) <= set("0123456789abcdef"):
        raise HTTPException(404, f"An id here is {2 * size} lower-case hexadecimal digits.")
    return bytes.fromhex(text)


def _paging(request: Request) -> tuple[int, bool]:
    unknown = sorted(set(request.query_params) - COMMON - {"page", "spans"})
    if unknown:
        raise FilterError([f"A call has no filter named “{name[:80]}”." for name in unknown])
    spans = request.query_params.get("spans") or "all"
    if spans not in ("all", "failed"):
        raise FilterError(["“spans” is all or failed."])
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
        bars=waterfall.bars(data.spans, frozenset(data.call["spans"])),
        number=number,
        failed=failed,
        a_page=call_queries.SPANS_A_PAGE,
        outside=links.external(site.settings.trace_url, {"trace_id": trace_id, "span_id": call_id}),
        **around,
    )


@router.get("/api/v1/calls/{trace_id}/{call_id}", tags=["read"])
def call_json(request: Request, site: TheSite, trace_id: str, call_id: str) -> Response:
    """One call with each view's own verdict, and a page of the tool spans of its trace, without payloads."""
    number, failed = _paging(request)
    with queries.snapshot(site.engine) as connection:
        return as_json(read(connection, trace_id, call_id, number, failed))


@router.get("/api/v1/spans/{trace_id}/{span_id}", tags=["read"])
def span_json(site: TheSite, trace_id: str, span_id: str) -> Response:
    """The stored evidence of one tool span."""
    with queries.snapshot(site.engine) as connection:
        evidence = call_queries.span_evidence(connection, _id(trace_id, 16), _id(span_id, 8))
    if evidence is None:
        raise HTTPException(404, "There is no such tool span. Evidence is kept for a shorter time than calls.")
    return as_json(evidence)

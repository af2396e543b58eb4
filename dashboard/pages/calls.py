"""The list of calls: filtered by everything, newest first, paged by key."""

from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from sqlalchemy import Connection

from dashboard import call_queries, queries
from dashboard.filters import CALL_NAMES, Filter
from dashboard.site import TheSite, as_csv, as_json, ask, frame, page, wants_csv, whole_number
from dashboard.tally import Tally
from schemas.calls import CATEGORIES, CHANNELS, EMPTINESS, OUTCOMES
from schemas.export import RECORD_KEYS

router = APIRouter()

A_PAGE = 50
API_DEFAULT = 100
API_MOST = 1000
CSV_ROWS = 1000

# The filters that only this page has a field for, with what they offer.
CHOICES = {
    "outcome": OUTCOMES,
    "emptiness": EMPTINESS,
    "category": CATEGORIES,
    "retryable": ("true", "false", "unknown"),
    "channel": CHANNELS,
}


@dataclass(frozen=True, slots=True)
class Calls:
    """A page of calls; `total` counts all that match, or is None where only reading every call would tell."""

    page: call_queries.CallPage
    total: Tally | None
    errors: call_queries.ErrorTypes | None


def read(connection: Connection, question: Filter, now_ns: int, limit: int, cursor: str, whole: bool) -> Calls:
    """The calls, and with `whole` what stands beside the list: the total and the split by error type."""
    after = call_queries.Cursor.parse(cursor) if cursor else None
    listed = call_queries.list_calls(connection, question, now_ns, limit, after)
    countable = whole and not set(question.active) & set(CALL_NAMES)
    fails = whole and (question.outcome == "failure" or question.category is not None)
    return Calls(
        listed,
        queries.total(connection, question) if countable else None,
        call_queries.error_types(connection, question, now_ns) if fails else None,
    )


@router.get("/calls", include_in_schema=False)
def calls_page(request: Request, site: TheSite) -> Response:
    """The page."""
    now_ns = site.clock()
    question = ask(request, now_ns, "cursor", calls=True)
    cursor = request.query_params.get("cursor", "")
    with queries.snapshot(site.engine) as connection:
        around = frame(site, connection, request, question, now_ns)
        data = read(connection, question, now_ns, A_PAGE, cursor, whole=True)
    return page(request, site, "calls.html", data=data, cursor=cursor, choices=CHOICES, call_names=CALL_NAMES, csv_rows=CSV_ROWS, **around)


@router.get("/api/v1/calls", tags=["read"])
def calls_json(request: Request, site: TheSite) -> Response:
    """Matching calls, newest first: {"calls": […], "next": cursor or null}; `limit` of 1 to 1000, `cursor`, `format=csv`."""
    now_ns = site.clock()
    question = ask(request, now_ns, "cursor", "limit", calls=True)
    to_csv = wants_csv(request)
    limit = whole_number(request, "limit", CSV_ROWS if to_csv else API_DEFAULT, API_MOST)
    with queries.snapshot(site.engine) as connection:
        data = read(connection, question, now_ns, limit, request.query_params.get("cursor", ""), whole=False)
    if to_csv:
        return as_csv("calls", RECORD_KEYS, (list(record.values()) for record in data.page.records))
    following: dict[str, Any] = {"next": str(data.page.next) if data.page.next else None}
    return as_json({"calls": data.page.records, **following})

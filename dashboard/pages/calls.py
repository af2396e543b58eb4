"""The list of calls: filtered by everything, newest first, paged by key, with the columns that the reader chose."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from sqlalchemy import Connection

from dashboard import call_queries, chain_queries, error_queries, facets, grouping, queries
from dashboard.filters import CALL_NAMES, Filter, FilterError
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

COLUMNS = (
    "time", "tool", "verdict", "error", "duration", "client", "environment", "server_duration", "session", "attempt", "channel",
    "emptiness", "decided_by", "category_decided_by", "flags", "trace",
)  # fmt: skip
SHOWN = COLUMNS[:6]


@dataclass(frozen=True, slots=True)
class Calls:
    """A page of calls; `total` counts all that match, or is None where only reading every call would tell."""

    page: call_queries.CallPage
    total: Tally | None
    errors: error_queries.Errors | None
    facets: tuple[facets.Facet, ...]


def in_groups(connection: Connection, records: Sequence[dict[str, Any]], now_ns: int) -> tuple[grouping.Group, ...]:
    """Calls as pages list them: attempts of one operation together, with what became of it."""
    ids = grouping.chain_ids(records)
    return grouping.groups(records, chain_queries.chains_named(connection, ids, now_ns) if ids else {})


def read(connection: Connection, question: Filter, now_ns: int, limit: int, cursor: str, whole: bool) -> Calls:
    """The calls, and with `whole` what stands beside the list: the total, the facets, and the split by error type."""
    after = call_queries.Cursor.parse(cursor) if cursor else None
    listed = call_queries.list_calls(connection, question, now_ns, limit, after)
    countable = whole and not set(question.active) & set(CALL_NAMES)
    fails = countable and (question.outcome == "failure" or question.category is not None)
    return Calls(
        listed,
        queries.total(connection, question) if countable else None,
        error_queries.errors(connection, question, now_ns) if fails else None,
        facets.facets(queries.by_dimensions(connection, question, facets.DIMENSIONS), question) if countable else (),
    )


def _columns(request: Request) -> tuple[str, ...]:
    """The chosen columns in their order: `columns` may be given several times, or as a list with commas."""
    asked = {word for given in request.query_params.getlist("columns") for word in given.split(",") if word}
    unknown = sorted(asked - set(COLUMNS))
    if unknown:
        raise FilterError([f"There is no column named “{name[:80]}”. Columns are {', '.join(COLUMNS)}." for name in unknown])
    return tuple(column for column in COLUMNS if column in (asked or SHOWN))


@router.get("/calls", include_in_schema=False)
def calls_page(request: Request, site: TheSite) -> Response:
    """The page."""
    now_ns = site.clock()
    question = ask(site, request, now_ns, "cursor", "columns", calls=True)
    cursor = request.query_params.get("cursor", "")
    columns = _columns(request)
    with queries.snapshot(site.engine) as connection:
        around = frame(site, connection, request, question, now_ns)
        data = read(connection, question, now_ns, A_PAGE, cursor, whole=True)
        groups = in_groups(connection, data.page.records, now_ns)
    return page(
        request,
        site,
        "calls.html",
        data=data,
        groups=groups,
        cursor=cursor,
        columns=columns,
        keep={"columns": ",".join(columns) if columns != SHOWN else ""},
        all_columns=COLUMNS,
        choices=CHOICES,
        call_names=CALL_NAMES,
        csv_rows=CSV_ROWS,
        # A page of older calls does not change: only the newest one is live.
        live=question.live and not cursor,
        **around,
    )


@router.get("/api/v1/calls", tags=["read"])
def calls_json(request: Request, site: TheSite) -> Response:
    """Matching calls, newest first: {"calls": […], "next": cursor or null}; `limit` of 1 to 1000, `cursor`, `format=csv`."""
    now_ns = site.clock()
    question = ask(site, request, now_ns, "cursor", "limit", calls=True)
    to_csv = wants_csv(request)
    limit = whole_number(request, "limit", CSV_ROWS if to_csv else API_DEFAULT, API_MOST)
    with queries.snapshot(site.engine) as connection:
        data = read(connection, question, now_ns, limit, request.query_params.get("cursor", ""), whole=False)
    if to_csv:
        return as_csv("calls", RECORD_KEYS, (list(record.values()) for record in data.page.records))
    following: dict[str, Any] = {"next": str(data.page.next) if data.page.next else None, "searched_ns": data.page.searched_ns}
    return as_json({"calls": data.page.records, **following})

"""The state of toolvitals itself: what came, what was refused, how far the work is; and the probes of an orchestrator."""

from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from dashboard import health_queries, queries
from dashboard.filters import DAY_NS, FilterError
from dashboard.site import COMMON, Site, TheSite, as_csv, as_json, frame, page, wants_csv

router = APIRouter()

EMITTER_DAYS = 7


@dataclass(frozen=True, slots=True)
class Health:
    """What the page and its JSON twin say."""

    status: health_queries.Status
    refusals: tuple[health_queries.Refused, ...]
    emitters: tuple[health_queries.Emitter, ...]

    def record(self) -> dict[str, Any]:
        """As JSON."""
        return {"status": self.status.record(), "refusals": self.refusals, "emitters": self.emitters}


def read(site: Site, connection: Connection, now_ns: int) -> Health:
    """Everything on the page, of one snapshot."""
    return Health(
        health_queries.status(connection, now_ns, site.settings.clock_skew_s),
        health_queries.refusals(connection),
        health_queries.emitters(connection, now_ns - EMITTER_DAYS * DAY_NS),
    )


def _only(request: Request, *names: str) -> None:
    unknown = sorted(set(request.query_params) - COMMON - set(names))
    if unknown:
        raise FilterError([f"There is no filter named “{name[:80]}” on this page." for name in unknown])


@router.get("/health", include_in_schema=False)
def health_page(request: Request, site: TheSite) -> Response:
    """The page."""
    _only(request)
    now_ns = site.clock()
    with queries.snapshot(site.engine) as connection:
        around = frame(site, connection, request, None, now_ns)
        data = read(site, connection, now_ns)
    return page(
        request,
        site,
        "health.html",
        data=data,
        skewed=sum(emitter.skewed_spans for emitter in data.emitters),
        days=EMITTER_DAYS,
        newest_schema=site.newest_schema,
        settings=site.settings,
        **around,
    )


@router.get("/api/v1/health", tags=["read"])
def health_json(request: Request, site: TheSite) -> Response:
    """Status, refusals and emitters; with `format=csv` one `table` of them: emitters or refusals."""
    _only(request, "table")
    with queries.snapshot(site.engine) as connection:
        data = read(site, connection, site.clock())
    if not wants_csv(request):
        return as_json(data.record())
    table = request.query_params.get("table")
    if table not in ("emitters", "refusals"):
        raise FilterError(["“table” is emitters or refusals."])
    kind = health_queries.Emitter if table == "emitters" else health_queries.Refused
    header = tuple(kind.__dataclass_fields__)
    return as_csv(table, header, ([getattr(row, name) for name in header] for row in getattr(data, table)))


@router.get("/api/v1/status", tags=["read"])
def status_json(site: TheSite) -> Response:
    """Totals since the database was made, the work that is pending, and how far the data reaches."""
    with queries.snapshot(site.engine) as connection:
        return as_json(health_queries.status(connection, site.clock(), site.settings.clock_skew_s).record())


@router.get("/healthz", tags=["probes"])
async def healthz() -> Response:
    """The process is up; does not look at the database."""
    return as_json({"status": "ok"})


@router.get("/readyz", tags=["probes"])
def readyz(site: TheSite) -> Response:
    """The database answers and has the schema of this program; else 503, and what to do."""
    try:
        with queries.snapshot(site.engine) as connection:
            schema = health_queries.schema_version(connection)
    except SQLAlchemyError as error:
        why = f"the database does not answer, or has no schema yet ({type(error).__name__})"
        return as_json({"status": "unready", "reason": why, "hint": "start “toolvitals up”, or check the database URL"}, 503)
    if schema != site.newest_schema:
        why = f"the database has schema {schema}, this program wants {site.newest_schema}"
        hint = "restart all parts of toolvitals with the same version; the newest brings the database up to date"
        return as_json({"status": "unready", "reason": why, "hint": hint}, 503)
    return as_json({"status": "ready", "schema": schema})

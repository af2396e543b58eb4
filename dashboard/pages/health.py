"""The state of toolvitals itself: what came, what was refused, how far the work is; and the probes of an orchestrator."""

from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from dashboard import emitter_queries, filters, health_queries, queries, remedies
from dashboard.filters import FilterError
from dashboard.moments import DAY_NS
from dashboard.site import Site, TheSite, as_csv, as_json, frame, only, page, wants_csv
from dashboard.tally import Tally

router = APIRouter()

EMITTER_DAYS = 7
VERSION = version("toolvitals-server")


@dataclass(frozen=True, slots=True)
class Health:
    """What the page and its JSON twin say."""

    status: health_queries.Status
    refusals: tuple[health_queries.Refused, ...]
    emitters: tuple[health_queries.Emitter, ...]
    understanding: tuple[emitter_queries.Understanding, ...]
    storage: health_queries.Storage
    servers: tuple[tuple[str, Tally], ...]

    def record(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "version": VERSION,
            "status": self.status.record(),
            "refusals": self.refusals,
            "emitters": self.emitters,
            "understanding": [one.record() for one in self.understanding],
            "storage": self.storage,
            "servers": [{"server": server, "calls": tally.calls, "last_ns": tally.last_ns} for server, tally in self.servers],
        }


def read(site: Site, connection: Connection, now_ns: int) -> Health:
    """Everything on the page, of one snapshot."""
    days = filters.parse([("range", f"{EMITTER_DAYS}d")], now_ns)
    return Health(
        health_queries.status(connection, now_ns, site.settings.clock_skew_s),
        health_queries.refusals(connection),
        health_queries.emitters(connection, now_ns - EMITTER_DAYS * DAY_NS),
        emitter_queries.understanding(connection, days, now_ns),
        health_queries.storage(connection),
        queries.by_server(connection, days),
    )


@router.get("/health", include_in_schema=False)
def health_page(request: Request, site: TheSite) -> Response:
    """The page."""
    only(request)
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
        nameless=sum(emitter.tool_spans for emitter in data.emitters if not emitter.service),
        looked_at=emitter_queries.LOOKED_AT,
        remedies=remedies,
        version=VERSION,
        days=EMITTER_DAYS,
        days_question=filters.parse([("range", f"{EMITTER_DAYS}d")], now_ns).but(zone=around["zone_asked"]),
        newest_schema=site.newest_schema,
        settings=site.settings,
        **around,
    )


@router.get("/api/v1/health", tags=["read"])
def health_json(request: Request, site: TheSite) -> Response:
    """Status, refusals and emitters; with `format=csv` one `table`: emitters, refusals, servers or understanding."""
    only(request, "table")
    with queries.snapshot(site.engine) as connection:
        data = read(site, connection, site.clock())
    if not wants_csv(request):
        return as_json(data.record())
    table = request.query_params.get("table") or ""
    rows = {
        "emitters": [asdict(row) for row in data.emitters],
        "refusals": [asdict(row) for row in data.refusals],
        "understanding": [row.record() for row in data.understanding],
        "servers": data.record()["servers"],
    }
    if table not in rows:
        raise FilterError([f"“table” is one of {', '.join(rows)}."])
    header = tuple(rows[table][0]) if rows[table] else ()
    return as_csv(table, header, (list(row.values()) for row in rows[table]))


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

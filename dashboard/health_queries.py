"""Every SQL statement about the intake: totals, lag, refusals, emitters, freshness; each an index look-up or a small table."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, Table, column, func, select, table, text, union_all
from sqlmodel import SQLModel

from dashboard.moments import HOUR_NS
from schemas import tables  # noqa: F401 - declares the tables in the metadata

CALL: Table = SQLModel.metadata.tables["call"]
COUNTER: Table = SQLModel.metadata.tables["counter"]
INTAKE: Table = SQLModel.metadata.tables["intake"]
PENDING: Table = SQLModel.metadata.tables["pending_trace"]
PENDING_BUCKET: Table = SQLModel.metadata.tables["pending_bucket"]
REFUSAL: Table = SQLModel.metadata.tables["refusal"]
ALEMBIC = table("alembic_version", column("version_num"))

# Rollups have no row numbers on SQLite and are small beside these.
LARGE_TABLES = ("tool_span", "call", "ancestry")
COUNTERS = ("received_spans", "tool_spans", "ignored_spans", "refused_spans", "duplicate_spans", "conflicting_spans")


@dataclass(frozen=True, slots=True)
class Freshness:
    """How far the data reaches: start (ns) of the newest call that is not in the future (None: no call), traces not yet settled."""

    newest_ns: int | None
    pending_traces: int
    settled_lag_s: float


@dataclass(frozen=True, slots=True)
class Status:
    """The state in numbers. Totals since the database was made; times in ns, None if there is no call."""

    counters: Mapping[str, int]
    calls: int
    oldest_ns: int | None
    freshness: Freshness
    database: str
    schema: str | None

    def record(self) -> dict[str, int | float | str | None]:
        """As the JSON of /api/v1/status."""
        return {
            **self.counters,
            "pending_traces": self.freshness.pending_traces,
            "calls": self.calls,
            "settled_lag_s": self.freshness.settled_lag_s,
            "oldest_ns": self.oldest_ns,
            "newest_ns": self.freshness.newest_ns,
            "database": self.database,
            "schema": self.schema,
        }


@dataclass(frozen=True, slots=True)
class Emitter:
    """What one instrumentation of one service sent in the hours looked at; `last_ns` is when."""

    service: str
    scope: str
    scope_version: str
    tool_spans: int
    ignored_spans: int
    skewed_spans: int
    last_ns: int
    ignored_sample: str


@dataclass(frozen=True, slots=True)
class Refused:
    """Spans that were not taken, by reason and service, since the database was made."""

    reason: str
    service: str
    count: int
    first_ns: int
    last_ns: int
    sample: str


@dataclass(frozen=True, slots=True)
class Storage:
    """What the database holds: bytes on disk, and about how many rows of each large table."""

    size_bytes: int
    rows: Mapping[str, int]


def storage(connection: Connection) -> Storage:
    """Sizes without counting: SQLite tells pages and row numbers (rows that were removed in between are counted), PostgreSQL estimates."""
    if connection.dialect.name == "postgresql":
        size = connection.execute(select(func.pg_database_size(func.current_database()))).scalar_one()
        classes = table("pg_class", column("relname"), column("reltuples"), column("relkind"))
        estimates = select(classes.c.relname, classes.c.reltuples).where(classes.c.relname.in_(LARGE_TABLES), classes.c.relkind == "r")
        return Storage(int(size), {name: max(0, int(rows)) for name, rows in connection.execute(estimates)})
    pages, a_page = (connection.execute(text(f"PRAGMA {name}")).scalar_one() for name in ("page_count", "page_size"))
    rows = {}
    for name in LARGE_TABLES:
        # One look-up each: SQLite does not see that both are ends of the same tree.
        first, last = (connection.execute(text(f'SELECT {end}(rowid) FROM "{name}"')).scalar_one() for end in ("min", "max"))
        rows[name] = 0 if last is None else last - first + 1
    return Storage(pages * a_page, rows)


def schema_version(connection: Connection) -> str | None:
    """The schema of the database. Raises SQLAlchemy's errors if it has none yet."""
    version: str | None = connection.execute(select(ALEMBIC.c.version_num)).scalar_one_or_none()
    return version


def freshness(connection: Connection, now_ns: int, skew_s: int) -> Freshness:
    """How far the data reaches. A call further in the future than `skew_s` comes from a wrong clock and is never the newest."""
    newest = select(CALL.c.start_ns).where(CALL.c.start_ns <= now_ns + skew_s * 1_000_000_000).order_by(CALL.c.start_ns.desc()).limit(1)
    # What is settled but not yet rolled up is no part of any number yet: only with both lists empty is everything exact.
    waiting = union_all(select(PENDING.c.noted_ns), select(PENDING_BUCKET.c.noted_ns)).subquery()
    pending, noted_ns = connection.execute(select(func.count(), func.min(waiting.c.noted_ns)).select_from(waiting)).one()
    lag = max(0, now_ns - noted_ns) / 1e9 if noted_ns is not None else 0
    return Freshness(connection.execute(newest).scalar_one_or_none(), pending, lag)


def counters(connection: Connection) -> dict[str, int]:
    """The totals, 0 for what never happened."""
    found = {row.name: row.value for row in connection.execute(select(COUNTER.c.name, COUNTER.c.value))}
    return {name: found.get(name, 0) for name in COUNTERS}


def status(connection: Connection, now_ns: int, skew_s: int) -> Status:
    """Everything of /api/v1/status; the calls are counted as they are rolled up."""
    calls = connection.execute(select(COUNTER.c.value).where(COUNTER.c.name == "calls")).scalar_one_or_none()
    oldest = select(CALL.c.start_ns).order_by(CALL.c.start_ns).limit(1)
    return Status(
        counters=counters(connection),
        calls=calls or 0,
        oldest_ns=connection.execute(oldest).scalar_one_or_none(),
        freshness=freshness(connection, now_ns, skew_s),
        database=connection.dialect.name,
        schema=schema_version(connection),
    )


def refusals(connection: Connection, limit: int = 200) -> tuple[Refused, ...]:
    """What was refused, most first."""
    statement = select(*(REFUSAL.c[name] for name in Refused.__dataclass_fields__))
    rows = connection.execute(statement.order_by(REFUSAL.c["count"].desc(), REFUSAL.c.reason, REFUSAL.c.service).limit(limit))
    return tuple(Refused(*row) for row in rows)


def emitters(connection: Connection, since_ns: int, limit: int = 200) -> tuple[Emitter, ...]:
    """Who sent something since the hour of `since_ns`, most tool spans first."""
    keys = (INTAKE.c.service, INTAKE.c.scope, INTAKE.c.scope_version)
    sums = [func.sum(INTAKE.c[name]) for name in ("tool_spans", "ignored_spans", "skewed_spans")]
    statement = (
        select(*keys, *sums, func.max(INTAKE.c.last_ns), func.max(INTAKE.c.ignored_sample))
        .where(INTAKE.c.hour_ns >= since_ns - since_ns % HOUR_NS)
        .group_by(*keys)
        .order_by(sums[0].desc(), sums[1].desc(), *keys)
        .limit(limit)
    )
    rows = connection.execute(statement)
    return tuple(Emitter(*row[:3], int(row[3]), int(row[4]), int(row[5]), int(row[6]), row[7]) for row in rows)

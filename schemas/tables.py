"""The SQL tables; the only place where a column is declared. Times are integer nanoseconds (`_ns`), ids raw bytes."""

from sqlalchemy import BigInteger, Index, LargeBinary, MetaData, Text, UniqueConstraint, text
from sqlmodel import Field, SQLModel

# Names that are the same on every database, so that migrations can speak of them.
SQLModel.metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def partial_index(name: str, *columns: str, known: str = "") -> Index:
    """An index over the rows that have one of its columns: the first, unless `known` names another."""
    there = text(f"{known or columns[0]} IS NOT NULL")
    return Index(name, *columns, sqlite_where=there, postgresql_where=there)


def _arrival_index(name: str, column: str) -> Index:
    """An index by the time of arrival. PostgreSQL alone needs it: SQLite numbers rows as they come (docs/decisions/0007)."""
    return Index(name, column).ddl_if(dialect="postgresql")


class ToolSpanRow(SQLModel, table=True):
    """Evidence: one received tool span."""

    __tablename__ = "tool_span"

    trace_id: bytes = Field(sa_type=LargeBinary, primary_key=True)
    span_id: bytes = Field(sa_type=LargeBinary, primary_key=True)
    parent_span_id: bytes | None = Field(sa_type=LargeBinary)
    start_ns: int = Field(sa_type=BigInteger)
    end_ns: int = Field(sa_type=BigInteger)
    received_ns: int = Field(sa_type=BigInteger)
    kind: int
    status: int
    name: str = Field(sa_type=Text)
    service: str = Field(sa_type=Text)
    environment: str = Field(sa_type=Text)
    scope: str = Field(sa_type=Text)
    scope_version: str = Field(sa_type=Text)
    evidence: str = Field(sa_type=Text)
    content_size: int
    content_hash: int = Field(sa_type=BigInteger)

    # What is oldest goes first.
    __table_args__ = (_arrival_index("ix_tool_span_received_ns", "received_ns"),)


class AncestryRow(SQLModel, table=True):
    """The place in the tree of a span that is no tool span. Pruned by age unless a call rests on it (`kept`)."""

    __tablename__ = "ancestry"

    trace_id: bytes = Field(sa_type=LargeBinary, primary_key=True)
    span_id: bytes = Field(sa_type=LargeBinary, primary_key=True)
    parent_span_id: bytes | None = Field(sa_type=LargeBinary)
    start_ns: int = Field(sa_type=BigInteger)
    end_ns: int = Field(sa_type=BigInteger)
    received_ns: int = Field(sa_type=BigInteger)
    service: str = Field(sa_type=Text)
    name: str = Field(sa_type=Text)
    failed: bool
    error_type: str = Field(sa_type=Text)
    http_status: int | None
    peer: str = Field(sa_type=Text)
    evidence: str | None = Field(sa_type=Text)
    kept: bool

    # What is not kept is pruned by age every minute.
    __table_args__ = (Index("ix_ancestry_received_ns", "received_ns", sqlite_where=text("NOT kept"), postgresql_where=text("NOT kept")),)


class PendingTraceRow(SQLModel, table=True):
    """Work list of the worker: traces with news. `version` grows with each, so none is taken off unseen."""

    __tablename__ = "pending_trace"

    trace_id: bytes = Field(sa_type=LargeBinary, primary_key=True)
    noted_ns: int = Field(sa_type=BigInteger)
    version: int = Field(sa_type=BigInteger)

    # What has waited longest is taken first.
    __table_args__ = (_arrival_index("ix_pending_trace_noted_ns", "noted_ns"),)


class PendingBucketRow(SQLModel, table=True):
    """Work list of the worker: rollup buckets (minutes, by start) whose calls changed."""

    __tablename__ = "pending_bucket"

    bucket_ns: int = Field(sa_type=BigInteger, primary_key=True)
    noted_ns: int = Field(sa_type=BigInteger)
    version: int = Field(sa_type=BigInteger)


class CallRow(SQLModel, table=True):
    """One logical execution of a tool (schemas/calls.py says what each column means)."""

    __tablename__ = "call"

    trace_id: bytes = Field(sa_type=LargeBinary, primary_key=True)
    call_id: bytes = Field(sa_type=LargeBinary, primary_key=True)
    start_ns: int = Field(sa_type=BigInteger)
    end_ns: int | None = Field(sa_type=BigInteger)
    duration_ns: int | None = Field(sa_type=BigInteger)
    server_duration_ns: int | None = Field(sa_type=BigInteger)
    environment: str = Field(sa_type=Text)
    server: str = Field(sa_type=Text)
    client: str = Field(sa_type=Text)
    tool: str = Field(sa_type=Text)
    session: str | None = Field(sa_type=Text)
    outcome: str = Field(sa_type=Text)
    emptiness: str | None = Field(sa_type=Text)
    category: str | None = Field(sa_type=Text)
    raw_category: str | None = Field(sa_type=Text)
    retryable: bool | None
    channel: str | None = Field(sa_type=Text)
    error_type: str | None = Field(sa_type=Text)
    message: str | None = Field(sa_type=Text)
    decided_by: str = Field(sa_type=Text)
    category_decided_by: str | None = Field(sa_type=Text)
    link: str | None = Field(sa_type=Text)
    link_strength: str | None = Field(sa_type=Text)
    attempt: int | None
    chain_id: str | None = Field(sa_type=Text)
    declared_attempt: int | None
    retry_of: bytes | None = Field(sa_type=LargeBinary)  # the call id that it says it repeats
    retry_after_ms: int | None = Field(sa_type=BigInteger)
    arguments_hash: int | None = Field(sa_type=BigInteger)
    result_hash: int | None = Field(sa_type=BigInteger)
    parent_span_id: bytes | None = Field(sa_type=LargeBinary)
    flags: str = Field(sa_type=Text)  # words separated by one space, sorted
    views: str = Field(sa_type=Text)  # JSON array of schemas.calls.View, ids in hex, the outermost first
    failed_children: str = Field(sa_type=Text)  # JSON array of schemas.calls.FailedChild
    duration_idx: int | None  # the bucket of the duration in histograms
    minute_ns: int | None = Field(sa_type=BigInteger)  # start of the minute that it starts in
    likeness: int | None = Field(sa_type=BigInteger)  # the same for calls that are counted together; null as minute_ns: not known

    __table_args__ = (
        Index("ix_call_start_ns", "start_ns"),
        partial_index("ix_call_minute_ns_likeness", "minute_ns", "likeness", "duration_ns", "start_ns", "link").ddl_if("sqlite"),
        Index("ix_call_uncounted", "start_ns", sqlite_where=text("minute_ns IS NULL")).ddl_if("sqlite"),
        Index("ix_call_tool_server_start_ns", "tool", "server", "start_ns"),
        # Linking looks for the call before and after one: of the same arguments, and by what it is named.
        partial_index("ix_call_same_arguments", "session", "tool", "server", "arguments_hash", "start_ns", known="arguments_hash"),
        partial_index("ix_call_retry_of", "retry_of"),
        # The calls of a session by time: of one tool, and whether it went on.
        partial_index("ix_call_session_start_ns_tool_server", "session", "start_ns", "tool", "server"),
    )


class SeriesRow(SQLModel, table=True):
    """The calls that are alike in the dimensions of a grain (schemas/rollups.py); '' where none applies or the grain has none."""

    __tablename__ = "series"

    id: int | None = Field(default=None, primary_key=True)
    grain: int
    environment: str = Field(sa_type=Text)
    server: str = Field(sa_type=Text)
    client: str = Field(sa_type=Text)
    tool: str = Field(sa_type=Text)
    outcome: str = Field(sa_type=Text)
    emptiness: str = Field(sa_type=Text)
    category: str = Field(sa_type=Text)
    retryable: str = Field(sa_type=Text)  # true, false, unknown; '' for calls that did not fail
    channel: str = Field(sa_type=Text)
    strength: str = Field(sa_type=Text)  # of retries: the weakest link of their operation; '' where nothing was retried

    # The tool first: the page of a tool looks its series up.
    __table_args__ = (
        UniqueConstraint(
            *("tool", "server", "grain", "outcome", "environment", "client", "emptiness", "category", "retryable", "channel", "strength"),
            name="uq_series_dimensions",
        ),
    )


class RollupRow(SQLModel, table=True):
    """Additive measures of the calls of one series that start in one bucket, equal to a GROUP BY over call."""

    __tablename__ = "rollup"

    grain: int = Field(primary_key=True)
    width_s: int = Field(primary_key=True)
    bucket_ns: int = Field(sa_type=BigInteger, primary_key=True)
    series_id: int = Field(primary_key=True)
    calls: int = Field(sa_type=BigInteger)
    last_ns: int = Field(sa_type=BigInteger)  # start of the last call
    timed: int = Field(sa_type=BigInteger)  # calls with a known duration; the three below are over these
    # Microseconds, each call cut to whole ones: a sum of nanoseconds that hostile clocks made could leave 64 bits.
    duration_sum_us: int = Field(sa_type=BigInteger)
    duration_min_ns: int | None = Field(sa_type=BigInteger)
    duration_max_ns: int = Field(sa_type=BigInteger)

    # Rows of one range lie side by side, and nothing else stands between them.
    __table_args__ = {"sqlite_with_rowid": False}


class DurationRow(SQLModel, table=True):
    """The histogram of durations (schemas/histogram.py) of one series in one bucket, at the grains that have them."""

    __tablename__ = "duration"

    grain: int = Field(primary_key=True)
    width_s: int = Field(primary_key=True)
    bucket_ns: int = Field(sa_type=BigInteger, primary_key=True)
    series_id: int = Field(primary_key=True)
    packed: bytes = Field(sa_type=LargeBinary)

    __table_args__ = {"sqlite_with_rowid": False}


class ToolNameRow(SQLModel, table=True):
    """A tool name that was called on a UTC day; `named` says whether rollups of the day have it as a dimension."""

    __tablename__ = "tool_name"

    day_ns: int = Field(sa_type=BigInteger, primary_key=True)
    server: str = Field(sa_type=Text, primary_key=True)
    tool: str = Field(sa_type=Text, primary_key=True)
    first_ns: int = Field(sa_type=BigInteger)  # start of its first call of the day
    named: bool

    # The first names of a day, and the days of a name.
    __table_args__ = (
        Index("ix_tool_name_day_ns_server_first_ns_tool", "day_ns", "server", "first_ns", "tool"),
        Index("ix_tool_name_server_tool", "server", "tool"),
    )


class KnownToolRow(SQLModel, table=True):
    """A tool name that has succeeded, on any day."""

    __tablename__ = "known_tool"

    server: str = Field(sa_type=Text, primary_key=True)
    tool: str = Field(sa_type=Text, primary_key=True)


class IntakeRow(SQLModel, table=True):
    """What came, by hour and emitter: the health page and the empty state read it."""

    __tablename__ = "intake"

    hour_ns: int = Field(sa_type=BigInteger, primary_key=True)
    service: str = Field(sa_type=Text, primary_key=True)
    scope: str = Field(sa_type=Text, primary_key=True)
    scope_version: str = Field(sa_type=Text, primary_key=True)
    tool_spans: int = Field(sa_type=BigInteger)
    ignored_spans: int = Field(sa_type=BigInteger)
    skewed_spans: int = Field(sa_type=BigInteger)
    last_ns: int = Field(sa_type=BigInteger)
    ignored_sample: str = Field(sa_type=Text)  # the name of one span that was no tool span


class RefusalRow(SQLModel, table=True):
    """What was refused, why, how often, and a sample."""

    __tablename__ = "refusal"

    reason: str = Field(sa_type=Text, primary_key=True)
    service: str = Field(sa_type=Text, primary_key=True)
    count: int = Field(sa_type=BigInteger)
    first_ns: int = Field(sa_type=BigInteger)
    last_ns: int = Field(sa_type=BigInteger)
    sample: str = Field(sa_type=Text)


class CounterRow(SQLModel, table=True):
    """Totals since the database was made: received_, tool_, ignored_, refused_, duplicate_ and conflicting_spans, and calls."""

    __tablename__ = "counter"

    name: str = Field(sa_type=Text, primary_key=True)
    value: int = Field(sa_type=BigInteger)


class LeaseRow(SQLModel, table=True):
    """Who does a periodic work (retention, alerting, reviews) until when, so that one worker of several does it."""

    __tablename__ = "lease"

    name: str = Field(sa_type=Text, primary_key=True)
    holder: str = Field(sa_type=Text)
    until_ns: int = Field(sa_type=BigInteger)


class MetaRow(SQLModel, table=True):
    """Single facts about this database, such as the key of the argument hashes."""

    __tablename__ = "meta"

    name: str = Field(sa_type=Text, primary_key=True)
    value: str = Field(sa_type=Text)

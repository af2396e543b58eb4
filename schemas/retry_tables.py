"""The SQL tables of operations and retries: what is known of each, and how they are counted ahead (tables.py has the others)."""

from sqlalchemy import BigInteger, Index, LargeBinary, Text
from sqlmodel import Field, SQLModel

from schemas.tables import partial_index


class ChainRow(SQLModel, table=True):
    """An operation that its first call alone does not tell: that call failed, or is itself a retry, or was followed by retries.

    A call that went well at once is an operation without a row. Made of the calls by collector/core/operations.py; where calls are
    pruned it stays until the last of them goes.
    """

    __tablename__ = "chain"

    chain_id: str = Field(sa_type=Text, primary_key=True)  # trace and call id of the first call, in hex
    start_ns: int = Field(sa_type=BigInteger)
    last_start_ns: int = Field(sa_type=BigInteger)  # start of the last attempt
    end_ns: int | None = Field(sa_type=BigInteger)  # end of the last attempt
    # Of the first call.
    first_end_ns: int | None = Field(sa_type=BigInteger)
    environment: str = Field(sa_type=Text)
    server: str = Field(sa_type=Text)
    client: str = Field(sa_type=Text)
    tool: str = Field(sa_type=Text)
    session: str | None = Field(sa_type=Text)
    attempts: int  # those that were received
    headless: bool  # the first that was received says that it is a retry: what came before is unseen
    repair: bool  # the first mends a call that was refused, with other arguments
    strength: str = Field(sa_type=Text)  # the weakest link in it; '' for one attempt that nothing links
    first_outcome: str = Field(sa_type=Text)
    first_category: str | None = Field(sa_type=Text)
    first_retryable: bool | None
    last_outcome: str = Field(sa_type=Text)
    ending: str = Field(sa_type=Text)  # schemas/operations.py has the words; as if nothing more came
    second_ok: bool | None  # whether the second attempt did not fail
    succeeded: bool  # whether any attempt did not fail
    recovered_at: int | None  # of one that failed first: which attempt was the first that did not
    recovered_ns: int | None = Field(sa_type=BigInteger)  # from the end of the first attempt to the end of that one
    recovered_idx: int | None
    growth: int | None = Field(sa_type=BigInteger)  # second gap over first gap, in billionths
    growth_idx: int | None
    hopeful_us: int = Field(sa_type=BigInteger)  # durations of its retries that are not wasted
    uniform: bool  # whether all attempts have the environment, server, client and tool of the first
    closes_ns: int | None = Field(sa_type=BigInteger)  # after a last failure: until when a call can still be a retry of it
    # Of a lone retryable failure: whether its session (its trace, if it has none) has a call that starts after `closes_ns`.
    went_on: bool | None

    __table_args__ = (
        Index("ix_chain_start_ns", "start_ns"),
        # What is open, and what waits for its session to go on.
        partial_index("ix_chain_closes_ns", "closes_ns"),
        partial_index("ix_chain_session_went_on_closes_ns", "session", "went_on", "closes_ns", known="went_on"),
    )


class RetryRow(SQLModel, table=True):
    """A call that is a retry. The last four columns tell of the operation up to it, so that a long one can be gone on with."""

    __tablename__ = "retry"

    trace_id: bytes = Field(sa_type=LargeBinary, primary_key=True)
    call_id: bytes = Field(sa_type=LargeBinary, primary_key=True)
    chain_id: str = Field(sa_type=Text)
    place: int  # which of the attempts that were received, from 1; `call.attempt` is what the emitter says, if it says it
    start_ns: int = Field(sa_type=BigInteger)
    duration_ns: int | None = Field(sa_type=BigInteger)
    environment: str = Field(sa_type=Text)
    server: str = Field(sa_type=Text)
    client: str = Field(sa_type=Text)
    tool: str = Field(sa_type=Text)
    link_strength: str = Field(sa_type=Text)
    failed: bool
    gap_ns: int | None = Field(sa_type=BigInteger)  # from the end of the attempt before
    gap_idx: int | None
    wasted: bool  # the attempt before failed in a way that no retry mends
    early: bool  # it came before the time that the attempt before had asked for
    hot: bool  # it came at once (schemas/operations.py says how soon that is)
    strength_so_far: str = Field(sa_type=Text)
    succeeded_so_far: bool
    uniform_so_far: bool
    hopeful_us_so_far: int = Field(sa_type=BigInteger)

    __table_args__ = (
        Index("ix_retry_chain_id_start_ns_place", "chain_id", "start_ns", "place"),
        Index("ix_retry_start_ns", "start_ns"),
    )


class RetryRollupRow(SQLModel, table=True):
    """Additive measures of attempts and operations in one bucket, as if every operation were closed; docs/metrics.md uses them.

    The series have the dimensions of RETRY_GRAINS (schemas/rollups.py), apart by the strength of the operation. What tells of an
    attempt is counted where it starts, what tells of an operation where its first attempt starts.
    """

    __tablename__ = "retry_rollup"

    grain: int = Field(primary_key=True)
    width_s: int = Field(primary_key=True)
    bucket_ns: int = Field(sa_type=BigInteger, primary_key=True)
    series_id: int = Field(primary_key=True)
    # Attempts.
    attempts: int = Field(sa_type=BigInteger)
    failures: int = Field(sa_type=BigInteger)
    retries: int = Field(sa_type=BigInteger)
    retries_failed: int = Field(sa_type=BigInteger)
    wasted: int = Field(sa_type=BigInteger)  # after a failure that no retry mends
    wasted_ok: int = Field(sa_type=BigInteger)  # of these, those that did not fail
    futile: int = Field(sa_type=BigInteger)  # of operations all of whose attempts failed
    early: int = Field(sa_type=BigInteger)
    hot: int = Field(sa_type=BigInteger)
    hurried: int = Field(sa_type=BigInteger)  # early or hot
    lost_us: int = Field(sa_type=BigInteger)  # durations of those wasted or futile
    repairs: int = Field(sa_type=BigInteger)
    repairs_failed: int = Field(sa_type=BigInteger)
    # Operations; but for the first and the last, only those whose first attempt was received.
    headless: int = Field(sa_type=BigInteger)
    retried: int = Field(sa_type=BigInteger)  # two attempts or more
    second_ok: int = Field(sa_type=BigInteger)
    failed_first: int = Field(sa_type=BigInteger)
    first_retryable: int = Field(sa_type=BigInteger)
    failed_retried: int = Field(sa_type=BigInteger)  # failed first, and two attempts or more
    failed_third: int = Field(sa_type=BigInteger)  # failed first, and three attempts or more
    failed_fourth: int = Field(sa_type=BigInteger)
    recovered: int = Field(sa_type=BigInteger)
    recovered_second: int = Field(sa_type=BigInteger)  # of these, at the second attempt
    recovered_third: int = Field(sa_type=BigInteger)
    exhausted: int = Field(sa_type=BigInteger)
    missed: int = Field(sa_type=BigInteger)
    failed_last: int = Field(sa_type=BigInteger)  # the last attempt failed
    # What the histograms lie between; growth in billionths.
    gap_min_ns: int | None = Field(sa_type=BigInteger)
    gap_max_ns: int = Field(sa_type=BigInteger)
    recovery_min_ns: int | None = Field(sa_type=BigInteger)
    recovery_max_ns: int = Field(sa_type=BigInteger)
    growth_min: int | None = Field(sa_type=BigInteger)
    growth_max: int = Field(sa_type=BigInteger)

    __table_args__ = {"sqlite_with_rowid": False}


class RetryHistogramRow(SQLModel, table=True):
    """The histograms (schemas/histogram.py) of the gaps of retries, of times to recovery, and of the growth of gaps."""

    __tablename__ = "retry_histogram"

    grain: int = Field(primary_key=True)
    width_s: int = Field(primary_key=True)
    bucket_ns: int = Field(sa_type=BigInteger, primary_key=True)
    series_id: int = Field(primary_key=True)
    gaps: bytes = Field(sa_type=LargeBinary)
    recoveries: bytes = Field(sa_type=LargeBinary)
    growths: bytes = Field(sa_type=LargeBinary)

    __table_args__ = {"sqlite_with_rowid": False}

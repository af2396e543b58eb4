"""What a bucket is counted from: its calls, its retries and the operations that begin in it, alike ones as one row each."""

from collections.abc import Iterator
from itertools import chain
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Connection, Select, case, cast, func, select

from collector.statements import table
from schemas.retry_tables import ChainRow, RetryRow
from schemas.rollups import DIMENSIONS, MINUTE_S, PLACES, SECOND_NS
from schemas.tables import CallRow

# What calls of one likeness have in common is read of one of them; the rest stands in the index, in the order of groups.
_ALIKE = """
    SELECT environment, server, client, tool, outcome, coalesce(emptiness, ''), coalesce(category, ''),
           CASE WHEN outcome <> 'failure' THEN '' WHEN retryable IS NULL THEN 'unknown' WHEN retryable THEN 'true' ELSE 'false' END,
           coalesce(channel, ''), duration_idx, calls, first_ns, last_ns, sum_us, min_ns, max_ns, repairs
    FROM (
        SELECT min(rowid) AS one, count(*) AS calls, min(start_ns) AS first_ns, max(start_ns) AS last_ns,
               coalesce(sum(duration_ns / 1000), 0) AS sum_us, min(duration_ns) AS min_ns, coalesce(max(duration_ns), 0) AS max_ns,
               sum(link = 'repair') AS repairs
        FROM "call" WHERE minute_ns = ? GROUP BY likeness
    ) JOIN "call" ON "call".rowid = one
"""


def calls_of(connection: Connection, bucket_ns: int, width_s: int) -> Iterator[tuple[Any, ...]]:
    """The calls of a bucket as counting.Group; of those that are alike there may be several groups."""
    if connection.dialect.name != "sqlite":
        return map(tuple, connection.execute(grouped(bucket_ns, width_s)))
    # To group by texts SQLite sorts every call anew, and a busy minute is counted many times: by likeness it takes a tenth of that.
    width_ns, minute_ns = width_s * SECOND_NS, MINUTE_S * SECOND_NS
    minutes = range(bucket_ns, bucket_ns + width_ns, minute_ns)
    alike = chain.from_iterable(connection.exec_driver_sql(_ALIKE, (minute,)) for minute in minutes)
    unlike = connection.execute(grouped(bucket_ns, width_s).where(table(CallRow).c.minute_ns.is_(None)))
    return map(tuple, chain(alike, unlike))


def grouped(bucket_ns: int, width_s: int) -> Select[Any]:
    """The calls of a bucket as counting.Group: a GROUP BY over call."""
    call = table(CallRow).c
    failed = case((call.retryable.is_(True), "true"), (call.retryable.is_(False), "false"), else_="unknown")
    by: dict[str, ColumnElement[Any]] = {name: call[name] for name in (*PLACES, "outcome")}
    by |= {name: func.coalesce(call[name], "") for name in ("emptiness", "category", "channel")}
    by["retryable"] = case((call.outcome == "failure", failed), else_="")
    keys = [*(by[name] for name in DIMENSIONS), call.duration_idx]
    return (
        select(
            *keys,
            func.count(),
            func.min(call.start_ns),
            func.max(call.start_ns),
            cast(func.coalesce(func.sum(call.duration_ns // 1000), 0), BigInteger),
            func.min(call.duration_ns),
            func.coalesce(func.max(call.duration_ns), 0),
            func.sum(case((call.link == "repair", 1), else_=0)),
        )
        .where(*_within(call.start_ns, bucket_ns, width_s))
        .group_by(*keys)
    )


def grouped_retries(bucket_ns: int, width_s: int) -> Select[Any]:
    """The retries of a bucket as retry_counting.RetryGroup."""
    retry, chain = table(RetryRow).c, table(ChainRow).c
    keys = [
        *(retry[name] for name in PLACES),
        *(chain.strength, chain.succeeded, retry.failed, retry.wasted, retry.early, retry.hot, retry.gap_idx),
    ]
    return (
        select(
            *keys,
            func.count(),
            cast(func.coalesce(func.sum(retry.duration_ns // 1000), 0), BigInteger),
            func.min(retry.gap_ns),
            func.coalesce(func.max(retry.gap_ns), 0),
        )
        .where(chain.chain_id == retry.chain_id, *_within(retry.start_ns, bucket_ns, width_s))
        .group_by(*keys)
    )


def grouped_operations(bucket_ns: int, width_s: int) -> Select[Any]:
    """The operations that begin in a bucket, of those that have a row, as retry_counting.OperationGroup."""
    chain = table(ChainRow).c
    # The number of attempts counts no further than this: long operations that are alike are one row.
    attempts, recovered_at = (case((one > 3, 4), else_=one) for one in (chain.attempts, chain.recovered_at))
    keys = [
        *(chain[name] for name in PLACES),
        *(
            chain.strength,
            chain.headless,
            chain.repair,
            chain.first_outcome,
            chain.first_retryable,
            attempts,
            chain.ending,
            chain.second_ok,
        ),
        *(recovered_at, chain.recovered_idx, chain.growth_idx),
    ]
    return (
        select(
            *keys,
            func.count(),
            func.min(chain.recovered_ns),
            func.coalesce(func.max(chain.recovered_ns), 0),
            func.min(chain.growth),
            func.coalesce(func.max(chain.growth), 0),
        )
        .where(*_within(chain.start_ns, bucket_ns, width_s))
        .group_by(*keys)
    )


def _within(start_ns: ColumnElement[int], bucket_ns: int, width_s: int) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return start_ns >= bucket_ns, start_ns < bucket_ns + width_s * SECOND_NS

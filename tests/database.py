"""A database with its collector's and its worker's side, driven without processes and clocks."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from sqlalchemy import Engine, delete, event, text
from sqlmodel import SQLModel

from collector.core.decode import Decoder
from collector.store import Store
from collector.work.settle import Settler
from collector.work_store import WorkStore
from schemas import histogram
from schemas.database import open_database
from schemas.rollups import NAMES_A_DAY
from schemas.settings import Settings
from schemas.spans import Decoded
from tests.spans import HASH_KEY, NOW_NS, request

# All measures of all calls at every width and grain, from the calls alone; `counts` is the histogram as text.
JOINED = {"sqlite": "group_concat(duration_idx)", "postgresql": "string_agg(CAST(duration_idx AS TEXT), ',')"}
ROLLUP_IS = """
    WITH width(width_s, width_ns) AS (VALUES (60, 60000000000), (900, 900000000000), (7200, 7200000000000), (86400, 86400000000000)),
    grain(grain) AS (VALUES (0), (1), (2)),
    named AS (
        SELECT *, start_ns - start_ns % 86400000000000 AS day_ns,
               (server, tool) IN (SELECT server, tool FROM call WHERE outcome IN ('success', 'partial')) AS known
        FROM call
    ),
    dated AS (SELECT *, min(start_ns) OVER (PARTITION BY day_ns, server, tool) AS first_ns FROM named),
    placed AS (SELECT *, DENSE_RANK() OVER (PARTITION BY day_ns, server ORDER BY first_ns, tool) AS place FROM dated),
    folded AS MATERIALIZED (SELECT *, CASE WHEN known OR place <= :names THEN tool ELSE '(other)' END AS shown FROM placed)
    SELECT grain, width_s, start_ns - start_ns % width_ns AS bucket_ns, environment,
           CASE WHEN grain < 2 THEN server ELSE '' END AS server, CASE WHEN grain < 1 THEN client ELSE '' END AS client,
           CASE WHEN grain < 2 THEN shown ELSE '' END AS tool, outcome,
           coalesce(emptiness, '') AS emptiness, coalesce(category, '') AS category,
           CASE WHEN outcome <> 'failure' THEN '' WHEN retryable IS NULL THEN 'unknown' WHEN retryable THEN 'true' ELSE 'false' END
               AS retryable,
           CASE WHEN grain < 1 THEN coalesce(channel, '') ELSE '' END AS channel, count(*) AS calls, max(start_ns) AS last_ns,
           count(duration_ns) AS timed, coalesce(sum(duration_ns / 1000), 0) AS duration_sum_us,
           min(duration_ns) AS duration_min_ns, coalesce(max(duration_ns), 0) AS duration_max_ns,
           CASE WHEN grain < 2 THEN {joined} END AS counts
    FROM folded CROSS JOIN width CROSS JOIN grain GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12
"""
ROLLUP = """
    SELECT grain, width_s, bucket_ns, environment, server, client, tool, outcome, emptiness, category, retryable, channel,
           calls, last_ns, timed, duration_sum_us, duration_min_ns, duration_max_ns, packed AS counts
    FROM (SELECT id AS series_id, * FROM series) AS named JOIN rollup USING (series_id, grain)
    LEFT JOIN duration USING (grain, width_s, bucket_ns, series_id)
"""


def engine_of(url: str) -> Engine:
    """An open database, as fast as it can be: no test pulls the plug."""
    engine = open_database(Settings(database_url=url).sqlalchemy_url)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", lambda connection, _: connection.execute("PRAGMA synchronous = OFF"))
    return engine


class Database:
    """A migrated database whose argument hashes have a fixed key; `use` changes the settings as a restart would."""

    def __init__(self, url: str, *, names_a_day: int = NAMES_A_DAY, **settings: Any) -> None:
        self.url = url
        self.engine = engine_of(url)
        with self.engine.begin() as connection:
            connection.execute(text("INSERT INTO meta VALUES ('hash_key', :key) ON CONFLICT (name) DO NOTHING"), {"key": HASH_KEY.hex()})
        self.store = Store(self.engine)
        self.names_a_day = names_a_day
        self.work = WorkStore(self.engine, names_a_day)
        self.use(**settings)

    def use(self, **settings: Any) -> None:
        """Read and judge under these settings from now on."""
        self.settings = Settings(**settings)
        self.decoder = Decoder(self.settings, self.store.hash_key())
        self.settler = Settler(self.work, self.settings)

    def decoded(self, given: Span | ExportTraceServiceRequest, now_ns: int = NOW_NS) -> Decoded:
        """What one request (or a lone span) holds."""
        return self.decoder.decode(request(given) if isinstance(given, Span) else given, now_ns)

    def insert(self, *given: Span | ExportTraceServiceRequest, now_ns: int = NOW_NS) -> None:
        """Receive each of these in a transaction of its own."""
        for one in given:
            self.store.insert([self.decoded(one, now_ns)], now_ns)

    def insert_together(self, given: Iterable[Span | ExportTraceServiceRequest], now_ns: int = NOW_NS) -> None:
        """Receive these in one transaction."""
        self.store.insert([self.decoded(one, now_ns) for one in given], now_ns)

    def settle(self, now_ns: int = NOW_NS) -> None:
        """Settle and roll up until nothing is pending."""
        while self.settler.settle(now_ns):
            pass
        while self.settler.roll_up():
            pass

    def take(self, *given: Span | ExportTraceServiceRequest) -> list[dict[str, Any]]:
        """Receive these, settle, and give all calls."""
        self.insert(*given)
        self.settle()
        return self.calls()

    def rebuild(self) -> None:
        """Judge every stored span anew."""
        after: bytes | None = None
        while True:
            after, count = self.work.mark_all_pending(after, 100, NOW_NS)
            if not count:
                break
        self.settle()

    def rows(self, query: str, **values: Any) -> list[dict[str, Any]]:
        """What the database holds."""
        with self.engine.connect() as connection:
            return [dict(row) for row in connection.execute(text(query), values).mappings()]

    def calls(self) -> list[dict[str, Any]]:
        """All calls in order of start."""
        return self.rows("SELECT * FROM call ORDER BY start_ns, trace_id, call_id")

    def rollup(self) -> list[dict[str, Any]]:
        """All rollup rows in order, with their dimensions and their histogram as counts by bucket."""
        rows = self.rows(f"SELECT * FROM ({ROLLUP}) AS found ORDER BY {KEYS}")
        return [row | {"counts": histogram.unpack([row["counts"] or b""])} for row in rows]

    def rollup_as_it_must_be(self) -> list[dict[str, Any]]:
        """What a GROUP BY over all calls says."""
        query = ROLLUP_IS.format(joined=JOINED[self.engine.dialect.name])
        rows = self.rows(f"SELECT * FROM ({query}) AS found ORDER BY {KEYS}", names=self.names_a_day)
        return [row | {"counts": Counter(map(int, (row["counts"] or "").split(",") if row["counts"] else ()))} for row in rows]

    def counters(self) -> dict[str, int]:
        """The totals of spans."""
        return {row["name"]: row["value"] for row in self.rows("SELECT * FROM counter WHERE name LIKE '%\\_spans' ESCAPE '\\'")}

    def empty(self) -> None:
        """Remove everything but the schema and the key."""
        with self.engine.begin() as connection:
            for table in reversed(SQLModel.metadata.sorted_tables):
                if table.name != "meta":
                    connection.execute(delete(table))

    def close(self) -> None:
        """Let go of the connections."""
        self.engine.dispose()


# For tests of what only one engine has, such as pragmas and the size of a file.
on_sqlite = pytest.mark.parametrize("new_url", ["sqlite"], indirect=True)
on_postgresql = pytest.mark.parametrize("new_url", ["postgresql"], indirect=True)

KEYS = "grain, width_s, bucket_ns, environment, server, client, tool, outcome, emptiness, category, retryable, channel"
NewDatabase = Callable[..., Database]
# Fills a database in the same way each time.
Fill = Callable[[Engine], None]

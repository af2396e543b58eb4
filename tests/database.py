"""A database with its collector's and its worker's side, driven without processes and clocks."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from sqlalchemy import Engine, text

from collector.core.decode import Decoder
from collector.store import Store
from collector.work.settle import Settler
from collector.work_store import WorkStore
from schemas.database import open_database
from schemas.settings import Settings
from schemas.spans import Decoded
from tests.spans import HASH_KEY, NOW_NS, request

ROLLUP_IS = """
    SELECT start_ns - start_ns % 60000000000 AS bucket_ns, environment, server, client, tool, outcome,
           coalesce(emptiness, '') AS emptiness, coalesce(category, '') AS category,
           CASE WHEN outcome <> 'failure' THEN '' WHEN retryable IS NULL THEN 'unknown' WHEN retryable THEN 'true' ELSE 'false' END
               AS retryable,
           coalesce(channel, '') AS channel, count(*) AS calls, count(duration_ns) AS timed,
           coalesce(sum(duration_ns), 0) AS duration_sum_ns, coalesce(max(duration_ns), 0) AS duration_max_ns
    FROM call GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
"""


class Database:
    """A migrated SQLite file whose argument hashes have a fixed key; `use` changes the settings as a restart would."""

    def __init__(self, path: Path, **settings: Any) -> None:
        self.engine: Engine = open_database(f"sqlite:///{path}")
        with self.engine.begin() as connection:
            connection.execute(
                text("INSERT INTO meta VALUES ('hash_key', :key) ON CONFLICT (name) DO NOTHING"), {"key": HASH_KEY.hex()}
            )
        self.store = Store(self.engine)
        self.work = WorkStore(self.engine)
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
        """All rollup rows, in their order."""
        return self.rows(f"SELECT * FROM rollup ORDER BY {KEYS}")

    def rollup_as_it_must_be(self) -> list[dict[str, Any]]:
        """What a GROUP BY over all calls says."""
        return self.rows(f"SELECT * FROM ({ROLLUP_IS}) ORDER BY {KEYS}")

    def counters(self) -> dict[str, int]:
        """The totals."""
        return {row["name"]: row["value"] for row in self.rows("SELECT * FROM counter")}

    def empty(self) -> None:
        """Remove everything but the schema and the key."""
        with self.engine.begin() as connection:
            for table in ("tool_span", "ancestry", "pending_trace", "pending_bucket", "call", "rollup", "intake", "refusal", "counter"):
                connection.execute(text(f"DELETE FROM {table}"))

    def close(self) -> None:
        """Let go of the file."""
        self.engine.dispose()


KEYS = "bucket_ns, environment, server, client, tool, outcome, emptiness, category, retryable, channel"
NewDatabase = Callable[..., Database]

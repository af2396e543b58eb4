"""A collector on real ports over a store that the test holds in its hands."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence

import httpx
import pytest

from collector.app import Collector
from schemas.settings import Settings
from schemas.spans import Decoded


def wait_until(true: Callable[[], bool]) -> None:
    """Ask until it is so; each question takes a round trip, so this does not spin."""
    for _ in range(20_000):
        if true():
            return
    raise AssertionError("it never became so")


class HeldStore:
    """Keeps what it is given. A test can hold it back (`hold`, `release`) and make its next inserts fail (`failures`)."""

    def __init__(self) -> None:
        self.groups: list[tuple[Decoded, ...]] = []
        self.failures: list[Exception] = []
        self.refuses: Callable[[Sequence[Decoded]], Exception | None] = lambda batch: None
        self.entered = threading.Semaphore(0)
        self._open = threading.Event()
        self._open.set()

    def hold(self) -> None:
        self._open.clear()

    def release(self) -> None:
        self._open.set()

    def wait_until_entered(self) -> None:
        assert self.entered.acquire(timeout=60)

    def insert(self, batch: Sequence[Decoded], now_ns: int) -> None:
        self.entered.release()
        assert self._open.wait(60)
        if self.failures:
            raise self.failures.pop(0)
        error = self.refuses(batch)
        if error is not None:
            raise error
        self.groups.append(tuple(batch))

    def ping(self) -> None:
        """It answers."""

    def hash_key(self) -> bytes:
        return b"k" * 16

    @property
    def requests(self) -> list[Decoded]:
        return [one for group in self.groups for one in group]

    @property
    def span_names(self) -> list[str]:
        return [span.name for one in self.requests for span in one.tool_spans]

    @property
    def refused(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        for one in self.requests:
            for refusal in one.refusals:
                counts[refusal.reason] = counts.get(refusal.reason, 0) + refusal.count
        return counts


class Edge:
    """A collector that serves, its store, and the ways to it."""

    def __init__(self, store: HeldStore, **settings: object) -> None:
        self.store = store
        self.collector = Collector(Settings(otlp_http_port=0, otlp_grpc_port=0, **settings), store)
        self.collector.start()
        self.url = f"http://127.0.0.1:{self.collector.http_port}"
        self.target = f"127.0.0.1:{self.collector.grpc_port}"
        self.client = httpx.Client(base_url=self.url, timeout=60)

    def post(self, body: bytes, content_type: str = "application/x-protobuf", path: str = "/v1/traces", **headers: str) -> httpx.Response:
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.client.post(path, content=body, headers={"content-type": content_type, **more})

    @property
    def bytes_in_work(self) -> int:
        held: int = self.client.get("/healthz").json()["bytes_in_work"]
        return held

    def close(self) -> None:
        self.store.release()
        self.client.close()
        self.collector.stop()


@pytest.fixture
def store() -> HeldStore:
    return HeldStore()


@pytest.fixture
def serve(store: HeldStore) -> Iterator[Callable[..., Edge]]:
    """Start a collector with these settings."""
    edges: list[Edge] = []

    def start(**settings: object) -> Edge:
        edges.append(Edge(store, **settings))
        return edges[-1]

    yield start
    for edge in edges:
        edge.close()


@pytest.fixture
def edge(serve: Callable[..., Edge]) -> Edge:
    """A collector with the default settings."""
    return serve()


@pytest.fixture
def now_ns() -> int:
    return time.time_ns()

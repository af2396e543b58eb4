"""Wires the parts of the collector, starts and stops them in order."""

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType

from sqlalchemy import Engine

from collector.children import collect_seldom
from collector.core.decode import Decoder
from collector.receive.http_server import HttpServer, cannot_be_had
from collector.receive.ingest import Ingest
from collector.receive.otlp_grpc import OtlpGrpc
from collector.receive.otlp_http import OtlpHttp
from collector.receive.readers import Readers
from collector.receive.reading import Reader
from collector.receive.writer import Writer
from collector.store import Store
from schemas.settings import Settings

log = logging.getLogger(__name__)

# How long a stop waits for requests in work. Longer than the database is waited for, so that each of them is answered.
GRACE_S = 10


# Reading holds the interpreter, so it has processes of its own; the one writer stores no more than four of them bring.
MOST_READERS = 4
# The writer lets go of the interpreter for every statement; it must not wait five milliseconds to get it back.
SWITCH_INTERVAL_S = 0.0005


class CannotStart(Exception):
    """The collector cannot serve; the text says why and what to do."""


class Collector:
    """Receives spans over HTTP and gRPC. `start` serves in threads of its own; `stop` may be called twice.

    Requests are read in so many `processes`, or with 0 in the thread that takes them, which is simpler and on one core as fast.
    """

    def __init__(self, settings: Settings, store: Store, *, processes: int = 0) -> None:
        self._settings = settings
        self._writer = Writer(store.insert, time.time_ns)
        key = store.hash_key()
        self._reader = Readers(settings, key, processes) if processes else Reader(Decoder(settings, key))
        self._ingest = Ingest(settings, self._reader.read, self._writer, time.time_ns)
        self._web = OtlpHttp(self._ingest, store.ping, settings.cors_origins)
        self._http = HttpServer(self._web.app, self._web.stop_reading, GRACE_S)
        self._grpc = OtlpGrpc(self._ingest)
        self.http_port = 0
        self.grpc_port = 0

    def start(self) -> None:
        """Serve. Raises CannotStart if a port cannot be had, with nothing left running."""
        settings = self._settings
        self.http_port = self._served(self._http.start, "OTLP over HTTP", "otlp_http_port", settings.otlp_http_port)
        self.grpc_port = self._served(self._grpc.start, "OTLP over gRPC", "otlp_grpc_port", settings.otlp_grpc_port)
        log.info(
            "takes spans on http://%s:%d/v1/traces and by gRPC on %s:%d",
            settings.host,
            self.http_port,
            settings.host,
            self.grpc_port,
        )

    def _served(self, start: Callable[[str, int], int], what: str, setting: str, port: int) -> int:
        host = self._settings.host
        try:
            return start(host, port)
        except (OSError, RuntimeError) as error:
            self.stop()
            raise CannotStart(cannot_be_had(error, what, host, port, setting)) from error

    def stop(self) -> None:
        """Stop without losing anything that was accepted."""
        # 1. Take nothing new on either port; what is being read is asked to come again, what is read runs on.
        grpc_answered = self._grpc.stop(GRACE_S)
        # 2. Wait until every request in work is committed and answered. The writer still runs: they wait for it.
        self._http.stop()
        grpc_answered()
        # 3. Count the last refused requests, and write all that is left.
        self._ingest.notes.write()
        self._writer.close()
        # 4. No one reads requests any more. The engine is the caller's.
        self._web.close()
        self._reader.close()


def run_collector(settings: Settings, engine: Engine) -> None:
    """Receive until SIGINT or SIGTERM, then stop without losing anything. Exits with 1 and one line if it cannot start."""
    asked_to_stop = threading.Event()

    def stop(_signal: int, _frame: FrameType | None) -> None:
        asked_to_stop.set()
        # A second one ends the process at once: nothing that was answered is lost by that.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    collect_seldom()
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    collector = Collector(settings, Store(engine), processes=min(MOST_READERS, os.cpu_count() or 1))
    try:
        collector.start()
    except CannotStart as error:
        raise SystemExit(f"toolvitals: {error}") from error
    asked_to_stop.wait()
    log.info("stops: answers what is in work, takes nothing new")
    collector.stop()
    log.info("stopped")

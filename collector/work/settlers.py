"""Settles in processes of their own beside the worker's: judging holds the interpreter, and one interpreter uses one core.

Each has its lane, and ends when the other end of its pipe is gone, however the worker ended; signals that reach the whole group do not
end it earlier, so that what it is at comes to its end.
"""

import logging
import multiprocessing
import signal
import time
from multiprocessing.connection import Connection

from sqlalchemy.exc import SQLAlchemyError

from collector.receive.readers import collect_seldom
from collector.work.settle import Settler, SettleSettings
from collector.work_store import Lane, WorkStore
from schemas.database import open_database

# How long to wait when nothing is pending, and after a failure.
IDLE_S = 0.5
FAILED_S = 2.0

log = logging.getLogger(__name__)


class Settlers:
    """So many processes, each with a lane: the first lane is the worker's own. With none, all traces are."""

    def __init__(self, url: str, settings: SettleSettings, count: int) -> None:
        self.own = Lane(0, count + 1)
        self._all = [_Process(url, settings, Lane(number, count + 1)) for number in range(1, count + 1)]

    def tend(self) -> None:
        """Start those anew that have ended: nobody else settles their lane."""
        for one in self._all:
            one.tend()

    def close(self) -> None:
        """Let each end after the step that it is at; what is pending in its lane stays so."""
        for one in self._all:
            one.close()
        self._all = []


class _Process:
    def __init__(self, url: str, settings: SettleSettings, lane: Lane) -> None:
        self._arguments = (url, settings, lane)
        self._start()

    def _start(self) -> None:
        # A fresh interpreter: a fork would copy the locks of threads that do not exist in it.
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, *self._arguments), name="settler", daemon=True)
        self._process.start()
        theirs.close()  # so that the end of the process is the end of the pipe

    def tend(self) -> None:
        if not self._process.is_alive():
            log.warning("a settling process ended (exit code %s), it is started again", self._process.exitcode)
            self.close()
            self._start()

    def close(self) -> None:
        self._connection.close()
        self._process.join()
        self._process.close()


def _serve(connection: Connection, url: str, settings: SettleSettings, lane: Lane) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    collect_seldom()
    engine = open_database(url)
    settler = Settler(WorkStore(engine), settings)
    wait_s = 0.0
    # Nothing is ever sent: what there is to read is the end of the pipe.
    while not connection.poll(wait_s):
        try:
            wait_s = 0.0 if settler.settle(time.time_ns(), lane=lane) else IDLE_S
        except SQLAlchemyError as error:
            wait_s = FAILED_S
            log.warning("settling failed, trying again in %.0f s: %s", FAILED_S, type(error).__name__)
    engine.dispose()

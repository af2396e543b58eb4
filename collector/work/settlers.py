"""Settles in processes of their own beside the worker's: judging holds the interpreter, and one interpreter uses one core."""

import logging
import time
from multiprocessing.connection import Connection

from sqlalchemy.exc import SQLAlchemyError

from collector.children import Child
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
        self._all = [Child("settler", _serve, url, settings, Lane(number, count + 1)) for number in range(1, count + 1)]

    def tend(self) -> None:
        """Start those anew that have ended: nobody else settles their lane."""
        for one in self._all:
            if not one.process.is_alive():
                log.warning("a settling process ended (exit code %s), it is started again", one.process.exitcode)
                one.restart()

    def close(self) -> None:
        """Let each end after the step that it is at; what is pending in its lane stays so."""
        while self._all:
            self._all.pop().close()


def _serve(connection: Connection, url: str, settings: SettleSettings, lane: Lane) -> None:
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

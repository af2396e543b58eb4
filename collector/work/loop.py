"""The worker's loop: settle while there is something to settle, roll up every two seconds, prune every minute."""

import gc
import logging
import signal
import threading
import time
from typing import Protocol

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from collector.pruning import PruneStore
from collector.work.retention import Retention, RetentionSettings
from collector.work.settle import Settler, SettleSettings
from collector.work_store import WorkStore

ROLL_UP_EVERY_S = 2.0
PRUNE_EVERY_S = 60.0
# Of each round, as long as there is something to prune: spans that come in meanwhile are settled between.
PRUNING_S = 0.2
# How long to wait when nothing is pending, and after a failure.
IDLE_S = 0.5
FAILED_S = 2.0

GARBAGE_THRESHOLD = 50_000

log = logging.getLogger(__name__)


class WorkerSettings(SettleSettings, RetentionSettings, Protocol):
    """What the worker needs to know."""


class Worker:
    """One worker. Several may run on one database."""

    def __init__(self, store: WorkStore, pruning: PruneStore, settings: WorkerSettings) -> None:
        self._settler = Settler(store, settings)
        self._retention = Retention(store, pruning, settings, time.monotonic)
        self._stop = threading.Event()

    def stop(self) -> None:
        """Ask the loop to settle what is pending and return."""
        self._stop.set()

    def run(self) -> None:
        """Work until stop() is called, then settle what is pending still. A database that is busy or away is tried again."""
        rolled_up = pruned = 0.0
        while not self._stop.is_set():
            try:
                settled = self._settler.settle(time.time_ns())
                if time.monotonic() - rolled_up >= ROLL_UP_EVERY_S:
                    self._settler.roll_up()
                    rolled_up = time.monotonic()
                if time.monotonic() - pruned >= PRUNE_EVERY_S:
                    # What is left over is gone on with in the next round.
                    if self._prune():
                        settled += 1
                    else:
                        pruned = time.monotonic()
            except SQLAlchemyError as error:
                log.warning(
                    "settling failed, trying again in %.0f s: %s",
                    FAILED_S,
                    type(error).__name__,
                    exc_info=log.isEnabledFor(logging.DEBUG),
                )
                self._stop.wait(FAILED_S)
                continue
            if not settled:
                self._stop.wait(IDLE_S)
        self.finish()

    def finish(self) -> None:
        """Settle and roll up until nothing is pending, or the database does not answer: the work list waits for the next start."""
        try:
            while self._settler.settle(time.time_ns()):
                pass
            while self._settler.roll_up():
                pass
        except SQLAlchemyError as error:
            log.warning("what is pending is left for the next start: %s", type(error).__name__)

    def _prune(self) -> bool:
        """Prune for a while. Returns whether something is left."""
        until = time.monotonic() + PRUNING_S
        while time.monotonic() < until and not self._stop.is_set():
            if self._retention.step(time.time_ns()) is None:
                return False
        return not self._stop.is_set()


def run_worker(settings: WorkerSettings, engine: Engine) -> None:
    """Run a worker until SIGINT or SIGTERM, then settle what is pending and return."""
    # Settling makes thousands of small objects that all end together: looking for circles among them all the time is wasted.
    gc.freeze()
    gc.set_threshold(GARBAGE_THRESHOLD, 20, 20)
    worker = Worker(WorkStore(engine), PruneStore(engine), settings)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: worker.stop())
    log.info("worker ready")
    worker.run()
    log.info("worker stopped, nothing pending")

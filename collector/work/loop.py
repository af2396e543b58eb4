"""The worker's loop: settle while there is something to settle, roll up every two seconds, watch every 15, prune every minute."""

import gc
import logging
import os
import secrets
import signal
import socket
import threading
import time
from collections.abc import Sequence
from typing import Protocol

import httpx
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from collector.alert_counts import AlertCounts
from collector.alert_store import AlertStore
from collector.core.channels import ChannelConfig
from collector.core.rulebook import RuleBook
from collector.leases import Leases
from collector.pruning import PruneStore
from collector.work.notify.outbox import Outbox, senders
from collector.work.retention import Retention, RetentionSettings
from collector.work.settle import BUCKETS_A_STEP, Settler, SettleSettings
from collector.work.watch import Watch
from collector.work_store import WorkStore

ROLL_UP_EVERY_S = 2.0
# Busy minutes take longer to count: then it is done less often, so that at most a fifth of the time goes into it.
ROLLING_UP_SHARE = 5
PRUNE_EVERY_S = 60.0
# Of each round, as long as there is something to prune: spans that come in meanwhile are settled between.
PRUNING_S = 0.2
# Another worker prunes once this one has not been heard of for two rounds.
LEASE_NS = 2 * round(PRUNE_EVERY_S) * 10**9
WATCH_EVERY_S = 15.0
# Another worker watches once this one has not been heard of for three ticks.
WATCHING_NS = 3 * round(WATCH_EVERY_S) * 10**9
# Alerts that are over are kept for as long as the counts by which they are understood are by default.
ALERTS_KEPT_NS = 450 * 86_400 * 10**9
# How long to wait when nothing is pending, and after a failure.
IDLE_S = 0.5
FAILED_S = 2.0

GARBAGE_THRESHOLD = 50_000

log = logging.getLogger(__name__)


class WorkerSettings(SettleSettings, RetentionSettings, Protocol):
    """What the worker needs to know."""


class Worker:
    """One worker. Several may run on one database: they share what is pending, one of them prunes, and one of them watches."""

    def __init__(self, store: WorkStore, pruning: PruneStore, leases: Leases, settings: WorkerSettings, watch: Watch | None = None) -> None:
        self._watch = watch
        self._settler = Settler(store, settings)
        self._leases = leases
        self._retention = Retention(store, pruning, settings, time.monotonic)
        self._stop = threading.Event()

    def stop(self) -> None:
        """Ask the loop to settle what is pending and return."""
        self._stop.set()

    def run(self) -> None:
        """Work until stop() is called, then settle what is pending still. A database that is busy or away is tried again."""
        pruned = watched = 0.0
        roll_up_at = time.monotonic() + ROLL_UP_EVERY_S
        while not self._stop.is_set():
            try:
                settled = self._settler.settle(time.time_ns())
                if (began := time.monotonic()) >= roll_up_at:
                    # Where more minutes wait than one step takes, as after an upgrade, it goes on at once.
                    if self._settler.roll_up() == BUCKETS_A_STEP:
                        settled += 1
                    else:
                        took = time.monotonic() - began
                        roll_up_at = began + max(ROLL_UP_EVERY_S, ROLLING_UP_SHARE * took)
                if self._watch is not None and time.monotonic() - watched >= WATCH_EVERY_S:
                    watched = time.monotonic()
                    self._look(self._watch)
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
            self._leases.release()
        except SQLAlchemyError as error:
            log.warning("what is pending is left for the next start: %s", type(error).__name__)

    def _look(self, watch: Watch) -> None:
        """Evaluate the alert rules once, if no other worker does."""
        now_ns = time.time_ns()
        if not self._leases.take("alerting", now_ns, now_ns + WATCHING_NS):
            return
        try:
            watch.tick(now_ns)
            watch.forget(now_ns - ALERTS_KEPT_NS)
        except SQLAlchemyError:
            raise
        except Exception:
            # What alerting cannot cope with must not keep calls from being understood.
            log.exception("alert rules could not be evaluated")

    def _prune(self) -> bool:
        """Prune for a while, if no other worker does. Returns whether something is left to this one."""
        now_ns = time.time_ns()
        if not self._leases.take("retention", now_ns, now_ns + LEASE_NS):
            return False
        until = time.monotonic() + PRUNING_S
        while time.monotonic() < until and not self._stop.is_set():
            if self._retention.step(time.time_ns()) is None:
                return False
        return not self._stop.is_set()


def run_worker(
    settings: WorkerSettings, engine: Engine, book: RuleBook | None = None, channels: Sequence[ChannelConfig] = (), site: str = ""
) -> None:
    """Run a worker until SIGINT or SIGTERM, then settle what is pending and return.

    Watches by the rules of `book`, if there is one, and tells the `channels`; `site` is the address of the dashboard, for links.
    """
    # Settling makes thousands of small objects that all end together: looking for circles among them all the time is wasted.
    gc.freeze()
    gc.set_threshold(GARBAGE_THRESHOLD, 20, 20)
    # Told apart by chance, and by a name that says where to look.
    leases = Leases(engine, f"{socket.gethostname()}, process {os.getpid()}, {secrets.token_hex(4)}")
    watch = None if book is None else Watch(AlertStore(engine), AlertCounts(engine), book, channels, site)
    if watch is not None:
        watch.describe()
    worker = Worker(WorkStore(engine), PruneStore(engine), leases, settings, watch)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: worker.stop())
    with httpx.Client() as client:
        # Others can be slow to listen: what is told is told beside the work.
        outbox = Outbox(AlertStore(engine), senders(channels, client, site), time.time_ns)
        telling = threading.Thread(target=outbox.run, name="notify")
        telling.start()
        log.info("worker ready")
        try:
            worker.run()
        finally:
            outbox.stop()
            telling.join()
    log.info("worker stopped, nothing pending")

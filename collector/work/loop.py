"""The worker's loop: settle while there is something to settle, roll up every two seconds, watch every 15, prune every minute."""

import logging
import os
import secrets
import signal
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Protocol

import httpx
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from collector.alert_counts import AlertCounts
from collector.alert_store import AlertStore
from collector.children import collect_seldom
from collector.core.channels import ChannelConfig
from collector.core.rulebook import RuleBook
from collector.leases import Leases
from collector.metric_store import MetricStore
from collector.metrics import Work
from collector.pruning import PruneStore
from collector.receive.http_server import cannot_be_had
from collector.review_counts import ReviewCounts
from collector.review_store import ReviewStore
from collector.suppression_counts import SuppressionCounts
from collector.suppression_store import SuppressionStore
from collector.work.measuring import Measuring
from collector.work.notify.outbox import Outbox, senders
from collector.work.retention import Retention, RetentionSettings
from collector.work.reviewing import reviewer_of
from collector.work.reviews import Reviews
from collector.work.serving import Serving
from collector.work.settle import BUCKETS_A_STEP, Settler, SettleSettings
from collector.work.settlers import FAILED_S, IDLE_S, Settlers
from collector.work.suppressing import Suppression
from collector.work.watch import Watch
from collector.work_store import WorkStore

ROLL_UP_EVERY_S = 2.0
# Busy minutes take longer to count: then it is done less often, so that at most a tenth of the time goes into it.
ROLLING_UP_SHARE = 10
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

log = logging.getLogger(__name__)


class WorkerSettings(SettleSettings, RetentionSettings, Protocol):
    """What the worker needs to know."""

    @property
    def settlers(self) -> int: ...
    @property
    def host(self) -> str: ...
    @property
    def worker_port(self) -> int: ...
    @property
    def metrics_tools(self) -> int: ...
    @property
    def zone(self) -> str: ...
    @property
    def review_delivery(self) -> bool: ...


class Worker:
    """One worker. Several may run on one database: they share what is pending, one of them prunes, and one of them watches."""

    def __init__(
        self,
        store: WorkStore,
        pruning: PruneStore,
        leases: Leases,
        settings: WorkerSettings,
        watch: Watch | None = None,
        settlers: Settlers | None = None,
    ) -> None:
        self._watch = watch
        self._settlers = settlers
        self._settler = Settler(store, settings)
        self._leases = leases
        self._stop = threading.Event()
        self._retention = Retention(store, pruning, settings, time.monotonic, self._stop.wait)
        self._turned = time.monotonic()
        self._settled = self._evaluations = 0
        self._evaluation_seconds = 0.0

    def work(self, attempts: Mapping[tuple[str, str], int]) -> Work:
        """What was done since the start; `attempts` to tell channels were made beside."""
        return Work(time.monotonic() - self._turned, self._settled, self._evaluations, self._evaluation_seconds, attempts)

    def stop(self) -> None:
        """Ask the loop to settle what is pending and return."""
        self._stop.set()

    def run(self) -> None:
        """Work until stop() is called, then settle what is pending still. A database that is busy or away is tried again."""
        pruned = watched = 0.0
        roll_up_at = time.monotonic() + ROLL_UP_EVERY_S
        while not self._stop.is_set():
            self._turned = time.monotonic()
            try:
                settled = self._settle()
                self._settled += settled
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
        if self._settlers is not None:
            self._settlers.close()
        try:
            while settled := self._settler.settle(time.time_ns()):
                self._settled += settled
                self._turned = time.monotonic()
            while self._settler.roll_up():
                self._turned = time.monotonic()
            self._leases.release()
        except SQLAlchemyError as error:
            log.warning("what is pending is left for the next start: %s", type(error).__name__)

    def _settle(self) -> int:
        if self._settlers is None:
            return self._settler.settle(time.time_ns())
        self._settlers.tend()
        return self._settler.settle(time.time_ns(), lane=self._settlers.own)

    def _look(self, watch: Watch) -> None:
        """Evaluate the alert rules once, if no other worker does."""
        now_ns = time.time_ns()
        if not self._leases.take("alerting", now_ns, now_ns + WATCHING_NS):
            return
        begun = time.monotonic()
        try:
            watch.tick(now_ns)
            self._evaluations += 1
            self._evaluation_seconds += time.monotonic() - begun
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
    """Run a worker until SIGINT or SIGTERM, then settle what is pending and return. Exits with 1 and one line if it cannot start.

    Watches by the rules of `book`, if there is one, and tells the `channels`; `site` is the address of the dashboard, for links.
    """
    collect_seldom()
    # Told apart by chance, and by a name that says where to look.
    leases = Leases(engine, f"{socket.gethostname()}, process {os.getpid()}, {secrets.token_hex(4)}")
    watch = None if book is None else Watch(AlertStore(engine), AlertCounts(engine), book, channels, site)
    if watch is not None:
        watch.describe()
    settlers = Settlers(engine.url.render_as_string(hide_password=False), settings, settings.settlers)
    worker = Worker(WorkStore(engine), PruneStore(engine), leases, settings, watch, settlers)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: worker.stop())
    with httpx.Client() as client:
        # Others can be slow to listen, reviews and looks for silent suppression take seconds: all that is done beside the work.
        outbox = Outbox(AlertStore(engine), senders(channels, client, site), time.time_ns)
        reviews = Reviews(
            *(ReviewCounts(engine), ReviewStore(engine), leases, reviewer_of(engine, book, settings.aliases), settings.zone),
            *(channels if settings.review_delivery else (), site, time.time_ns),
        )
        suppression = Suppression(SuppressionCounts(engine), SuppressionStore(engine), leases, time.time_ns, settings.aliases)
        measuring = Measuring(AlertCounts(engine), AlertStore(engine), MetricStore(engine), settings.metrics_tools)
        serving = Serving(measuring, lambda: worker.work(outbox.attempts()), time.time_ns)
        try:
            port = serving.start(settings.host, settings.worker_port)
        except OSError as error:
            why = cannot_be_had(error, "health and metrics of the worker", settings.host, settings.worker_port, "worker_port")
            raise SystemExit(f"toolvitals: {why}") from error
        beside: dict[str, Outbox | Reviews | Suppression] = {"notify": outbox, "reviews": reviews, "suppression": suppression}
        threads = [threading.Thread(target=one.run, name=name) for name, one in beside.items()]
        for thread in threads:
            thread.start()
        log.info("worker ready, health and metrics on http://%s:%d", settings.host, port)
        try:
            worker.run()
        finally:
            for one in beside.values():
                one.stop()
            for thread in threads:
                thread.join()
            serving.stop()
    log.info("worker stopped, nothing pending")

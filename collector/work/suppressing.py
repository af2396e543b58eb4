"""Looks for silent suppression and faults of error contracts in the last seven days, once an hour, of young data sooner; stores it."""

import logging
import threading
import time
from collections.abc import Callable, Mapping

from sqlalchemy.exc import SQLAlchemyError

from collector.leases import Leases
from collector.suppression_counts import STRETCH_NS, SuppressionCounts
from collector.suppression_store import SuppressionStore
from collector.work.contracting import find_contract_faults
from collector.work.suspecting import find_suspects
from schemas.rollups import DAY_NS, SECOND_NS
from schemas.vocabulary import Hit, lexicon

EVERY_NS = 3_600 * SECOND_NS
SOONEST_NS = 300 * SECOND_NS
RANGE_NS = 7 * DAY_NS
# What was found is kept for as long as calls are by default.
KEPT_NS = 30 * DAY_NS
# Another worker looks once this one has not been heard of for longer than any look takes.
LOOKING_NS = 600 * SECOND_NS
LOOK_EVERY_S = 30.0

log = logging.getLogger(__name__)


class Suppression:
    """The hourly look over one database. When it was done last is a row: a restart does not do it again."""

    def __init__(
        self,
        counts: SuppressionCounts,
        store: SuppressionStore,
        leases: Leases,
        clock: Callable[[], int],
        aliases: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        self._counts = counts
        self._store = store
        self._leases = leases
        self._clock = clock
        self._words: Mapping[str, Hit] = lexicon(aliases or {})
        self._stop = threading.Event()

    def step(self) -> bool:
        """Look, if it is time and no other worker does. Returns whether it did. Raises SQLAlchemyError: then nothing is stored."""
        now_ns = self._clock()
        last_ns = self._store.evaluated_ns()
        if last_ns is not None and last_ns <= now_ns < last_ns + pause_ns(self._counts.first_ns(), last_ns):
            return False
        if not self._leases.take("suppression", now_ns, now_ns + LOOKING_NS):
            return False
        begun = time.perf_counter()
        # Whole stretches, and the last of them over: counts that grow still are none to compare.
        to_ns = now_ns - now_ns % STRETCH_NS
        from_ns = to_ns - RANGE_NS
        found = find_suspects(self._counts, from_ns, to_ns, now_ns)
        qualities = find_contract_faults(self._counts, from_ns, to_ns, self._words)
        self._store.commit(found, qualities, from_ns, to_ns, now_ns, now_ns - KEPT_NS)
        log.info("looked for silent suppression in %.1f s: %d suspects", time.perf_counter() - begun, len(found))
        return True

    def run(self) -> None:
        """Look whenever it is time, until stop() is called."""
        while not self._stop.is_set():
            try:
                self.step()
            except SQLAlchemyError as error:
                log.warning("silent suppression is looked for later, the database does not answer: %s", type(error).__name__)
            except Exception:
                # What this cannot cope with must not end the thread: the next hour may be different.
                log.exception("silent suppression could not be looked for")
            self._stop.wait(LOOK_EVERY_S)

    def stop(self) -> None:
        """Ask run() to return; a look that is under way is finished."""
        self._stop.set()


def pause_ns(first_ns: int | None, last_ns: int) -> int:
    """How long after a look the next one is, by the start of the first call: who has just begun to send does not wait for an hour."""
    return EVERY_NS if first_ns is None else min(EVERY_NS, max(SOONEST_NS, last_ns - first_ns))

"""Group commit: one thread writes what is waiting in one transaction, then answers all who wait for it.

The contract:
- A future that `submit` gives is answered only after the commit that holds its request, so success means durable.
- A request is stored whole or not at all, and a request whose future fails is not stored (or was stored by an earlier sending).
- A failure that heals (busy, locked, full, away) is StorageFailed for every request of the group: nothing of it is stored.
- A failure that one request may have caused (a value that the database refuses) is narrowed down by writing the requests one
  by one: the culprit gets Unstorable, its neighbours are stored.
- `close` writes everything that was accepted, then stops; it may be called twice. What is submitted later gets ShuttingDown.

Ingest bounds the bytes in work, so this queue needs no bound of its own; one group is bounded so that a commit stays short.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace

from sqlalchemy.exc import DataError, IntegrityError, SQLAlchemyError

from collector.receive.failures import Failure, ShuttingDown, StorageFailed, Unstorable
from schemas.spans import Decoded

log = logging.getLogger(__name__)

GROUP_SPANS = 20_000


@dataclass(frozen=True, slots=True)
class _Waiting:
    decoded: Decoded
    answer: Future[None]

    @property
    def weight(self) -> int:
        # An empty request costs something too: groups of them are bounded as well.
        return 1 + len(self.decoded.tool_spans) + len(self.decoded.ancestors)


@dataclass(frozen=True, slots=True)
class Written:
    """What a writer has stored since it started, in how many transactions that took how long together, and what waits."""

    spans: int = 0
    requests: int = 0
    commits: int = 0
    seconds: float = 0.0
    waiting: int = 0


class Writer:
    """The one thread that writes spans. `insert` stores a batch in one transaction (Store.insert); `now_ns` is the clock."""

    def __init__(
        self,
        insert: Callable[[Sequence[Decoded], int], None],
        now_ns: Callable[[], int],
        *,
        group_spans: int = GROUP_SPANS,
    ) -> None:
        self._insert = insert
        self._now_ns = now_ns
        self._group_spans = group_spans
        self._queue: deque[_Waiting] = deque()
        self._changed = threading.Condition()
        self._closing = False
        self._last_trouble: str | None = None
        # Replaced whole by the writer's thread, so that others read what belongs together.
        self._written = Written()
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    def submit(self, decoded: Decoded) -> Future[None]:
        """Accept a request. The future gives None after its commit, or raises a Failure. Raises ShuttingDown after `close`."""
        answer: Future[None] = Future()
        # Accepted is accepted: a waiter that goes away does not take the request out again.
        answer.set_running_or_notify_cancel()
        with self._changed:
            if self._closing:
                raise ShuttingDown("the collector is shutting down; nothing of this request is stored: send it again")
            self._queue.append(_Waiting(decoded, answer))
            self._changed.notify()
        return answer

    def written(self) -> Written:
        """What was stored, and what waits."""
        return replace(self._written, waiting=len(self._queue))

    def close(self) -> None:
        """Write what was accepted, then stop."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while group := self._next_group():
            self._write(group)

    def _next_group(self) -> list[_Waiting]:
        """What is waiting, in order of arrival; empty when closed and drained."""
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._closing)
            group: list[_Waiting] = []
            weight = 0
            while self._queue and (not group or weight + self._queue[0].weight <= self._group_spans):
                group.append(self._queue.popleft())
                weight += group[-1].weight
            return group

    def _write(self, group: list[_Waiting]) -> None:
        failure = self._try([one.decoded for one in group])
        if isinstance(failure, Unstorable) and len(group) > 1:
            for one in group:
                self._write([one])
            return
        for one in group:
            if failure is None:
                one.answer.set_result(None)
            else:
                one.answer.set_exception(failure)

    def _try(self, batch: Sequence[Decoded]) -> Failure | None:
        begun = time.perf_counter()
        try:
            self._insert(batch, self._now_ns())
        except (DataError, IntegrityError) as error:
            return self._refused(batch, error)
        except SQLAlchemyError as error:
            return self._away(error)
        except Exception as error:
            # Not a word of the database but a mistake of ours, such as a number that no column holds.
            return self._refused(batch, error)
        if self._last_trouble is not None:
            log.info("the database takes spans again")
            self._last_trouble = None
        before = self._written
        self._written = Written(
            before.spans + sum(one.received for one in batch),
            before.requests + sum(one.received > 0 for one in batch),
            before.commits + 1,
            before.seconds + time.perf_counter() - begun,
        )
        return None

    def _refused(self, batch: Sequence[Decoded], error: Exception) -> Unstorable:
        # The error's text may quote the row, so only its kind is logged and told.
        kind = type(error).__name__
        if len(batch) == 1:  # of a larger batch each request will be tried alone
            log.error("the database refuses data of a request: %s", kind)
        return Unstorable(
            f"the database refuses the data of this request ({kind}); nothing of it is stored, and sending it again will not help",
            reason=f"the database refuses the data ({kind})",
        )

    def _away(self, error: SQLAlchemyError) -> StorageFailed:
        why = str(getattr(error, "orig", None) or type(error).__name__).splitlines()[0]
        if why != self._last_trouble:  # once, not for every group while it lasts
            log.error("the database does not take spans; exporters are asked to send again: %s", why)
            self._last_trouble = why
        return StorageFailed(f"the database did not take the spans ({why}); nothing of this request is stored: send it again")

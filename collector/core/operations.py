"""From the attempts of an operation to what is told of it and of each retry: pure, and the same whether begun anew or gone on with."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from collector.core.chains import Attempt, closes_ns
from collector.core.histogram import index_of
from schemas import operations as words
from schemas.operations import DECLARED, EXHAUSTED_AT, HOT_NS, weaker

LARGEST = 2**63 - 1
# From this attempt on what the first ones say is settled, so that an operation can be gone on with.
SETTLED_AT = 3
BILLION = 10**9


class First(NamedTuple):
    """What the first attempt that was received says of the operation."""

    start_ns: int
    end_ns: int | None
    environment: str
    server: str
    client: str
    tool: str
    session: str | None
    headless: bool
    repair: bool
    outcome: str
    category: str | None
    retryable: bool | None

    @property
    def failed(self) -> bool:
        """Whether the operation is known to have failed first: a retry whose predecessor is unseen says nothing of it."""
        return self.outcome == "failure" and not self.headless


class Chain(NamedTuple):
    """A row of the table `chain`, which says what each column means."""

    chain_id: str
    start_ns: int
    last_start_ns: int
    end_ns: int | None
    first_end_ns: int | None
    environment: str
    server: str
    client: str
    tool: str
    session: str | None
    attempts: int
    headless: bool
    repair: bool
    strength: str
    first_outcome: str
    first_category: str | None
    first_retryable: bool | None
    last_outcome: str
    ending: str
    second_ok: bool | None
    succeeded: bool
    recovered_at: int | None
    recovered_ns: int | None
    recovered_idx: int | None
    growth: int | None
    growth_idx: int | None
    hopeful_us: int
    uniform: bool
    closes_ns: int | None
    went_on: bool | None

    @property
    def counted(self) -> tuple[object, ...]:
        """What the counts of the bucket of its first attempt depend on."""
        much = min(self.attempts, SETTLED_AT + 1)
        return (*self[5:9], self.start_ns, much, *self[11:15], self.first_retryable, self.ending, *self[19:26])


class Retry(NamedTuple):
    """A row of the table `retry`, which says what each column means."""

    trace_id: bytes
    call_id: bytes
    chain_id: str
    place: int
    start_ns: int
    duration_ns: int | None
    environment: str
    server: str
    client: str
    tool: str
    link_strength: str
    failed: bool
    gap_ns: int | None
    gap_idx: int | None
    wasted: bool
    early: bool
    hot: bool
    strength_so_far: str
    succeeded_so_far: bool
    uniform_so_far: bool
    hopeful_us_so_far: int

    @property
    def counted(self) -> tuple[object, ...]:
        """What the counts of the bucket of the retry depend on, the operation aside."""
        return self[2], *self[4:17]


@dataclass(slots=True)
class Progress:
    """An operation up to one of its attempts."""

    chain_id: str
    first: First
    last: Attempt
    attempts: int
    strength: str
    succeeded: bool
    uniform: bool
    hopeful_us: int
    second_ok: bool | None = None
    first_gap_ns: int | None = None
    growth: int | None = None
    recovered_at: int | None = None
    recovered_ns: int | None = None
    retries: list[Retry] = field(default_factory=list)

    def follow(self, attempt: Attempt) -> None:
        """Go on to the next attempt, in the order of all calls."""
        last, self.last = self.last, attempt
        self.attempts += 1
        self.strength = weaker(self.strength, attempt.link_strength or DECLARED)
        self.uniform = self.uniform and _place(attempt) == _place(self.first)
        gap_ns = None if last.end_ns is None else max(0, attempt.start_ns - last.end_ns)
        wasted = last.retryable is not None and not last.retryable
        if not wasted:
            self.hopeful_us += _us(attempt)
        ok = attempt.outcome != "failure"
        if self.attempts == 2:
            self.second_ok, self.first_gap_ns = ok, gap_ns
        elif self.attempts == SETTLED_AT and gap_ns is not None and self.first_gap_ns:
            self.growth = min((gap_ns * BILLION + self.first_gap_ns // 2) // self.first_gap_ns, LARGEST)
        if ok and not self.succeeded and self.first.failed:
            self.recovered_at = self.attempts
            self.recovered_ns = max(0, _end(attempt) - (self.first.start_ns if self.first.end_ns is None else self.first.end_ns))
        self.succeeded = self.succeeded or ok
        early = gap_ns is not None and gap_ns < (last.retry_after_ms or 0) * 10**6
        self.retries.append(self.retry(gap_ns, wasted, early))

    def retry(self, gap_ns: int | None, wasted: bool, early: bool) -> Retry:
        """The row of the last attempt, which is a retry."""
        call = self.last
        return Retry(
            call.trace_id,
            call.call_id,
            self.chain_id,
            self.attempts,
            call.start_ns,
            call.duration_ns,
            call.environment,
            call.server,
            call.client,
            call.tool,
            call.link_strength or DECLARED,
            call.outcome == "failure",
            gap_ns,
            None if gap_ns is None else index_of(gap_ns),
            wasted,
            early,
            gap_ns is not None and gap_ns < HOT_NS,
            self.strength,
            self.succeeded,
            self.uniform,
            self.hopeful_us,
        )

    @property
    def waits(self) -> bool:
        """Whether it is a lone failure that could have been retried: then it matters whether its session goes on."""
        return self.attempts == 1 and self.first.failed and bool(self.first.retryable)

    @property
    def closes_ns(self) -> int | None:
        """Until when a call can still be a retry of the last attempt; None if that one did not fail."""
        return min(closes_ns(self.last), LARGEST) if self.last.outcome == "failure" else None

    def chain(self, went_on: bool | None) -> Chain | None:
        """The row of the operation; None if its one call tells all of it. `went_on` is asked for only if it `waits`."""
        if self.attempts == 1 and self.succeeded and not self.first.headless:
            return None
        went_on = went_on if self.waits else None
        return Chain(
            self.chain_id,
            self.first.start_ns,
            self.last.start_ns,
            self.last.end_ns,
            self.first.end_ns,
            self.first.environment,
            self.first.server,
            self.first.client,
            self.first.tool,
            self.first.session,
            self.attempts,
            self.first.headless,
            self.first.repair,
            self.strength,
            self.first.outcome,
            self.first.category,
            self.first.retryable,
            self.last.outcome,
            ending(self.first.failed, self.attempts, self.last.outcome == "failure", bool(went_on)),
            self.second_ok,
            self.succeeded,
            self.recovered_at,
            self.recovered_ns,
            None if self.recovered_ns is None else index_of(self.recovered_ns),
            self.growth,
            None if self.growth is None else index_of(self.growth),
            self.hopeful_us,
            self.uniform,
            self.closes_ns,
            went_on,
        )


def ending(failed_first: bool, attempts: int, failed_last: bool, went_on: bool) -> str:
    """How an operation ended, as if nothing more came of it."""
    if not failed_first:
        return words.FAILED if failed_last else words.ENDED
    if not failed_last:
        return words.RECOVERED
    if attempts >= EXHAUSTED_AT:
        return words.EXHAUSTED
    return words.MISSED if went_on else words.ABANDONED


def begun(chain_id: str, attempts: Iterable[Attempt]) -> Progress | None:
    """An operation from its first attempt on, its attempts in order; None if there are none."""
    progress: Progress | None = None
    for attempt in attempts:
        if progress is None:
            progress = _first(chain_id, attempt)
        else:
            progress.follow(attempt)
    return progress


def gone_on(chain: Chain, retry: Retry, last: Attempt, attempts: Iterable[Attempt]) -> Progress:
    """An operation from a retry on that is the third attempt or later, `last` being its call, with the attempts after it in order."""
    progress = Progress(
        chain.chain_id,
        First(chain.start_ns, chain.first_end_ns, *chain[5:10], bool(chain.headless), bool(chain.repair), *chain[14:17]),
        last,
        retry.place,
        retry.strength_so_far,
        bool(retry.succeeded_so_far),
        bool(retry.uniform_so_far),
        retry.hopeful_us_so_far,
        chain.second_ok,
        growth=chain.growth,
        recovered_at=chain.recovered_at if retry.succeeded_so_far else None,
        recovered_ns=chain.recovered_ns if retry.succeeded_so_far else None,
    )
    for attempt in attempts:
        progress.follow(attempt)
    return progress


def _first(chain_id: str, call: Attempt) -> Progress:
    headless = call.link == "retry"
    dimensions = (call.environment, call.server, call.client, call.tool, call.session)
    first = First(call.start_ns, call.end_ns, *dimensions, headless, call.link == "repair", call.outcome, call.category, call.retryable)
    strength = (call.link_strength or DECLARED) if headless else ""
    progress = Progress(chain_id, first, call, 1, strength, call.outcome != "failure", True, _us(call) if headless else 0)
    if headless:
        progress.retries.append(progress.retry(None, wasted=False, early=False))
    return progress


def _end(call: Attempt) -> int:
    return call.start_ns if call.end_ns is None else call.end_ns


def _us(call: Attempt) -> int:
    # Each cut to whole microseconds: a sum of nanoseconds that hostile clocks made could leave 64 bits.
    return (call.duration_ns or 0) // 1000


def _place(one: Attempt | First) -> tuple[str, str, str, str]:
    # An emitter may say that a call repeats one of another tool, or of another server.
    return one.environment, one.server, one.client, one.tool

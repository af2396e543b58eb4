"""Whether one session goes round in circles: the same call with the same end again and again, alone or in a cycle of up to four."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

# A session that did nothing for so long starts anew.
IDLE_NS = 30 * 60 * 10**9
# A cycle of up to so many different calls is a loop too.
LONGEST_PERIOD = 4


class Step(NamedTuple):
    """One call of a session, in order of start."""

    start_ns: int
    server: str
    tool: str
    arguments_hash: int | None
    outcome: str
    result_hash: int | None
    call: str = ""

    @property
    def key(self) -> tuple[object, ...]:
        """What a repetition has in common."""
        return self.server, self.tool, self.arguments_hash, self.outcome, self.result_hash if self.outcome != "failure" else None


@dataclass(frozen=True, slots=True)
class Limits:
    """How many times are worth a warning, how many an alert; more by `read_only_times` for good answers of tools that only read."""

    warn: int = 3
    alert: int = 6
    read_only_times: int = 5


@dataclass(frozen=True, slots=True)
class Loop:
    """A session's calls that go round: `times` is how often, `period` how many different calls the circle has.

    `alert` says whether it is worth an alert or only a warning; `first_ns` and `last_ns` are the starts of its first and last call.
    """

    server: str
    tool: str
    outcome: str
    times: int
    period: int
    alert: bool
    first_ns: int
    last_ns: int
    calls: tuple[str, ...]


def loop_at_the_end(steps: Sequence[Step], limits: Limits, read_only: frozenset[tuple[str, str]] = frozenset()) -> Loop | None:
    """The loop that a session's calls end in; None if they end in none. Counts what is consecutive, however long it takes."""
    steps = _since_idle(steps)
    for period in range(1, LONGEST_PERIOD + 1):
        times = _repetitions(steps, period)
        tail = steps[len(steps) - times * period :]
        if times < 2 or not all(_counts(step) for step in tail[:period]):
            continue
        # A circle is known by the call in it that fails, or else by the first.
        main = next((step for step in tail if step.outcome == "failure"), tail[0])
        # Of a circle that has both, the good answers are no failures: it is as patient as they are.
        patient = all((step.server, step.tool) in read_only and step.outcome != "failure" for step in tail[:period])
        factor = limits.read_only_times if patient else 1
        if times >= limits.warn * factor:
            calls = tuple(step.call for step in tail[-3:])
            return Loop(
                *(main.server, main.tool, main.outcome, times, period, times >= limits.alert * factor),
                *(tail[0].start_ns, tail[-1].start_ns, calls),
            )
    return None


def _since_idle(steps: Sequence[Step]) -> Sequence[Step]:
    for place in range(len(steps) - 1, 0, -1):
        if steps[place].start_ns - steps[place - 1].start_ns >= IDLE_NS:
            return steps[place:]
    return steps


def _repetitions(steps: Sequence[Step], period: int) -> int:
    """How often the last `period` calls stand at the end, one after the other."""
    if len(steps) < period:
        return 0
    keys = [step.key for step in steps]
    if period > 1 and len(set(keys[-period:])) == 1:
        return 0
    times, end = 1, len(keys) - period
    while end >= period and keys[end - period : end] == keys[-period:]:
        times, end = times + 1, end - period
    return times


def _counts(step: Step) -> bool:
    """Whether doing this again is going round: what failed, or brought the very same; what is not known to be the same is not."""
    return step.outcome == "failure" or step.result_hash is not None

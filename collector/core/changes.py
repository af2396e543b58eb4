"""Whether a share differs from what it was: empty answers that rise, and failures that retries hide."""

from dataclasses import dataclass

from collector.core.stats import Interval, newcombe
from schemas.alerting import CLEAR, HOLD, NO_DATA, TRUE

# The quantile of differences that nobody asked for: many tools are looked at all day long, so one in a thousand is too often.
Z_UNASKED = 3.890592


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a whole."""

    part: int
    whole: int

    @property
    def ratio(self) -> float:
        """The part of one; 0 for 0/0."""
        return self.part / self.whole if self.whole else 0.0


@dataclass(frozen=True, slots=True)
class Change:
    """What is said of a change: by how much at least and at most, and what does not hold, as sentences."""

    condition: str
    interval: Interval
    missing: tuple[str, ...]


def empty_rise(now: Share, before: Share, *, points: float = 0.10, least: int = 50) -> Change:
    """Whether known empties rose by more than `points` for certain; over once they are above half of it no longer.

    Wholes are the good answers of which it is known whether they are empty.
    """
    low, high = newcombe(now.part, now.whole, before.part, before.whole)
    missing = []
    for share, name in ((now, "now"), (before, "before")):
        if share.whole < least:
            missing.append(f"{share.whole} answers {name}, fewer than {least}")
    if low <= points:
        missing.append(f"empties rose by {low:.1%} at least, not by more than {points:.0%}")
    if now.whole == 0:
        condition = NO_DATA
    elif not missing:
        condition = TRUE
    else:
        condition = CLEAR if min(now.whole, before.whole) >= least and low <= points / 2 else HOLD
    return Change(condition, (low, high), tuple(missing))


def hidden_failures(
    attempts: Share, attempts_before: Share, operations: Share, operations_before: Share, *, points: float = 0.05, least: int = 50
) -> Change:
    """Whether attempts succeed less than before while operations do not: retries hide failures. The interval is that of attempts."""
    low, high = newcombe(attempts.part, attempts.whole, attempts_before.part, attempts_before.whole, Z_UNASKED)
    fall = newcombe(operations.part, operations.whole, operations_before.part, operations_before.whole)
    missing = []
    if min(attempts.whole, attempts_before.whole) < least:
        missing.append(f"{attempts.whole} attempts now and {attempts_before.whole} before, fewer than {least}")
    if high >= -points:
        missing.append(f"the success of attempts fell by {max(0.0, -high):.1%} at least, not by more than {points:.0%}")
    if fall[1] < 0:
        missing.append("operations fail more often too: nothing is hidden")
    if attempts.whole == 0:
        condition = NO_DATA
    elif not missing:
        condition = TRUE
    else:
        condition = CLEAR if attempts.whole >= least and high >= -points / 2 else HOLD
    return Change(condition, (low, high), tuple(missing))

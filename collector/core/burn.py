"""How fast the failures of operations use up what a service level allows: a long window that matters, a short one that goes on."""

from dataclasses import dataclass

from schemas.alerting import CLEAR, HOLD, NO_DATA, PAGE, TICKET, TRUE

# The budget of a service level is that of so long.
PERIOD_S = 30 * 86_400
# A tool of which half the operations fail is broken, whatever the service level says.
MOST = 0.5


@dataclass(frozen=True, slots=True)
class Pair:
    """Two windows that must both burn `rate` times faster than the budget lasts, and the least failures in the long one."""

    severity: str
    long_s: int
    short_s: int
    rate: float
    failures: int


# Google, The Site Reliability Workbook (2018), chapter 5, table 5-8.
PAIRS = (Pair(PAGE, 3_600, 300, 14.4, 5), Pair(PAGE, 21_600, 1_800, 6.0, 5), Pair(TICKET, 259_200, 21_600, 1.0, 3))


@dataclass(frozen=True, slots=True)
class Operations:
    """Operations of a window, and those of them that failed in a way that is charged to the tool."""

    bad: int
    total: int

    @property
    def ratio(self) -> float | None:
        """The error ratio; None for 0/0."""
        return self.bad / self.total if self.total else None


@dataclass(frozen=True, slots=True)
class Burnt:
    """What is said of a pair of windows. `limit` is the error ratio that is asked for, `budget` the share of the budget of 30 days
    that is used up when the long window reaches it."""

    condition: str
    pair: Pair
    limit: float
    budget: float
    missing: tuple[str, ...]


def charged(failed_last: int, uncharged_failures: int, retried_all_the_same: int) -> int:
    """How many of the operations that failed are charged to the tool.

    `uncharged_failures` are attempts that failed by the caller's doing, and of these `retried_all_the_same` did not end their
    operation.
    """
    return min(failed_last, max(0, failed_last - max(0, uncharged_failures - retried_all_the_same)))


def error_limit(pair: Pair, slo: float) -> float:
    """The error ratio at which a pair burns too fast."""
    return min(pair.rate * (1 - slo), MOST)


def judge(pair: Pair, slo: float, long: Operations, short: Operations) -> Burnt:
    """Whether the budget burns too fast in both windows. Over once the short one says so; without operations it says nothing."""
    limit = error_limit(pair, slo)
    budget = limit / (1 - slo) * pair.long_s / PERIOD_S
    missing = []
    if long.bad < pair.failures:
        missing.append(f"{long.bad} failed operations in {_long(pair.long_s)}, fewer than {pair.failures}")
    for window, seconds in ((long, pair.long_s), (short, pair.short_s)):
        if window.ratio is None or window.ratio <= limit:
            missing.append(f"{window.bad} of {window.total} operations failed in {_long(seconds)}, not more than {limit:.1%}")
    if not missing:
        condition = TRUE
    elif short.ratio is None:
        condition = NO_DATA
    else:
        condition = CLEAR if short.ratio <= limit else HOLD
    return Burnt(condition, pair, limit, budget, tuple(missing))


def _long(seconds: int) -> str:
    for size, unit in ((86_400, "d"), (3_600, "h")):
        if seconds % size == 0:
            return f"{seconds // size} {unit}"
    return f"{seconds // 60} min"

"""Whether retries feed on themselves: enough of them, a large share of the calls, and far more than this tool is used to."""

from collections.abc import Mapping
from dataclasses import dataclass

from collector.core.stats import at_least, wilson
from schemas.alerting import CLEAR, FLEET, HOLD, NO_DATA, PAGE, SINGLE, TRUE, WARN

# An end is believed of so many attempts.
ENOUGH = 20
# A tool that nobody calls for so long is not stormed, if others are heard of meanwhile.
SILENT_S = 600


@dataclass(frozen=True, slots=True)
class Limits:
    """When retries are a storm: docs/alerting.md says how to choose."""

    retries: int = 10
    warn: float = 0.10
    page: float = 0.20
    chance: float = 1e-4
    sessions: int = 5


@dataclass(frozen=True, slots=True)
class Window:
    """Retries among the attempts of so many seconds."""

    retries: int
    attempts: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Baseline:
    """Retries of so many seconds before, storms left out; `dispersion` is how much more than by chance their counts vary."""

    retries: int
    seconds: float
    dispersion: float = 1.0

    def expected(self, seconds: float) -> float:
        """How many retries so many seconds would have: half a one more than was seen, since none seen is not never."""
        return (self.retries + 0.5) * seconds / self.seconds


@dataclass(frozen=True, slots=True)
class Judged:
    """What is said of a window; `missing` are the conditions that do not hold, as sentences."""

    condition: str
    severity: str
    low: float
    high: float
    expected: float | None
    chance: float | None
    missing: tuple[str, ...]


def worth_a_look(window: Window, limits: Limits) -> bool:
    """Whether a window has so many retries that its baseline is worth reading."""
    return window.retries >= limits.retries and wilson(window.retries, window.attempts)[0] >= limits.warn


def judge(window: Window, baseline: Baseline | None, limits: Limits) -> Judged:
    """Whether a window is a storm, and how bad. A baseline that was not read counts as one that says no more than the window."""
    low, high = wilson(window.retries, window.attempts)
    missing = []
    if window.retries < limits.retries:
        missing.append(f"{window.retries} retries, fewer than {limits.retries}")
    if low < limits.warn:
        missing.append(f"at least {low:.1%} of the attempts are retries, less than {limits.warn:.0%}")
    expected = chance = None
    if baseline is not None:
        expected = baseline.expected(window.seconds)
        chance = at_least(window.retries, expected, baseline.dispersion)
        if chance >= limits.chance:
            missing.append(f"{window.retries} retries are usual here: {expected:.1f} expected, chance {chance:.2g}")
    severity = PAGE if low >= limits.page else WARN
    return Judged(HOLD if missing else TRUE, severity, low, high, expected, chance, tuple(missing))


def ended(since: Window, silent_s: float, limits: Limits, severity: str, others_heard: bool) -> str:
    """Whether a storm that no longer holds is over: CLEAR, HOLD or NO_DATA.

    `since` is what came since it last held, `silent_s` how long the tool has not been called, `others_heard` whether other telemetry
    came meanwhile: where nothing comes at all, nothing is known to be over.
    """
    limit = limits.page if severity == PAGE else limits.warn
    if silent_s >= SILENT_S:
        return CLEAR if others_heard else NO_DATA
    if since.attempts >= ENOUGH:
        return CLEAR if wilson(since.retries, since.attempts)[0] < limit / 2 else HOLD
    return HOLD if since.attempts else NO_DATA


def class_of(sessions: Mapping[str, int], limits: Limits) -> str:
    """Whether many sessions storm, or few, by how many retries each made: one that made more than half is what it is about."""
    retries = sum(sessions.values())
    alone = max(sessions.values(), default=0) * 2 > retries
    return FLEET if len(sessions) >= limits.sessions and not alone else SINGLE

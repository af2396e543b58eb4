"""What a rule saw in the last day, as a small drawing of 100 by 24: its values, the threshold, and when it fired. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 100.0, 24.0
_MARGIN = 2.0


@dataclass(frozen=True, slots=True)
class Seen:
    """The lowest and the highest value nearest to the threshold in one bucket."""

    bucket_ns: int
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Strip:
    """Paths of the values (a band where they vary), the height of the threshold, and (x, width) of each stretch of firing."""

    bands: tuple[str, ...]
    threshold: float | None
    fired: tuple[tuple[float, float], ...]
    highest: Seen
    firings: int


def strip(
    seen: Sequence[Seen], threshold: float | None, fired: Sequence[tuple[int, int | None]], from_ns: int, to_ns: int, width_ns: int
) -> Strip | None:
    """Draw values, in order of time, and firings (from when to when, None: still) in a range; None where nothing was seen."""
    if not seen:
        return None
    most = max(threshold or 0.0, *(one.high for one in seen)) or 1.0

    def x(ns: int) -> float:
        return round(min(1.0, max(0.0, (ns - from_ns) / (to_ns - from_ns))) * WIDTH, 2)

    def y(value: float) -> float:
        return round(HEIGHT - _MARGIN - max(0.0, value) / most * (HEIGHT - 2 * _MARGIN), 2)

    bands = []
    for run in _runs(seen, width_ns):
        # Each value holds for its whole bucket: a step, and a lone bucket is seen too.
        upper = [f"{x(at)} {y(one.high)}" for one in run for at in (one.bucket_ns, one.bucket_ns + width_ns)]
        lower = [f"{x(at)} {y(one.low)}" for one in reversed(run) for at in (one.bucket_ns + width_ns, one.bucket_ns)]
        bands.append("M" + "L".join((*upper, *lower)) + "Z")
    stretches = [(x(start), x(to_ns if end is None else end)) for start, end in fired]
    return Strip(
        tuple(bands),
        None if threshold is None else y(threshold),
        tuple((start, max(0.6, round(end - start, 2))) for start, end in stretches),
        max(seen, key=lambda one: one.high),
        len(fired),
    )


def _runs(seen: Sequence[Seen], width_ns: int) -> list[list[Seen]]:
    """Buckets that follow each other."""
    runs: list[list[Seen]] = []
    for one in seen:
        if runs and runs[-1][-1].bucket_ns + width_ns == one.bucket_ns:
            runs[-1].append(one)
        else:
            runs.append([one])
    return runs

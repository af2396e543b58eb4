"""Q2: empty answers that all take the same long time, as those do that wait for something and give up."""

from collections.abc import Mapping
from math import ceil

from collector.core.suppression.chance import RARE, Looked, more_often
from schemas.histogram import A_DOUBLING, ZERO
from schemas.suppression import Q2, Signal

LEAST = 5
PERCENTILE = 90
# Seconds that people write as time-outs, and how near a duration must come.
ROUND_S = (1, 2, 3, 5, 10, 15, 20, 30, 60, 120)
NEAR = 0.02

# How many answers are in each bucket of a histogram (schemas/histogram.py).
Counts = Mapping[int, int]


def look_for_bunch(empty: Counts, data: Counts) -> Looked | None:
    """Whether empties bunch in two adjacent buckets above the 90th percentile of answers with data; None if there are no two sides.

    Every pair of buckets that holds any answer is a test of its own.
    """
    empties, successes = sum(empty.values()), sum(data.values())
    if not empties or not successes:
        return None
    above = _percentile(data, successes)
    held = sorted(index for index in {*empty, *data} if index > above)
    starts = sorted({start for index in held for start in (index - 1, index) if start > above})
    least, best, best_k, best_data = 1.0, 0, 0, 0
    for start in starts:
        k = empty.get(start, 0) + empty.get(start + 1, 0)
        if k < LEAST:
            continue
        slow = data.get(start, 0) + data.get(start + 1, 0)
        p = min(1.0, more_often(k, empties, slow, successes) * len(starts))
        if p < least:
            least, best, best_k, best_data = p, start, k, slow
    if least >= RARE:
        return Looked(least)
    from_s, to_s = 2 ** (best / A_DOUBLING), 2 ** ((best + 2) / A_DOUBLING)
    near = next((one for one in ROUND_S if from_s <= one * (1 + NEAR) and to_s >= one * (1 - NEAR)), None)
    detail = {
        "from_ns": round(from_s * 1e9),
        "to_ns": round(to_s * 1e9),
        "near_s": near,
        "data_k": best_data,
        "data_n": successes,
        "strong": near is not None,
    }
    return Looked(least, Signal(Q2, best_k, empties, least, detail))


def _percentile(counts: Counts, whole: int) -> int:
    """The bucket that the 90th percentile lies in."""
    needed, found = ceil(whole * PERCENTILE / 100), 0
    for index in sorted(counts):
        found += counts[index]
        if found >= needed:
            return index
    return ZERO

"""Durations in exponential buckets: the packed form that the database holds, and the percentiles that it gives."""

import math
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]

# 2**5 buckets for each doubling: bucket `index` holds the seconds above 2**(index / 32) up to 2**((index + 1) / 32), so that the
# middle of a bucket is off by 1.08 % at worst.
A_DOUBLING = 32
# Below the bucket of one nanosecond lies the one of zero; the highest ends at 2**34 seconds.
ZERO = -958
BUCKETS = 2048
HIGHEST = ZERO + BUCKETS - 1

# An entry is a little-endian number of 32 bits: the low 11 say which bucket, the others how many calls. Counts that need more bits
# are several entries of one bucket, and so packed histograms are added by writing them one after the other.
_BUCKET_BITS = 11
_MOST = 2**21 - 1

PERCENTS = (50, 95, 99)
# A percentile needs calls beyond it: below these numbers it is one call's accident.
NEEDED: Mapping[int, int] = {50: 1, 95: 20, 99: 100}


class Percentiles(NamedTuple):
    """Of calls with a known duration, in nanoseconds; None where there are too few."""

    calls: int
    p50_ns: int | None
    p95_ns: int | None
    p99_ns: int | None

    def record(self) -> dict[str, int | None]:
        """By name, for JSON and CSV, without the number of calls."""
        return {"p50_ns": self.p50_ns, "p95_ns": self.p95_ns, "p99_ns": self.p99_ns}


UNKNOWN = Percentiles(0, None, None, None)


def pack(counts: Mapping[int, int]) -> bytes:
    """Counts by bucket as bytes, in order of the buckets."""
    # Most histograms have few entries: plain numbers are faster than arrays.
    if all(calls <= _MOST for calls in counts.values()):
        entries = [counts[index] << _BUCKET_BITS | index - ZERO for index in sorted(counts)]
        return struct.pack(f"<{len(entries)}I", *entries)
    summed = np.zeros(BUCKETS, dtype=np.int64)
    for index, calls in counts.items():
        summed[index - ZERO] = calls
    return _packed(summed)


def merge(packed: Sequence[bytes]) -> bytes:
    """The sum of packed histograms, packed."""
    return packed[0] if len(packed) == 1 else _packed(_sum(packed))


def _packed(counts: Counts) -> bytes:
    used = np.flatnonzero(counts)
    left, entries = counts[used], []
    while used.size:
        entries.append(np.minimum(left, _MOST) << _BUCKET_BITS | used)
        more = left > _MOST
        used, left = used[more], left[more] - _MOST
    return b"".join(one.astype("<u4").tobytes() for one in entries)


def unpack(packed: Iterable[bytes]) -> dict[int, int]:
    """The sum of packed histograms, as counts by bucket."""
    counts = _sum(packed)
    return {int(at) + ZERO: int(counts[at]) for at in np.flatnonzero(counts)}


def percentiles(packed: Iterable[bytes], least_ns: int | None, most_ns: int) -> Percentiles:
    """The percentiles of a sum of histograms whose shortest and longest durations are known."""
    cumulated = np.cumsum(_sum(packed))
    calls = int(cumulated[-1])
    return Percentiles(calls, *(None if calls < NEEDED[one] else _at(cumulated, one, least_ns, most_ns) for one in PERCENTS))


def estimates(packed: Iterable[bytes], percents: Sequence[int], least: int | None, most: int) -> tuple[int | None, ...]:
    """The values below which so many percent of all lie, whatever is counted; None if there are none."""
    cumulated = np.cumsum(_sum(packed))
    return tuple(_at(cumulated, one, least, most) if cumulated[-1] else None for one in percents)


def _at(cumulated: Counts, percent: int, least: int | None, most: int) -> int:
    rank = -(-int(cumulated[-1]) * percent // 100)
    return min(max(_middle_ns(int(np.searchsorted(cumulated, rank)) + ZERO), least or 0), most)


def _sum(packed: Iterable[bytes]) -> Counts:
    entries = np.frombuffer(b"".join(packed), dtype="<u4")
    # Sums of whole numbers below 2**53 are exact as floats.
    return np.bincount(entries & (BUCKETS - 1), weights=entries >> _BUCKET_BITS, minlength=BUCKETS).astype(np.int64)


def _middle_ns(index: int) -> int:
    """The value that is off by the same share at both ends of a bucket."""
    if index == ZERO:
        return 0
    low, high = math.exp2(index / A_DOUBLING), math.exp2((index + 1) / A_DOUBLING)
    return round(2e9 * low * high / (low + high))

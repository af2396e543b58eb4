"""Which exponential bucket a duration falls in, exact to the nanosecond."""

import math

from schemas.histogram import A_DOUBLING, HIGHEST, ZERO

_NS = 10**9
_NS_POWER: int = _NS**A_DOUBLING


def index_of(duration_ns: int) -> int:
    """ceil(32 log2(seconds)) - 1, within the buckets that there are; ZERO for no duration at all."""
    if duration_ns <= 0:
        return ZERO
    logarithm = A_DOUBLING * math.log2(duration_ns / _NS)
    power = round(logarithm)
    # The float is good to some 1e-12: only beside a whole number it cannot tell, and there whole numbers do (and powers of two lie).
    if abs(logarithm - power) > 1e-6:
        power = math.ceil(logarithm)
    elif not _reaches(power, duration_ns):
        power += 1
    return min(power - 1, HIGHEST)


def _reaches(power: int, duration_ns: int) -> bool:
    """Whether 2**(power / 32) seconds are at least this duration."""
    left: int = duration_ns**A_DOUBLING
    return left <= _NS_POWER << power if power >= 0 else left << -power <= _NS_POWER

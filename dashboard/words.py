"""How numbers, durations and times are written: short, with their unit, and never more exact than they are."""

from datetime import UTC, datetime, tzinfo

# An en dash: there is no number.
DASH = "\u2013"
MINUS = "\u2212"
SECOND_NS = 1_000_000_000


def count(number: float) -> str:
    """1234567 as 1,234,567."""
    return f"{number:,.0f}"


def compact(number: float) -> str:
    """A large number for a tile: 950, 12.3 k, 4.56 M."""
    for limit, divisor, unit in ((1e9, 1e9, " G"), (1e6, 1e6, " M"), (1e4, 1e3, " k")):
        if abs(number) >= limit:
            return f"{number / divisor:.3g}{unit}"
    return f"{number:,.0f}" if number == int(number) or number >= 100 else f"{number:.3g}"


def percent(value: float | None, unit: bool = True) -> str:
    """A share of 0 to 1 as '3.1 %'; a share that is not quite 0 or 1 never reads as 0 or 100; a dash for None."""
    if value is None:
        return DASH
    shown, sign = value * 100, " %" if unit else ""
    if 0 < shown < 0.1:
        return f"< 0.1{sign}"
    if 99.9 < shown < 100:
        return f"> 99.9{sign}"
    return f"{shown:.1f}{sign}" if 0 < shown < 100 else f"{shown:.0f}{sign}"


def duration(ns: float | None) -> str:
    """Nanoseconds as 340 µs, 12.3 ms, 5.30 s, 2 m 5 s, 3 h 10 m; a dash for None."""
    if ns is None:
        return DASH
    for limit, divisor, unit in ((1e3, 1, "ns"), (1e6, 1e3, "µs"), (1e9, 1e6, "ms"), (60e9, 1e9, "s")):
        if ns < limit * 0.9995 or (unit == "s" and ns < limit):
            return f"{ns / divisor:.3g} {unit}"
    return span(ns)


def span(ns: float) -> str:
    """A length of time in its two largest units: 45 s, 2 m 5 s, 3 h 10 m, 2 d 4 h."""
    seconds = max(0, int(ns // SECOND_NS))
    for large, small, size in (("d", "h", 86_400), ("h", "m", 3_600), ("m", "s", 60)):
        if seconds >= size:
            rest = (seconds % size) // {"d": 3_600, "h": 60, "m": 1}[large]
            return f"{seconds // size} {large}" + (f" {rest} {small}" if rest else "")
    return f"{seconds} s"


def ago(then_ns: int | None, now_ns: int) -> str:
    """How long ago: 'just now', '45 s ago', '2 d 4 h ago'; 'in 3 m' for skewed clocks; 'never' for None."""
    if then_ns is None:
        return "never"
    if then_ns > now_ns + SECOND_NS:
        return f"in {span(then_ns - now_ns)}"
    return "just now" if now_ns - then_ns < 2 * SECOND_NS else f"{span(now_ns - then_ns)} ago"


def iso(ns: int) -> str:
    """RFC 3339 in UTC, to the second: 2026-11-30T14:03:20Z."""
    return _at(ns, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def iso_exact(ns: int) -> str:
    """RFC 3339 in UTC, to the nanosecond."""
    return _at(ns, UTC).strftime("%Y-%m-%dT%H:%M:%S") + f".{ns % SECOND_NS:09d}Z"


def stamp(ns: int, zone: tzinfo) -> str:
    """A whole time with the name of its zone: 2026-11-30 15:03:20.123 CET."""
    then = _at(ns, zone)
    return then.strftime("%Y-%m-%d %H:%M:%S") + f".{ns // 1_000_000 % 1000:03d} {then.tzname()}"


def clock_time(ns: int, now_ns: int, zone: tzinfo) -> str:
    """14:03:20 for today, 'Nov 29 14:03:20' else, with the year if it is another one; of a zone that the page names."""
    then, now = _at(ns, zone), _at(now_ns, zone)
    if then.date() == now.date():
        return then.strftime("%H:%M:%S")
    return then.strftime("%b %-d %H:%M:%S" if then.year == now.year else "%Y-%m-%d %H:%M:%S")


def size(count: float) -> str:
    """Bytes as 812 B, 3.4 MB, 1.2 GB."""
    for limit, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= limit:
            return f"{count / limit:.3g} {unit}"
    return f"{count:.0f} B"


def points(value: float) -> str:
    """A difference of two shares in percentage points, with its sign: '+1.2 points'."""
    shown = abs(value) * 100
    text = f"{shown:.2f}" if 0 < shown < 0.1 else f"{shown:.1f}"
    return f"{'+' if value > 0 else MINUS if value < 0 else '±'}{text} points"


def _at(ns: int, zone: tzinfo) -> datetime:
    # Years beyond what datetime knows come from broken clocks: the nearest that can be shown, a day from the edge for any zone.
    return datetime.fromtimestamp(min(max(ns // SECOND_NS, 0), 253_402_214_400), UTC).astimezone(zone)

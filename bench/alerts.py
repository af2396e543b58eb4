"""How long one tick of alerting takes (2,000 tools that are called every minute, 200 rules), and a replay of a week. On SQLite.

python bench/alerts.py
python bench/alerts.py --replay-days 7 --tools 200
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from random import Random

from collector.alert_counts import AlertCounts
from collector.alert_store import AlertStore
from collector.core.default_rules import DEFAULTS
from collector.core.rulebook import read_rules
from collector.work.past import PastCounts
from collector.work.replaying import replay
from collector.work.watch import Watch
from schemas.database import migrate, open_database
from schemas.rollups import WIDTHS_S

SECOND_NS = 10**9
MINUTE_NS = 60 * SECOND_NS
# A Monday noon: the same numbers each time.
NOW_NS = 1_795_435_200 * SECOND_NS
LIMIT_MS = 500
# For a week of 200 tools.
REPLAY_LIMIT_S = 60
MOST_MINUTES = 100
KINDS = (
    ("success", "data", "", ""),
    ("success", "empty", "", ""),
    ("success", "unknown", "", ""),
    ("failure", "", "transient", "true"),
    ("failure", "", "validation", "false"),
)


def rules(count: int) -> str:
    """The built-in rules, and thresholds up to so many rules in all."""
    custom = []
    for number in range(count - len(read_rules(DEFAULTS).rules)):
        category, window = ("transient", "validation")[number % 2], (5, 10, 15)[number % 3]
        when = f"ratio(outcome=failure, category={category}) over {window}m > {40 + number % 50}% and calls >= 20"
        custom.append(f'[rules.custom_{number}]\nkind = "custom"\nseverity = "ticket"\nfor = "5m"\nwhen = "{when}"\n')
    return DEFAULTS + "\n" + "\n".join(custom)


def fill(url: str, tools: int) -> None:
    """Counts of an hour and a half by the minute, and of four weeks by wider buckets; every tool is called every minute."""
    times = [(width, NOW_NS - NOW_NS % (width * SECOND_NS) - step * width * SECOND_NS) for width in WIDTHS_S[1:] for step in range(30)]
    times += [(60, NOW_NS - step * MINUTE_NS) for step in range(MOST_MINUTES)]
    chance = Random(7)
    _write(url, tools, lambda number: ((width, bucket_ns, _calls(chance, number, width)) for width, bucket_ns in times))


def fill_days(url: str, tools: int, days: int) -> None:
    """Counts of some days, by the minute and by wider buckets. The busiest tools are called every minute, the others more seldom.

    One in twenty fails all the time, and every tool has an outage of 20 minutes now and then.
    """
    chance = Random(7)
    begin_ns = NOW_NS - days * 86_400 * SECOND_NS

    def counts(number: int) -> Iterator[tuple[int, int, list[int]]]:
        sums: dict[tuple[int, int], list[int]] = {}
        bucket_ns, every, out_until_ns = begin_ns, 1 + number % 8, 0
        while bucket_ns < NOW_NS:
            calls = _calls(chance, number, 60)
            if chance.random() < every / (days * 1440):
                out_until_ns = bucket_ns + 20 * MINUTE_NS
            if bucket_ns < out_until_ns:
                calls = _with_retries([0, 0, 0, sum(calls[: len(KINDS)]) * 2, 0])
            yield 60, bucket_ns, calls
            for width in WIDTHS_S[1:]:
                whole = sums.setdefault((width, bucket_ns - bucket_ns % (width * SECOND_NS)), [0] * len(calls))
                whole[:] = [one + more for one, more in zip(whole, calls, strict=True)]
            bucket_ns += every * MINUTE_NS if bucket_ns >= out_until_ns else MINUTE_NS
        for (width, at_ns), calls in sums.items():
            yield width, at_ns, calls

    _write(url, tools, counts)


def _calls(chance: Random, number: int, width: int) -> list[int]:
    calls = [chance.randint(1, 9) * width // 60 for _ in KINDS]
    # One tool in twenty is failing; the others do now and then.
    if number % 20 and chance.random() < (0.95 if width > 60 else 0.998):
        calls[3] = calls[4] = 0
    if number % 20:
        calls[1] //= 4
    return _with_retries(calls)


def _with_retries(calls: list[int]) -> list[int]:
    """Calls by kind, and how many retries and failed operations the failures among them make."""
    failed = calls[3] + calls[4]
    return [*calls, failed // 4, failed // 2]


def _write(url: str, tools: int, counts: Callable[[int], Iterable[tuple[int, int, list[int]]]]) -> None:
    """Make the series of so many tools, and what each has by kind in the buckets of `counts`: (width, start, calls by kind)."""
    engine = open_database(url)
    migrate(engine)
    names = (
        "id",
        "grain",
        "environment",
        "client",
        "channel",
        "strength",
        "server",
        "tool",
        "outcome",
        "emptiness",
        "category",
        "retryable",
    )
    with engine.begin() as connection:
        columns = [row[1] for row in connection.exec_driver_sql("PRAGMA table_info(retry_rollup)")]
        given = ("grain", "width_s", "bucket_ns", "series_id", "attempts", "failures", "retries", "failed_last")
        places = ", ".join("?" if name in given else "0" for name in columns)
        order = [given.index(name) for name in columns if name in given]
        for number in range(tools):
            first = number * (len(KINDS) + 1) + 1
            kinds = (*KINDS, ("", "", "", ""))
            series = [
                (first + at, 1, "prod", "", "", "", f"server-{number % 50}", f"tool_{number}", *kind) for at, kind in enumerate(kinds)
            ]
            connection.exec_driver_sql(f"INSERT INTO series ({', '.join(names)}) VALUES ({', '.join('?' for _ in names)})", series)
            rollup, retries = [], []
            for width, bucket_ns, (*calls, retried, failed_last) in counts(number):
                rollup += [(width, bucket_ns, first + at, count) for at, count in enumerate(calls) if count]
                retries.append((1, width, bucket_ns, first + len(KINDS), sum(calls), calls[3] + calls[4], retried, failed_last))
            connection.exec_driver_sql(
                "INSERT INTO rollup (grain, width_s, bucket_ns, series_id, calls, last_ns, timed, duration_sum_us, duration_max_ns) "
                "VALUES (1, ?, ?, ?, ?, 0, 0, 0, 0)",
                rollup,
            )
            rows = [tuple(row[place] for place in order) for row in retries]
            connection.exec_driver_sql(f"INSERT INTO retry_rollup VALUES ({places})", rows)
        connection.exec_driver_sql("ANALYZE")
    engine.dispose()


def replayed(url: str, tools: int, days: int) -> int:
    """Replay the built-in rules on so many days, print, and return 1 if it takes too long."""
    fill_days(url, tools, days)
    engine = open_database(url)
    begun = time.perf_counter()
    found = replay(PastCounts(engine), read_rules(DEFAULTS), NOW_NS - days * 86_400 * SECOND_NS, NOW_NS)
    took = time.perf_counter() - begun
    engine.dispose()
    sys.stdout.write(
        f"{days} days of {tools} tools replayed in {took:.1f} s (limit {REPLAY_LIMIT_S * days / 7:.0f}): "
        f"{found.evaluations} evaluations, {len(found.alerts)} alerts\n"
    )
    return int(took >= REPLAY_LIMIT_S * days / 7)


def main() -> int:
    """Measure, print, and return 1 if the median tick takes too long."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", type=int)
    parser.add_argument("--rules", type=int, default=200)
    parser.add_argument("--ticks", type=int, default=20)
    parser.add_argument("--replay-days", type=int, help="replay so many days instead (of --tools, by default 200)")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'bench.db'}"
        if asked.replay_days:
            return replayed(url, asked.tools or 200, asked.replay_days)
        asked.tools = asked.tools or 2_000
        fill(url, asked.tools)
        engine = open_database(url)
        watch = Watch(AlertStore(engine), AlertCounts(engine), read_rules(rules(asked.rules)))
        took = []
        for tick in range(asked.ticks + 1):
            begun = time.perf_counter()
            watch.tick(NOW_NS + tick * 15 * SECOND_NS)
            took.append((time.perf_counter() - begun) * 1000)
        engine.dispose()
    first, rest = took[0], took[1:]
    sys.stdout.write(
        f"{asked.tools} tools, {asked.rules} rules: first tick {first:.0f} ms, then {statistics.median(rest):.0f} ms "
        f"(least {min(rest):.0f}, most {max(rest):.0f}; limit {LIMIT_MS})\n"
    )
    return int(statistics.median(rest) >= LIMIT_MS)


if __name__ == "__main__":
    raise SystemExit(main())

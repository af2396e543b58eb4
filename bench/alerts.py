"""How long one tick of alerting takes: 2,000 tools that are called every minute, 200 rules, SQLite. Run: python bench/alerts.py."""

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from sqlalchemy import text

from collector.alert_counts import AlertCounts
from collector.alert_store import AlertStore
from collector.core.default_rules import DEFAULTS
from collector.core.rulebook import read_rules
from collector.work.watch import Watch
from schemas.database import migrate, open_database
from schemas.rollups import WIDTHS_S

SECOND_NS = 10**9
MINUTE_NS = 60 * SECOND_NS
# A Monday noon: the same numbers each time.
NOW_NS = 1_795_435_200 * SECOND_NS
LIMIT_MS = 500
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
    for number in range(count - 7):
        category, window = ("transient", "validation")[number % 2], (5, 10, 15)[number % 3]
        when = f"ratio(outcome=failure, category={category}) over {window}m > {40 + number % 50}% and calls >= 20"
        custom.append(f'[rules.custom_{number}]\nkind = "custom"\nseverity = "ticket"\nfor = "5m"\nwhen = "{when}"\n')
    return DEFAULTS + "\n" + "\n".join(custom)


def fill(url: str, tools: int) -> None:
    """Counts of an hour and a half by the minute, and of four weeks by wider buckets."""
    engine = open_database(url)
    migrate(engine)
    chance = Random(7)
    series, rollup, retries = [], [], []
    for number in range(tools):
        place = {"server": f"server-{number % 50}", "tool": f"tool_{number}"}
        ids = []
        for kind in (*KINDS, ("", "", "", "")):
            values = dict(zip(("outcome", "emptiness", "category", "retryable"), kind, strict=True))
            series.append(
                {"id": len(series) + 1, "grain": 1, "environment": "prod", "client": "", "channel": "", "strength": "", **place, **values}
            )
            ids.append(len(series))
        wide = [(width, NOW_NS - NOW_NS % (width * SECOND_NS) - step * width * SECOND_NS) for width in WIDTHS_S[1:] for step in range(30)]
        for width, bucket_ns in [(60, NOW_NS - step * MINUTE_NS) for step in range(MOST_MINUTES)] + wide:
            calls = [chance.randint(1, 9) * width // 60 for _ in KINDS]
            # One tool in twenty is failing; the others do now and then.
            if number % 20 and chance.random() < 0.95:
                calls[3] = calls[4] = 0
            if number % 20:
                calls[1] //= 4
            for series_id, count in zip(ids, calls, strict=False):
                if count:
                    rollup.append((1, width, bucket_ns, series_id, count))
            failed = min(calls[3] + calls[4], sum(calls))
            retries.append((1, width, bucket_ns, ids[-1], sum(calls), failed, failed // 4, failed // 2))
    with engine.begin() as connection:
        names = list(series[0])
        connection.execute(text(f"INSERT INTO series ({', '.join(names)}) VALUES ({', '.join(':' + name for name in names)})"), series)
        connection.exec_driver_sql(
            "INSERT INTO rollup (grain, width_s, bucket_ns, series_id, calls, last_ns, timed, duration_sum_us, duration_max_ns) "
            "VALUES (?, ?, ?, ?, ?, 0, 0, 0, 0)",
            rollup,
        )
        columns = [row[1] for row in connection.exec_driver_sql("PRAGMA table_info(retry_rollup)")]
        given = ("grain", "width_s", "bucket_ns", "series_id", "attempts", "failures", "retries", "failed_last")
        values = ", ".join("?" if name in given else "0" for name in columns)
        order = [given.index(name) for name in columns if name in given]
        connection.exec_driver_sql(f"INSERT INTO retry_rollup VALUES ({values})", [tuple(row[place] for place in order) for row in retries])
        connection.exec_driver_sql("ANALYZE")
    engine.dispose()


def main() -> int:
    """Measure, print, and return 1 if the median tick takes too long."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", type=int, default=2_000)
    parser.add_argument("--rules", type=int, default=200)
    parser.add_argument("--ticks", type=int, default=20)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'bench.db'}"
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

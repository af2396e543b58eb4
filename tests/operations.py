"""What operations, retries and their counts must say, computed plainly from all calls at once: what the worker's tables are held against."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any

from collector.core.histogram import index_of
from schemas import histogram
from tests.database import Database

Record = dict[str, Any]
DAY_NS = 86_400 * 10**9
ORDER = ("", "declared", "same_arguments", "same_tool")
PLACES = ("environment", "server", "client", "tool")
GRAINS = (PLACES, ("environment", "server", "tool"), ("environment",), ("environment", "client"))
SUMS = (
    *("attempts", "failures", "retries", "retries_failed", "wasted", "wasted_ok", "futile", "early", "hot", "hurried", "lost_us"),
    *("repairs", "repairs_failed", "headless", "retried", "second_ok", "failed_first", "first_retryable", "failed_retried"),
    *("failed_third", "failed_fourth", "recovered", "recovered_second", "recovered_third", "exhausted", "missed", "failed_last"),
)
SPREADS = {"gaps": "gap_min_ns gap_max_ns", "recoveries": "recovery_min_ns recovery_max_ns", "growths": "growth_min growth_max"}


def failed(call: Mapping[str, Any]) -> bool:
    return bool(call["outcome"] == "failure")


def end_of(call: Mapping[str, Any]) -> int:
    return int(call["start_ns"] if call["end_ns"] is None else call["end_ns"])


def operations(calls: Sequence[Record]) -> list[list[Record]]:
    """The calls of each operation, in order."""
    found: dict[str, list[Record]] = defaultdict(list)
    for call in calls:
        found[call["chain_id"]].append(call)
    key = ("start_ns", "declared_attempt", "end_ns", "call_id", "trace_id")
    return [
        sorted(
            one, key=lambda call: tuple((call["start_ns"] if name == "end_ns" else 0) if call[name] is None else call[name] for name in key)
        )
        for one in found.values()
    ]


def chain_of(attempts: Sequence[Record], calls: Sequence[Record]) -> Record | None:
    """The row of an operation."""
    first, last = attempts[0], attempts[-1]
    headless = first["link"] == "retry"
    if len(attempts) == 1 and not failed(first) and not headless:
        return None
    failed_first = failed(first) and not headless
    wait_ns = max(120 * 10**9, 2 * (last["retry_after_ms"] or 0) * 10**6)
    closes_ns = min(end_of(last) + wait_ns, 2**63 - 1) if failed(last) else None
    went_on = None
    if failed_first and len(attempts) == 1 and first["retryable"]:
        same = "trace_id" if first["session"] is None else "session"
        went_on = any(call[same] == first[same] and call["start_ns"] > closes_ns for call in calls)
    well = [place for place, call in enumerate(attempts, 1) if not failed(call)]
    recovered_ns = max(0, end_of(attempts[well[0] - 1]) - end_of(first)) if well and failed_first else None
    rows = retries_of(attempts)
    gaps = [gap(*pair) for pair in pairwise(attempts)][:2]
    growth = None
    if len(gaps) == 2 and gaps[0] and gaps[1] is not None:
        growth = min((gaps[1] * 10**9 + gaps[0] // 2) // gaps[0], 2**63 - 1)
    if not failed_first:
        ending = "failed" if failed(last) else "ended"
    elif not failed(last):
        ending = "recovered"
    else:
        ending = "exhausted" if len(attempts) > 2 else "missed" if went_on else "abandoned"
    return {
        **{name: first[name] for name in ("chain_id", "start_ns", *PLACES, "session")},
        "last_start_ns": last["start_ns"],
        "end_ns": last["end_ns"],
        "first_end_ns": first["end_ns"],
        "attempts": len(attempts),
        "headless": headless,
        "repair": first["link"] == "repair",
        "strength": max((row["link_strength"] for row in rows), key=ORDER.index, default=""),
        **{f"first_{name}": first[name] for name in ("outcome", "category", "retryable")},
        "last_outcome": last["outcome"],
        "ending": ending,
        "second_ok": not failed(attempts[1]) if len(attempts) > 1 else None,
        "succeeded": bool(well),
        "recovered_at": well[0] if recovered_ns is not None else None,
        "recovered_ns": recovered_ns,
        "recovered_idx": None if recovered_ns is None else index_of(recovered_ns),
        "growth": growth,
        "growth_idx": None if growth is None else index_of(growth),
        "hopeful_us": sum((row["duration_ns"] or 0) // 1000 for row in rows if not row["wasted"]),
        "uniform": len({tuple(call[name] for name in PLACES) for call in attempts}) == 1,
        "closes_ns": closes_ns,
        "went_on": went_on,
    }


def gap(before: Record, call: Record) -> int | None:
    return None if before["end_ns"] is None else max(0, int(call["start_ns"] - before["end_ns"]))


def retries_of(attempts: Sequence[Record]) -> list[Record]:
    """The rows of an operation's retries."""
    rows: list[Record] = []
    for place, (before, call) in enumerate(pairwise([None, *attempts]), 1):
        assert call is not None
        if call["link"] != "retry":
            assert place == 1
            continue
        waited = None if before is None else gap(before, call)
        told_ms = 0 if before is None else before["retry_after_ms"] or 0
        rows.append(
            {
                **{name: call[name] for name in ("trace_id", "call_id", "chain_id", "start_ns", "duration_ns", *PLACES, "link_strength")},
                "place": place,
                "failed": failed(call),
                "gap_ns": waited,
                "gap_idx": None if waited is None else index_of(waited),
                "wasted": before is not None and before["retryable"] == False,  # noqa: E712 - None is neither
                "early": waited is not None and waited < told_ms * 10**6,
                "hot": waited is not None and waited < 10**8,
            }
        )
        so_far = attempts[:place]
        rows[-1] |= {
            "strength_so_far": max((row["link_strength"] for row in rows), key=ORDER.index),
            "succeeded_so_far": not all(map(failed, so_far)),
            "uniform_so_far": len({tuple(one[name] for name in PLACES) for one in so_far}) == 1,
            "hopeful_us_so_far": sum((row["duration_ns"] or 0) // 1000 for row in rows if not row["wasted"]),
        }
    return rows


def counts_of(attempts: Sequence[Record], chain: Record | None) -> list[tuple[Record, Counter[str], dict[str, int]]]:
    """What an operation adds to the measures: the call in whose bucket it counts, the sums, and the values that are spread."""
    found: list[tuple[Record, Counter[str], dict[str, int]]] = []
    rows = {(row["trace_id"], row["call_id"]): row for row in retries_of(attempts)}
    for call in attempts:
        one = Counter(attempts=1, failures=failed(call))
        if call["link"] == "repair":
            one += Counter(repairs=1, repairs_failed=failed(call))
        spread = {}
        if row := rows.get((call["trace_id"], call["call_id"])):
            assert chain is not None
            futile = not chain["succeeded"]
            lost = (row["duration_ns"] or 0) // 1000 if row["wasted"] or futile else 0
            one += Counter(retries=1, retries_failed=row["failed"], wasted=row["wasted"], wasted_ok=row["wasted"] and not row["failed"])
            one += Counter(futile=futile, early=row["early"], hot=row["hot"], hurried=row["early"] or row["hot"], lost_us=lost)
            spread = {} if row["gap_ns"] is None else {"gaps": row["gap_ns"]}
        found.append((call, one, spread))
    if chain is None:
        return found
    headed = not chain["headless"]
    failed_first = headed and chain["first_outcome"] == "failure"
    recovered, place = chain["ending"] == "recovered", chain["recovered_at"]
    much = chain["attempts"]
    found[0][1].update(
        Counter(headless=not headed, retried=headed and much > 1, second_ok=headed and bool(chain["second_ok"]))
        + Counter(failed_first=failed_first, first_retryable=failed_first and bool(chain["first_retryable"]))
        + Counter(failed_retried=failed_first and much > 1, failed_third=failed_first and much > 2, failed_fourth=failed_first and much > 3)
        + Counter(recovered=recovered, recovered_second=recovered and place == 2, recovered_third=recovered and place == 3)
        + Counter(
            exhausted=chain["ending"] == "exhausted", missed=chain["ending"] == "missed", failed_last=chain["last_outcome"] == "failure"
        )
    )
    if recovered:
        found[0][2]["recoveries"] = chain["recovered_ns"]
    if headed and chain["growth"] is not None:
        found[0][2]["growths"] = chain["growth"]
    return found


def folded(calls: Sequence[Record], names_a_day: int) -> set[tuple[int, str, str]]:
    """The (day, server, tool) that are counted under one name."""
    well = {(call["server"], call["tool"]) for call in calls if call["outcome"] in ("success", "partial")}
    first: dict[tuple[int, str, str], int] = {}
    for call in calls:
        name = (call["start_ns"] // DAY_NS, call["server"], call["tool"])
        first[name] = min(call["start_ns"], first.get(name, call["start_ns"]))
    found: set[tuple[int, str, str]] = set()
    for _, names in groupby(sorted(first), key=lambda name: name[:2]):
        found |= set(sorted(names, key=lambda name: (first[name], name[2].encode()))[names_a_day:])
    return {name for name in found if name[1:] not in well}


def as_they_must_be(database: Database) -> tuple[list[Record], list[Record], list[Record]]:
    """All operations, all retries, and all counts."""
    calls = database.calls()
    chains, retries = [], []
    sums: dict[tuple[Any, ...], Counter[str]] = defaultdict(Counter)
    spreads: dict[tuple[Any, ...], dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    other = folded(calls, database.names_a_day)
    for attempts in operations(calls):
        chain = chain_of(attempts, calls)
        chains += [] if chain is None else [chain]
        retries += retries_of(attempts)
        for call, counts, spread in counts_of(attempts, chain):
            strength = "" if chain is None else chain["strength"]
            hidden = (call["start_ns"] // DAY_NS, call["server"], call["tool"]) in other
            shown = call | ({"tool": "(other)"} if hidden else {})
            for width_s in (60, 900, 7_200, 86_400):
                bucket_ns = call["start_ns"] - call["start_ns"] % (width_s * 10**9)
                for grain, names in enumerate(GRAINS):
                    key = (grain, width_s, bucket_ns, *(shown[name] if name in names else "" for name in PLACES), strength)
                    sums[key].update(counts)
                    for name, value in spread.items():
                        spreads[key][name].append(value)
    rollup = []
    for key, counts in sums.items():
        row = dict(zip(("grain", "width_s", "bucket_ns", *PLACES, "strength"), key, strict=True))
        row |= {name: counts[name] for name in SUMS}
        for name, bounds in SPREADS.items():
            values = spreads[key][name]
            row |= dict(zip(bounds.split(), (min(values, default=None), max(values, default=0)), strict=True))
            row[name] = Counter(map(index_of, values))
        rollup.append(row)
    return in_order(chains, "chain_id"), in_order(retries, "chain_id", "place"), in_order(rollup, *COUNTED)


def as_they_are(database: Database) -> tuple[list[Record], list[Record], list[Record]]:
    """The same, as the worker's tables have it."""
    chains = database.rows("SELECT * FROM chain")
    retries = database.rows("SELECT * FROM retry")
    rollup = database.rows(
        "SELECT * FROM retry_rollup JOIN (SELECT id AS series_id, environment, server, client, tool, strength FROM series) AS named "
        "USING (series_id) LEFT JOIN retry_histogram USING (grain, width_s, bucket_ns, series_id)"
    )
    for row in rollup:
        row.pop("series_id")
        row |= {name: Counter(histogram.unpack([row[name] or b""])) for name in SPREADS}
    return in_order(chains, "chain_id"), in_order(retries, "chain_id", "place"), in_order(rollup, *COUNTED)


COUNTED = ("grain", "width_s", "bucket_ns", *PLACES, "strength")


def in_order(rows: list[Record], *names: str) -> list[Record]:
    return sorted(rows, key=lambda row: tuple(row[name] for name in names))


def check(database: Database) -> None:
    """Operations, retries and counts are what the calls say."""
    for what, are, must_be in zip(("chain", "retry", "counts"), as_they_are(database), as_they_must_be(database), strict=True):
        wrong = [row for row in are if row not in must_be][:1] if are != must_be else []
        right = [row for row in must_be if row not in are][:1] if are != must_be else []
        assert are == must_be, f"{what}: there is {wrong}, there should be {right}"

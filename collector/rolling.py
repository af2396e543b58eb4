"""The statements of the one transaction that rolls a bucket up: tool names folded, then rows at every grain and width."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from sqlalchemy import BigInteger, ColumnElement, Connection, Select, case, cast, func, select

from collector.counting import COUNTED, Counted, Group, Measures, Sum, at_every_grain, count
from collector.naming import Naming
from collector.statements import Inserting, Plain, adding, chunks, table
from schemas import histogram
from schemas.rollups import DAY_NS, DIMENSIONS, DURATION_GRAINS, MINUTE_S, QUARTER_S, SECOND_NS, WIDTHS_S
from schemas.tables import CallRow, CounterRow, DurationRow, MetaRow, RollupRow

Key = tuple[Any, ...]
_SERIES = ("grain", *DIMENSIONS)
MEASURES = ", ".join(Measures._fields)
_SUMS = "SUM(calls), MAX(last_ns), SUM(timed), SUM(duration_sum_us), MIN(duration_min_ns), MAX(duration_max_ns)"


class Horizons(NamedTuple):
    """Before these times calls, minute rollups and all rollups are gone or going; multiples of a quarter of an hour."""

    call_ns: int = 0
    minute_ns: int = 0
    rollup_ns: int = 0

    def base_s(self, bucket_ns: int) -> int:
        """The narrowest width that a time is counted by."""
        return QUARTER_S if bucket_ns < self.minute_ns else MINUTE_S

    def frozen(self, bucket_ns: int) -> bool:
        """Whether what is counted there stays as it is, since the calls are gone."""
        return bucket_ns < max(self.call_ns, self.rollup_ns)


def horizons(connection: Connection) -> Horizons:
    """How far pruning has come."""
    meta = table(MetaRow).c
    found = {row.name: int(row.value) for row in connection.execute(select(meta.name, meta.value).where(meta.name.like("pruned_%")))}
    return Horizons(**{name: found.get(f"pruned_{name}", 0) for name in Horizons._fields})


def grouped(bucket_ns: int, width_s: int) -> Select[Any]:
    """The calls of a bucket as Groups: a GROUP BY over call."""
    call = table(CallRow).c
    failed = case((call.retryable.is_(True), "true"), (call.retryable.is_(False), "false"), else_="unknown")
    by: dict[str, ColumnElement[Any]] = {name: call[name] for name in ("environment", "server", "client", "tool", "outcome")}
    by |= {name: func.coalesce(call[name], "") for name in ("emptiness", "category", "channel")}
    by["retryable"] = case((call.outcome == "failure", failed), else_="")
    keys = [*(by[name] for name in DIMENSIONS), call.duration_idx]
    return (
        select(
            *keys,
            func.count(),
            func.min(call.start_ns),
            func.max(call.start_ns),
            cast(func.coalesce(func.sum(call.duration_ns // 1000), 0), BigInteger),
            func.min(call.duration_ns),
            func.coalesce(func.max(call.duration_ns), 0),
        )
        .where(call.start_ns >= bucket_ns, call.start_ns < bucket_ns + width_s * SECOND_NS)
        .group_by(*keys)
    )


class Prepared(NamedTuple):
    """What can be computed before the write lock is taken: `series` holds the ids of those that are there already, by grain and key."""

    counted: Counted
    unfolded: tuple[dict[tuple[str, ...], Sum], ...]
    series: dict[Key, int]


def prepare(connection: Connection, plain: Plain, bucket_ns: int, width_s: int) -> Prepared:
    """Read and count the calls of a bucket."""
    counted = count(Group(*row) for row in connection.execute(grouped(bucket_ns, width_s)))
    unfolded = at_every_grain(counted, ())
    driver, mark = connection.connection.driver_connection, plain.marks(1)[1:-1]
    keys = [(grain, *key) for grain, found in enumerate(unfolded) for key in found]
    return Prepared(counted, unfolded, {key: found for key in keys if (found := series_id(driver, mark, key)) is not None})


def series_id(driver: Any, mark: str, key: Key) -> int | None:
    """The id of a series: its grain and the values of DIMENSIONS."""
    row = driver.execute(f"SELECT id FROM series WHERE {' AND '.join(f'{name} = {mark}' for name in _SERIES)}", key).fetchone()
    return None if row is None else int(row[0])


def _replacing(*columns: str) -> str:
    changes = ", ".join(f"{name} = excluded.{name}" for name in columns)
    return f"ON CONFLICT (grain, width_s, bucket_ns, series_id) DO UPDATE SET {changes}"


class Rolling:
    """An open transaction that computes one bucket whole, and the wider ones around it from the narrower ones."""

    def __init__(self, connection: Connection, plain: Plain, inserting: Inserting, names_a_day: int) -> None:
        self._connection = connection
        self._plain = plain
        self._inserting = inserting
        self._names_a_day = names_a_day
        # Thousands of small statements: the driver's own connection, in the same transaction.
        self._driver: Any = connection.connection.driver_connection
        self._mark = plain.marks(1)[1:-1]

    def write(self, bucket_ns: int, width_s: int, prepared: Prepared, noted_ns: int) -> None:
        """Make the rows of a bucket say what was prepared."""
        names = Naming(self._connection, self._plain, self._inserting, self._names_a_day, noted_ns)
        folded = names.folded(bucket_ns - bucket_ns % DAY_NS, prepared.counted.names)
        grains = at_every_grain(prepared.counted, folded) if folded else prepared.unfolded
        for grain, found in enumerate(grains):
            new = {prepared.series.get((grain, *key)) or self._series((grain, *key)): one for key, one in found.items()}
            changed, more = self._replace(grain, bucket_ns, width_s, new)
            if grain == COUNTED:
                self._count(more)
            self._widen(grain, bucket_ns, width_s, changed)

    def _replace(self, grain: int, bucket_ns: int, width_s: int, new: Mapping[int, Sum]) -> tuple[list[int], int]:
        """Write what differs from what is there. Returns the series that changed, and how many calls there are more."""
        place = (grain, width_s, bucket_ns)
        old = {row[0]: Measures(*row[1:]) for row in self._rows(f"SELECT series_id, {MEASURES} FROM rollup WHERE", place)}
        packed: dict[int, bytes] = dict(self._rows("SELECT series_id, packed FROM duration WHERE", place))
        histograms = {one: histogram.pack(new[one].counts) for one in new if new[one].counts} if grain in DURATION_GRAINS else {}
        changed = [
            one
            for one in sorted(old.keys() | new.keys())
            if one not in new or old.get(one) != new[one].measures() or packed.get(one) != histograms.get(one)
        ]
        self._store(place, changed, {one: new[one].measures() for one in changed if one in new}, histograms)
        return changed, sum(one.calls for one in new.values()) - sum(one.calls for one in old.values())

    def _widen(self, grain: int, bucket_ns: int, width_s: int, changed: Sequence[int]) -> None:
        """Sum the wider buckets around a bucket up anew, for the series that changed."""
        for finer_s, wider_s in pairwise(WIDTHS_S):
            if wider_s <= width_s:
                continue
            wider_ns = wider_s * SECOND_NS
            start = bucket_ns - bucket_ns % wider_ns
            for run in chunks(changed):
                within = (grain, finer_s, start, start + wider_ns, *run)
                where = self._marked(f"grain = ? AND width_s = ? AND bucket_ns >= ? AND bucket_ns < ? AND series_id IN {self._some(run)}")
                found = self._driver.execute(f"SELECT series_id, {_SUMS} FROM rollup WHERE {where} GROUP BY series_id", within)
                # PostgreSQL sums integers to decimals.
                rows = {row[0]: Measures._make(None if value is None else int(value) for value in row[1:]) for row in found}
                parts: dict[int, list[bytes]] = {}
                if grain in DURATION_GRAINS:
                    for one, packed in self._driver.execute(f"SELECT series_id, packed FROM duration WHERE {where}", within):
                        parts.setdefault(one, []).append(packed)
                self._store((grain, wider_s, start), run, rows, {one: histogram.merge(part) for one, part in parts.items()})

    def _store(
        self, place: tuple[int, int, int], series: Sequence[int], rows: Mapping[int, Measures], histograms: Mapping[int, bytes]
    ) -> None:
        """Replace the rows of some series at a place."""
        for name, kept in (("rollup", rows), ("duration", histograms)):
            for run in chunks([one for one in series if one not in kept and (name == "rollup" or place[0] in DURATION_GRAINS)]):
                where = self._marked(f"grain = ? AND width_s = ? AND bucket_ns = ? AND series_id IN {self._some(run)}")
                self._driver.execute(f"DELETE FROM {name} WHERE {where}", (*place, *run))
        written = [(*place, one, *rows[one]) for one in series if one in rows]
        self._plain.insert(self._connection, RollupRow, written, _replacing(*Measures._fields))
        packed = [(*place, one, histograms[one]) for one in series if one in histograms]
        self._plain.insert(self._connection, DurationRow, packed, _replacing("packed"))

    def _rows(self, select_where: str, place: tuple[int, int, int]) -> Iterator[tuple[Any, ...]]:
        found: Iterator[tuple[Any, ...]] = self._driver.execute(
            self._marked(f"{select_where} grain = ? AND width_s = ? AND bucket_ns = ?"), place
        )
        return found

    def _series(self, key: tuple[Any, ...]) -> int:
        """The id of a series, given one if it is new."""
        found = series_id(self._driver, self._mark, key)
        if found is None:
            insert = f"INSERT INTO series ({', '.join(_SERIES)}) VALUES {self._some(_SERIES)} RETURNING id"
            found = self._driver.execute(self._marked(insert), key).fetchone()[0]
        return found

    def _count(self, more: int) -> None:
        if more:
            self._connection.execute(adding(self._inserting, CounterRow, ("name",), ("value",)), [{"name": "calls", "value": more}])

    def _some(self, values: Sequence[Any]) -> str:
        return f"({', '.join('?' * len(values))})"

    def _marked(self, sql: str) -> str:
        return sql.replace("?", self._mark)

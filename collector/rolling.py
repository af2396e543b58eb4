"""The statements of the one transaction that rolls a bucket up: tool names folded, then rows at every grain and width."""

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from sqlalchemy import Connection, select
from sqlmodel import SQLModel

from collector.counting import COUNTED, Counted, Group, Series, Sum, Summed, at_every_grain, count
from collector.grouping import calls_of, grouped_operations, grouped_retries
from collector.naming import Naming
from collector.retry_counting import OperationGroup, RetryGroup, RetrySum, count_retries
from collector.statements import Inserting, Plain, adding, chunks, table
from schemas import histogram
from schemas.retry_tables import RetryHistogramRow, RetryRollupRow
from schemas.rollups import DAY_NS, DIMENSIONS, DURATION_GRAINS, MINUTE_S, QUARTER_S, RETRY_GRAINS, SECOND_NS, WIDTHS_S
from schemas.tables import CounterRow, DurationRow, MetaRow, RollupRow

Key = tuple[Any, ...]
Row = tuple[Any, ...]
# Grain, width, bucket.
Place = tuple[int, int, int]
_SERIES = ("grain", *DIMENSIONS, "strength")


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


class Layer(NamedTuple):
    """A table of measures by grain, width, bucket and series, and beside it one of histograms, at some of the grains."""

    measures: type[SQLModel]
    histograms: type[SQLModel]
    grains: Collection[int]

    @property
    def measured(self) -> tuple[str, ...]:
        """The columns of the measures."""
        return _beside_key(self.measures)

    @property
    def packed(self) -> tuple[str, ...]:
        """The columns of the histograms."""
        return _beside_key(self.histograms)


CALLS = Layer(RollupRow, DurationRow, DURATION_GRAINS)
RETRIES = Layer(RetryRollupRow, RetryHistogramRow, range(len(RETRY_GRAINS)))


Layered = tuple[tuple[Layer, tuple[Mapping[Series, Summed], ...]], ...]


class Prepared(NamedTuple):
    """What can be computed before the write lock is taken: the sums of each layer by grain and series, first under the true names of
    tools, and the ids of the series that are there already."""

    counted: Counted
    retries: Mapping[Series, RetrySum]
    unfolded: Layered
    series: Mapping[Key, int]

    def layers(self, folded: Collection[tuple[str, str]]) -> Layered:
        """The sums of each layer by grain and series, some tool names folded."""
        return layers(self.counted.sums, self.retries, folded) if folded else self.unfolded


def layers(sums: Mapping[Series, Sum], retries: Mapping[Series, RetrySum], folded: Collection[tuple[str, str]] = ()) -> Layered:
    """What is counted of a bucket, by layer, grain and series."""
    return (CALLS, at_every_grain(sums, Sum, folded)), (RETRIES, at_every_grain(retries, RetrySum, folded, RETRY_GRAINS))


def prepare(connection: Connection, plain: Plain, bucket_ns: int, width_s: int) -> Prepared:
    """Read and count the calls of a bucket, its retries, and the operations that begin in it."""
    counted = count(Group(*row) for row in calls_of(connection, bucket_ns, width_s))
    retries = (RetryGroup(*row) for row in connection.execute(grouped_retries(bucket_ns, width_s)))
    operations = (OperationGroup(*row) for row in connection.execute(grouped_operations(bucket_ns, width_s)))
    summed = count_retries(counted.sums, retries, operations)
    unfolded = layers(counted.sums, summed)
    driver, mark = connection.connection.driver_connection, plain.marks(1)[1:-1]
    keys = {(grain, *key) for _, grains in unfolded for grain, found in enumerate(grains) for key in found}
    return Prepared(counted, summed, unfolded, {key: found for key in keys if (found := series_id(driver, mark, key)) is not None})


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
        for layer, grains in prepared.layers(folded):
            for grain, found in enumerate(grains):
                new = {prepared.series.get((grain, *key)) or self._series((grain, *key)): one for key, one in found.items()}
                place = (grain, width_s, bucket_ns)
                if layer is CALLS and grain == COUNTED:
                    self._count(new, place)
                self._widen(layer, grain, bucket_ns, width_s, self._replace(layer, place, new))

    def _replace(self, layer: Layer, place: Place, new: Mapping[int, Summed]) -> list[int]:
        """Write what differs from what is there. Returns the series that changed."""
        old, old_packed = self._stored(layer.measures, place), self._stored(layer.histograms, place)
        rows = {series: one.measures() for series, one in new.items()}
        packed = {series: one.packed() for series, one in new.items()} if place[0] in layer.grains else {}
        packed = {series: one for series, one in packed.items() if any(one)}
        changed = sorted(one for one in old.keys() | rows.keys() if old.get(one) != rows.get(one) or old_packed.get(one) != packed.get(one))
        self._store(layer, place, changed, rows, packed)
        return changed

    def _widen(self, layer: Layer, grain: int, bucket_ns: int, width_s: int, changed: Sequence[int]) -> None:
        """Sum the wider buckets around a bucket up anew, for the series that changed."""
        for finer_s, wider_s in pairwise(WIDTHS_S):
            if wider_s <= width_s:
                continue
            wider_ns = wider_s * SECOND_NS
            start = bucket_ns - bucket_ns % wider_ns
            for run in chunks(changed):
                within = (grain, finer_s, start, start + wider_ns, *run)
                where = self._marked(f"grain = ? AND width_s = ? AND bucket_ns >= ? AND bucket_ns < ? AND series_id IN {self._some(run)}")
                sums = ", ".join(_summed(name) for name in layer.measured)
                found = self._driver.execute(
                    f"SELECT series_id, {sums} FROM {_name(layer.measures)} WHERE {where} GROUP BY series_id", within
                )
                # PostgreSQL sums integers to decimals.
                rows = {row[0]: tuple(None if value is None else int(value) for value in row[1:]) for row in found}
                parts: dict[int, list[tuple[bytes, ...]]] = {}
                if grain in layer.grains:
                    columns = ", ".join(layer.packed)
                    for one, *packed in self._driver.execute(
                        f"SELECT series_id, {columns} FROM {_name(layer.histograms)} WHERE {where}", within
                    ):
                        parts.setdefault(one, []).append(tuple(packed))
                merged = {one: tuple(histogram.merge(column) for column in zip(*part, strict=True)) for one, part in parts.items()}
                self._store(layer, (grain, wider_s, start), run, rows, merged)

    def _store(
        self, layer: Layer, place: Place, series: Sequence[int], rows: Mapping[int, Row], packed: Mapping[int, tuple[bytes, ...]]
    ) -> None:
        """Replace the rows of some series at a place."""
        for model, kept in ((layer.measures, rows), (layer.histograms, packed)):
            if model is layer.histograms and place[0] not in layer.grains:
                continue
            for run in chunks([one for one in series if one not in kept]):
                where = self._marked(f"grain = ? AND width_s = ? AND bucket_ns = ? AND series_id IN {self._some(run)}")
                self._driver.execute(f"DELETE FROM {_name(model)} WHERE {where}", (*place, *run))
            written = [(*place, one, *kept[one]) for one in series if one in kept]
            self._plain.insert(self._connection, model, written, _replacing(*_beside_key(model)))

    def _stored(self, model: type[SQLModel], place: Place) -> dict[int, Row]:
        """The rows of a place by series."""
        columns = ", ".join(("series_id", *_beside_key(model)))
        where = self._marked("grain = ? AND width_s = ? AND bucket_ns = ?")
        return {row[0]: tuple(row[1:]) for row in self._driver.execute(f"SELECT {columns} FROM {_name(model)} WHERE {where}", place)}

    def _series(self, key: tuple[Any, ...]) -> int:
        """The id of a series, given one if it is new."""
        found = series_id(self._driver, self._mark, key)
        if found is None:
            insert = f"INSERT INTO series ({', '.join(_SERIES)}) VALUES {self._some(_SERIES)} RETURNING id"
            found = self._driver.execute(self._marked(insert), key).fetchone()[0]
        return found

    def _count(self, new: Mapping[int, Summed], place: Place) -> None:
        """Count how many calls there are more than before."""
        more = sum(one.measures()[0] for one in new.values()) - sum(row[0] for row in self._stored(RollupRow, place).values())
        if more:
            self._connection.execute(adding(self._inserting, CounterRow, ("name",), ("value",)), [{"name": "calls", "value": more}])

    def _some(self, values: Sequence[Any]) -> str:
        return f"({', '.join('?' * len(values))})"

    def _marked(self, sql: str) -> str:
        return sql.replace("?", self._mark)


def _summed(name: str) -> str:
    """How a measure is added up."""
    how = "MIN" if "_min" in name else "MAX" if "_max" in name or name == "last_ns" else "SUM"
    return f"{how}({name})"


def _beside_key(model: type[SQLModel]) -> tuple[str, ...]:
    return tuple(column.name for column in table(model).columns if not column.primary_key)


def _name(model: type[SQLModel]) -> str:
    return str(model.__tablename__)

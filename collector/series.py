"""The series that keep tools apart, but not clients: what alerting, suppression and reviews count by."""

from typing import NamedTuple

from sqlalchemy import Connection, select

from collector.statements import table
from schemas.tables import SeriesRow

GRAIN = 1


class Series(NamedTuple):
    """What the rows of a series count."""

    id: int
    environment: str
    server: str
    tool: str
    outcome: str
    emptiness: str
    category: str
    retryable: str


def series_after(connection: Connection, last: int) -> list[Series]:
    """The series that came after one, by id; all of them after 0. They never change."""
    series = table(SeriesRow).c
    columns = [series[name] for name in Series._fields]
    found = connection.execute(select(*columns).where(series.id > last, series.grain == GRAIN).order_by(series.id))
    return [Series(*row) for row in found]

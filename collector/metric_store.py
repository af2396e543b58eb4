"""Every SQL statement that only metrics ask: totals of spans, what waits, what rules said last; reads only, each by index or key."""

from typing import NamedTuple

from sqlalchemy import Engine, func, select

from collector.statements import table
from schemas.alert_tables import DeliveryRow, RuleStateRow
from schemas.tables import CounterRow, PendingBucketRow, PendingTraceRow

# The totals that are metrics: all that count spans only grow.
SPANS = "_spans"


class Waiting(NamedTuple):
    """A work list: how many are on it, and since when the first; None if there is none."""

    number: int
    since_ns: int | None


class RuleEvaluated(NamedTuple):
    """When a rule was evaluated last, and whether that failed."""

    name: str
    evaluated_ns: int
    failed: bool


class MetricStore:
    """The database as metrics read it. Safe to share between threads."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def spans(self) -> dict[str, int]:
        """Totals of spans since the database was made, by name."""
        counter = table(CounterRow).c
        with self._engine.connect().execution_options(read_only=True) as connection:
            rows = connection.execute(select(counter.name, counter.value)).all()
        return {name: value for name, value in rows if name.endswith(SPANS)}

    def pending(self) -> tuple[Waiting, Waiting]:
        """The traces that are to be settled, and the minutes that are to be counted."""
        with self._engine.connect().execution_options(read_only=True) as connection:
            found = [
                Waiting(*connection.execute(select(func.count(), func.min(table(model).c.noted_ns)).select_from(table(model))).one())
                for model in (PendingTraceRow, PendingBucketRow)
            ]
        return found[0], found[1]

    def rules(self) -> list[RuleEvaluated]:
        """What is known of the last evaluation of each rule, by name."""
        rule = table(RuleStateRow).c
        with self._engine.connect().execution_options(read_only=True) as connection:
            query = select(rule.name, rule.evaluated_ns, rule.error != "").order_by(rule.name)
            return [RuleEvaluated(name, evaluated_ns, bool(failed)) for name, evaluated_ns, failed in connection.execute(query)]

    def deliveries(self) -> dict[str, Waiting]:
        """What is still to be sent, by channel."""
        delivery = table(DeliveryRow).c
        query = select(delivery.channel, func.count(), func.min(delivery.created_ns)).where(delivery.next_ns.is_not(None))
        with self._engine.connect().execution_options(read_only=True) as connection:
            rows = connection.execute(query.group_by(delivery.channel)).all()
        return {channel: Waiting(number, since_ns) for channel, number, since_ns in rows}

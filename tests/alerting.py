"""Fleets that fail in known ways, and a clock that takes their spans through collector, worker and alerting, tick by tick."""

from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush
from itertools import count
from typing import Any, NamedTuple

from opentelemetry.proto.trace.v1.trace_pb2 import Span

from collector.alert_counts import AlertCounts
from collector.alert_store import AlertStore
from collector.core.channels import WEBHOOK, ChannelConfig
from collector.core.default_rules import DEFAULTS
from collector.core.rounds import Identity
from collector.core.rulebook import RuleBook, read_rules
from collector.work.notify.outbox import Outbox
from collector.work.past import PastCounts
from collector.work.replaying import replay
from collector.work.watch import Watch
from schemas.alerting import FIRED, SECOND_NS, Delivery
from tests.database import Database
from tests.spans import START_NS, request, tool_span

TICK_S = 15
# What a test notes of alerts, for the summary of a run.
ALERT_DELAYS = "alert delays"
EVERYTHING = ChannelConfig("all", WEBHOOK, "http://127.0.0.1:9/hook", "", "info")


class Sent(NamedTuple):
    """A span of a fleet, and the second at which it ends."""

    end: float
    span: Span


class Fleet:
    """Makes the spans of calls; ids count up from a number on, so that everything is the same each time."""

    def __init__(self, first: int = 1) -> None:
        self.sent: list[Sent] = []
        self._numbers = count(first)
        self._traces = count(first)

    def call(self, start: float, *, failure: str | None = None, seconds: float = 0.2, tool: str = "get_order", **more: Any) -> None:
        """One call: `failure` is the category that it fails with; `session`, `arguments`, `trace` and attributes beside."""
        attributes: dict[str, Any] = {
            "mcp.session.id": more.pop("session", "s1"),
            "gen_ai.tool.call.arguments": f'{{"q":"{more.pop("arguments", "a")}"}}',
        }
        if failure is not None:
            attributes |= {"isError": True, "errorCategory": failure, "error.type": "tool_error"}
        trace = f"{more.pop('trace', None) or next(self._traces) + 2**64:032x}"
        span = tool_span(tool, next(self._numbers), trace=trace, start=start, seconds=seconds, attributes={**attributes, **more})
        self.sent.append(Sent(start + seconds, span))

    def operation(self, start: float, attempts: Sequence[bool], apart: float = 2.0, **more: Any) -> None:
        """Attempts one after the other with the same arguments; each says whether it goes well."""
        trace = next(self._traces) + 2**64
        failure = more.pop("failure", "transient")
        for place, well in enumerate(attempts):
            self.call(start + place * apart, failure=None if well else failure, trace=trace, **dict(more))


def steady(
    fleet: Fleet, from_s: int, to_s: int, every_s: float, down: Callable[[float], bool], retries: int = 2, sessions: int = 8, **more: Any
) -> None:
    """Operations of many sessions at a steady pace, that retry while the tool is down."""
    for number in range(int((to_s - from_s) / every_s)):
        start = from_s + number * every_s
        attempts = [False] * (1 + retries) if down(start) else [True]
        fleet.operation(start, attempts, session=f"s{number % sessions}", arguments=f"{number}", **dict(more))


def overloaded(
    fleet: Fleet, cut_s: float, to_s: int, *, rate: float = 6.2, capacity: float = 16.0, at_s: float = 120.0
) -> list[tuple[float, bool]]:
    """A backend that loses four fifths of its capacity for a while, and clients that wait 3 s and retry up to four times.

    One queue, first come first served, that also serves what nobody waits for any longer. A thousandth of a fleet of 6,200 calls a
    second. Gives (start, whether it went well) of every attempt.
    """
    waiting: list[tuple[float, int, int]] = []
    for number in range(int(to_s * rate)):
        heappush(waiting, (number / rate, number, 0))
    free, attempts = 0.0, []
    while waiting:
        start, number, attempt = heappop(waiting)
        begins = max(free, start)
        free = begins + (5 if at_s <= begins < at_s + cut_s else 1) / capacity
        well = free - start <= 3.0
        attempts.append((start, well))
        if start <= to_s:
            fleet.call(
                start,
                failure=None if well else "transient",
                seconds=min(3.0, free - start),
                session=f"s{number % 40}",
                arguments=f"{number}",
                trace=2**80 + number,
            )
        if not well and attempt < 4:
            heappush(waiting, (start + 3.5, number, attempt + 1))
    return attempts


class Told(NamedTuple):
    """Something that was told, the second at which it was decided, and the alert as it was then."""

    at: int
    event: str
    rule: str
    severity: str
    class_: str
    tool: str | None
    alert_id: str
    identity: Identity
    fired: int
    first_bad: float | None


class Delay(NamedTuple):
    """How soon a firing was delivered, in seconds of the fleet: after the first bad call, and after the earliest moment at which the rule
    could have known it, all calls at hand."""

    rule: str
    after_first_bad: float | None
    after_due: float

    def __str__(self) -> str:
        first = "" if self.after_first_bad is None else f" {self.after_first_bad:.0f} s after the first bad call,"
        return f"{self.rule}: delivered{first} {self.after_due:.0f} s after it could be known"


class Inbox:
    """A channel that is always reached: when each event of an alert arrived first."""

    def __init__(self) -> None:
        self.arrived: dict[tuple[str, str], int] = {}

    def send(self, delivery: Delivery, now_ns: int) -> None:
        """Take a delivery."""
        self.arrived.setdefault((delivery.alert_id, delivery.event), (now_ns - START_NS) // SECOND_NS)


class Watched:
    """A database under watch, with the clock of the fleet; `told` is what was told of it."""

    def __init__(self, database: Database, rules: str = DEFAULTS, *, delivering: bool = False) -> None:
        self.database = database
        self.delivering = delivering
        self.book: RuleBook = read_rules(rules)
        self.store = AlertStore(database.engine)
        self.told: list[Told] = []
        self.ticks: list[int] = []
        self.inbox = Inbox()
        self._ids = count(1)
        self.restart()

    def restart(self) -> None:
        """Forget everything that is not in the database."""
        counts = AlertCounts(self.database.engine)
        self.watch = Watch(self.store, counts, self.book, [EVERYTHING], "http://here", lambda: f"{next(self._ids):08x}")

    def run(self, fleet: Fleet, to_s: int, from_s: int = TICK_S, watched_from_s: int = 0, restart_at: Iterable[int] = ()) -> None:
        """Take in what has ended by each tick, understand it, and evaluate."""
        spans = sorted(fleet.sent, key=lambda one: one.end)
        place = sum(one.end <= from_s - TICK_S for one in spans)
        for now_s in range(from_s, to_s, TICK_S):
            now_ns = START_NS + now_s * SECOND_NS
            begun = place
            while place < len(spans) and spans[place].end <= now_s:
                place += 1
            if place > begun:
                self.database.insert(request(*(one.span for one in spans[begun:place]), service="shop"), now_ns=now_ns)
                self.database.settle(now_ns)
            if now_s in restart_at:
                self.restart()
            if now_s >= watched_from_s:
                self.tick(now_s)

    def tick(self, now_s: int) -> None:
        """Evaluate once."""
        self.ticks.append(now_s)
        for alert, event in self.watch.tick(START_NS + now_s * SECOND_NS).events:
            first_bad = None if alert.first_bad_ns is None else (alert.first_bad_ns - START_NS) / SECOND_NS
            said = (alert.rule, alert.severity, alert.class_, alert.label("tool"))
            fired = ((alert.fired_ns or 0) - START_NS) // SECOND_NS
            self.told.append(Told(now_s, event, *said, alert.id, alert.identity, fired, first_bad))
        if self.delivering:
            # The outbox is looked into once a second.
            Outbox(self.store, {EVERYTHING.name: self.inbox}, lambda: START_NS + (now_s + 1) * SECOND_NS).step()

    def delays(self) -> list[Delay]:
        """How soon what fired was told, unless it was muted first. When it could be known is what a replay of all that is stored says."""
        from_ns, to_ns = (START_NS + at * SECOND_NS for at in (self.ticks[0], self.ticks[-1]))
        fired: dict[Identity, list[int]] = {}
        for alert in replay(PastCounts(self.database.engine), self.book, from_ns, to_ns).alerts:
            fired.setdefault(alert.identity, []).append(((alert.fired_ns or 0) - START_NS) // SECOND_NS)
        found = []
        for one in self.told:
            if one.event == FIRED and one.fired == one.at:
                due = min(fired[one.identity], key=lambda at: abs(at - one.at))
                at = self.inbox.arrived[one.alert_id, FIRED]
                found.append(Delay(one.rule, None if one.first_bad is None else at - one.first_bad, at - due))
        return found

    def of(self, rule: str) -> list[tuple[str, str]]:
        """What was told of a rule: (event, severity)."""
        return [(one.event, one.severity) for one in self.told if one.rule == rule]

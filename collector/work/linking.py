"""Where linking looks for the calls around one: in its trace, held in memory, and in its session, by index look-ups."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from collector.core.chains import Around, Attempt, CallId, was_refused
from collector.settling import LATEST_NS, SessionLine, Settling

Order = tuple[int, int, int, bytes, bytes]
LookUp = Callable[[str, str, str, int | None, int, int], list[tuple[Any, ...]]]

# Rows fetched of a line at first: the call itself, the one looked for, and one that shows that no other ties with it.
FETCHED = 3
START_NS = Attempt._fields.index("start_ns")
BEFORE_ALL = -1


class End:
    """The newest calls of a session that do the same, in order; all that start later than `since` are among them."""

    def __init__(self, attempts: Iterable[Attempt], since: int) -> None:
        self.attempts = sorted(attempts, key=_order)
        self.orders = [attempt.order for attempt in self.attempts]
        self.since = since

    def beside(self, order: Order) -> tuple[Attempt | None, Attempt | None]:
        """The call before and the one after a place in the order."""
        at = bisect_left(self.orders, order)
        after = at + 1 if at < len(self.orders) and self.orders[at] == order else at
        return (self.attempts[at - 1] if at else None), (self.attempts[after] if after < len(self.attempts) else None)


class Trace:
    """The calls of one trace in order, by what they do."""

    def __init__(self, attempts: Iterable[Attempt]) -> None:
        self.by_id: dict[bytes, Attempt] = {}
        self._lines: dict[Any, tuple[list[Order], list[Attempt]]] = {}
        self._naming: dict[bytes, list[Attempt]] = {}
        for attempt in sorted(attempts, key=lambda one: one.order):
            self.by_id[attempt.call_id] = attempt
            for line in (same_work(attempt), any_arguments(attempt)):
                orders, line_attempts = self._lines.setdefault(line, ([], []))
                orders.append(attempt.order)
                line_attempts.append(attempt)
            if attempt.retry_of is not None:
                self._naming.setdefault(attempt.retry_of, []).append(attempt)

    def beside(self, attempt: Attempt, line: Any) -> tuple[Attempt | None, Attempt | None]:
        """The call before and the one after an attempt (which need not be there itself) in a line."""
        orders, attempts = self._lines.get(line, ([], []))
        at = bisect_left(orders, attempt.order)
        after = at + 1 if at < len(orders) and orders[at] == attempt.order else at
        return (attempts[at - 1] if at else None), (attempts[after] if after < len(attempts) else None)

    def naming(self, call_id: bytes) -> Sequence[Attempt]:
        """The calls that say they repeat a call of this trace."""
        return self._naming.get(call_id, ())


def same_work(attempt: Attempt) -> Any:
    """What two calls of one trace must share to be linked: arguments seen and equal, or unseen under one parent."""
    unseen = ("parent", attempt.parent_span_id or attempt.call_id) if attempt.arguments_hash is None else attempt.arguments_hash
    return attempt.tool, attempt.server, unseen


def any_arguments(attempt: Attempt) -> Any:
    """What two calls share whatever their arguments."""
    return attempt.tool, attempt.server


class Surroundings:
    """Answers what is around a call, inside one settling transaction."""

    def __init__(self, transaction: Settling, traces: Mapping[bytes, Sequence[Attempt]]) -> None:
        self._transaction = transaction
        self._known = traces
        self._traces: dict[bytes, Trace] = {}
        self._ends: dict[SessionLine, End] = {}
        # Few emitters name the call that they repeat: one look-up spares one for each call.
        self._names = transaction.any_names()

    def alone(self, call: Attempt) -> bool:
        """Whether nothing can be linked to a call: the only one of its trace, that says nothing, and that no session can tell of."""
        says = call.declared is not None or call.retry_of is not None
        told = call.session is not None and (call.arguments_hash is not None or self._names)
        return not says and not told and len(self._known.get(call.trace_id, ())) == 1

    def expect(self, calls: Iterable[Attempt]) -> None:
        """Look up at once the ends that these calls lie in, each long enough for all of them."""
        told = [call for call in calls if call.session is not None and call.arguments_hash is not None]
        lines = Counter((call.session or "", call.tool, call.server, said) for call in told for said in (None, call.arguments_hash))
        wanted = {line: count + FETCHED for line, count in lines.items()}
        for line, rows in self._transaction.ends_of_lines(wanted).items():
            self._ends[line] = _end(rows, wanted[line])

    def trace(self, trace_id: bytes) -> Trace:
        """The calls of a trace as they are stored now."""
        if trace_id not in self._traces:
            known = self._known.get(trace_id)
            self._traces[trace_id] = Trace(known if known is not None else map(Attempt._make, self._transaction.attempts_of(trace_id)))
        return self._traces[trace_id]

    def around(self, call: Attempt, updates: Mapping[CallId, Attempt]) -> Around:
        """What link_of and relink ask for, with the links found by now."""
        previous: list[Attempt | None] = []
        neighbours: list[Attempt | None] = []
        followers: list[Attempt | None] = []
        if len(self._known.get(call.trace_id, ())) != 1:
            trace = self.trace(call.trace_id)
            before, after = trace.beside(call, same_work(call))
            near_before, near_after = trace.beside(call, any_arguments(call))
            previous, neighbours = [before], [near_before]
            followers = [after, near_after, *trace.naming(call.call_id)]
        if call.session is not None:
            if call.arguments_hash is not None:
                earlier, latest, later = self._in_session(call)
                previous.append(earlier)
                neighbours.append(latest)
                followers += later
            if self._names:
                followers += self._naming(call)
        return Around(
            previous=_newest(previous, updates),
            named=None if call.retry_of is None else _newest(self._named(call, call.retry_of), updates),
            neighbour=_newest(neighbours, updates),
            followers=tuple(updates.get(one.key, one) for one in followers if one is not None and one.order > call.order),
        )

    def _in_session(self, call: Attempt) -> tuple[Attempt | None, Attempt | None, list[Attempt]]:
        """Of the session: the latest earlier call with the same arguments, the latest with any, and who may look back to this one."""
        latest, first = self._beside(call, None)
        same = latest if latest is None or latest.arguments_hash == call.arguments_hash else self._beside(call, call.arguments_hash)[0]
        if first is None or first.arguments_hash == call.arguments_hash:
            return same, latest, [first] if first else []
        later = self._beside(call, call.arguments_hash)[1]
        # With other arguments the next call looks back only for what it mends: at this one, past it at the one before, or (it is a
        # repair already) at one before which several calls have now come between.
        mends = was_refused(call) or (latest is not None and was_refused(latest)) or first.link == "repair"
        return same, latest, [one for one in (later, first if mends else None) if one is not None]

    def _beside(self, call: Attempt, arguments_hash: int | None) -> tuple[Attempt | None, Attempt | None]:
        """The call before and the one after a call in its session, of one argument hash or of any."""
        line = (call.session or "", call.tool, call.server, arguments_hash)
        # Most calls are the newest of their session, so its end says all; the rest is looked up.
        end = self._end(line)
        before, after = end.beside(call.order)
        if end.since != BEFORE_ALL and (before is None or before.start_ns <= end.since):
            before = self._nearest(line, call, self._transaction.attempts_before)
        if call.start_ns <= end.since:
            after = self._nearest(line, call, self._transaction.attempts_after)
        return before, after

    def _end(self, line: SessionLine) -> End:
        if line not in self._ends:
            self._ends[line] = _end(self._transaction.attempts_before(*line, LATEST_NS, FETCHED), FETCHED)
        return self._ends[line]

    def _nearest(self, line: SessionLine, call: Attempt, look_up: LookUp) -> Attempt | None:
        """The nearest call on one side: the start alone is no order, so all that tie are fetched."""
        earlier = look_up == self._transaction.attempts_before
        limit = FETCHED
        while True:
            rows = look_up(*line, call.start_ns, limit)
            found = [one for one in _attempts(rows) if (one.order < call.order if earlier else one.order > call.order)]
            if len(rows) < limit or (found and rows[-1][START_NS] != found[0].start_ns):
                return (max if earlier else min)(found, key=_order, default=None)
            limit *= 8

    def _naming(self, call: Attempt) -> Iterator[Attempt]:
        return (one for one in _attempts(self._transaction.attempts_naming(call.call_id)) if one.session == call.session)

    def _named(self, call: Attempt, retry_of: bytes) -> list[Attempt | None]:
        """The call that a call says it repeats, if it is known and earlier."""
        inside = self.trace(call.trace_id).by_id.get(retry_of)
        found = [inside] if inside else []
        if not found and call.session is not None:
            found = list(_attempts(self._transaction.attempts_named(call.session, call.tool, retry_of)))
        return [one for one in found if one.order < call.order]


def _end(rows: Sequence[tuple[Any, ...]], limit: int) -> End:
    """What the latest so many rows of a line say."""
    return End(_attempts(rows), min(row[START_NS] for row in rows) if len(rows) == limit else BEFORE_ALL)


def _attempts(rows: Iterable[tuple[Any, ...]]) -> Iterator[Attempt]:
    return (Attempt(*row) for row in rows)


def _order(attempt: Attempt) -> Order:
    return attempt.order


def _newest(attempts: Iterable[Attempt | None], updates: Mapping[CallId, Attempt]) -> Attempt | None:
    """The latest of some calls, with the link found for it by now."""
    latest: Attempt | None = None
    for one in attempts:
        if one is not None and (latest is None or one.order > latest.order):
            latest = one
    return None if latest is None else updates.get(latest.key, latest)

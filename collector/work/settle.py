"""Turn what is pending into calls and rollups: fold the spans of each trace, write what changed, recompute the buckets touched."""

import logging
from collections.abc import Iterable, Mapping, Set
from operator import itemgetter
from typing import Protocol

import orjson

from collector.core.chains import Attempt, relink
from collector.core.fold import Folded, fold
from collector.core.histogram import index_of
from collector.counting import likeness
from collector.settling import ATTEMPT_COLUMNS, CallTuple, Settling
from collector.work.linking import Surroundings
from collector.work.operations import Changes, follow
from collector.work_store import ALL, MINUTE_NS, Lane, WorkStore
from schemas.calls import Call, FailedChild, View
from schemas.rollups import DAY_NS, DIMENSIONS
from schemas.spans import Ancestor, ToolSpan
from schemas.vocabulary import lexicon

# Traces in one transaction: small enough that the collector waits for the write lock only briefly.
TRACES_A_STEP = 1000
BUCKETS_A_STEP = 20

# The fields of a call stand in the order of the columns (a test holds it); the last three are written as text,
# and after them come the bucket of the duration, the minute and the likeness.
_COLUMNS = Call._fields
TRACE_ID, CALL_ID, START_NS, SESSION = (_COLUMNS.index(name) for name in ("trace_id", "call_id", "start_ns", "session"))
_VIEWS = _COLUMNS.index("views")
# Links are given after the calls are stored: where a call stands says nothing of whether it changed.
_LINKS = slice(_COLUMNS.index("link"), _COLUMNS.index("chain_id") + 1)
_COUNTED_BY = itemgetter(*(_COLUMNS.index(name) for name in DIMENSIONS))
_ATTEMPT = itemgetter(*(_COLUMNS.index(name) for name in ATTEMPT_COLUMNS))

log = logging.getLogger(__name__)


class SettleSettings(Protocol):
    """The settings that understanding depends on (schemas/settings.py says what they mean)."""

    @property
    def aliases(self) -> Mapping[str, tuple[str, ...]]: ...
    @property
    def disabled_rules(self) -> tuple[str, ...]: ...
    @property
    def clock_skew_s(self) -> int: ...
    @property
    def tool_span_days(self) -> int: ...


class Settler:
    """Settles pending traces and buckets, a step at a time. Every step is idempotent and holds no state: any number may run."""

    def __init__(self, store: WorkStore, settings: SettleSettings) -> None:
        self._store = store
        self._lexicon = lexicon(settings.aliases)
        self._disabled = frozenset(settings.disabled_rules)
        self._skew_ns = settings.clock_skew_s * 10**9
        self._span_ns = settings.tool_span_days * DAY_NS

    def settle(self, now_ns: int, limit: int = TRACES_A_STEP, lane: Lane = ALL) -> int:
        """Settle up to `limit` pending traces of a lane. Returns how many were settled or found already settled by another."""
        with self._store.step() as store:
            return self._settle(store, store.pending_traces(limit, lane), now_ns)

    def _settle(self, store: WorkStore, versions: Mapping[bytes, int], now_ns: int) -> int:
        if not versions:
            return 0
        ids = sorted(versions)
        before = store.calls_of(ids)
        read = store.spans_of(ids)
        folded, mistakes = self._folded(read)
        with store.settling(versions) as transaction:
            removed: list[CallTuple] = []
            written: list[CallTuple] = []
            traces: dict[bytes, list[CallTuple]] = {}
            for trace_id in transaction.ours:
                old = {row[CALL_ID]: row for row in before.get(trace_id, ())}
                if trace_id in mistakes:
                    traces[trace_id] = list(old.values())
                    continue
                new = {call.call_id: call_row(call) for call in folded[trace_id].calls} if trace_id in folded else {}
                if any(row[START_NS] < now_ns - self._span_ns for row in old.values()):
                    new = _with_those_whose_spans_are_gone(old, new, {span.span_id.hex() for span in read.get(trace_id, ([], []))[0]})
                changed = {one for one in {**old, **new} if not _same(old.get(one), new.get(one))}
                removed += [row for one, row in old.items() if one in changed]
                written += [row for one, row in new.items() if one in changed]
                traces[trace_id] = [new[one] if one in changed else old[one] for one in new]
            touched = {row[TRACE_ID] for row in (*removed, *written)}
            around = (row for trace_id in touched for row in traces[trace_id])
            transaction.lock_sessions({row[SESSION] for row in (*removed, *around) if row[SESSION] is not None})
            if before:
                removed, traces = _as_linked(transaction, removed, written, traces)
            transaction.remove_calls([(row[TRACE_ID], row[CALL_ID]) for row in removed])
            transaction.insert_calls(written)
            starts = self._link(transaction, traces, removed, written)
            transaction.keep_places([(one, span) for one in transaction.ours if one in folded for span in folded[one].kept])
            for trace_id in mistakes.keys() & set(transaction.ours):
                transaction.note_refusal(mistakes[trace_id], len(read[trace_id][0]), f"trace {trace_id.hex()}", now_ns)
            starts |= {row[START_NS] for row in (*removed, *written)}
            transaction.note_buckets({bucket_of(start_ns) for start_ns in starts}, now_ns)
            transaction.finish()
        return len(versions)

    def _folded(self, read: Mapping[bytes, tuple[list[ToolSpan], list[Ancestor]]]) -> tuple[dict[bytes, Folded], dict[bytes, str]]:
        """The calls of each trace, and of those that this program fails at the reason: such a trace must not hold up the others."""
        folded: dict[bytes, Folded] = {}
        mistakes: dict[bytes, str] = {}
        for trace_id, (spans, places) in read.items():
            try:
                folded[trace_id] = fold(spans, places, self._lexicon, self._disabled, self._skew_ns)
            except Exception as error:
                log.exception("trace %s cannot be understood; it is left out until the next rebuild", trace_id.hex())
                mistakes[trace_id] = f"toolvitals could not understand the trace ({type(error).__name__})"
        return folded, mistakes

    def _link(
        self, transaction: Settling, traces: Mapping[bytes, list[CallTuple]], removed: list[CallTuple], written: list[CallTuple]
    ) -> set[int]:
        """Link the calls that changed, and those whose link rested on what was there before; then tell their operations.

        `traces` are all calls of the settled ones. Returns the starts of calls whose bucket counts otherwise.
        """
        attempts = {trace_id: [attempt_of(row) for row in rows] for trace_id, rows in traces.items()}
        changed = {(row[TRACE_ID], row[CALL_ID]) for row in written}
        news = [one for calls in attempts.values() for one in calls if (one.trace_id, one.call_id) in changed]
        old = [attempt_of(row) for row in removed]
        surroundings = Surroundings(transaction, attempts)
        # A call that stands alone is stored as such already.
        seeds = [call for call in news if not surroundings.alone(call)]
        for call in old:
            seeds += surroundings.around(call, {}).followers
        surroundings.expect(seeds)
        links = relink(seeds, surroundings.around)
        transaction.update_links(
            [(one.link, one.link_strength, one.attempt, one.chain_id, one.trace_id, one.call_id) for one in links.values()]
        )
        starts = follow(transaction.operations(), Changes(news, old, links, attempts))
        return starts | {one.start_ns for one in links.values()}

    def roll_up(self, limit: int = BUCKETS_A_STEP) -> int:
        """Recompute up to `limit` pending buckets, one transaction each. Returns how many; 0 too if another worker is doing it."""
        done = 0
        for bucket_ns, version in self._store.pending_buckets(limit).items():
            if not self._store.roll_up(bucket_ns, version):
                break
            done += 1
        return done


def _as_linked(
    transaction: Settling, removed: list[CallTuple], written: list[CallTuple], traces: Mapping[bytes, list[CallTuple]]
) -> tuple[list[CallTuple], dict[bytes, list[CallTuple]]]:
    """The rows that were read, linked as they are now that nobody else links them: another worker may have done so meanwhile."""
    fresh = {(row[TRACE_ID], row[CALL_ID]) for row in written}
    stored = [row for rows in traces.values() for row in rows if (row[TRACE_ID], row[CALL_ID]) not in fresh]
    links = transaction.links_of({row[TRACE_ID] for row in (*removed, *stored)})

    def linked(row: CallTuple) -> CallTuple:
        now = links.get((row[TRACE_ID], row[CALL_ID]))
        return row if now is None else (*row[: _LINKS.start], *now, *row[_LINKS.stop :])

    now = {trace: [row if (row[TRACE_ID], row[CALL_ID]) in fresh else linked(row) for row in rows] for trace, rows in traces.items()}
    return [linked(row) for row in removed], now


def _with_those_whose_spans_are_gone(
    old: Mapping[bytes, CallTuple], new: Mapping[bytes, CallTuple], stored: Set[str]
) -> dict[bytes, CallTuple]:
    """Calls outlive their tool spans: one that rests on a span that is pruned stays as it is, whatever the rest would say."""
    kept = {one: row for one, row in old.items() if not _spans_of(row) <= stored}
    theirs = {span_id for row in kept.values() for span_id in _spans_of(row)}
    return {one: row for one, row in new.items() if not _spans_of(row) & theirs} | kept


def _spans_of(row: CallTuple) -> set[str]:
    return {view["span_id"] for view in orjson.loads(row[_VIEWS])}


def bucket_of(start_ns: int) -> int:
    """The start of the minute that a time lies in."""
    return start_ns - start_ns % MINUTE_NS


def call_row(call: Call) -> CallTuple:
    """A call as a row of the table `call`, in the order of its columns, linked to nothing yet."""
    bucket = None if call.duration_ns is None else index_of(call.duration_ns)
    link = ("new", None, call.declared_attempt or 1, f"{call.trace_id.hex()}-{call.call_id.hex()}")
    texts = (" ".join(call.flags), _json(call.views), _json(call.failed_children))
    like = likeness(*_COUNTED_BY(call), bucket)
    return (*call[: _LINKS.start], *link, *call[_LINKS.stop : -len(texts)], *texts, bucket, bucket_of(call.start_ns), like)


def attempt_of(row: CallTuple) -> Attempt:
    """What linking reads of a call's row."""
    return Attempt(*_ATTEMPT(row))


def _same(old: CallTuple | None, new: CallTuple | None) -> bool:
    """Whether two rows tell the same of a call, links aside."""
    if old is None or new is None:
        return old is new
    return old[: _LINKS.start] == new[: _LINKS.start] and old[_LINKS.stop :] == new[_LINKS.stop :]


def _json(items: Iterable[View | FailedChild]) -> str:
    """Records as a JSON array, ids in hex."""
    records = [item._asdict() for item in items]
    for record in records:
        record["span_id"] = record["span_id"].hex()
    return orjson.dumps(records).decode()

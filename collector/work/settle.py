"""Turn what is pending into calls and rollups: fold the spans of each trace, write what changed, recompute the buckets touched."""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from operator import attrgetter
from typing import Protocol

import orjson

from collector.core.fold import fold
from collector.work_store import MINUTE_NS, CallTuple, WorkStore
from schemas.calls import Call, FailedChild, View
from schemas.vocabulary import lexicon

# Traces in one transaction: small enough that the collector waits for the write lock only briefly.
TRACES_A_STEP = 1000
BUCKETS_A_STEP = 20

# The fields of a call stand in the order of the columns (a test holds it); the last three are written as text.
_FIELDS = attrgetter(*(field.name for field in fields(Call)))
CALL_ID, START_NS = 1, 2


class SettleSettings(Protocol):
    """The settings that understanding depends on (schemas/settings.py says what they mean)."""

    @property
    def aliases(self) -> Mapping[str, tuple[str, ...]]: ...
    @property
    def disabled_rules(self) -> tuple[str, ...]: ...
    @property
    def clock_skew_s(self) -> int: ...


class Settler:
    """Settles pending traces and buckets, a step at a time. Every step is idempotent and holds no state: any number may run."""

    def __init__(self, store: WorkStore, settings: SettleSettings) -> None:
        self._store = store
        self._lexicon = lexicon(settings.aliases)
        self._disabled = frozenset(settings.disabled_rules)
        self._skew_ns = settings.clock_skew_s * 10**9

    def settle(self, now_ns: int, limit: int = TRACES_A_STEP) -> int:
        """Settle up to `limit` pending traces. Returns how many were settled or found already settled by another."""
        versions = self._store.pending_traces(limit)
        if not versions:
            return 0
        ids = sorted(versions)
        before = self._store.calls_of(ids)
        gone: dict[bytes, list[bytes]] = {}
        written: dict[bytes, list[CallTuple]] = {}
        kept: dict[bytes, frozenset[bytes]] = {}
        buckets: dict[bytes, set[int]] = {}
        for trace_id, (spans, places) in self._store.spans_of(ids).items():
            folded = fold(spans, places, self._lexicon, self._disabled, self._skew_ns)
            old = {row[CALL_ID]: row for row in before.get(trace_id, ())}
            new = {call.call_id: call_row(call) for call in folded.calls}
            changed = {call_id for call_id in old.keys() | new.keys() if old.get(call_id) != new.get(call_id)}
            gone[trace_id] = [call_id for call_id in old if call_id in changed]
            written[trace_id] = [row for call_id, row in new.items() if call_id in changed]
            kept[trace_id] = folded.kept
            buckets[trace_id] = {bucket_of(calls[one][START_NS]) for one in changed for calls in (old, new) if one in calls}
        self._store.settle(versions, gone, written, kept, buckets, now_ns)
        return len(versions)

    def roll_up(self, limit: int = BUCKETS_A_STEP) -> int:
        """Recompute up to `limit` pending buckets, one transaction each. Returns how many."""
        buckets = self._store.pending_buckets(limit)
        for bucket_ns, version in buckets.items():
            self._store.roll_up(bucket_ns, version)
        return len(buckets)


def bucket_of(start_ns: int) -> int:
    """The start of the minute that a time lies in."""
    return start_ns - start_ns % MINUTE_NS


def call_row(call: Call) -> CallTuple:
    """A call as a row of the table `call`, in the order of its columns."""
    *plain, _, _, _ = _FIELDS(call)
    return (*plain, " ".join(call.flags), _json(call.views), _json(call.failed_children))


def _json(items: Iterable[View | FailedChild]) -> str:
    """Records as a JSON array, ids in hex."""
    return orjson.dumps([{**item._asdict(), "span_id": item.span_id.hex()} for item in items]).decode()

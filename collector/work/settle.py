"""Turn what is pending into calls and rollups: fold the spans of each trace, write what changed, recompute the buckets touched."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any, Protocol

import orjson

from collector.core.fold import fold
from collector.work_store import MINUTE_NS, WorkStore
from schemas.calls import Call
from schemas.vocabulary import lexicon

# Traces in one transaction: small enough that the collector waits for the write lock only briefly.
TRACES_A_STEP = 1000
BUCKETS_A_STEP = 20


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
        written: dict[bytes, list[dict[str, Any]]] = {}
        kept: dict[bytes, frozenset[bytes]] = {}
        buckets: dict[bytes, set[int]] = {}
        for trace_id, (spans, places) in self._store.spans_of(ids).items():
            folded = fold(spans, places, self._lexicon, self._disabled, self._skew_ns)
            old = {row["call_id"]: row for row in before.get(trace_id, ())}
            new = {call.call_id: call_row(call) for call in folded.calls}
            gone[trace_id] = [call_id for call_id in old if call_id not in new]
            written[trace_id] = [row for call_id, row in new.items() if old.get(call_id) != row]
            kept[trace_id] = folded.kept
            changed = written[trace_id] + [old[row["call_id"]] for row in written[trace_id] if row["call_id"] in old]
            changed += [old[call_id] for call_id in gone[trace_id]]
            buckets[trace_id] = {bucket_of(row["start_ns"]) for row in changed}
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


def call_row(call: Call) -> dict[str, Any]:
    """A call as a row of the table `call`."""
    row = {name: getattr(call, name) for name in call.__slots__}
    row["flags"] = " ".join(call.flags)
    row["views"] = _json(call.views)
    row["failed_children"] = _json(call.failed_children)
    return row


def _json(items: Iterable[Any]) -> str:
    """Frozen records as a JSON array, ids in hex."""
    return orjson.dumps([{**asdict(item), "span_id": item.span_id.hex()} for item in items]).decode()

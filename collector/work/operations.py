"""Which operations a settling touches, and their rows: each is gone through anew from the first attempt that changed."""

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from collector.chaining import Chaining
from collector.core.chains import Attempt, CallId
from collector.core.operations import SETTLED_AT, Chain, Progress, Retry, begun, gone_on

# Earlier than every attempt.
BEFORE_ALL = -(2**63)


class Changes(NamedTuple):
    """What a settling did to calls: those written, those that stood there before (or are gone), those that were linked otherwise,
    and all calls of each trace that was settled."""

    written: Sequence[Attempt]
    removed: Sequence[Attempt]
    relinked: Mapping[CallId, Attempt]
    traces: Mapping[bytes, Sequence[Attempt]]


class Touched(NamedTuple):
    """The operations to go through: the start of the first attempt that changed in each, their stored rows, and the calls that
    changed as they are now. `fresh` are the names of operations that begin with a failure that was not there before: of them nothing
    is stored."""

    since: dict[str, int]
    stored: Mapping[str, Chain]
    calls: dict[CallId, Attempt]
    fresh: Set[str]

    def touch(self, chain_id: str, start_ns: int) -> None:
        """Note that an operation has changed from a time on."""
        self.since[chain_id] = min(start_ns, self.since.get(chain_id, start_ns))


def follow(store: Chaining, changes: Changes) -> set[int]:
    """Make the stored operations say what the calls say. Returns the starts of calls whose bucket now counts otherwise."""
    found = touched(store, changes)
    return Rewriting(store, found, changes.traces).write() if found.since else set()


def touched(store: Chaining, changes: Changes) -> Touched:
    """Find what the changes touch. For new calls that went well, which most are, the database is asked for nothing."""
    calls = {one.key: one for one in changes.written} | dict(changes.relinked)
    before = {one.key: one for one in changes.removed}
    fresh = {one.key for one in changes.written} - before.keys()
    before |= {key: one for key, one in changes.relinked.items() if key not in fresh}
    # Calls of settled traces that are as they were: their operations are there, unless somebody emptied the tables.
    still = [one for attempts in changes.traces.values() for one in attempts if told(one) and one.key not in calls]
    retries = store.chains_of_retries({one.trace_id for one in (*before.values(), *still)})
    waiting = dict(_waiting(store, changes))
    names = {one.own_chain for one in before.values()} | {name_of(one) for one in (*calls.values(), *still) if told(one)} | waiting.keys()
    names |= {retries[key][0] for key in before.keys() & retries.keys()}
    new = {name_of(calls[key]) for key in fresh if told(calls[key]) and calls[key].link != "retry"}
    if not names:
        return Touched({}, {}, calls, new)
    store.lock()
    found = Touched({}, {row[0]: Chain(*row) for row in store.chains(names - new)}, calls, new)
    for one in calls.values():
        if told(one):
            found.touch(name_of(one), one.start_ns)
    for key, one in before.items():
        if key in retries:
            found.touch(*retries[key])
        if one.own_chain in found.stored:
            found.touch(one.own_chain, found.stored[one.own_chain].start_ns)
    for name, start_ns in waiting.items():
        if name in found.stored and found.stored[name].went_on is not None:
            found.touch(name, start_ns)
    for one in still:
        missing = name_of(one) not in found.stored or (one.link == "retry" and one.key not in retries)
        if missing and (row := store.attempt(one.key)) is not None:
            found.calls[one.key] = Attempt(*row)
            found.touch(name_of(found.calls[one.key]), one.start_ns)
    return found


def _waiting(store: Chaining, changes: Changes) -> Iterator[tuple[str, int]]:
    """Lone failures (name and start) whose session may have gone on, or may not have, by these changes."""
    added: dict[str, int] = {}
    for one in changes.written:
        if one.session is not None:
            added[one.session] = max(one.start_ns, added.get(one.session, one.start_ns))
    yield from store.lone(went_on=False, sessions=added)
    sessions = {one.session for one in changes.removed if one.session is not None}
    yield from store.lone(went_on=True, sessions={session: store.latest_start(session, b"") for session in sorted(sessions)})
    for trace_id in {one.trace_id for one in (*changes.written, *changes.removed)}:
        for one in changes.traces.get(trace_id, ()):
            if one.session is None and one.outcome == "failure" and one.link != "retry":
                yield one.own_chain, one.start_ns


class Rewriting:
    """Goes through the touched operations and writes what is otherwise than what is stored."""

    def __init__(self, store: Chaining, found: Touched, traces: Mapping[bytes, Sequence[Attempt]]) -> None:
        self._store = store
        self._found = found
        self._traces = traces
        self._members: dict[str, dict[CallId, Attempt]] = {}
        for one in found.calls.values():
            if name_of(one) in found.since:
                self._members.setdefault(name_of(one), {})[one.key] = one
        self._latest: dict[str | bytes, int] = {}
        self._starts: set[int] = set()
        self._old_chains: list[str] = []
        self._old_retries: list[tuple[bytes, bytes, str]] = []
        self._chains: list[Chain] = []
        self._retries: list[Retry] = []

    def write(self) -> set[int]:
        """Write. Returns the starts of calls whose bucket counts otherwise."""
        for name in sorted(self._found.since):
            self._go_through(name, self._found.stored.get(name))
        # First out, then in: a retry may have gone over from one operation to another.
        self._store.remove_retries(self._old_retries)
        self._store.remove_chains(self._old_chains)
        self._store.write_chains(self._chains)
        self._store.write_retries(self._retries)
        return self._starts

    def _go_through(self, name: str, stored: Chain | None) -> None:
        members = self._members.get(name, {})
        resumed = self._resumed(stored) if stored is not None else None
        since = self._found.since[name] if resumed else BEFORE_ALL
        old: dict[CallId, Retry] = {}
        if stored is not None or name not in self._found.fresh:
            old = {(row[0], row[1]): Retry(*row) for row in self._store.retries_from(name, since)}
            calls = self._store.attempts_from(name, since)
            if resumed is None and (first := self._store.attempt(call_of(name))) is not None:
                calls.append(first)
            members |= {one.key: one for one in map(Attempt._make, calls) if name_of(one) == name}
        attempts = sorted(members.values(), key=lambda one: one.order)
        progress = gone_on(*resumed, attempts) if resumed else begun(name, attempts)
        new = progress.chain(self._went_on(progress)) if progress is not None else None
        retries = progress.retries if progress is not None else []
        self._compare(stored, new)
        self._compare_retries(name, old, {(one.trace_id, one.call_id): one for one in retries})
        # Each retry counts by what its operation is.
        if stored is not None and new is not None and (stored.strength, stored.succeeded) != (new.strength, new.succeeded):
            self._starts |= {one.start_ns for one in (*old.values(), *retries)}
            self._starts.update(self._store.minutes_before(name, since))

    def _resumed(self, chain: Chain) -> tuple[Chain, Retry, Attempt] | None:
        """Where an operation can be gone on with: its last retry before the change, and the call of it."""
        since = self._found.since[chain.chain_id]
        if chain.attempts <= SETTLED_AT or since <= chain.start_ns:
            return None
        row = self._store.retry_before(chain.chain_id, since)
        if row is None or (retry := Retry(*row)).place < SETTLED_AT:
            return None
        call = self._store.attempt((retry.trace_id, retry.call_id))
        return None if call is None else (chain, retry, Attempt(*call))

    def _went_on(self, progress: Progress) -> bool | None:
        """Whether the session of a lone failure has a call that starts once the operation is closed."""
        if not progress.waits:
            return None
        session, trace_id = progress.first.session, progress.last.trace_id
        name = trace_id if session is None else session
        if name not in self._latest:
            known = self._traces.get(trace_id) if session is None else None
            self._latest[name] = max(one.start_ns for one in known) if known else self._store.latest_start(session, trace_id)
        return self._latest[name] > (progress.closes_ns or 0)

    def _compare(self, old: Chain | None, new: Chain | None) -> None:
        if old is not None and new is None:
            self._old_chains.append(old.chain_id)
        elif new is not None and new != old:
            self._chains.append(new)
        if (None if old is None else old.counted) != (None if new is None else new.counted):
            self._starts |= {one.start_ns for one in (old, new) if one is not None}

    def _compare_retries(self, name: str, old: Mapping[CallId, Retry], new: Mapping[CallId, Retry]) -> None:
        self._old_retries += [(*key, name) for key in old if key not in new]
        self._retries += [one for key, one in new.items() if old.get(key) != one]
        for key in old.keys() | new.keys():
            both = [one for one in (old.get(key), new.get(key)) if one is not None]
            if len({one.counted for one in both}) != 1 or len(both) == 1:
                self._starts |= {one.start_ns for one in both}


def told(call: Attempt) -> bool:
    """Whether there is a row of the operation that a call belongs to: it failed, or it is a retry."""
    return call.outcome == "failure" or call.link == "retry"


def name_of(call: Attempt) -> str:
    """The name of the operation that a call belongs to."""
    return call.chain_id or call.own_chain


def call_of(name: str) -> CallId:
    """The call that an operation is named by."""
    trace_id, _, call_id = name.partition("-")
    return bytes.fromhex(trace_id), bytes.fromhex(call_id)

"""Link calls into retry chains: which call repeats which, why we think so, and how strong the evidence is."""

from collections.abc import Callable, Iterable, Mapping
from heapq import heappop, heappush
from typing import NamedTuple

from schemas.operations import DECLARED, SAME_ARGUMENTS, SAME_TOOL

# The default of W: a call that starts later than this after the end of the one before it starts something new.
WINDOW_NS = 120 * 10**9
# A call that begins this long before the one before it has ended runs beside it.
OVERLAP_NS = 50 * 10**6

CallId = tuple[bytes, bytes]


class Attempt(NamedTuple):
    """What linking and operations need to know of a call, and the link that it has so far.

    `declared` is the emitter's own attempt number.
    """

    trace_id: bytes
    call_id: bytes
    start_ns: int
    end_ns: int | None
    server: str
    tool: str
    session: str | None
    outcome: str
    category: str | None
    link: str | None
    link_strength: str | None
    attempt: int | None
    chain_id: str | None
    declared: int | None
    retry_of: bytes | None
    retry_after_ms: int | None
    arguments_hash: int | None
    parent_span_id: bytes | None
    duration_ns: int | None
    environment: str
    client: str
    retryable: bool | None

    @property
    def key(self) -> CallId:
        """The identity of the call."""
        return self.trace_id, self.call_id

    @property
    def order(self) -> tuple[int, int, int, bytes, bytes]:
        """The one order of all calls: millisecond clocks tie, so the start alone is none."""
        return self.start_ns, self.declared or 0, self.end_ns or self.start_ns, self.call_id, self.trace_id

    @property
    def own_chain(self) -> str:
        """The name of the chain that this call is the first of."""
        return f"{self.trace_id.hex()}-{self.call_id.hex()}"

    def linked(self, link: "Link") -> "Attempt":
        """The same call with another link."""
        return self._replace(link=link.link, link_strength=link.strength, attempt=link.attempt, chain_id=link.chain_id)


class Link(NamedTuple):
    """How a call stands to the ones before it: `link` is new, retry, repeat, concurrent or repair; `attempt` counts in the chain."""

    link: str
    strength: str | None
    attempt: int
    chain_id: str


def strength(call: Attempt, earlier: Attempt) -> str | None:
    """How strong the evidence is that a call does the same as an earlier one; None if it is not linked to it."""
    if call.tool != earlier.tool or call.server != earlier.server or not share_identity(call, earlier):
        return None
    if call.arguments_hash is not None and earlier.arguments_hash is not None:
        return SAME_ARGUMENTS if call.arguments_hash == earlier.arguments_hash else None
    unseen = call.arguments_hash is None and earlier.arguments_hash is None
    siblings = call.parent_span_id is not None and call.parent_span_id == earlier.parent_span_id
    return SAME_TOOL if unseen and siblings else None


def share_identity(call: Attempt, other: Attempt) -> bool:
    """Whether two calls belong to one session or one trace."""
    return call.trace_id == other.trace_id or (call.session is not None and call.session == other.session)


def link_of(call: Attempt, previous: Attempt | None, named: Attempt | None, neighbour: Attempt | None, window_ns: int) -> Link:
    """The link of a call.

    `previous` is the latest earlier call that it can be linked to, `named` the one that it says it repeats, `neighbour` the latest
    earlier call of the same tool, server and session or trace, whatever its arguments.
    """
    if named is not None or call.retry_of is not None or (call.declared or 0) > 1:
        base = named or previous
        if base is None:
            return Link("retry", DECLARED, call.declared or 1, call.own_chain)
        return Link("retry", DECLARED, call.declared or (base.attempt or 1) + 1, base.chain_id or base.own_chain)
    fresh = Link("new", None, call.declared or 1, call.own_chain)
    if previous is None or too_late(call, previous, window_ns):
        mended = neighbour is not None and mends(call, neighbour, window_ns)
        return fresh._replace(link="repair") if mended else fresh
    evidence = strength(call, previous)
    if previous.end_ns is not None and call.start_ns < previous.end_ns - OVERLAP_NS:
        return fresh._replace(link="concurrent", strength=evidence)
    if previous.outcome == "failure":
        return Link("retry", evidence, call.declared or (previous.attempt or 1) + 1, previous.chain_id or previous.own_chain)
    if previous.outcome in ("cancelled", "deferred"):
        return fresh
    return fresh._replace(link="repeat", strength=evidence)


def closes_ns(call: Attempt, window_ns: int = WINDOW_NS) -> int:
    """Until when another call can have to do with a call: it may wait twice as long as it was told to."""
    end_ns = call.start_ns if call.end_ns is None else call.end_ns
    return end_ns + max(window_ns, 2 * (call.retry_after_ms or 0) * 10**6)


def too_late(call: Attempt, earlier: Attempt, window_ns: int) -> bool:
    """Whether a call starts too long after the end of an earlier one to have to do with it."""
    return call.start_ns > closes_ns(earlier, window_ns)


def was_refused(call: Attempt) -> bool:
    """Whether a call failed because of what it was called with."""
    return call.outcome == "failure" and call.category == "validation"


def mends(call: Attempt, earlier: Attempt, window_ns: int) -> bool:
    """Whether a call is a repair: other arguments after the earlier ones were refused as invalid."""
    known = call.arguments_hash is not None and earlier.arguments_hash is not None
    overlaps = earlier.end_ns is not None and call.start_ns < earlier.end_ns - OVERLAP_NS
    if not known or not was_refused(earlier) or overlaps or too_late(call, earlier, window_ns):
        return False
    return call.arguments_hash != earlier.arguments_hash


class Around(NamedTuple):
    """The calls around one: see link_of for the first three; `followers` are those whose own look back may end at it."""

    previous: Attempt | None
    named: Attempt | None
    neighbour: Attempt | None
    followers: tuple[Attempt, ...]


def relink(
    news: Iterable[Attempt], around: Callable[[Attempt, Mapping[CallId, Attempt]], Around], window_ns: int = WINDOW_NS
) -> dict[CallId, Attempt]:
    """The calls whose link differs from what they have, once some calls have come, changed or gone.

    `news` are the new and changed calls, and the followers of those that went. `around` looks at all calls; it is given
    the links found by then, which it must prefer to older ones, and is asked in the order of the calls, so every link rests on final ones.
    """
    heap: list[tuple[tuple[int, int, int, bytes, bytes], Attempt]] = []
    waiting: set[CallId] = set()

    def push(call: Attempt) -> None:
        if call.key not in waiting:
            waiting.add(call.key)
            heappush(heap, (call.order, call))

    for call in news:
        push(call)
    updates: dict[CallId, Attempt] = {}
    first = set(waiting)
    while heap:
        _, call = heappop(heap)
        waiting.discard(call.key)
        near = around(call, updates)
        link = link_of(call, near.previous, near.named, near.neighbour, window_ns)
        changed = link != (call.link, call.link_strength, call.attempt, call.chain_id)
        if changed:
            updates[call.key] = call.linked(link)
        if changed or call.key in first:
            for follower in near.followers:
                push(follower)
    return updates

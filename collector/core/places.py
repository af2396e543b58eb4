"""The non-tool spans of a trace: what they carry for the tool span above them, which of them failed, which a call rests on."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import orjson

from collector.core.tree import Node, same_tool
from schemas.calls import FailedChild
from schemas.spans import Ancestor

Above = Callable[[bytes | None], Any]


def resolver(ids: Mapping[bytes, Any], places: Mapping[bytes, Ancestor]) -> Above:
    """A function from a span id to the nearest tool span (a value of `ids`) at or above it, or None. Each place is walked once."""
    known: dict[bytes, Any] = {}

    def above(start: bytes | None) -> Any:
        path: list[bytes] = []
        while start is not None and start not in ids and start not in known:
            known[start] = None  # spans that name each other as parents lead nowhere
            path.append(start)
            place = places.get(start)
            start = place.parent_span_id if place else None
        found = None if start is None else ids[start] if start in ids else known[start]
        for passed in path:
            known[passed] = found
        return found

    return above


def carried_results(ids: Iterable[bytes], places: Mapping[bytes, Ancestor]) -> dict[bytes, list[Mapping[str, Any]]]:
    """Facts of results that places carry, by the nearest tool span above them, in order of start."""
    carriers = sorted((place for place in places.values() if place.evidence is not None), key=_order)
    if not carriers:
        return {}
    above = resolver({span_id: span_id for span_id in ids}, places)
    found: dict[bytes, list[Mapping[str, Any]]] = {}
    for place in carriers:
        owner = above(place.parent_span_id)
        if owner is not None and place.evidence is not None:
            found.setdefault(owner, []).append(orjson.loads(place.evidence))
    return found


def failed_children(places: Mapping[bytes, Ancestor], above: Above) -> dict[bytes, list[FailedChild]]:
    """Failed places by the nearest tool span above them, in order of start; recovered if a later sibling did the same well."""
    latest: dict[tuple[bytes | None, str, str], tuple[int, bytes]] = {}
    for place in places.values():
        if not place.failed:
            latest[_work(place)] = max(latest.get(_work(place), (0, b"")), _order(place))
    found: dict[bytes, list[FailedChild]] = {}
    for place in sorted((place for place in places.values() if place.failed), key=_order):
        owner: Node | None = above(place.parent_span_id)
        if owner is not None:
            recovered = latest.get(_work(place), (0, b"")) > _order(place)
            child = FailedChild(place.span_id, place.name, place.service, place.error_type, place.http_status, place.peer, recovered)
            found.setdefault(owner.reading.span.span_id, []).append(child)
    return found


def kept_places(nodes: Iterable[Node], places: Mapping[bytes, Ancestor], above: Above) -> frozenset[bytes]:
    """The places that calls rest on: between spans of one tool, failed or carrying a result below one, or the sibling of a failed one."""
    failed_work = {_work(place) for place in places.values() if place.failed}
    kept: set[bytes] = set()

    def keep(start: bytes | None) -> None:
        while start in places and start not in kept and start is not None:
            kept.add(start)
            start = places[start].parent_span_id

    for node in nodes:
        # Also of one that is no view of the call above it: its layer may follow from what stands there.
        if node.parent is not None and same_tool(node.parent, node):
            keep(node.reading.span.parent_span_id)
    for place in places.values():
        if (place.failed or place.evidence is not None or _work(place) in failed_work) and above(place.parent_span_id) is not None:
            keep(place.span_id)
    return frozenset(kept)


def _order(place: Ancestor) -> tuple[int, bytes]:
    return place.start_ns, place.span_id


def _work(place: Ancestor) -> tuple[bytes | None, str, str]:
    """What a place does, and for whom: the same peer and operation under one parent."""
    return place.parent_span_id, place.name, place.peer

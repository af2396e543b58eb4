"""Attempts of one operation in a list of calls: drawn as one group, with what became of it. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Group:
    """Neighbours in a list: the attempts of one operation that the list has, newest first, or a call that stands alone."""

    calls: tuple[dict[str, Any], ...]
    chain: Mapping[str, Any] | None


def chain_ids(records: Iterable[Mapping[str, Any]]) -> list[str]:
    """The operations that calls belong to."""
    return sorted({record["chain_id"] for record in records if record["chain_id"]})


def groups(records: Iterable[dict[str, Any]], chains: Mapping[str, Mapping[str, Any]]) -> tuple[Group, ...]:
    """Calls in their order, attempts of one operation together where the newest of them stands.

    `chains` are operations of more than one attempt by their id; calls of others stand alone.
    """
    together: dict[str, list[dict[str, Any]]] = {}
    order: list[tuple[str, dict[str, Any]]] = []
    for record in records:
        name = record["chain_id"] if record["chain_id"] in chains else ""
        if name not in together:
            order.append((name, record))
        if name:
            together.setdefault(name, []).append(record)
    return tuple(Group(tuple(together[name]), chains[name]) if name else Group((record,), None) for name, record in order)

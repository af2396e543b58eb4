"""Q1: spans inside a call that failed although the call came back empty, as if there were nothing."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from collector.core.suppression.chance import RARE, Looked, more_often
from schemas.calls import FailedChild
from schemas.suppression import Q1, Signal, unexplained

LEAST = 3
MOST_EXAMPLES = 3


class Hiding(NamedTuple):
    """A success with failed spans inside; `session` is its trace where it has none, `call` names it as addresses of pages do."""

    call: str
    session: str
    emptiness: str
    children: Sequence[FailedChild]


class Answers(NamedTuple):
    """How many answers of a tool were empty and how many held data."""

    empty: int
    data: int


def hidden(children: Iterable[FailedChild]) -> tuple[FailedChild, ...]:
    """The failed spans that nothing explains: none that did the same for the same parent went well later, and it is no 404."""
    return tuple(child for child in children if unexplained(child.recovered, child.http_status))


def named(child: FailedChild) -> str:
    """A failed span in a few words: what, to whom, how it failed."""
    status = str(child.http_status) if child.http_status is not None else child.error_type
    where = f" to {child.peer}" if child.peer else ""
    return f"{child.name[:60]}{where[:60]}{f' ({status[:40]})' if status else ''}"


def look_inside(answers: Answers, hiding: Sequence[Hiding], siblings: Answers, siblings_hiding: int) -> Looked | None:
    """Whether empty answers hide failed spans more often than answers with data do; None if the tool has no empty ones.

    A tool all of whose answers are empty has nothing to compare them with: then with the data of the server's other tools.
    """
    if not answers.empty:
        return None
    found = [one for one in hiding if hidden(one.children)]
    empty = [one for one in found if one.emptiness == "empty"]
    with_data = sum(one.emptiness == "data" for one in found)
    against, data_n = ("tool", answers.data) if answers.data else ("siblings", siblings.data)
    data_k = with_data if answers.data else siblings_hiding
    k, data_k = min(len(empty), answers.empty), min(data_k, data_n)
    p = more_often(k, answers.empty, data_k, data_n)
    if k < LEAST or p >= RARE:
        return Looked(p)
    kinds = Counter(named(child) for one in empty for child in hidden(one.children))
    detail = {
        "child": min(kinds, key=lambda name: (-kinds[name], name)),
        "sessions": len({one.session for one in empty}),
        "against": against,
        "data_k": data_k,
        "data_n": data_n,
    }
    return Looked(p, Signal(Q1, k, answers.empty, p, detail, tuple(one.call for one in empty[:MOST_EXAMPLES])))

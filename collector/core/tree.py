"""The tree of one trace: which tool span stands under which, in which layer, and which of them are one execution."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from collector.core.reading import Reading

INTERNAL, SERVER, CLIENT, PRODUCER, CONSUMER = 1, 2, 3, 4, 5
# From the outside in: the agent's own span, the client's request, the server's handling.
AGENT_LAYER, CLIENT_LAYER, SERVER_LAYER = "agent", "client", "server"
ORDER = {AGENT_LAYER: 0, CLIENT_LAYER: 1, SERVER_LAYER: 2}


@dataclass(slots=True)
class Node:
    """One tool span in the tree: its nearest tool-span ancestor, its layer, its children; `outer` is the view it is folded into."""

    reading: Reading
    parent: "Node | None" = None
    layer: str = ""
    children: list["Node"] = field(default_factory=list)
    outer: "Node | None" = None

    @property
    def order(self) -> tuple[int, bytes]:
        """Start, then span id: the same for any order of arrival."""
        return self.reading.span.start_ns, self.reading.span.span_id


Resolve = Callable[[Mapping[bytes, Node]], Callable[[bytes | None], Node | None]]


def grow(readings: Iterable[Reading], resolve: Callable[[Mapping[bytes, Node]], Callable[[bytes | None], Node | None]]) -> list[Node]:
    """The nodes of one trace with parents, layers and folding resolved, in order of start.

    `resolve` makes, of the nodes by span id, a function from a span id to the nearest node at or above it.
    """
    nodes = {reading.span.span_id: Node(reading) for reading in readings}
    above = resolve(nodes)
    ordered = sorted(nodes.values(), key=lambda node: node.order)
    for node in ordered:
        node.parent = above(node.reading.span.parent_span_id)
    _cut_circles(ordered)
    done: set[int] = set()
    for node in ordered:
        if node.parent is not None:
            node.parent.children.append(node)
        for one in _line(node, done):
            one.layer = _layer(one)
            if not one.reading.tool and one.parent is not None:
                one.reading.tool = one.parent.reading.tool
    for node in ordered:
        _fold_child(node)
    return ordered


def alone(reading: Reading) -> Node:
    """The node of a tool span that is all that is known of its trace."""
    node = Node(reading)
    node.layer = _layer(node)
    return node


def _cut_circles(ordered: list[Node]) -> None:
    """Spans that name each other as parents make no tree: the earliest of such a circle has no parent."""
    walk_of: dict[int, int] = {}
    for number, node in enumerate(ordered):
        current: Node | None = node
        while current is not None and id(current) not in walk_of:
            walk_of[id(current)] = number
            current = current.parent
        if current is not None and walk_of[id(current)] == number:
            circle, one = [current], current.parent
            while one is not None and one is not current:
                circle.append(one)
                one = one.parent
            min(circle, key=lambda each: each.order).parent = None


def _line(node: Node, done: set[int]) -> list[Node]:
    """The node and those above it that are not done yet, the outermost first: layers depend on what is above."""
    line: list[Node] = []
    current: Node | None = node
    while current is not None and id(current) not in done:
        done.add(id(current))
        line.append(current)
        current = current.parent
    return line[::-1]


def _layer(node: Node) -> str:
    span = node.reading.span
    if span.name.startswith("MCP server handle request"):
        return SERVER_LAYER
    if span.name.startswith(("MCP send ", "MCP request: ")):
        return CLIENT_LAYER
    if span.kind in (CLIENT, PRODUCER):
        return CLIENT_LAYER
    if span.kind in (SERVER, CONSUMER):
        return SERVER_LAYER
    above = node.parent
    if above is not None and same_tool(above, node) and above.layer != SERVER_LAYER and above.reading.span.service != span.service:
        return SERVER_LAYER
    return AGENT_LAYER


def same_tool(outer: Node, inner: Node) -> bool:
    """Whether two spans name the same tool; one that names none takes the name of the span above it."""
    return outer.reading.tool == inner.reading.tool or not inner.reading.tool


def _fold_child(node: Node) -> None:
    """Let the first fitting child be another view of this execution; further ones are calls of their own (siblings, retries)."""
    if node.layer == SERVER_LAYER:
        return
    for child in sorted(node.children, key=lambda one: (ORDER[one.layer], *one.order)):
        if same_tool(node, child) and _is_view(node, child):
            child.outer = node
            return


def _is_view(outer: Node, inner: Node) -> bool:
    if ORDER[inner.layer] != ORDER[outer.layer]:
        return ORDER[inner.layer] > ORDER[outer.layer]
    ours, theirs = outer.reading.span, inner.reading.span
    inherits = "tool.execution" in theirs.name and ours.name != theirs.name
    return (ours.scope, ours.scope_version) != (theirs.scope, theirs.scope_version) or inherits


def groups(nodes: Iterable[Node]) -> list[list[Node]]:
    """The nodes of each execution, the outermost first, in order of start."""
    inner_of = {id(node.outer): node for node in nodes if node.outer is not None}
    found: list[list[Node]] = []
    for node in nodes:
        if node.outer is None:
            line = [node]
            while id(line[-1]) in inner_of:
                line.append(inner_of[id(line[-1])])
            found.append(line)
    return found

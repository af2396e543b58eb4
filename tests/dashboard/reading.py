"""Reading pages as a browser would: elements, attributes, text, embedded charts."""

import re
from html.parser import HTMLParser
from typing import Any

import orjson


class Page(HTMLParser):
    """A parsed page: every element with its attributes, the visible text, and the JSON of each chart by its name."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.charts: dict[str, Any] = {}
        self._hidden = ""
        self._chart = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.elements.append((tag, attributes))
        if tag == "figure" and "chart" in (attributes.get("class") or ""):
            self._chart = (attributes["id"] or "").removeprefix("chart-")
        self._hidden = tag if tag in ("script", "style") else ""

    def handle_endtag(self, tag: str) -> None:
        self._hidden = ""

    def handle_data(self, data: str) -> None:
        if self._hidden == "script" and self._chart and data.strip():
            self.charts[self._chart] = orjson.loads(data)
        elif not self._hidden:
            self.words.append(data)

    @property
    def text(self) -> str:
        """All visible text, with single spaces."""
        return re.sub(r"\s+", " ", " ".join(self.words))

    @property
    def links(self) -> list[str]:
        """Every address that the page links to or loads."""
        names = ("href", "src", "action")
        return [value for _, attributes in self.elements for name in names if (value := attributes.get(name))]

    def drawn(self, chart: str) -> int:
        """The sum of all bars of a chart."""
        axis = "x" if chart == "mix" else "y"
        return sum(value or 0 for trace in self.charts[chart]["data"] for value in trace[axis])

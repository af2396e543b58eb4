"""A review as a file of its own: an HTML page that needs nothing else, by the same templates as the dashboard's page."""

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from dashboard import review_words
from dashboard.assets import STATIC, load_assets
from dashboard.site import make_templates
from schemas.reviewing import Note
from schemas.zones import zone_of


def html(record: Mapping[str, Any], notes: Sequence[Note], base: str) -> str:
    """The whole page; `base` is the address of the dashboard, for links."""
    style = (STATIC / "app.css").read_text("utf-8")
    template = make_templates(load_assets()).get_template("review_file.html")
    # The style sheet is ours: no text out of a span is in it.
    return template.render(review=record, notes=notes, base=base, say=review_words, zone=zone_of(record["zone"]), style=Markup(style))

"""Renders a hit for a terminal: its place, and the sentences that match best."""

from __future__ import annotations

from rich.text import Text

from app.cli.client import Answer
from app.text import uris

_BLANKS = str.maketrans("\n\r\t", "   ")


def uri(hit: Answer) -> str:
    """The URI or path of a hit's document as people write it."""
    return uris.show(hit["uri"] or "")


def headings(hit: Answer) -> list[str]:
    """The title of a hit's document and the headings above the passage, each once."""
    return list(dict.fromkeys(part for part in (hit["title"] or uri(hit), *hit["heading_path"]) if part))


def place(hit: Answer) -> Text:
    """Returns the title and the headings of a hit, and on a second line the URI of its document."""
    names, path = headings(hit), uri(hit)
    shown = Text(" › ".join(names) + "\n" if names else "", style="bold")
    if path and path not in names:
        shown.append(f"{path}\n", style="dim not bold")
    return shown


def relevance(hit: Answer) -> str:
    """The probability that a hit is relevant, in percent; its score if the embedding model is not calibrated."""
    return f"{hit['score']:.3f}" if hit["relevance"] is None else f"{hit['relevance']:.0%}"


def sentences(hit: Answer) -> Text:
    """Returns the snippet of a hit on one line."""
    snippet = hit["snippet"]
    text = Text(snippet["text"].translate(_BLANKS), style="not bold")
    for start, end in snippet["matches"]:
        text.stylize("bold yellow", start, end)
    return text

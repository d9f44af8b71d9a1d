"""Renders a hit for a terminal: its place, and the sentences that match best."""

from __future__ import annotations

import re

from rich.text import Text

from app.cli.client import Answer
from app.text import uris

_BREAKS = re.compile(r"[\r\t]|\n(?:[ \t\r]*\n)*")


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
    """Returns the snippet of a hit, each paragraph on a line."""
    snippet = hit["snippet"]
    text = Text(_BREAKS.sub(_break, snippet["text"]), style="not bold")
    for start, end in snippet["matches"]:
        text.stylize("bold yellow", start, end)
    return text


def _break(found: re.Match[str]) -> str:
    """As many characters as were found: with a blank line, the last one ends the line."""
    return " " * (len(found[0]) - 1) + ("\n" if found[0].count("\n") > 1 else " ")

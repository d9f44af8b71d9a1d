"""Renders the text of a hit for a terminal: its snippet with the matches highlighted, or its beginning."""

from __future__ import annotations

import re

from rich.text import Text

from app.shapes import Hit, Snippet

_WORD = re.compile(r"\w{3,}")
_BLANKS = str.maketrans("\n\r\t", "   ")


def shown(hit: Hit, query: str, *, length: int) -> Text:
    """Returns the hit's snippet, or up to `length` characters of its passage with the query's words highlighted."""
    return _sentences(hit.snippet) if hit.snippet else _beginning(hit.candidate.content, query, length)


def duplicates(hit: Hit) -> Text:
    """Returns how many passages repeat the hit and where, as a line; empty if there are none."""
    if not hit.duplicates:
        return Text()
    count, named = len(hit.duplicates), [one.uri or one.title for one in hit.duplicate_documents]
    passages = "1 passage repeats" if count == 1 else f"{count} passages repeat"
    return Text(f"\n{passages} it{': ' if named else ''}{', '.join(named)}", style="dim not bold")


def _sentences(snippet: Snippet) -> Text:
    """Returns the snippet on one line."""
    text = Text(snippet.text.translate(_BLANKS), style="not bold")
    for match in snippet.matches:
        text.stylize("bold yellow", match.text_start, match.text_end)
    return text


def _beginning(content: str, query: str, length: int) -> Text:
    body = Text(" ".join(content.split())[:length], style="not bold")
    stems = sorted({word[: max(4, len(word) - 2)] for word in _WORD.findall(query)}, key=len, reverse=True)
    if stems:
        body.highlight_regex(rf"(?i)\b(?:{'|'.join(map(re.escape, stems))})\w*", "bold yellow")
    return body

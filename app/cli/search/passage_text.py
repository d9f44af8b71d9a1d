"""Renders a hit for a terminal: where it stands, and its snippet with the matches highlighted, or its beginning."""

from __future__ import annotations

import re

from rich.text import Text

from app.cli.backends.backend import Answer
from app.shapes import uris

_WORD = re.compile(r"\w{3,}")
_HEADING = re.compile(r"\s*#{1,6}\s+(.+?)\s*#*\s*(?:\n|$)")
_NOT_LETTERS = re.compile(r"[\W_]+")
_BLANKS = str.maketrans("\n\r\t", "   ")


def uri(hit: Answer) -> str:
    """The URI or path of a hit's document as people write it."""
    return uris.shown(hit["uri"] or "")


def headings(hit: Answer) -> list[str]:
    """The title of a hit's document and the headings above the passage, each once."""
    return list(dict.fromkeys(part for part in (hit["title"] or uri(hit), *hit["heading_path"]) if part))


def place(hit: Answer) -> Text:
    """Returns the title and the headings of a hit, and in a second line the URI of its document."""
    names, path = headings(hit), uri(hit)
    shown = Text(" › ".join(names) + "\n", style="bold")
    if path and path not in names:
        shown.append(f"{path}\n", style="dim not bold")
    return shown


def shown(hit: Answer, query: str, *, length: int) -> Text:
    """Returns the hit's snippet, or up to `length` characters of its passage with the query's words highlighted."""
    if snippet := hit.get("snippet"):
        return _sentences(snippet)
    return _beginning(_below(hit["content"], headings(hit)), query, length)


def duplicates(hit: Answer) -> Text:
    """Returns how many passages repeat the hit and where, as a line; empty if there are none."""
    if not (count := hit.get("duplicates")):
        return Text()
    named = [uris.shown(one["uri"] or "") or one["title"] for one in hit.get("duplicate_documents", ())]
    passages = "1 passage repeats" if count == 1 else f"{count} passages repeat"
    return Text(f"\n{passages} it{': ' if named else ''}{', '.join(named)}", style="dim not bold")


def _sentences(snippet: Answer) -> Text:
    """Returns the snippet on one line."""
    text = Text(snippet["text"].translate(_BLANKS), style="not bold")
    for match in snippet["matches"]:
        text.stylize("bold yellow", *match)
    return text


def _below(content: str, names: list[str]) -> str:
    """A passage without the headings at its beginning that are shown above it, where they have no emphasis."""
    known = {_NOT_LETTERS.sub(" ", name).strip() for name in names}
    while (heading := _HEADING.match(content)) and content[heading.end() :].strip():
        if _NOT_LETTERS.sub(" ", heading[1]).strip() not in known:
            break
        content = content[heading.end() :]
    return content


def _beginning(content: str, query: str, length: int) -> Text:
    whole = " ".join(content.split())
    # The cut is at the end of a word, unless that is longer.
    cut = whole if len(whole) <= length else (whole[:length].rpartition(" ")[0] or whole[:length]) + " …"
    body = Text(cut, style="not bold")
    stems = sorted({word[: max(4, len(word) - 2)] for word in _WORD.findall(query)}, key=len, reverse=True)
    if stems:
        body.highlight_regex(rf"(?i)\b(?:{'|'.join(map(re.escape, stems))})\w*", "bold yellow")
    return body

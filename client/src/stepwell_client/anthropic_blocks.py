"""Turns hits into the `search_result` blocks of Anthropic's Messages API, which the model cites."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from stepwell_client.models import Hit


def search_results(hits: Iterable[Hit], *, citations: bool = True) -> list[dict[str, Any]]:
    """One block a hit, for the content of a tool's result or of a message of the user."""
    return [
        {
            "type": "search_result",
            "source": hit.uri or f"stepwell://documents/{hit.document_id}",
            "title": " > ".join([hit.title or hit.uri or "Untitled", *_below(hit)]),
            "content": [{"type": "text", "text": hit.text}],
            "citations": {"enabled": citations},
        }
        for hit in hits
    ]


def _below(hit: Hit) -> list[str]:
    """The headings above a passage without the title of its document."""
    return [heading for heading in hit.heading_path if heading != hit.title]

"""Defines the options by which documents are cut into chunks, indexed and linked to entities."""

from __future__ import annotations

from dataclasses import dataclass

from app.text.names import tags


@dataclass(frozen=True, slots=True)
class ChunkingOptions:
    """The size and the overlap of chunks in tokens, and the metadata keys whose values name entities.

    With `llm_entities` the language model is asked for the entities of a document once it is stored. `language` is that
    of a document which names none; None: it is detected.
    """

    target: int = 160
    overlap: int = 24
    entity_keys: tuple[str, ...] = tags.KEYS
    llm_entities: bool = False
    language: str | None = None

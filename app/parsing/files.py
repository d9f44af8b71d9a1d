"""Defines the file that a parser reads."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class InputFile:
    """The content of a file, its name, and the field of its records that holds their text (None: chosen by name)."""

    raw: bytes
    name: str = ""
    text_field: str | None = None

"""Declares what this folder adds to the service."""

from __future__ import annotations

from app.capability import Capability

RECOGNITION = Capability(
    tables=("recognition.store:TABLES",),
    opens=("recognition.opening:open_recogniser",),
    reads_pictures=("recognition.opening:is_wanted",),
    recognisers=("recognition.kept_lines:recogniser",),
)

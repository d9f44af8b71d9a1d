"""Declares what this folder adds to the service."""

from __future__ import annotations

from app.capability import Capability

RECOGNITION = Capability(
    tables=("recognition.recognition_cache:TABLES",),
    opens=("recognition.startup:open_recogniser",),
    reads_pictures=("recognition.startup:is_wanted",),
    recognisers=("recognition.recognition_cache:recogniser",),
)

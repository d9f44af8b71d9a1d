"""Recognises text on pictures (OCR) in a separate process with limits of memory and time.

Only `worker`, which runs in the process that `process.Recogniser` starts, imports the library of the recogniser, an
optional extra.
"""

from __future__ import annotations

from app.capability import Capability

RECOGNITION = Capability(
    tables=("recognition.store:TABLES",),
    opens=("recognition.recognition:open_recogniser",),
    reads_pictures=("recognition.recognition:is_wanted",),
    recognisers=("recognition.recognition:recogniser",),
)

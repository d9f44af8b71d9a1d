"""Recognises text on pictures (OCR) in a separate process with limits of memory and time.

Only `process` is imported by the service. `worker` runs in the process that `process.Recogniser` starts; no other
module imports the library of the recogniser, which is an optional extra.
"""

from __future__ import annotations

from app.capability import Capability

RECOGNITION = Capability(
    tables=("recognition.store:TABLES",),
    opens=("recognition.startup:open_recogniser",),
    reads_pictures=("recognition.startup:is_wanted",),
    recognisers=("recognition.recognition_cache:recogniser",),
)

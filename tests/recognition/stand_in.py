"""Takes the place of the process that recognises pictures: it answers with a line that names the size of each.

A picture of one column ends the process, one of two columns is never answered, and one of three ends the first process.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

FIRST = Path(sys.argv[1])
started = str(time.monotonic_ns())
while head := sys.stdin.buffer.readline():
    width, height = json.loads(head)
    sys.stdin.buffer.read(width * height)
    if width == 1 or (width == 3 and not FIRST.exists()):
        FIRST.touch()
        sys.exit(1)
    if width == 2:
        time.sleep(60)
    print(json.dumps([[f"{width} × {height} {started}", 0.9, [0, 0, 9, 0, 9, 9, 0, 9]]]), flush=True)

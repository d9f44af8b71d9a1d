"""Takes the place of the process that recognises pictures: its only line names the size of each.

A picture of one column ends the process, one of two columns is never answered, and one of three ends the first process.
"""

import sys
import time
from pathlib import Path

from app.concurrency import limited_process

FIRST = Path(sys.argv[1])
started = str(time.monotonic_ns())
while (message := limited_process.read(sys.stdin.buffer)) is not None:
    width, height = message["width"], message["height"]
    sys.stdin.buffer.read(width * height)
    if width == 1 or (width == 3 and not FIRST.exists()):
        FIRST.touch()
        sys.exit(1)
    if width == 2:
        time.sleep(60)
    line = (f"{width} × {height} {started}", 0.9, [0, 0, 9, 0, 9, 9, 0, 9])
    limited_process.write(sys.stdout.buffer, {"lines": [line]})
    sys.stdout.buffer.flush()

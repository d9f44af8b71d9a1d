"""Writes the asynchronous client from the synchronous one, so that both have the same methods."""

from __future__ import annotations

import re
from pathlib import Path

PACKAGE = Path(__file__).parent / "src" / "stepwell_client"
_REPLACED = (
    (r'"""Sends operations to a service and', '"""Sends operations to a service asynchronously and'),
    (r"\bclass Client:", "class AsyncClient:"),
    (r"A synchronous client; use it as a context manager, or call `close`\. It may be shared by threads\.",
     "An asynchronous client; use it as a context manager, or call `aclose`. It may be used in several event loops."),
    (r"http: httpx\.Client \| None", "http: httpx.AsyncClient | None"),
    (r"http or httpx\.Client\(\)", "http or LoopClient()"),
    (r"^    def (?!with_options|__init__)", "    async def "),
    (r"self\.run\(", "await self.run("),
    (r"self\._send\(", "await self._send("),
    (r"(?<!await )self\.job\(", "await self.job("),
    (r"self\._http\.request\(", "await self._http.request("),
    (r"with self\._http\.stream\(", "async with self._http.stream("),
    (r"response\.read\(\)", "await response.aread()"),
    (r"yield from filter\(None, map\(transport\.job_of, response\.iter_lines\(\)\)\)",
     "async for line in response.aiter_lines():\n                    "
     "if job := transport.job_of(line):\n                        yield job"),
    (r"yield from page\.(\w+)", r"for one in page.\1:\n                yield one"),
    (r"time\.sleep\(", "await asyncio.sleep("),
    (r"\bIterator\[", "AsyncIterator["),
    (r"async def close\(", "async def aclose("),
    (r"self\._http\.close\(\)", "await self._http.aclose()"),
    (r"self\.close\(\)", "await self.aclose()"),
    (r"async def __enter__", "async def __aenter__"),
    (r"async def __exit__", "async def __aexit__"),
    (r"import copy\nimport time\n", "import asyncio\nimport copy\n"),
    (r"Callable, Iterable, Iterator, Mapping", "AsyncIterator, Callable, Iterable, Mapping"),
    (r"(from stepwell_client\.errors import .+\n)", r"\1from stepwell_client.loops import LoopClient\n"),
)  # fmt: skip


def text() -> str:
    """The source of the asynchronous client."""
    source = (PACKAGE / "client.py").read_text(encoding="utf-8")
    for pattern, replacement in _REPLACED:
        source = re.sub(pattern, replacement, source, flags=re.MULTILINE)
    return source


if __name__ == "__main__":
    (PACKAGE / "async_client.py").write_text(text(), encoding="utf-8")

"""Large bodies are written to temporary files. The files are deleted, and a full disk is reported."""

import errno
import os
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from api_caller import Caller
from example_app import assert_problem

from app.errors import DiskFull
from app.http import spooling

DOCUMENTS = "/api/rag/documents"
LINES = [f"Stone {n} in lime mortar: é.".encode() for n in range(60_000)]


async def _body(seen: list[int]) -> AsyncIterator[bytes]:
    yield b'{"uri": "long", "content": "'
    for start in range(0, len(LINES), 10_000):
        seen.append(len(list(_temporary_files())))
        yield b" ".join(LINES[start : start + 10_000]) + b" "
    yield b'"}'


def _temporary_files() -> list[str]:
    """The deleted files of the temporary folder that this process has open."""
    targets = []
    for descriptor in Path("/proc/self/fd").iterdir():
        try:
            targets.append(os.readlink(descriptor))
        except FileNotFoundError:
            continue
    return [target for target in targets if target.startswith(tempfile.gettempdir()) and "(deleted)" in target]


async def _send(caller: Caller, content: AsyncIterator[bytes]) -> httpx.Response:
    return await caller.client.post(DOCUMENTS, content=content, headers={"Content-Type": "application/json"})


async def test_a_large_body_is_received_into_a_file_which_is_deleted(caller: Caller) -> None:
    before = len(_temporary_files())
    seen: list[int] = []
    response = await _send(caller, _body(seen))
    assert response.status_code == 202, response.text
    assert seen[-1] == before + 1
    assert len(_temporary_files()) == before


async def test_a_full_disk_for_temporary_files_is_507(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_args: Any, **_options: Any) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    assert_problem(await _send(caller, _body([])), 507, "disk_full")
    form = await caller.client.post(DOCUMENTS, files={"files": ("long.txt", b"\n".join(LINES))})
    assert_problem(form, 507, "disk_full")
    assert (await caller.client.get(DOCUMENTS)).json()["documents"] == []


async def test_a_missing_folder_for_temporary_files_is_507(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    assert_problem(await _send(caller, _body([])), 507, "disk_full")


async def test_other_errors_of_files_are_not_taken_for_a_full_disk() -> None:
    with pytest.raises(PermissionError), spooling.disk_errors():
        raise PermissionError(errno.EACCES, "denied")
    with pytest.raises(DiskFull), spooling.disk_errors():
        raise OSError(errno.EDQUOT, "quota")

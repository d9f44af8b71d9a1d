"""A file name in a form becomes a relative path without what could mislead, and nothing is opened by it."""

from __future__ import annotations

import pytest
from api_caller import Caller

from app import errors
from app.documents.api import uploads

DOCUMENTS = "/api/rag/documents"


@pytest.mark.parametrize(
    ("sent", "path"),
    [
        ("a.md", "a.md"),
        ("docs//notes/./a.md", "docs/notes/a.md"),
        ("docs\\a.md", "docs/a.md"),
        ("/etc/passwd.txt", "passwd.txt"),
        ("C:\\notes\\plan.md", "plan.md"),
        ("evil\u202etxt.md", "eviltxt.md"),
        ("a\x00b\x1f.txt", "ab.txt"),
        ("<script>alert(1).txt", "<script>alert(1).txt"),
        ("...", "..."),
        ("", None),
        (" / ", None),
        (".", None),
    ],
)
def test_a_file_name_is_read_as_a_relative_path(sent: str, path: str | None) -> None:
    assert uploads.relative_path(sent) == path


@pytest.mark.parametrize("sent", ["..", "../a.md", "docs/../a.md", "..\\..\\a.md", "/../a.md", ".\u200b./a.md"])
def test_a_file_name_that_leaves_its_folder_is_refused(sent: str) -> None:
    with pytest.raises(errors.BadRequest):
        uploads.relative_path(sent)


@pytest.mark.parametrize(
    "sent", ["n" * 300 + ".md", "txt\u202edm.md", "C:\\etc\\<b>.md", "%00%2e%2e%2fa.md", "a\x00.md"]
)
async def test_an_odd_file_name_is_only_a_label(caller: Caller, sent: str) -> None:
    boundary = "x" * 20
    header = f'--{boundary}\r\nContent-Disposition: form-data; name="files"; filename="{sent}"\r\n\r\n'
    response = await caller.client.post(
        DOCUMENTS,
        content=f"{header}Lime.\r\n--{boundary}--\r\n".encode(),
        headers={"Content-Type": f"multipart/form-data; boundary={boundary}"},
    )
    assert response.status_code == 201, response.text
    stored = (await caller.client.get(f"{DOCUMENTS}/{response.json()['documents'][0]['document_id']}")).json()
    assert stored["uri"] == uploads.relative_path(sent)
    assert not set("\x00\u202e") & set(stored["title"] + stored["metadata"]["filename"])

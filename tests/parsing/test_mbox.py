"""Each message of a mailbox is a document with an identity of its own."""

from __future__ import annotations

import pytest
from reading import Read, refusal

FROM = "From ana@example.org Fri Jul  8 12:08:34 2011\n"
MAILBOX = f"""{FROM}Message-ID: <1@example.org>
From: Ana <ana@example.org>
Subject: Lime

>From Lindau, and
From the lake at 12:30 too.

{FROM}Message-ID: <1@example.org>
Subject: Clay

>>From pipes.

{FROM}Subject:

{FROM}Content-Type: text/html
Subject: Broken

{"<div>" * 5_000}x

{FROM}Subject: Last

"""


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_mailbox_has_its_messages(read: Read, end: str) -> None:
    documents = read(MAILBOX.replace("\n", end).encode(), "Inbox")
    assert [(one.title, one.fragment) for one in documents] == [
        ("Lime", "id=1@example.org"),
        ("Clay", "message=2"),
        ("Last", "message=5"),
    ]
    assert documents[0].text.split() == ["From", "Lindau,", "and", "From", "the", "lake", "at", "12:30", "too."]
    assert documents[1].text.strip() == ">From pipes."
    assert [one.warnings for one in documents] == [(), (), ("messages of the mailbox that cannot be read: 1 left out",)]


def test_a_mailbox_without_text_is_refused(read: Read) -> None:
    assert refusal(read, f"{FROM}Subject:\n\n".encode(), "a.mbox") == "no_text"

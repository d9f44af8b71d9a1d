"""The soak test's ledger detects lost, doubled and mixed writes; the long form runs in the fault drills."""

import dataclasses
import hashlib
import os

import pytest

from benchmarks import folders
from benchmarks.soak import ledger, soak
from benchmarks.soak.ledger import DocumentKey, Found, Ledger

KEY = DocumentKey("ana", "note-1")


def stored(version: int, *, text_of: int | None = None, document_id: str = "d1") -> Found:
    text = ledger.text(KEY, text_of or version)
    content_hash = hashlib.sha256(text.encode()).hexdigest()
    return Found(KEY, document_id, ledger.title(KEY, version), content_hash, 1)


def written(*versions: int) -> Ledger:
    books = Ledger()
    for version in versions:
        books.attempted(KEY, version)
        books.acknowledge(KEY, version)
    return books


def deleted() -> Ledger:
    books = written(1)
    books.attempted(KEY, None)
    books.acknowledge(KEY, None)
    return books


@pytest.mark.parametrize(
    ("books", "found", "said"),
    [
        (written(1, 2), [stored(2)], []),
        (written(1, 2), [stored(1)], ["version 1"]),
        (written(1), [], ["version None"]),
        (deleted(), [stored(1)], ["version 1"]),
        (Ledger(), [stored(1)], ["different writes"]),
        (written(1), [stored(1), stored(1, document_id="d2")], ["twice"]),
        (written(1, 2), [stored(2, text_of=1)], ["different writes", "version None"]),
    ],
    ids=["acknowledged", "earlier", "lost", "deleted", "never written", "twice", "mixed"],
)
def test_only_the_last_acknowledged_version_is_permitted(books: Ledger, found: list[Found], said: list[str]) -> None:
    violations = books.check("ana", found)
    assert [violation for violation, words in zip(violations, said, strict=True) if words not in violation] == []


@pytest.mark.skipif(os.environ.get("STEPWELL_FAULTS") != "full", reason="takes more than a minute: make faults")
async def test_a_minute_of_load_and_kills_violates_nothing() -> None:
    with folders.data_dir(None) as data_dir:
        outcome = await soak.run(data_dir, minutes=1, rate=4, seed=1, report=print)
    print(dataclasses.asdict(outcome))
    assert outcome.violations == []
    assert outcome.acknowledged_writes > 0
    assert outcome.restarts > 0

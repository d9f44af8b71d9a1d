"""The soak test's ledger detects lost, doubled and mixed writes; the long form runs in the fault drills."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from random import Random

import pytest

from benchmarks import folders
from benchmarks.soak import ledger, samples, soak
from benchmarks.soak.ledger import DocumentKey, Found, Ledger
from benchmarks.soak.load import Observations

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


def test_an_unacknowledged_write_permits_both_states_until_one_is_seen() -> None:
    for actual in (1, 2):
        books = written(1)
        books.attempted(KEY, 2)
        assert books.check("ana", [stored(actual)]) == []
        assert len(books.check("ana", [stored(3 - actual)])) == 1


def test_growing_memory_is_distinguished_from_noise() -> None:
    rng = Random(1)
    flat = samples.summary([(float(at), 250 + rng.uniform(-8, 8)) for at in range(0, 900, 5)])
    growing = samples.summary([(float(at), 250 + at * 0.15) for at in range(0, 900, 5)])
    assert flat is not None
    assert growing is not None
    assert (flat.is_flat, growing.is_flat) == (True, False)
    assert growing.slope_mb_per_hour == pytest.approx(0.15 * 3600)


def test_only_503_and_507_are_permitted_failures() -> None:
    seen = Observations()
    for code in (200, 503, 507):
        seen.status("search", code, (200,))
    assert seen.violations == []
    seen.status("search", 500, (200,))
    seen.status("search", 404, (200,))
    seen.status("hostile body", 422)
    assert len(seen.violations) == 2


@pytest.mark.skipif(os.environ.get("STEPWELL_FAULTS") != "full", reason="takes more than a minute: make faults")
async def test_a_minute_of_load_and_kills_violates_nothing() -> None:
    with folders.data_dir(None) as data_dir:
        outcome = await soak.run(data_dir, minutes=1, rate=4, seed=1, report=print)
    print(dataclasses.asdict(outcome))
    assert outcome.violations == []
    assert outcome.acknowledged_writes > 0
    assert outcome.restarts > 0

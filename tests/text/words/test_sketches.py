"""Sketches of texts: what they find of drawn edits, compared with the Jaccard index of their shingles."""

from __future__ import annotations

import random

import numpy as np
import pytest

from app.text.words import sketches

DRAWN = random.Random(5)
WORDS = [f"word{number}" for number in range(3_000)]
TEXTS = [DRAWN.choices(WORDS, k=DRAWN.randrange(80, 400)) for _ in range(200)]


def _rows(texts: list[list[str]]) -> np.ndarray:
    return np.frombuffer(b"".join(sketches.of(" ".join(text)) for text in texts), np.uint8).reshape(len(texts), -1)


def _jaccard(one: list[str], other: list[str]) -> float:
    first, second = (set(zip(text, text[1:], text[2:], strict=False)) for text in (one, other))
    return len(first & second) / len(first | second)


def _changed(text: list[str], share: float) -> list[str]:
    places = set(DRAWN.sample(range(len(text)), round(share * len(text)) or 1))
    return [DRAWN.choice(WORDS) if place in places else word for place, word in enumerate(text)]


def _of_template(text: list[str], share: float) -> list[str]:
    kept = round(share * len(text))
    return text[:kept] + DRAWN.choices(WORDS, k=len(text) - kept)


def test_versions_are_found_and_templates_are_not() -> None:
    """Each text has a version of which 1 % of the words differ, one of 10 %, and one that shares half of it."""
    for made, share, found in ((_changed, 0.01, 1.0), (_changed, 0.1, 0.0), (_of_template, 0.5, 0.0)):
        versions = [made(text, share) for text in TEXTS]
        firsts = sketches.near(_rows(TEXTS + versions))
        assert (firsts[: len(TEXTS)] == np.arange(len(TEXTS))).all()
        assert (firsts[len(TEXTS) :] == np.arange(len(TEXTS))).mean() == found


def test_the_estimate_is_unbiased_and_its_error_is_that_of_128_hashes() -> None:
    versions = [_changed(text, DRAWN.choice((0.01, 0.03, 0.05, 0.1))) for text in TEXTS]
    errors = sketches.similarity(_rows(TEXTS), _rows(versions)) - list(map(_jaccard, TEXTS, versions))
    assert abs(errors.mean()) < 0.01
    assert errors.std() < 0.045


def test_every_member_of_a_set_is_near_its_first_one() -> None:
    """A chain of small changes is no set."""
    chain = [TEXTS[0]]
    for _ in range(30):
        chain.append(_changed(chain[-1], 0.02))
    rows = _rows(chain)
    firsts = sketches.near(rows)
    assert (firsts[firsts] == firsts).all()
    assert 1 < len(set(firsts.tolist())) < 30
    assert (sketches.similarity(rows, rows[firsts]) >= sketches.LEAST).all()


@pytest.mark.parametrize(
    ("text", "same"),
    [
        (" ".join(TEXTS[0]), ",\n".join(TEXTS[0]).upper()),
        ("京都の寺は秋に混む。" * 8, "京都の寺は、秋に混む。\n" * 8),
    ],
)
def test_case_spaces_and_punctuation_make_no_difference(text: str, same: str) -> None:
    assert sketches.of(text) == sketches.of(same)
    assert len(sketches.of(text)) == sketches.BYTES


def test_short_texts_have_no_sketch_and_stored_ones_stay_comparable() -> None:
    """The bytes are those of the sketches that are stored: another result needs another column."""
    assert sketches.of("word " * (sketches.MIN_WORDS - 1)) == b""
    long = " ".join(f"word{number}" for number in range(60_000))
    assert sketches.of(long).hex() == (
        "7347a690bccec0f35aafa4c890a1fd722484dfb89c8240cc6c86bdbd4120cf3c"
        "eed7103d5fcaf594610020f4d9bf5b179d5ee06616238d0b2a13230685259b76"
    )

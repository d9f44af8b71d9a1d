"""The sample notes are complete and consistent, and the sample questions need the searches that they demonstrate."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from app import samples
from app.text.structure import markdown

PATHS = sorted(samples.NOTES.rglob("*.md"))
STOP = re.compile(
    r"a|about|all|an|and|are|at|back|be|been|by|did|do|does|for|from|get|had|has|have|how|in|is|it|its|my|not|of|on|or|"
    r"should|that|the|this|to|was|were|what|when|which|who|why|will|with"
)


def by_kind(kind: str) -> list[samples.SampleQuestion]:
    return [question for question in samples.QUESTIONS if question.kind == kind]


def body(path: Path) -> str:
    post = markdown.parse(path.read_text(encoding="utf-8"))
    return f"{post.title}\n{post.body}"


def stems(text: str) -> set[str]:
    """Returns truncated words, more coarsely than a stemmer, so that "supplier" and "supplies" are equal."""
    words = re.findall(r"[a-z]+", text.lower())
    return {word[:5].removesuffix("s") for word in words if len(word) > 2 and not STOP.fullmatch(word)}


def name(path: Path) -> str:
    return path.relative_to(samples.NOTES).as_posix()


@pytest.mark.parametrize("question", samples.QUESTIONS, ids=lambda question: question.text)
def test_every_answer_exists(question: samples.SampleQuestion) -> None:
    assert question.answers
    assert [answer for answer in question.answers if not (samples.NOTES / answer).is_file()] == []


@pytest.mark.parametrize("question", by_kind("multihop"), ids=lambda question: question.text)
def test_a_multihop_answer_shares_no_content_word_with_its_question(question: samples.SampleQuestion) -> None:
    assert [stems(question.text) & stems(body(samples.NOTES / answer)) for answer in question.answers] == [set()]


def test_a_quoted_phrase_occurs_only_in_its_answers() -> None:
    for question in by_kind("phrase"):
        phrase = question.text.strip('"')
        assert [name(path) for path in PATHS if phrase in body(path)] == list(question.answers)


def test_an_identifier_occurs_only_in_its_answers() -> None:
    for question in by_kind("technical"):
        assert {name(path) for path in PATHS if question.text in body(path)} == set(question.answers)

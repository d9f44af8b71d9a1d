"""The answers to the sample questions are sample notes, and a quoted phrase or identifier is in its answers only."""

from pathlib import Path

import pytest

from app import samples
from app.text.structure import frontmatter

PATHS = sorted(samples.NOTES.rglob("*.md"))


def by_kind(kind: str) -> list[samples.SampleQuestion]:
    return [question for question in samples.QUESTIONS if question.kind == kind]


def body(path: Path) -> str:
    post = frontmatter.parse(path.read_text(encoding="utf-8"))
    return f"{post.title}\n{post.body}"


def name(path: Path) -> str:
    return path.relative_to(samples.NOTES).as_posix()


@pytest.mark.parametrize("question", samples.QUESTIONS, ids=lambda question: question.text)
def test_every_answer_exists(question: samples.SampleQuestion) -> None:
    assert question.answers
    assert [answer for answer in question.answers if not (samples.NOTES / answer).is_file()] == []


def test_a_quoted_phrase_occurs_only_in_its_answers() -> None:
    for question in by_kind("phrase"):
        phrase = question.text.strip('"')
        assert [name(path) for path in PATHS if phrase in body(path)] == list(question.answers)


def test_an_identifier_occurs_only_in_its_answers() -> None:
    for question in by_kind("technical"):
        assert {name(path) for path in PATHS if question.text in body(path)} == set(question.answers)

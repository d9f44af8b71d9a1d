"""The sample notes are complete and consistent, and the sample questions need the searches that they demonstrate."""

from __future__ import annotations

import datetime
import re
import typing
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from app import samples
from app.text.structure import markdown

PATHS = sorted(samples.NOTES.rglob("*.md"))
LINKING_NAMES = {
    "vendors/hexholm.md": "HX-31",
    "people/ines-brandauer.md": "Ines Brandauer",
    "vendors/stonehand.md": "Stonehand Guild",
    "people/mara-veit.md": "Mara Veit",
    "vendors/fennick.md": "FB-12",
    "assets/petrel-anne.md": "Petrel Anne",
}
LISTS = {"attendees", "people", "participants", "speakers", "tags", "aliases"}
WORDS = {"title", "author", "project", "team"}
STOP = re.compile(
    r"a|about|all|an|and|are|at|back|be|been|by|did|do|does|for|from|get|had|has|have|how|in|is|it|its|my|not|of|on|or|"
    r"should|that|the|this|to|was|were|what|when|which|who|why|will|with"
)


def by_kind(kind: str) -> list[samples.SampleQuestion]:
    return [question for question in samples.QUESTIONS if question.kind == kind]


def body(path: Path) -> str:
    post = markdown.parse(path.read_text(encoding="utf-8"))
    return f"{post.title}\n{post.body}"


def metadata(path: Path) -> dict[str, Any]:
    return dict(yaml.safe_load(path.read_text(encoding="utf-8").split("---\n")[1]))


def stems(text: str) -> set[str]:
    """Returns truncated words, more coarsely than a stemmer, so that "supplier" and "supplies" are equal."""
    words = re.findall(r"[a-z]+", text.lower())
    return {word[:5].removesuffix("s") for word in words if len(word) > 2 and not STOP.fullmatch(word)}


def name(path: Path) -> str:
    return path.relative_to(samples.NOTES).as_posix()


def test_there_are_about_forty_notes() -> None:
    assert 36 <= len(PATHS) <= 48


@pytest.mark.parametrize("path", PATHS, ids=name)
def test_a_note_has_a_title_a_date_and_metadata_of_the_expected_types(path: Path) -> None:
    data = metadata(path)
    assert data.keys() <= LISTS | WORDS | {"date"}
    assert data["title"]
    assert isinstance(data["date"], datetime.date)
    assert data["tags"]
    assert all(isinstance(data[key], str) for key in WORDS & data.keys())
    assert all(isinstance(item, str) for key in LISTS & data.keys() for item in data[key])


@pytest.mark.parametrize("path", PATHS, ids=name)
def test_a_note_opens_with_one_top_heading_and_has_150_to_450_words(path: Path) -> None:
    content = markdown.parse(path.read_text(encoding="utf-8")).body
    assert content.startswith("# ")
    assert 150 <= len(content.split()) <= 450


@pytest.mark.parametrize("path", sorted((samples.NOTES / "meetings").glob("*.md")), ids=name)
def test_a_meeting_lists_its_attendees_and_has_its_date_in_file_name_and_text(path: Path) -> None:
    data, day = metadata(path), datetime.date.fromisoformat(path.name[:10])
    assert data["date"] == day
    assert f"{day.day} {day:%B %Y}" in body(path)
    assert len(data["attendees"]) >= 3


def test_titles_are_unique() -> None:
    titles = Counter(metadata(path)["title"] for path in PATHS)
    assert [title for title, count in titles.items() if count > 1] == []


def test_there_are_twelve_to_sixteen_questions_of_every_kind() -> None:
    assert 12 <= len(samples.QUESTIONS) <= 16
    assert {question.kind for question in samples.QUESTIONS} == set(typing.get_args(samples.Kind))
    assert len(by_kind("multihop")) >= 6


@pytest.mark.parametrize("question", samples.QUESTIONS, ids=lambda question: question.text)
def test_every_answer_exists(question: samples.SampleQuestion) -> None:
    assert question.answers
    assert [answer for answer in question.answers if not (samples.NOTES / answer).is_file()] == []


@pytest.mark.parametrize("question", by_kind("multihop"), ids=lambda question: question.text)
def test_a_multihop_answer_shares_no_content_word_with_its_question(question: samples.SampleQuestion) -> None:
    assert [stems(question.text) & stems(body(samples.NOTES / answer)) for answer in question.answers] == [set()]


@pytest.mark.parametrize("question", by_kind("multihop"), ids=lambda question: question.text)
def test_a_multihop_answer_is_named_in_the_note_most_similar_to_its_question(
    question: samples.SampleQuestion,
) -> None:
    question_stems, name_in_both = stems(question.text), LINKING_NAMES[question.answers[0]]
    shared = {path: len(question_stems & stems(body(path))) for path in PATHS}
    nearest = max(PATHS, key=lambda path: shared[path])
    assert name_in_both in body(nearest)
    assert name_in_both in body(samples.NOTES / question.answers[0])
    assert name_in_both not in question.text


def test_a_quoted_phrase_occurs_only_in_its_answers() -> None:
    for question in by_kind("phrase"):
        phrase = question.text.strip('"')
        assert [name(path) for path in PATHS if phrase in body(path)] == list(question.answers)


def test_an_identifier_occurs_only_in_its_answers() -> None:
    for question in by_kind("technical"):
        assert {name(path) for path in PATHS if question.text in body(path)} == set(question.answers)


def test_two_people_share_a_first_name_and_both_occur_in_many_notes() -> None:
    for person in ("Mara Tolland", "Mara Veit", "Cliff Clarke"):
        assert sum(person in path.read_text(encoding="utf-8") for path in PATHS) >= 6, person


def test_every_person_in_a_team_or_meeting_is_named_in_full_in_another_note() -> None:
    people = {
        person for data in map(metadata, PATHS) for key in ("attendees", "people") for person in data.get(key, [])
    }
    texts = [path.read_text(encoding="utf-8") for path in PATHS]
    assert {person for person in people if sum(person in text for text in texts) < 2} == set()

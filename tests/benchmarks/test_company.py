"""The generated company is deterministic, and its judgements agree with its documents."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

from app.evaluation import beir
from app.shapes import Upload
from benchmarks.company import generate, incidental, vocabulary

SMALL = {"documents": 400, "questions": 12}
HALVES: tuple[vocabulary.Half, ...] = ("train", "test")


@pytest.fixture(scope="module", params=HALVES)
def world(request: pytest.FixtureRequest) -> beir.EvaluationSet:
    return generate.build(request.param, **SMALL)


def digest(world: beir.EvaluationSet) -> str:
    return hashlib.sha256(repr(world).encode()).hexdigest()


def words(text: str) -> set[str]:
    return set(re.findall(r"\w{4,}", text.casefold()))


def whole(upload: Upload) -> str:
    return f"{upload.title} {upload.content}"


def names(world: beir.EvaluationSet, kind: str) -> dict[str, list[str]]:
    return {each["name"]: [each["name"], *each["aliases"]] for each in world.entities if each["type"] == kind}


def listed(upload: Upload) -> set[str]:
    values = (upload.metadata.get(key) for key in ("author", "attendees", "project", "team"))
    return {name for value in values for name in (value if isinstance(value, list) else [value]) if name}


def strings(value: Any) -> Iterator[str]:
    """Every string in nested dataclasses, mappings and tuples."""
    if isinstance(value, str):
        yield value
    elif is_dataclass(value):
        for field in fields(value):
            yield from strings(getattr(value, field.name))
    elif isinstance(value, dict):
        for each in value.values():
            yield from strings(each)
    else:
        for each in value:
            yield from strings(each)


def test_a_seed_gives_the_same_world_in_every_process() -> None:
    code = (
        "import hashlib; from benchmarks.company import generate as w; "
        "print(hashlib.sha256(repr(w.build('test', documents=400, questions=12)).encode()).hexdigest())"
    )
    hashed = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True
    )
    assert hashed.stdout.strip() == digest(generate.build("test", **SMALL))


def test_another_seed_gives_another_world() -> None:
    assert digest(generate.build("test", **SMALL)) != digest(generate.build("test", seed=1, **SMALL))


def test_the_halves_share_no_name_topic_or_sentence() -> None:
    train, test = (set(strings(vocabulary.load(half))) - {""} for half in HALVES)
    assert train & test == set()
    worlds = [generate.build(half, **SMALL) for half in HALVES]
    known = [{name for each in world.entities for name in (each["name"], *each["aliases"])} for world in worlds]
    assert known[0] & known[1] == set()
    titles = [{upload.title for upload in world.documents} for world in worlds]
    assert titles[0] & titles[1] == set()
    sentences = [
        {part for upload in world.documents for part in upload.content.split(". ")[1:] if " " in part}
        for world in worlds
    ]
    assert sentences[0] & sentences[1] == set()


def test_there_are_over_thirty_topics_and_three_hundred_names() -> None:
    both = [vocabulary.load(half) for half in HALVES]
    assert sum(len(each.topics) for each in both) >= 30
    assert sum(len(each.first) + len(each.last) for each in both) >= 300


def test_every_type_is_asked_and_every_answer_exists(world: beir.EvaluationSet) -> None:
    stored = {upload.uri for upload in world.documents}
    assert len(stored) == len(world.documents) == SMALL["documents"]
    assert {question.kind for question in world.questions} == set(generate.TYPES)
    assert all(question.relevant and question.relevant.keys() <= stored for question in world.questions)
    assert len({question.query_id for question in world.questions}) == len(world.questions)


@pytest.mark.parametrize("half", HALVES)
def test_by_default_at_least_forty_questions_of_each_type_are_asked(half: vocabulary.Half) -> None:
    asked = Counter(question.kind for question in generate.build(half).questions)
    assert asked.keys() == set(generate.TYPES)
    assert min(asked.values()) >= 40


def test_no_alias_belongs_to_two_entities(world: beir.EvaluationSet) -> None:
    counted = Counter(name.casefold() for each in world.entities for name in {each["name"], *each["aliases"]})
    assert [name for name, times in counted.items() if times > 1] == []


def test_members_are_entities_by_name(world: beir.EvaluationSet) -> None:
    people = names(world, "person")
    teams = [each for each in world.entities if each["type"] == "team"]
    assert sorted(name for team in teams for name in team["members"]) == sorted(people)


def test_a_document_about_somebody_names_them_by_name_alias_first_name_title_or_metadata(
    world: beir.EvaluationSet,
) -> None:
    uploads = {upload.uri: upload for upload in world.documents}
    called = {**names(world, "person"), **names(world, "project")}
    asked = [question for question in world.questions if question.kind in ("person", "project")]
    assert asked
    for question in asked:
        answers = [uploads[uri] for uri in question.relevant]
        assert any(
            all(listed(upload) & set(forms) or any(form in whole(upload) for form in forms) for upload in answers)
            for forms in called.values()
        ), question.text


def test_some_answers_can_only_be_known_from_the_metadata(world: beir.EvaluationSet) -> None:
    people = names(world, "person")
    hidden = [
        upload
        for upload in world.documents
        if (author := upload.metadata.get("author")) in people
        and not words(str(author)) & words(whole(upload))
        and upload.metadata["kind"] == "work"
    ]
    assert len(hidden) > len(world.documents) // 20


def test_people_are_named_in_passing_in_documents_that_do_not_answer(world: beir.EvaluationSet) -> None:
    people = names(world, "person")
    asked = [question for question in world.questions if question.kind == "person"]
    named = [name for name in people if any(name in question.text for question in asked)]
    for name in named:
        (question,) = [each for each in asked if name in each.text][:1]
        passing = [each for each in world.documents if name in whole(each) and each.uri not in question.relevant]
        assert passing, name
    assert named


def test_distractors_use_the_words_of_the_answers(world: beir.EvaluationSet) -> None:
    uploads = {upload.uri: upload for upload in world.documents}
    for question in world.questions:
        if question.kind != "topic_person":
            continue
        best = max(question.relevant, key=lambda uri: question.relevant[uri])
        answer = words(uploads[best].content)
        others = [upload for uri, upload in uploads.items() if uri not in question.relevant]
        shared = max(len(answer & words(upload.content)) / len(answer) for upload in others)
        assert shared > 0.25, question.text


def test_questions_about_a_date_are_answered_within_it(world: beir.EvaluationSet) -> None:
    uploads = {upload.uri: upload for upload in world.documents}
    dated = [question for question in world.questions if question.kind == "date"]
    assert {bool(question.filters) for question in dated} == {True, False}
    for question in dated:
        for uri in question.relevant:
            created = uploads[uri].created_at
            assert created is not None
            assert vocabulary.date(created) in uploads[uri].content
            if question.filters:
                assert question.filters.created_after is not None
                assert question.filters.created_before is not None
                assert question.filters.created_after <= created < question.filters.created_before
            else:
                assert f"{vocabulary.MONTHS[created.month - 1]} {created.year}" in question.text


@pytest.mark.parametrize("half", HALVES)
def test_incidental_names_add_types_and_leave_texts_and_other_questions_as_they_are(half: vocabulary.Half) -> None:
    plain, added = generate.build(half, **SMALL), generate.build(half, **SMALL, incidental_names=True)
    assert added.questions[: len(plain.questions)] == plain.questions
    assert [(each.title, each.content) for each in added.documents] == [
        (each.title, each.content) for each in plain.documents
    ]
    assert added.entities[: len(plain.entities)] == plain.entities
    asked = Counter(question.kind for question in added.questions)
    assert asked.keys() == {*generate.TYPES, *incidental.TYPES}
    stored = {upload.uri for upload in added.documents}
    assert all(question.relevant and question.relevant.keys() <= stored for question in added.questions)
    assert any(upload.metadata.get("tags") for upload in added.documents)


def test_names_in_harsh_questions_are_in_the_metadata_of_documents_that_do_not_answer() -> None:
    world = generate.build("test", **SMALL, incidental_names=True)
    asked = [question for question in world.questions if question.kind == incidental.HARSH]
    assert asked
    for question in asked:
        authored = {each.uri for each in world.documents if str(each.metadata.get("author")) in question.text}
        assert authored - question.relevant.keys(), question.text

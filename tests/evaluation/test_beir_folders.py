"""An evaluation set is written and read in BEIR layout."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from harness import COMPANY

from app import errors
from app.documents.types import Upload
from app.evaluation import beir


async def test_a_set_that_is_written_is_read_equally(tmp_path: Path) -> None:
    company = beir.load(COMPANY)
    assert any(question.filters.created_after for question in company.questions)

    async def documents() -> AsyncIterator[Upload]:
        for upload in company.documents:
            yield upload

    assert await beir.write(tmp_path / "set", company.questions, documents()) == len(company.documents)
    written = beir.load(tmp_path / "set")
    assert (written.documents, written.questions) == (company.documents, company.questions)
    assert {path.name: path.read_text() for path in (tmp_path / "set").iterdir()} == {
        path.name: path.read_text()
        for path in COMPANY.iterdir()
        if path.name in (beir.CORPUS, beir.QUERIES, beir.QRELS)
    }


async def test_metadata_with_the_names_of_other_fields_is_written_beside_them(tmp_path: Path) -> None:
    metadata = {"created_at": "2025-03-01", "title": "Sand", "text": "Sand.", "_id": 7, "metadata": {"a": 1}, "b": 2}
    upload = Upload("Lime.", "Stair", "stair", metadata, created_at=datetime(2025, 3, 1, tzinfo=UTC), markdown=False)

    async def documents() -> AsyncIterator[Upload]:
        yield upload

    await beir.write(tmp_path, [], documents())
    assert beir.load(tmp_path).documents == (upload,)


def test_the_layout_of_beir_itself_is_read_and_relevant_documents_that_are_missing_are_named(tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    (tmp_path / beir.CORPUS).write_text('{"_id": "d1", "title": "", "text": "Lime.", "metadata": {"url": "x"}}\n')
    (tmp_path / beir.QUERIES).write_text('{"_id": "q1", "text": "lime", "metadata": {}}\n')
    (tmp_path / beir.SPLIT).write_text("query-id\tcorpus-id\tscore\nq1\td1\t0.5\nq1\tgone\t2\nq1\tnone\t0\n")
    loaded = beir.load(tmp_path)
    assert [(one.uri, one.metadata) for one in loaded.documents] == [("d1", {"url": "x"})]
    assert loaded.questions[0].relevant == {"d1": 0.5, "gone": 2, "none": 0}
    assert loaded.missing == ["gone"]
    (tmp_path / beir.QRELS).write_text("q1\td1\t1\n")
    assert beir.load(tmp_path).missing == [], "the file of the folder itself comes first"


@pytest.mark.parametrize("given", ["yesterday", "2025-03-01T00:00:00"])
def test_an_invalid_date_time_is_rejected_by_name(tmp_path: Path, given: str) -> None:
    (tmp_path / beir.CORPUS).write_text(f'{{"_id": "1", "text": "Lime.", "created_at": "{given}"}}\n', encoding="utf-8")
    with pytest.raises(errors.BadRequest, match=given):
        beir.load(tmp_path)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "a field _id"),
        ("[1]", "a field _id"),
        ('{"_id": "1"}', "a field text"),
        ('{"_id": "1", "text": "Lime?", "filters": "x"}', "filters of question 1"),
        ('{"_id": "1", "text": "Lime?", "filters": {"metadata": 5}}', "filters of question 1"),
        ('{"_id": "1", "text": "Lime?", "filters": {"metadata": {"a": {"$foo": 1}}}}', "filters of question 1"),
        ('{"_id": "1", "text": "Lime?", "filters": {"source": "x"}}', "filters of question 1"),
        ('{"_id": "1", "text": "Lime \\ud800"}', "Line 1"),
        ('{"_id": "1", "text": " "}', "Question 1 has no text"),
        ('{"_id": "1", "text": null}', "Question 1 has no text"),
    ],
)
def test_a_question_that_cannot_be_read_is_named(tmp_path: Path, line: str, said: str) -> None:
    (tmp_path / beir.QUERIES).write_text(line, encoding="utf-8")
    with pytest.raises(errors.BadRequest, match=said) as refused:
        beir.read_questions(tmp_path)
    assert refused.value.field == beir.QUERIES


@pytest.mark.parametrize(
    ("file", "line"),
    [
        *((beir.QRELS, line) for line in ("q1\td2\t1e999", "q1\td2\t5000", "q1\td2\tnan", "q1", "q1\t1")),
        *((beir.CORPUS, line) for line in ('{"_id": "d2", "text": "a\\u0000b"}', '{"_id": "d2", "n": 1e999}')),
        (beir.QUERIES, "[" * 100_000),
    ],
)
def test_the_line_that_cannot_be_read_is_named(tmp_path: Path, file: str, line: str) -> None:
    (tmp_path / beir.CORPUS).write_text('{"_id": "d1", "text": "Lime."}\n')
    (tmp_path / beir.QUERIES).write_text('{"_id": "q1", "text": "Lime?"}\n')
    (tmp_path / beir.QRELS).write_text("q1\td1\t1\n")
    with (tmp_path / file).open("a") as opened:
        opened.write(f"\n{line}\n")
    with pytest.raises(errors.BadRequest, match="Line 3"):
        beir.load(tmp_path)


@pytest.mark.parametrize("wrong", ['"aliases": "Ada"', '"facts": [1]', '"role": {}', '"metadata": []'])
def test_an_entity_with_a_value_of_another_type_is_named(tmp_path: Path, wrong: str) -> None:
    (tmp_path / beir.CORPUS).write_text('{"_id": "d1", "text": "Lime."}\n')
    (tmp_path / beir.QUERIES).write_text('{"_id": "q1", "text": "Lime?"}\n')
    (tmp_path / beir.QRELS).write_text("q1\td1\t1\n")
    sound = '{"type": "person", "name": "Ada Lo", "aliases": ["Ada"], "role": null, "members": ["Bo"]}'
    (tmp_path / beir.ENTITIES).write_text(sound)
    (entity,) = beir.load(tmp_path).entities
    assert (entity.aliases, entity.role, entity.members) == (("Ada",), None, ("Bo",))
    (tmp_path / beir.ENTITIES).write_text(f'{sound}\n{{"type": "person", "name": "Bo", {wrong}}}\n')
    with pytest.raises(errors.BadRequest, match=f"'Bo' .* {wrong.split(chr(34))[1]}") as refused:
        beir.load(tmp_path)
    assert refused.value.field == beir.ENTITIES

"""Rows of tables and sheets, and lines of JSON, are documents with a text, metadata and a place in their file."""

import datetime
import io
import json
import zipfile

import made_files
import pytest
from reading import Read, refusal

from app.errors import UnreadableFile
from app.parsing import formats, types, worker
from app.parsing.types import ExtractedDocument, InputFile


def test_a_row_without_a_text_column_has_all_columns_as_its_text(read: Read) -> None:
    first, second = read(b"port,high\nLindau,3.5\nBregenz,\n", "a.csv")
    assert (first.text, first.metadata, first.fragment) == (
        "port: Lindau\nhigh: 3.5",
        {"port": "Lindau", "high": "3.5"},
        "row=2",
    )
    assert (second.text, second.metadata, second.fragment) == ("port: Bregenz", {"port": "Bregenz"}, "row=3")
    assert not first.markdown


def test_a_row_with_many_columns_says_first_what_differs_in_words_and_is_named_by_it(read: Read) -> None:
    def row(number: int, kind: str, machine: str) -> list[str]:
        return [f"2024-03-0{number}", f"A{number}-77", *"12345678", kind, "Lindau works", machine, ""]

    header = ["checked", "code", *(f"m{number}" for number in range(8)), "kind", "site", "machine", "note"]
    machines = [("pump", "Bilge pump aft"), ("pump", "Fire pump"), ("hoist", "Boat hoist"), ("pump", "Fuel pump")]
    rows = [header, *(row(number, *machine) for number, machine in enumerate(machines, 1))]
    documents = read("\n".join(map(",".join, rows)).encode(), "a.csv")
    assert [document.title for document in documents] == [machine for _kind, machine in machines]
    lines = documents[0].text.splitlines()
    assert [line.partition(":")[0] for line in lines[:4]] == ["machine", "kind", "checked", "code"]
    assert lines[-1] == "site: Lindau works"
    assert sorted(lines) == sorted(f"{name}: {value}" for name, value in zip(header, rows[1], strict=True) if value)
    assert documents[0].metadata == {name: value for name, value in zip(header, rows[1], strict=True) if value}
    narrow = read("\n".join(",".join(row[-12:]) for row in rows).encode(), "a.csv")
    assert [document.title for document in narrow] == [""] * 4
    assert narrow[0].text.startswith("m0: 1\nm1: 2")


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_a_column_named_text_is_the_text_and_the_others_are_metadata(read: Read, delimiter: str) -> None:
    rows = [["title", "Text", "team"], ["Lime", '"Mix it\nwell."', "masons"]]
    (document,) = read("\n".join(delimiter.join(row) for row in rows).encode(), "a.csv")
    assert (document.title, document.text, document.metadata) == ("Lime", "Mix it\nwell.", {"team": "masons"})


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize(
    "around",
    [
        "%s",
        '{"tickets": %s, "count": 2, "next": null}',
        '{"n": 2, "of": {"a": 1}, "d": %s}',
        '{"status": "ok", "message": {"facets": {}, "items": %s, "rows": 20}}',
        '{"took": 3, "hits": {"total": {"value": 2}, "hits": %s}}',
    ],
)
def test_each_object_of_a_json_list_is_a_document(read: Read, around: str, indent: int | None) -> None:
    tickets = [
        {
            "id": 7,
            "subject": "Pump",
            "comments": [{"by": "Ana", "text": "Größer.\nNow."}, {"by": "Kim", "text": "No."}],
        },
        {"id": 8, "subject": "Hoist", "size": 1.10, "comments": []},
    ]
    first, second = read((around % json.dumps(tickets, indent=indent)).encode(), "a.json")
    assert (first.title, first.fragment, first.metadata["comments"]) == ("Pump", "id=7", tickets[0]["comments"])
    assert first.text == "id: 7\nsubject: Pump\ncomments:\n- by: Ana; text: Größer.\nNow.\n- by: Kim; text: No."
    assert (second.title, second.text) == ("Hoist", "id: 8\nsubject: Hoist\nsize: 1.1")

    assert (around == "%s") == (not second.warnings)


@pytest.mark.parametrize("about", ["Harbour survey", "What guests say of the harbour. " * 10])
def test_texts_beside_a_json_list_are_kept_with_its_objects(read: Read, about: str) -> None:
    answers = [
        {"id": number, "answer": f"The ferry of {number} o'clock was late again, as often."} for number in range(9)
    ]
    *introduction, first = read(json.dumps({"about": about, "count": 9, "answers": answers}).encode(), "a.json")[:-8]
    kept = [first.metadata.get("table"), *(one.text for one in introduction)]
    assert f"about: {about}".strip() in kept
    assert "about" not in first.text


@pytest.mark.parametrize(
    "text",
    [
        '[{"a": "Caf\\u00e9"}',
        '[{"a": "Caf\\u00e9"}, 2]',
        '[{"a": "Caf\\u00e9"}] // a comment',
        '{"a": [{"b": "Caf\\u00e9"}], "c": [{"d": 1}]}',
        '{"a": [{"b": "Caf\\u00e9"}], "c": "%s"}' % ("long " * 500),
        '{"a": {"b": {"c": {"d": [{"e": "Caf\\u00e9"}]}}}}',
        '{"a": {"b": [{"c": "Caf\\u00e9 %s"}], "d": {"e": [{"f": 1}]}}}' % ("long " * 50),
        "[" * 3_000 + '{"a": "Caf\\u00e9"}',
        '[{"a": ' + "[" * 100_000,
    ],
)
def test_a_json_file_that_is_not_only_a_list_of_objects_is_one_text(text: str) -> None:
    format = formats.sniff(text.encode(), "a.json")
    if format == formats.JSON_LIST:
        (document,) = worker.read(InputFile(text.encode(), "a.json"), format)
        assert isinstance(document, ExtractedDocument)
        assert (document.text, document.fragment, document.markdown) == (text.replace("\\u00e9", "é"), "", False)
        assert document.warnings == ()
    else:
        assert format == formats.JSON


def test_comments_are_before_the_numbers_of_a_record_with_many_fields(read: Read) -> None:
    def ticket(number: int) -> dict[str, object]:
        comments = [{"id": 90_000 + number, "at": "2025-03-04T09:12:44Z", "body": f"Pump {number} needs a new fuse."}]
        return {f"m{at}": number + at for at in range(13)} | {"subject": f"Pump {number}", "comments": comments}

    first, *_others = read("\n".join(json.dumps(ticket(number)) for number in range(5)).encode(), "a.jsonl")
    assert [line.partition(":")[0] for line in first.text.splitlines()[:2]] == ["subject", "comments"]
    assert first.title == "Pump 0"


def test_prose_and_the_number_beside_the_text_of_a_record_are_text_and_metadata(read: Read) -> None:
    answers = [{"by": "Ana", "text": "The fuse of the pump is gone."}, {"by": "Kim", "text": "Replaced."}]
    ticket = {"title": "Pump", "body": "It stands still.", "team": "dock", "tags": ["pump", "fuse"], "answers": answers}
    ticket |= {"number": 412, "State": "open"}
    (document,) = read(json.dumps(ticket).encode(), "a.jsonl")
    assert document.text == (
        "It stands still.\n\nanswers:\n- by: Ana; text: The fuse of the pump is gone.\n- by: Kim; text: Replaced."
        "\n\nnumber: 412\n\nState: open"
    )
    assert document.metadata == {name: ticket[name] for name in ("team", "tags", "answers", "number", "State")}
    raw = b"body,team,remedy\nIt stands still.,dock,Take out the fuse and wait.\n"
    (row,) = read(raw, "a.csv")
    assert row.text == "It stands still.\n\nremedy: Take out the fuse and wait."
    (chosen,) = read(raw, "a.csv", "body")
    assert chosen.text == "It stands still."


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_a_record_is_as_old_as_its_date_says(read: Read, name: str) -> None:
    rows = [
        ("2024-05-13 12:00:00+02:00", "2020-01-01"),
        ("soon", ""),
        ("", "2024-05-13T10:00"),
        ("1712012300000.5", ""),
    ]
    lines = ["date,created,note", *(f"{date},{created},x" for date, created in rows)]
    if name.endswith("jsonl"):
        lines = [json.dumps({"Date": date, "created": created, "note": "x"}) for date, created in rows]
    documents = read("\n".join(lines).encode(), name)
    moment = datetime.datetime(2024, 5, 13, 10, tzinfo=datetime.UTC)
    assert [document.created_at for document in documents] == [moment, None, moment, None]
    assert documents[0].metadata["created"] == "2020-01-01"


def test_the_text_column_can_be_chosen(read: Read) -> None:
    (document,) = read(b"text,abstract\nfull,short\n", "a.csv", "abstract")
    assert (document.text, document.metadata) == ("short", {"text": "full"})
    assert refusal(read, b"text,abstract\nfull,short\n", "a.csv", "summary") == "unknown_text_field"


def test_rows_with_ids_keep_their_place_when_rows_move_and_equal_ids_stay_apart(read: Read) -> None:
    rows = ["7,Lime", "8,Clay", "7,Sand"]
    fragments = {document.text: document.fragment for document in read("\n".join(["id,text", *rows]).encode(), "a.csv")}
    assert fragments == {"Lime": "id=7", "Clay": "id=8", "Sand": "row=4"}
    moved = read("\n".join(["id,text", "9,Stone", *rows[:2]]).encode(), "a.csv")
    assert [document.fragment for document in moved] == ["id=9", "id=7", "id=8"]


def test_ragged_rows_and_unnamed_and_repeated_columns_lose_nothing(read: Read) -> None:
    documents = read(b"a,,a\n1,2,3,4\n5\n,,\n", "a.csv")
    assert [document.metadata for document in documents] == [{"a": "1", "2": "2", "a 3": "3", "4": "4"}, {"a": "5"}]
    (wine,) = read(b"178,4,red\n14.2,1.7,2.4,15,1\n", "a.csv")
    assert wine.metadata == {"178": "14.2", "4": "1.7", "red": "2.4", "4 4": "15", "5": "1"}


@pytest.mark.parametrize("raw", [b"a,b\n", b"\n", b"a,b\n,\n"])
def test_a_table_without_rows_is_refused(read: Read, raw: bytes) -> None:
    assert refusal(read, raw, "a.csv") == "no_text"


def test_each_line_of_json_is_a_document_with_its_values_as_metadata(read: Read) -> None:
    lines = [{"_id": "a/1", "title": "Lime", "text": "Mix.", "tags": ["x"], "year": 2024}, {"content": "Clay."}]
    first, second = read("\n\n".join(map(json.dumps, lines)).encode(), "a.jsonl")
    assert (first.title, first.text, first.fragment) == ("Lime", "Mix.", "id=a%2F1")
    assert first.metadata == {"_id": "a/1", "tags": ["x"], "year": 2024}
    assert (second.text, second.fragment) == ("Clay.", "line=3")


@pytest.mark.parametrize(
    ("raw", "name"), [(b"title,text\nLime,\n,\n", "a.csv"), (b'{"title":"Lime","text":" "}', "a.jsonl")]
)
def test_a_record_without_text_has_its_title(read: Read, raw: bytes, name: str) -> None:
    assert [(one.title, one.text) for one in read(raw, name)] == [("Lime", "")]


def test_a_record_with_an_empty_list_for_its_title_and_a_blank_text_has_its_other_fields(read: Read) -> None:
    (document,) = read(b'{"title": [], "text": "", "name": "Lime"}', "a.jsonl")
    assert document.text == "name: Lime"


@pytest.mark.parametrize("line", ["{", "[1]", '"text"', "[" * 100_000])
def test_a_line_that_is_no_object_is_refused_by_its_number(read: Read, line: str) -> None:
    with pytest.raises(UnreadableFile, match="Line 2 ") as refused:
        read(f'{{"text": "Lime."}}\n{line}\n'.encode(), "a.jsonl")
    assert refused.value.code == "damaged"


def test_rows_of_all_sheets_are_documents_with_typed_values(read: Read) -> None:
    raw = made_files.sheets(
        {
            "Tides": [["port", "high", "day"], ["Lindau", 3.5, datetime.date(2024, 3, 1)], ["Bregenz", 4, ""]],
            "Notes & more": [["text"], ["Lime mortar."]],
            "Empty": [],
        }
    )
    documents = read(raw, "a.xlsx")
    assert [document.fragment for document in documents] == [
        "row=2&sheet=Tides",
        "row=3&sheet=Tides",
        "row=2&sheet=Notes%20%26%20more",
    ]
    assert documents[0].metadata == {"sheet": "Tides", "port": "Lindau", "high": 3.5, "day": "2024-03-01"}
    assert documents[1].metadata == {"sheet": "Tides", "port": "Bregenz", "high": 4}
    assert documents[2].text == "Lime mortar."


def test_a_raised_number_in_a_cell_is_no_digit_of_the_number_before_it(read: Read) -> None:
    raised = '<r><rPr><vertAlign val="superscript"/></rPr><t>9</t></r>'
    runs = f"<r><t xml:space='preserve'>4 x </t></r><r><t>10</t></r>{raised}<r><t>/l</t></r>"
    texts = f"<si><t>unit</t></si><si>{runs}</si>"
    texts = f'<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">{texts}</sst>'
    raw = made_files.replace_entry(made_files.sheets({"A": [["unit"], ["x"]]}), "xl/sharedStrings.xml", texts)
    assert [(one.text, one.warnings) for one in read(raw, "a.xlsx")] == [("unit: 4 x 10^9/l", ())]


def test_numbers_of_json_lines_are_text_as_they_are_written_and_numbers_in_metadata(read: Read) -> None:
    (first, second) = read(b'{"a": 1.10, "b": [-40, 2.50]}\n{"text": "x", "a": 1.10, "c": 1e3}', "a.jsonl")
    assert first.text == "a: 1.10\nb: -40, 2.50"
    assert second.metadata == {"a": 1.1, "c": 1000.0}


def test_lists_objects_and_booleans_of_json_lines_are_words_in_the_text(read: Read) -> None:
    record = {"sizes": [40, 41], "is": {"red": True, "by": {"brand": "Lida"}, "of": None}, "tags": [], "parts": [{}]}
    (document,) = read(json.dumps(record).encode(), "a.jsonl")
    assert document.text == "sizes: 40, 41\nis: red: true; by: brand: Lida"
    assert document.metadata == record


def test_a_value_that_is_nested_very_deep_is_read(read: Read) -> None:
    (document,) = read(b'{"a": ' + b"[" * 600 + b"7" + b"]" * 600 + b"}", "a.jsonl")
    assert document.text == "a: " + "[" * 568 + "7" + "]" * 568
    assert types.to_document(json.loads(json.dumps(types.from_document(document)))["document"]).text == document.text


def test_a_record_with_half_of_a_character_in_its_id_is_read(read: Read) -> None:
    (document,) = read(b'{"id": "\\ud83d", "text": "Lime mortar."}', "a.jsonl")
    assert (document.text, document.fragment) == ("Lime mortar.", "id=%3F")


def test_a_list_as_the_title_of_a_record_is_shown_without_marks_of_json(read: Read) -> None:
    (document,) = read(b'[{"title": ["Tides of the bay"], "n": 1}]', "a.json")
    assert document.title == "Tides of the bay"


def test_a_list_as_the_text_of_a_record_is_shown_without_marks_of_json(read: Read) -> None:
    (document,) = read(json.dumps({"text": ["Lime", {"by": "Ana", "text": "Clay"}]}).encode(), "a.jsonl")
    assert document.text == "Lime, by: Ana; text: Clay"


def test_a_workbook_with_a_comment_among_its_relations_is_read(read: Read) -> None:
    raw, name = made_files.sheets({"A": [["unit"], ["x"]]}), "xl/_rels/workbook.xml.rels"
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        relations = archive.read(name).decode().replace("<Relationship ", "<!-- made by hand --><Relationship ", 1)
    (document,) = read(made_files.replace_entry(raw, name, relations), "a.xlsx")
    assert document.text == "unit: x"

"""A file's format is recognised by its content; its name only distinguishes formats that are plain text."""

import io
import zipfile
from pathlib import Path

import made_files
import pytest
from reading import Read, refusal

from app.errors import UnreadableFile
from app.parsing import formats, zip_packages
from app.parsing.types import InputFile

DOCS = Path(__file__).parents[2] / "docs" / "documents.md"
OLD_OFFICE = made_files.COMPOUND


@pytest.mark.parametrize(
    ("raw", "name", "format"),
    [
        (b"%PDF-1.4\n", "notes.txt", "pdf"),
        (b"\n\n%PDF-1.4\n", "notes.md", "pdf"),
        (b"<!DOCTYPE html><p>a", "report.pdf", "html"),
        (b"\xef\xbb\xbf <!-- made by hand --> <HTML>", "a.md", "html"),
        (b'<?xml version="1.0"?>\n<html xmlns="x">', "a.txt", "html"),
        (b"PK\x03\x04", "a.pdf", "archive"),
        (b"<p>a fragment", "a.htm", "html"),
        (b"Lime.", "a.pdf", "text"),
        (b"Lime.", "a.unknown", "text"),
        (b"Lime.", "", "text"),
        (b"# Lime", "a.MD", "markdown"),
        (b"def f(): ...", "a.py", "code"),
        (b"a,b", "a.csv", "csv"),
        (b"{}", "a.jsonl", "json_lines"),
        (b"Title\n=====", "a.rst", "text"),
        (b"Subject: a", "a.eml", "email"),
        (b"Return-Path: <a@b.c>\nSubject: a", "17.M1.host:2,S", "email"),
        (b"Received: from b.c\r\n\tby d.e; today\r\nSubject: a", "a.txt", "email"),
        (b"Date: now\nTo: a@b.c,\n  d@e.f\nMessage-ID: <a>", "23", "email"),
        (b'From: "Saved by Windows Internet Explorer 11"\nMIME-Version: 1.0', "a.mht", "mhtml"),
        (b"Received: 3 boxes\n of lime\n\nMessage-ID: <a>", "a.txt", "text"),
        (b"queue: notes\nmessage-id: 17\n", "a.yaml", "text"),
        (b"Lime.", ".md", "text"),
        (b"{\\rtf1 a}", "a.doc", "rtf"),
        (b"From a@b.c Fri Jul  8 12:08:34 2011\nSubject: a", "Inbox", "mbox"),
        (b"From a@b.c\r\nSubject: a", "Inbox", "mbox"),
        (b"From now on 12:30 is\nlate.", "a.txt", "text"),
        (b"From a@b.c\nDear Bo", "a.txt", "text"),
        (b"From Monday 09:00 to 17:00 we are open.\nPlease ring.", "a.txt", "text"),
        (b"From Monday 09:00 to 17:00\nContact: Ana", "a.txt", "text"),
        (b"From - Fri Jul 08 12:08:34 2011\n>From a@b.c\nSubject: a", "Inbox", "mbox"),
        (b"From 17@xxx Fri Jul 08 12:08:34 +0000 2011\nX-GM-THRID: 17", "Inbox", "mbox"),
        (b"# PDF\nA PDF begins with %PDF-1.4.", "a.md", "markdown"),
        (b"START = b'%PDF-'", "a.py", "code"),
        (b"<html><title>%PDF-1.4", "page", "html"),
        (b"Subject: a PDF begins with %PDF-", "a.eml", "email"),
        (b"HTTP/1.1 200 OK\n\n%PDF-1.4", "a.pdf", "pdf"),
        (b"HTTP/1.1 200 OK\n\n%PDF-1.4", "a", "pdf"),
        (b"\x07%PDF-1.4", "a.pdf", "pdf"),
        (b"12:30 received %PDF-1.4", "a.log", "text"),
        (OLD_OFFICE, "a.xls", "old_office"),
        (b"{}", "a.ipynb", "notebook"),
        (b"1", "a.srt", "transcript"),
    ],
)
def test_content_decides_and_the_name_distinguishes_texts(raw: bytes, name: str, format: str) -> None:
    assert formats.sniff(raw, name).name == format


@pytest.mark.parametrize("root", ['?mso-application progid="Word.Document"?', "office:document x=1", "pkg:package x=1"])
def test_an_office_document_in_one_file_of_xml_is_refused_with_the_remedy(root: str) -> None:
    with pytest.raises(UnreadableFile, match="save it as DOCX, XLSX, PPTX, ODT, ODS or ODP"):
        formats.sniff(f"<?xml version='1.0'?>\n<{root}>".encode(), "a.xml")


def test_the_table_in_the_docs_has_each_format() -> None:
    rows = [line.split(" | ")[0] for line in DOCS.read_text().splitlines() if line.startswith("| ")]
    documented = {name for names in rows for name in names.removeprefix("| ").split(", ")}
    assert {name for one in formats.FORMATS for name in one.listed} <= documented


def test_other_formats_and_bytes_that_are_neither_the_named_format_nor_text_are_refused() -> None:
    for raw in (b"GIF89a", b"\x7fELF"):
        with pytest.raises(UnreadableFile, match="send text") as refused:
            formats.sniff(raw, "a.txt")
        assert refused.value.code == "unsupported_format"
    for name in ("a.pdf", "a.docx", "a.epub"):
        assert refusal(formats.sniff, b"\x00\x01\x02\xff" * 100, name) == "damaged"
    with pytest.raises(UnreadableFile, match=r"The file is named \.pdf but is no such file: transfer it again\."):
        formats.sniff(b"\x00\x01\x02\xff" * 100, "a.pdf")


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (made_files.archive({"word/document.xml": b" " * 12_000_000}), "parse_limit"),
        (made_files.archive({f"word/{number}.xml": b"" for number in range(101)}), "parse_limit"),
        (made_files.archive({"word/document.xml": b"", "../evil.xml": b""}), "damaged"),
        (made_files.archive({"word/document.xml": b"", "/etc/passwd": b""}), "damaged"),
        (made_files.archive({"word/document.xml": b""})[:-10], "damaged"),
        (b"PK\x03\x04 and nothing else", "damaged"),
        (made_files.archive({"word/document.xml": "/etc/passwd"}, links=True), "damaged"),
    ],
    ids=["ratio", "entries", "parent", "absolute", "truncated", "header only", "link"],
)
def test_a_hostile_archive_is_refused_before_it_is_unpacked(monkeypatch, raw, code) -> None:
    monkeypatch.setattr(zip_packages, "MAX_ENTRIES", 100)
    assert refusal(zip_packages.check, InputFile(raw)) == code


def test_a_nested_archive_in_an_office_file_is_not_unpacked(read: Read) -> None:
    """Spreadsheets are embedded in documents as archives; the bomb in this one would take a gigabyte."""
    bomb = made_files.archive({"xl/workbook.xml": b" " * 9_000_000})
    raw = io.BytesIO(made_files.word("Lime mortar."))
    with zipfile.ZipFile(raw, "a") as made:
        made.writestr("word/embeddings/sheet.xlsx", bomb)
    (document,) = read(raw.getvalue())
    assert document.text == "Lime mortar."

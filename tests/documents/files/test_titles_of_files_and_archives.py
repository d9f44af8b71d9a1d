"""Files of text have a title; all files of an archive together share the limits of a file and of a request."""

from collections.abc import Mapping

import made_files
import pytest

from app.documents.files import file_reading
from app.documents.files.file_reading import NamedFile, ParseLimits
from app.documents.storing import document_drafts
from app.documents.types import Upload
from app.errors import UnreadableFile

NOTES = {"a b.md": "Lime mortar.", "rows.csv": "id,text\n7,Clay pipes.\n", "c.md": "Sand."}


async def _uris(limits: ParseLimits, notes: Mapping[str, str], uri: str = "file:///n/a%20b.zip") -> list[str | None]:
    file = NamedFile(made_files.archive(notes), "a b.zip", uri=uri)
    async with file_reading.opened(limits) as reader:
        return [found.uri async for found in reader.uploads(file)]


async def test_the_uri_of_a_file_is_that_of_its_archive_with_its_path() -> None:
    archive = "file:///n/a%20b.zip"
    assert await _uris(ParseLimits(), NOTES) == [f"{archive}/a%20b.md", f"{archive}/rows.csv#id=7", f"{archive}/c.md"]
    assert await _uris(ParseLimits(), {"a b.md": "Lime."}, "n/a b.zip") == ["n/a b.zip/a b.md"]


async def test_the_texts_of_an_archive_have_the_limit_of_one_file() -> None:
    rows = "text\n" + "Lime.\n" * 100
    assert len(await _uris(ParseLimits(text_bytes=20_000), {"a.csv": rows})) == 100
    with pytest.raises(UnreadableFile, match="unpack it") as refused:
        await _uris(ParseLimits(text_bytes=20_000), {f"{number}.md": "Lime mortar. " * 100 for number in range(20)})
    assert refused.value.code == "parse_limit"


async def test_reading_the_files_of_an_archive_has_the_time_of_a_request() -> None:
    with pytest.raises(UnreadableFile, match="Reading the files of the archive took 0 seconds") as refused:
        await _uris(ParseLimits(request_s=0.0), NOTES)
    assert refused.value.code == "parse_limit"


@pytest.mark.parametrize(
    ("name", "text", "title", "read"),
    [
        ("quarry.8", ".TH QUARRY 8\n.SH NAME\nquarry \\- cut slate\n", "quarry - cut slate", "quarry - cut slate"),
        ("quarry.adoc", "= Quarry \\- guide\n\nSlate.", "Quarry \\- guide", "Quarry \\- guide"),
        ("quarry.log", "one line\n.TH QUARRY \\- 8\n", "quarry.log", "QUARRY \\- 8"),
    ],
)
async def test_a_text_has_the_title_of_its_markup_and_a_manual_page_no_escapes(name, text, title, read) -> None:
    async with file_reading.opened(ParseLimits()) as reader:
        uploads = [one async for one in reader.uploads(NamedFile(text.encode(), name))]
    assert [one.default_title for one in uploads if isinstance(one, Upload)] == [title]
    assert [read in one.content for one in uploads if isinstance(one, Upload)] == [True]


@pytest.mark.parametrize(
    ("name", "text", "title"),
    [
        ("Ana Keller.md", "Works in Basel.", "Ana Keller"),
        ("Basel.md", "A town.\n\n## Bridges\n\nFive.", "Basel"),
        ("Deed of 2023.txt", "We let a berth.", "Deed of 2023"),
        ("deed_2023.txt", "We let a berth.", "deed_2023.txt"),
        ("scan 0001.txt", "We let a berth.", "scan 0001.txt"),
    ],
)
async def test_a_name_that_a_person_wrote_is_the_title(name: str, text: str, title: str) -> None:
    async with file_reading.opened(ParseLimits()) as reader:
        uploads = [one async for one in reader.uploads(NamedFile(text.encode(), name)) if isinstance(one, Upload)]
    assert [document_drafts.clean(one).title for one in uploads] == [title]

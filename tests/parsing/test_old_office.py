"""Files of Office before 2007 are read; others in their format are refused with what to do instead."""

import struct

import made_files
import pytest
from reading import Read, refusal

from app.errors import UnreadableFile


def test_the_rows_of_an_old_spreadsheet_are_documents(read: Read) -> None:
    first, second = read(made_files.OLD_SHEETS, "a.doc")
    assert (first.metadata, first.fragment) == ({"port": "Lindau", "high": 3.5}, "row=2&sheet=Tides")
    assert second.text == "port: Cuxhaven\nhigh: 4"


def test_old_documents_and_presentations_are_read(read: Read) -> None:
    (document,) = read(made_files.OLD_WORD, "a.doc")
    assert document.text == "Test OLE file, saved as Word 97-2003 Document."
    (presentation,) = read(made_files.OLD_SLIDES, "a.ppt")
    assert presentation.text == "## Test"


def test_a_document_of_an_office_before_97_is_refused_with_the_remedy(read: Read) -> None:
    with pytest.raises(UnreadableFile, match="before 97: save it again"):
        read(made_files.OLD_WORD.replace(b"\xec\xa5", b"\xdc\xa5"), "a.doc")


@pytest.mark.parametrize(
    ("streams", "code", "message"),
    [
        (["__properties_version1.0"], "unsupported_format", "save it as EML"),
        (["EncryptionInfo", "EncryptedPackage"], "encrypted", "save it without"),
        (["Other"], "damaged", "send text"),
    ],
)
def test_other_old_files_are_refused_with_the_remedy(read: Read, streams: list[str], code: str, message: str) -> None:
    with pytest.raises(UnreadableFile, match=message) as refused:
        read(made_files.compound(streams), "a.xls")
    assert refused.value.code == code


def test_a_spreadsheet_at_which_the_library_panics_is_damaged(read: Read) -> None:
    raw = bytearray(made_files.OLD_SHEETS)
    raw[1_424] = 127
    with pytest.raises(UnreadableFile, match="damaged"):
        read(bytes(raw), "a.xls")


def test_a_directory_without_end_and_a_truncated_file_are_damaged(read: Read) -> None:
    circular = bytearray(made_files.compound(["Workbook"]))
    circular[516:520] = struct.pack("<I", 1)
    for raw in (bytes(circular), made_files.OLD_SHEETS[:600], made_files.COMPOUND):
        assert refusal(read, raw, "a.xls") == "damaged"


def test_texts_of_a_document_that_the_library_does_not_return_are_named(read: Read) -> None:
    raw = bytearray(made_files.OLD_WORD)
    begin = raw.find(b"\xec\xa5")
    struct.pack_into("<8i", raw, begin + 0x4C, 20, 0, 77, 0, 42, 0, 1_130, 0)
    (document,) = read(bytes(raw), "a.doc")
    assert [one.removeprefix("Left out as ") for one in document.warnings] == [
        "headers and footers, which are not read in DOC: 77 characters.",
        "comments, which are not read in DOC: 42 characters.",
        "text boxes, which are not read in DOC: 1,130 characters.",
    ]

"""The files of ZIP and TAR archives are read one by one, within limits."""

import bz2
import gzip
import io
import stat
import tarfile
import warnings
import zipfile
from collections.abc import Callable

import made_files
import pytest
from reading import refusal

from app.parsing import zip_packages
from app.parsing.types import ArchiveMember

Read = Callable[..., list[ArchiveMember]]
NOTES = {
    "notes/lime.md": "Lime.",
    "./b\\clay.txt": "Clay.",
    ".git/config": "x",
    ".git/HEAD": "x",
    "notes/.hidden": "x",
    "__MACOSX/lime.md": "x",
    "node_modules/a.js": "x",
    "first.pdf": b"%PDF-1.4",
}
FOUND = [("notes/lime.md", b"Lime."), ("b/clay.txt", b"Clay."), ("first.pdf", b"%PDF-1.4")]
HIDDEN = {".git/": "hidden", "notes/.hidden": "hidden", "__MACOSX/": "hidden", "node_modules/": "vendored"}


def _contents(found: list[ArchiveMember]) -> list[tuple[str, bytes]]:
    return [(member.path, member.raw) for member in found if not member.left_out]


def _left_out(found: list[ArchiveMember]) -> dict[str, str]:
    return {member.path: member.left_out for member in found if member.left_out}


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_the_files_of_a_tar_archive_are_read(read: Read, mode: str) -> None:
    assert _contents(read(made_files.tar({"a.pdf": b"%PDF-"}, mode=mode), "a.tar")) == [("a.pdf", b"%PDF-")]
    raw = made_files.tar(NOTES, mode=mode, links={"notes/link.md": "/etc/passwd"})
    found = read(raw, "a.unknown")
    assert (_contents(found), _left_out(found)) == (FOUND, {**HIDDEN, "notes/link.md": "link"})


def test_the_files_of_a_zip_archive_are_read(read: Read) -> None:
    raw = io.BytesIO(made_files.archive(NOTES))
    with zipfile.ZipFile(raw, "a") as made:
        made.writestr("folder/", "")
        link = zipfile.ZipInfo("link.md")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        made.writestr(link, "/etc/passwd")
    found = read(raw.getvalue(), "a.zip")
    assert (_contents(found), _left_out(found)) == (FOUND, {**HIDDEN, "link.md": "link"})
    assert _contents(read(raw.getvalue(), "")) == FOUND


def test_a_name_in_utf_8_without_the_flag_is_read_as_such(read: Read) -> None:
    raw = made_files.archive({"a\u0308.md": "Lime."}).replace(b"\x00\x08", b"\x00\x00")
    assert [member.path for member in read(raw, "a.zip")] == ["ä.md"]


def test_a_compressed_file_is_read(read: Read) -> None:
    for packed in (gzip.compress, bz2.compress):
        assert _contents(read(packed(b"Lime."), "lime.md.gz")) == [("lime.md", b"Lime.")]


def test_a_name_that_comes_again_and_a_damaged_file_are_named(read: Read) -> None:
    target = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(target, "w") as made:
        warnings.simplefilter("ignore")
        for content in ("Lime.", "Clay.", "Clay."):
            made.writestr("a.md" if content == "Lime." else "b.md", content)
    raw = target.getvalue().replace(b"Lime.", b"Lame.")
    damaged, clay, again = read(raw, "a.zip")
    assert (damaged.raw, "damaged" in damaged.refused) == (b"", True)
    assert (clay.raw, again.raw, "same name" in again.refused) == (b"Clay.", b"", True)


def test_a_sparse_and_a_large_file_are_not_unpacked(read: Read) -> None:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as made:
        sparse = tarfile.TarInfo("sparse.txt")
        sparse.pax_headers = {"GNU.sparse.major": "0", "GNU.sparse.size": "60000000", "GNU.sparse.map": "0,0"}
        made.addfile(sparse)
    (member,) = read(target.getvalue(), "a.tar")
    assert "sparse" in member.refused
    raw = made_files.archive({"a.txt": b"a" * 64_000_001, "noise": bytes(range(256)) * 3_000}, packed=False)
    members = list(read(raw, "a.zip"))
    assert ["64 MB" in member.refused for member in members] == [True, False]
    assert [member.left_out for member in members] == ["too_large", None]


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (made_files.tar({"../evil.md": "x"}), "damaged"),
        (made_files.tar({"/etc/passwd": "x"}), "damaged"),
        (made_files.archive({"a/../../evil.md": "x"}), "damaged"),
        (made_files.tar(NOTES)[:-60], "damaged"),
        (made_files.tar(NOTES, mode="w")[:1_030], "damaged"),
        (made_files.tar({"a.txt": b" " * 12_000_000}), "parse_limit"),
        (gzip.compress(b" " * 12_000_000), "parse_limit"),
        (made_files.tar({".hidden": b"x"}), "no_text"),
    ],
    ids=["parent", "absolute", "parent in ZIP", "truncated", "cut", "bomb", "file", "hidden"],
)
def test_a_hostile_or_damaged_archive_is_refused(read: Read, raw: bytes, code: str) -> None:
    assert refusal(read, raw, "a.zip") == code


def test_an_archive_of_too_many_files_and_a_package_of_programs_are_refused(read, monkeypatch) -> None:
    assert refusal(read, made_files.archive(NOTES), "a.jar") == "unsupported_format"
    monkeypatch.setattr(zip_packages, "MAX_ENTRIES", 100)
    assert refusal(read, made_files.tar({f"{number}.txt": b"" for number in range(101)}), "a.zip") == "parse_limit"

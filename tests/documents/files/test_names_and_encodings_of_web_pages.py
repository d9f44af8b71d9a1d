"""A fetched page is a file: its address names it, and the site may name its encoding."""

import pytest

from app.documents.files import web_pages
from app.fetching.types import WebPage

ADDRESS = "https://docs.example.com"


@pytest.mark.parametrize(
    ("path", "media_type", "name"),
    [
        ("/lime%20mortar.md", "text/plain", "lime mortar.md"),
        ("/index.php?page=2", "text/html", "index.php.html"),
        ("/lime.htm", "text/html", "lime.htm"),
        ("/", "", "index"),
        ("/export?id=7", "text/csv", "export.csv"),
        ("/%2E%2E%2Fetc%2Fpasswd", "text/plain", "..etcpasswd"),
        ("/paper", "application/pdf", "paper"),
    ],
)
def test_the_name_of_a_page_is_the_last_part_of_its_path_with_a_suffix_for_its_format(path, media_type, name) -> None:
    assert web_pages._name(ADDRESS + path, media_type) == name


@pytest.mark.parametrize(
    ("raw", "charset", "decoded"),
    [
        ("Mörtel".encode("latin-1"), "iso-8859-1", "Mörtel"),
        ("“Kalk”".encode("cp1252"), "iso-8859-1", "“Kalk”"),
        ("известь".encode("koi8-r"), "koi8-r", "известь"),
        ("石灰".encode("shift_jis"), "shift_jis", "石灰"),
        ("<!doctype html><meta charset=latin-1>é".encode(), "utf-8", "<!doctype html><meta charset=latin-1>é"),
    ],
)
def test_a_text_is_read_in_the_encoding_that_the_site_names(raw: bytes, charset: str, decoded: str) -> None:
    found = web_pages._decode(WebPage(raw, "text/html", charset), "a.html")
    assert found.decode("utf-8-sig") == decoded


@pytest.mark.parametrize(
    ("raw", "charset"),
    [
        ("\ufeffKalk".encode("utf-16-le"), "iso-8859-1"),
        (b"%PDF-1.7 x", "iso-8859-1"),
        (b"{\\rtf1 x}", "iso-8859-1"),
        ("Mörtel".encode("latin-1"), "utf-8"),
        (b"Kalk", "no-such-encoding"),
        (b"Kalk", "rot13"),
        (b"Kalk", "punycode"),
    ],
)
def test_a_file_with_a_mark_of_its_own_or_a_wrong_encoding_stays_as_it_is(raw: bytes, charset: str) -> None:
    assert web_pages._decode(WebPage(raw, "text/plain", charset), "a.txt") == raw

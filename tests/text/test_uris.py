"""The URI of a file is shown as a path, and found by the path and by every spelling of the URI."""

from pathlib import Path

import pytest

from app.text import uris


@pytest.mark.parametrize(
    "path", ["/home/x/Meine Dokumente ü/a.md", "/x/100%.md", "/x/a#b.md", "/x/日本.md", "/x/a?b&c=1.md", "/x/50%20.md"]
)
def test_a_file_is_shown_by_its_path_and_found_by_both(path: str) -> None:
    stored = Path(path).as_uri()
    assert uris.show(stored) == path
    for given in (stored, path, uris.show(stored)):
        assert stored in uris.spellings(given)


def test_a_row_keeps_its_fragment_and_other_uris_stay() -> None:
    assert uris.show("file:///x/%C3%BC.csv#row=5") == "/x/ü.csv#row=5"
    assert "file:///x/%C3%BC.csv#row=5" in uris.spellings("/x/ü.csv#row=5")
    assert "file:///x/%C3%BC.csv#row=5" in uris.spellings("file:///x/ü.csv#row=5")
    for other in ("notes/lime.md", "https://example.org/a%20b", "file:///x/%00.md", "file:///x/%FF.md"):
        assert uris.show(other) == other
        assert uris.spellings(other)[0] == other
    assert uris.spellings("notes/lime.md") == ["notes/lime.md"]


def test_two_files_have_no_spelling_in_common_whose_names_differ_by_an_escape() -> None:
    one, other = (Path(path).as_uri() for path in ("/x/a b.md", "/x/a%20b.md"))
    assert not {*uris.spellings(one)} & {*uris.spellings(other)}
    assert uris.identity(one) == uris.identity("/x/a b.md") == uris.identity("file:///x/a b.md")
    assert uris.identity(other) == uris.identity("/x/a%20b.md") != uris.identity(one)


@pytest.mark.parametrize(
    "path", ["notes/Café.md", "/x/Café ü.md#row=5", "file:///x/Caf%C3%A9.csv#row=5", "https://x/é"]
)
def test_a_uri_is_stored_composed_and_has_one_identity_in_both_forms(path: str) -> None:
    decomposed = uris.compose(path).replace("é", "e\u0301").replace("%C3%A9", "e%CC%81")
    assert decomposed != path == uris.compose(decomposed) == uris.compose(path)
    assert uris.identity(decomposed) == uris.identity(path)
    assert uris.spellings(decomposed)[0] == decomposed
    assert path in uris.spellings(decomposed)


@pytest.mark.parametrize("uri", ["https://x/e%CC%81", "file:///x/a%20b.md", "file:///x/a b.md", "file:///x/%FF.md"])
def test_a_uri_without_another_form_stays_as_it_is(uri: str) -> None:
    assert uris.compose(uri) == uri

"""HTML becomes the main text of the page as Markdown."""

from __future__ import annotations

import pytest
from reading import Read, refusal

PAGE = """<!doctype html><html lang="de"><head><title>Lime  mortar</title><meta name="author" content="Ana Veit">
<meta property="article:published_time" content="2024-03-01T10:00:00+01:00"><style>p {color: red}</style></head><body>
<nav><a href="/">Home</a> <a href="/shop">Shop</a></nav><main><h1>Lime</h1>
<p>Below the third landing we use lime mortar, never cement, because it is softer than the stone.</p>
<h2>Mix</h2><ul><li>one part lime</li><li>three parts sand</li></ul>
<table><tr><th>part</th><th>kg</th></tr><tr><td>lime</td><td>20</td></tr></table>
<script>alert("x")</script></main><footer>Copyright Masons Ltd</footer></body></html>"""


def test_navigation_scripts_and_footer_are_left_out_and_structure_is_kept(read: Read) -> None:
    (document,) = read(PAGE.encode(), "a.html")
    assert [line.rstrip() for line in document.text.splitlines() if line.strip()] == [
        "# Lime",
        "Below the third landing we use lime mortar, never cement, because it is softer than the stone.",
        "## Mix",
        "- one part lime",
        "- three parts sand",
        "| part | kg |",
        "| --- | --- |",
        "| lime | 20 |",
    ]
    assert (document.title, document.language) == ("Lime mortar", "de")
    assert document.metadata == {"author": "Ana Veit"}
    assert document.created_at is not None
    assert document.created_at.date().isoformat() == "2024-03-01"


@pytest.mark.parametrize(
    "fragment",
    [
        "<p>Lime.</p>",
        "<table><tr><td>Lime.</td></tr></table>",
        "Lime.",
        "<main>Lime.</main>",
        "<my-page>Lime.</my-page>",
    ],
)
@pytest.mark.parametrize("page", ["<html><body>{}</body></html>", "<!doctype html><title>T</title>{}"])
def test_a_short_page_is_kept_whole_with_and_without_the_tags_of_its_parts(
    read: Read, fragment: str, page: str
) -> None:
    (document,) = read(page.format(fragment).encode(), "a.html")
    assert "Lime." in document.text
    assert "T" not in document.text


def test_a_page_that_is_navigation_only_is_kept(read: Read) -> None:
    (document,) = read(b"<html><body><nav><ul><li>Lime</li><li>Clay</li></ul></nav></body></html>", "a.html")
    assert "Lime" in document.text
    assert "Clay" in document.text


@pytest.mark.parametrize("encoding", ["utf-8", "windows-1251", "shift_jis"])
def test_a_declared_encoding_is_used(read: Read, encoding: str) -> None:
    words = {"utf-8": "Mörtel für Wände", "windows-1251": "Известковый раствор", "shift_jis": "石灰モルタル"}[encoding]
    html = f'<html><head><meta charset="{encoding}"></head><body><p>{words}</p></body></html>'
    (document,) = read(html.encode(encoding), "a.html")
    assert document.text.strip() == words


def test_a_page_without_text_has_its_title_and_is_refused_without_one(read: Read) -> None:
    (document,) = read(b"<html><head><title>Lime</title></head><body><img src=a.png></body></html>", "a.html")
    assert (document.title, document.text.strip()) == ("Lime", "")
    assert refusal(read, b"<html><body><img src=a.png><script>x()</script></body></html>", "a.html") == "no_text"


def test_nothing_is_loaded_and_entities_are_not_expanded(read: Read) -> None:
    bomb = '<!DOCTYPE html [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;"><!ENTITY f SYSTEM "file:///etc/passwd">]>'
    (document,) = read(f"{bomb}<html><body><p>Lime &b; &f; mortar.</p></body></html>".encode(), "a.html")
    assert "root:" not in document.text
    assert "aaaaaaaaaaaaaaaaaaaa" not in document.text

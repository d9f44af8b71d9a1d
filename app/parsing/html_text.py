"""Reads HTML: the main text of a page without navigation, and fragments of HTML as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

import markdownify
from bs4 import BeautifulSoup
from bs4.dammit import UnicodeDammit

from app.errors import UnreadableFile
from app.parsing import archives
from app.parsing.files import ExtractedDocument, InputFile

MAIN_SHARE = 0.25
"""Share of a page's text from which an element, or what was recognised as the main text, is taken for all of it."""
MAX_COMPARED = 5_000
"""Elements of a page up to which its main text is compared with that of other methods, which take quadratic time."""
_NOT_TEXT = ("script", "style", "template", "noscript", "svg", "title", "iframe", "object", "form")
# Not `head`: if a page leaves its tags out, the parser may take elements of HTML 5 to be in it.
_NOT_CONTENT = ("nav", "footer", "aside")
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_AUTHOR = frozenset({"author", "article:author", "dc.creator"})
_DATE = frozenset({"article:published_time", "date", "dc.date", "datepublished", "dcterms.created"})


def read(file: InputFile) -> Iterator[ExtractedDocument]:
    """The main text of a page, with its title, author, language and date."""
    html = decoded(file.raw)
    soup = BeautifulSoup(html, "lxml")
    title, root = " ".join(soup.title.get_text().split()) if soup.title is not None else "", soup.html
    language = root.get("lang") if root is not None else None
    author, date = (_declared(soup, names) for names in (_AUTHOR, _DATE))
    text = _main_text(soup, html)
    if not (text.strip() or title):
        raise UnreadableFile("no_text", "The page contains no text and has no title.")
    yield ExtractedDocument(
        text,
        title=title,
        metadata={"author": author} if author else {},
        language=str(language) if language else None,
        created_at=archives.moment(date),
    )


def _main_text(soup: BeautifulSoup, html: str) -> str:
    """The page's `main` or only `article` element, else what is recognised as its main text, else the whole page."""
    is_large = len(soup.find_all(True, limit=MAX_COMPARED + 1)) > MAX_COMPARED
    for element in soup.find_all((*_NOT_TEXT, *_NOT_CONTENT)):
        element.decompose()
    if not soup.get_text(strip=True):
        return _everything(html)
    whole = markdown(str(soup))
    marked = soup.find_all("main") or soup.find_all("article")
    if len(marked) == 1 and len(main := markdown(str(marked[0]))) >= MAIN_SHARE * len(whole):
        return main
    import trafilatura  # takes a quarter of a second to import, and many pages mark their main text

    found = trafilatura.extract(
        html,
        output_format="markdown",
        include_comments=False,
        include_tables=True,
        favor_recall=True,
        fast=is_large,
    )
    return found if found and len(found) >= MAIN_SHARE * len(whole) else whole


def _everything(html: str) -> str:
    """The text of a page that is navigation only."""
    soup = BeautifulSoup(html, "lxml")
    for element in soup.find_all(_NOT_TEXT):
        element.decompose()
    return markdown(str(soup))


def _declared(soup: BeautifulSoup, names: frozenset[str]) -> str:
    """The content of the first `meta` element with one of these names; empty if there is none."""
    for element in soup.find_all("meta"):
        name = element.get("name") or element.get("property") or element.get("itemprop") or ""
        content = element.get("content")
        if str(name).lower() in names and content:
            return str(content).strip()
    return ""


def chapter(raw: bytes) -> str:
    """The text of a page below a title that is known from elsewhere: its headings are one level deeper."""
    soup = BeautifulSoup(decoded(raw), "lxml")
    for element in soup.find_all(_NOT_TEXT):
        element.decompose()
    for element in soup.find_all(_HEADINGS):
        element.name = f"h{min(6, int(element.name[1]) + 1)}"
    return markdown(str(soup)).strip()


def markdown(html: str) -> str:
    """Trusted structure as Markdown: headings, lists, tables and code, without links, images and escapes."""
    return markdownify.markdownify(
        html,
        heading_style="ATX",
        bullets="-",
        strip=["a", "img"],
        escape_asterisks=False,
        escape_underscores=False,
        escape_misc=False,
        table_infer_header=True,
    )


def decoded(raw: bytes) -> str:
    """The text of an HTML file, in the encoding that it declares, else UTF-8, else Windows-1252."""
    found = UnicodeDammit(raw, is_html=True, known_definite_encodings=[], user_encodings=["utf-8"]).unicode_markup
    if found is None:
        raise UnreadableFile("damaged", "The encoding of the page is unknown: save it in UTF-8.")
    return found

"""Reads HTML: the main text of a page without navigation, its tables with all cells, and fragments as Markdown."""

from __future__ import annotations

import itertools
import re
import warnings
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from bs4 import BeautifulSoup, Tag, XMLParsedAsHTMLWarning
from bs4.element import NavigableString
from lxml import etree
from lxml import html as lxml_html
from markdownify import MarkdownConverter

from app.errors import BadRequest, UnreadableFile
from app.parsing import author_and_time, encodings, markdown_writer
from app.parsing.encodings import Decoded
from app.parsing.types import ExtractedDocument, InputFile, LeftOut

MAIN_SHARE = 0.25
"""A marked main element counts as the whole main text if it has at least this share of the page's text."""
RECOGNISED_SHARE = 0.5
"""Recognised main text is accepted if it has at least this share of the page's words and of its numbers."""
RUN = 4
"""Number of words in a run. Runs recognise lines."""
CONTENTS = 3
"""Lines of the shortest table of contents that is left out."""
SHORT = 2_000
"""A page of at most this many characters is kept whole: main text is recognised by comparison with other text."""
MAX_COMPARED = 5_000
"""With more elements, main text is recognised by one method only: the others take quadratic time."""
MOST_ADDED = 20_000
"""Most cells that are added to the tables of a page, because a cell may claim to extend over any number of rows."""
MOST_PLACES = 500_000
"""Most places that the cells of the tables of a page cover."""
MOST_COLUMNS = 1_000
"""Most columns or rows over which a cell extends, as in browsers."""
MOST_NAMES = 3
"""Most rows with the names of the columns of a table."""
_CELLS, _GROUPS = ("td", "th"), ("tbody", "thead", "tfoot")
_NOT_SHOWN = ("script", "style", "template", "title", "iframe", "object", "rp")
# Not `head`: if a page leaves its tags out, the parser may take elements of HTML 5 to be in it.
_ELSEWHERE = {
    "noscript": "text for browsers without scripts",
    "svg": "text of drawings",
    "ix:header": "hidden data of inline XBRL",
}
_NOT_MAIN = {"nav": "navigation", "footer": "footers", "aside": "asides", "dialog": "dialogs"}
_MAIN = ("main", "article", "blockquote")
"""Elements whose footers and asides belong to their text."""
_SAME_FORMULA = "other forms of the same formula"
_LANDMARKS = {
    "navigation": "nav",
    "main": "main",
    "contentinfo": "footer",
    "complementary": "aside",
    "dialog": "dialog",
    "alertdialog": "dialog",
}
"""Roles of elements, and the elements that have the role by default."""
_NAVIGATION = ["navheader", "navfooter", "docnav", "nav-panel", "navbar", "breadcrumb", "breadcrumbs"]
"""Classes and ids of navigation in DocBook, Publican, Texinfo, Bootstrap and others."""
_UNNAMED = "div.header:has(a[rel=next], a[rel=prev])"
"""Navigation of Texinfo, which has no name of its own."""
_PAGE_NUMBERS = frozenset({"pagenum", "pagebreak", "doc-pagebreak"})
"""The class, role and type of the numbers of printed pages in books. They may stand within words."""
_CONTAINERS = ("div", "section", "ul", "ol")
_INLINE = ("a", "span", "sup")
"""Elements that may be around a word, or around the number of a note or a page."""
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_FLOW = (*_HEADINGS, "p", "ul", "ol", "dl", "pre", "blockquote")
"""Elements of running text."""
_WORD_SECTION = re.compile(r"(?:Word)?Section\d+")
"""The class of the elements in which Word puts the text of a document, directly in the body."""
_LIST_TYPES = {"a": "lower_alpha", "A": "upper_alpha", "i": "lower_roman", "I": "upper_roman"}
_LIST_STYLE = re.compile(r"list-style(?:-type)?\s*:\s*(lower|upper)-(alpha|latin|roman)")
_NOT_WRITTEN = ("hidden", "submit", "button", "reset", "image", "file", "password", "range", "color")
"""Types of fields whose value nobody has written."""
_PERMALINK = re.compile(r"\s*[¶#§🔗]\s*")
_LONGEST_LABEL = 20
"""Most elements and texts in a link that is read as a mark."""
_NOTE_LABEL = re.compile(r"\s*(?:\d{1,4}|[ivxlc]{1,8}|[*†‡§]{1,4})\s*")
_PERMALINK_MARKS = " ¶\uf0c1"
"""What Sphinx shows beside a heading."""
_SEPARATOR = re.compile(r"\s*(?:[|»«·•–—]|::|(?<=\s)[-:/](?=\s)|:(?=\s))\s*")
_AUTHOR = frozenset({"author", "article:author", "dc.creator"})
_DATE = frozenset({"article:published_time", "date", "dc.date", "datepublished", "dcterms.created", "dcterms.date"})
_PUBLISHED = re.compile(r'"datePublished"\s*+:\s*+"([^"]{4,40})"')
_TEX = re.compile(r"(?i)\btex\b")
_STYLED = re.compile(r"\{\\displaystyle (.*)\}", re.S)
_GAP = re.compile(r"\n{4,}")
_WITHIN = re.compile(r".[^\W_]\0[^\W_]|\d[.,]\0\d|.\d\0[.,]\d", re.S)
"""A place within a word or number, with two characters before it."""
_SHADOW_ROOT = re.compile(r"<template(?=\s[^<>]*\bshadowrootmode\b)")
"""The beginning of a template that is the content of the element around it."""
_NOTE_LINK = re.compile(r"""<a(?=\s[^<>]*\b(?:epub:type=|role=["']doc-)["']?noteref\b)[^<>]*>([^<>]*)</a>""")
"""The number of a note in a book, which its style raises."""
_KIND = re.compile(r"[\w-]+")
_WORD, _NUMBER = re.compile(r"\w+"), re.compile(r"\d+")
_BEFORE, _AFTER = re.compile(r"(?:[A-Z]{0,3}[$£¥€])?\s?\(?"), re.compile(r"\)?\s?[%€]?\)?")
"""Signs that reports have in columns of their own before and after their numbers."""
_AMOUNT = re.compile(r"\W*+\d[\d.,'\s]*+\W*+|[\u2012-\u2015-]")
_BLOCKS = (
    "address annotation article aside blockquote body br button caption center code dd del details dialog dir div dl "
    "dt fieldset figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html input kbd legend "
    "li main math menu nav ol optgroup option p pre s samp search section select summary table tbody td textarea tfoot "
    "th thead title tr ul"
)
"""Elements whose text is separate from the text around them, like text between marks of code."""


def read(file: InputFile) -> Iterator[ExtractedDocument]:
    """The main text of a page, with its title, author, language and date."""
    decoded = decode(file.raw)
    yield page(decoded.text, notes=decoded.warnings)


def page(html: str, *, notes: tuple[str, ...] = ()) -> ExtractedDocument:
    """The main text of a page with title, author, language and date. Raises UnreadableFile without text and title."""
    soup = _parse(html)
    root = soup.html
    language = root.get("lang") if root is not None else None
    author, date = _declared(soup, _AUTHOR), _declared(soup, _DATE) or _published(soup)
    declared = _line(soup.title) if soup.title is not None else ""
    left_out = _prepare(soup)
    title = _without_site(declared, soup)
    text, beside = _main_text(soup, title, declared)
    text, contents = _take_contents(text)
    if not (text.strip() or title):
        raise UnreadableFile("no_text", "The page contains no text and has no title.")
    if not text.strip():
        notes += ("Only its title is text. If scripts write the page, save it from a browser.",)
    return ExtractedDocument(
        text,
        title=title,
        metadata={"author": author} if author else {},
        language=str(language) if language else None,
        created_at=author_and_time.parse_moment(date),
        left_out=(*left_out, *beside, *contents),
        warnings=notes,
    )


def content(raw: bytes) -> Iterator[tuple[str, str]]:
    """The text nodes of a page that a browser shows, and the descriptions of its pictures."""
    yield "", show(decode(raw).text)


def show(html: str) -> str:
    """The text nodes of a page or of a fragment that a browser shows, with a line break around blocks."""
    parser = lxml_html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=True)
    try:
        root = lxml_html.document_fromstring(_as_shown(html).encode("utf-8", "replace"), parser=parser)
    except etree.ParserError:  # nothing, or nothing but comments
        return ""
    walk = etree.iterwalk(root, events=("start", "end"))
    blocks, parts = frozenset(_BLOCKS.split()), [""]
    is_raised = False
    for event, element in walk:
        is_shown = element.tag not in (*_NOT_SHOWN, *_ELSEWHERE) and not _is_page_number(element.tag, element.attrib)
        if event == "start" and not is_shown:
            walk.skip_subtree()
        if event == "start" and element.tag == "img" and (description := markdown_writer.describe(element.get("alt"))):
            parts.append(f" {description} ")
        edge = "\n" if element.tag in blocks else ""
        if element.tag == "a" and _is_apart(element, event):
            edge = " "
        if element.tag == "sup":
            is_raised = event == "start"
        text = element.tail if event == "end" else element.text if is_shown else ""
        if text and is_raised:
            edge = " " if markdown_writer.separate_raised(parts[-1], text) != text else edge
            is_raised = False
        parts += filter(None, (edge, text))
    return "".join(parts)


def _is_apart(link: Any, event: str) -> bool:
    """Whether there is a space before a link that follows another one, or after the number of a note."""
    above = link.getprevious()
    if event == "start":
        return above is not None and above.tag == "a" and not above.tail
    inner = itertools.islice(link.iter(), _LONGEST_LABEL)
    label = "".join(text for one in inner for text in (one.text, None if one is link else one.tail) if text)
    if not _leads_to_note(link.get("href"), label):
        return False
    while not link.tail and link.getparent().tag in _INLINE and _is_first(link):
        link = link.getparent()
    return _is_first(link) and (link.tail or "")[:1].isalnum()


def _is_first(element: Any) -> bool:
    """Whether no text is before an element in the element around it."""
    return element.getprevious() is None and not (element.getparent().text or "").strip()


def chapter(html: str) -> tuple[str, list[LeftOut]]:
    """A page below a title from elsewhere, and what is left out. The page's headings are one level deeper."""
    soup = _parse(html)
    left_out = _prepare(soup)
    for element in soup.find_all(_HEADINGS):
        element.name = f"h{min(6, int(element.name[1]) + 1)}"
    return _markdown(soup).strip(), left_out


def markdown(html: str) -> str:
    """Converts trusted HTML to Markdown: headings, lists, tables and code, without links, images and escapes."""
    soup = BeautifulSoup(html, "html.parser")
    _fill_tables(soup)
    return _markdown(soup)


def decode(raw: bytes, declared: str | None = None) -> Decoded:
    """Decodes HTML in the encoding declared beside it or in it, or else in UTF-8 or the most probable encoding."""
    try:
        return encodings.decode(raw, declared)
    except BadRequest as error:
        raise UnreadableFile("damaged", "The encoding of the page is unknown: save it in UTF-8.") from error


def _as_shown(html: str) -> str:
    """Writes what browsers show and a parser of HTML does not as elements and text: shadow roots, CDATA sections."""
    html = _NOTE_LINK.sub(r"<sup>\1</sup>", html) if "noteref" in html else html
    html = _SHADOW_ROOT.sub("<div", html) if "shadowrootmode" in html else html
    first, *sections = html.split("<![CDATA[")
    parts = (section.partition("]]>") for section in sections)
    return first + "".join((escape(text) if end else text) + rest for text, end, rest in parts)


def _parse(html: str) -> BeautifulSoup:
    html = _as_shown(html)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", XMLParsedAsHTMLWarning)  # XHTML is read as browsers do
        return BeautifulSoup(html, "lxml")


def _without_site(title: str, soup: BeautifulSoup) -> str:
    """Removes the site's name after a declared title, if the rest equals a heading of the first two levels."""
    for heading in map(_line, [*soup.find_all("h1"), *soup.find_all("h2")]):
        rest = title[len(heading) :] if heading and title.casefold().startswith(heading.casefold()) else ""
        if rest and _SEPARATOR.match(rest):
            return heading
    return title


def _prepare(soup: BeautifulSoup) -> list[LeftOut]:
    """Show a page like a browser: values of fields as text, tables with all cells. Returns what a browser hides."""
    for element in soup.find_all(_NOT_SHOWN):
        element.decompose()
    left_out = [*_write_formulas(soup), *_remove(soup, _ELSEWHERE), *_empty_page_numbers(soup), *_unchosen(soup)]
    _write_fields(soup)
    for picture in soup.find_all("img"):
        if description := markdown_writer.describe(picture.get("alt")):
            picture.replace_with(f" {description} ")
    for ruby in soup.find_all("ruby"):  # behind its word, because each character may have a reading
        if readings := "".join(part.extract().get_text() for part in ruby.find_all("rt")).strip():
            ruby.append(f"({readings})")
    _name_landmarks(soup)
    _unfold_layout(soup)
    for form in soup.find_all("form"):  # what recognises the main text takes forms for navigation
        form.name = "div"
    _unlink(soup)
    _fill_tables(soup)
    return left_out


def _empty_page_numbers(soup: BeautifulSoup) -> Iterator[LeftOut]:
    """Empty the numbers of printed pages. To remove each would take quadratic time."""
    for number in soup.find_all(lambda element: _is_page_number(element.name, element.attrs)):
        if not number.decomposed and (text := number.get_text("\n")).strip():
            number.clear(decompose=True)
            yield LeftOut("page numbers", text)


def _is_page_number(name: object, attributes: Any) -> bool:
    """Whether an element is the number of a printed page in a line."""
    if name not in _INLINE:
        return False
    kinds = (attributes.get(kind) for kind in ("class", "role", "epub:type"))
    return not _PAGE_NUMBERS.isdisjoint(_KIND.findall(" ".join(map(str, kinds))))


def _write_formulas(soup: BeautifulSoup) -> Iterator[LeftOut]:
    """Write formulas in TeX if the page has it beside what a browser shows. The other forms are left out."""
    written: set[str] = set()
    for tex in soup.find_all("annotation", encoding=_TEX):
        formula = tex.find_parent("math")
        if formula is None or not (text := tex.extract().get_text().strip()):
            continue
        written.add(text)
        styled = _STYLED.fullmatch(text)
        yield LeftOut(_SAME_FORMULA, formula.get_text() + ("\ndisplaystyle" if styled else ""))
        formula.replace_with(f"${styled[1].strip() if styled else text}$")
    if written:
        others = [*soup.find_all(class_="katex-html"), *soup.find_all("img", alt=written.__contains__)]
        yield from (LeftOut(_SAME_FORMULA, str(other.get("alt") or other.get_text())) for other in others)
        for other in others:
            other.decompose()


def _name_landmarks(soup: BeautifulSoup) -> None:
    """Rename elements with a role, such as navigation or main text, to the HTML elements for that role."""
    for element in soup.find_all(_CONTAINERS, role=list(_LANDMARKS)):
        element.name = _LANDMARKS[str(element["role"])]
    for element in soup.find_all("dialog"):
        if element.find(("h1", *_MAIN)) is not None:
            element.name = "div"
    for box in soup.select(".sidebar:has(> .titlepage)"):  # of DocBook: a part of the text, not a column beside it
        del box["class"]
    for text in soup.select("body > div:has(> .titlepage)"):  # of DocBook, beside what stands on every page
        text.name = "main"
    named = (*soup.find_all(_CONTAINERS, class_=_NAVIGATION), *soup.find_all(_CONTAINERS, id=_NAVIGATION))
    for element in (*named, *soup.select(_UNNAMED)):
        if element.find(("h1", "h2", *_MAIN)) is None:
            element.name = "nav"


def _unlink(soup: BeautifulSoup) -> None:
    """Remove the links of places to themselves, separate links side by side, and make one line of each heading."""
    for link in soup.find_all("a"):
        if _label(link).strip() == "¶":  # in definitions too; other marks may be a part of the text there
            link.decompose()
        elif (isinstance(link.next_sibling, Tag) and link.next_sibling.name == "a") or _is_label(link):
            link.append(" ")
    for heading in soup.find_all(_HEADINGS):
        for link in heading.find_all("a"):
            if _PERMALINK.fullmatch(link.get_text().strip()):
                link.decompose()
            else:
                link.unwrap()
        for end in heading.find_all("br"):
            end.replace_with(" ")


def _is_label(link: Tag) -> bool:
    """Whether a link is the number of a note before its text, without a space between them."""
    if not _leads_to_note(link.get("href"), _label(link)) or _beside(link, "previous_sibling").strip():
        return False
    return _beside(link, "next_sibling")[:1].isalnum()


def _label(link: Tag) -> str:
    """The text of a link, of which only the beginning is read: links in links would take quadratic time."""
    texts: list[str] = []
    pending: list[Any] = [link]
    for _ in range(_LONGEST_LABEL):
        one = pending.pop() if pending else ""
        pending += reversed(one.contents[:_LONGEST_LABEL]) if isinstance(one, Tag) else ()
        texts += [one] if type(one) is NavigableString else ()
    return "".join(texts)


def _leads_to_note(href: object, label: str) -> bool:
    return str(href).startswith("#") and _NOTE_LABEL.fullmatch(label) is not None


def _unfold_layout(soup: BeautifulSoup) -> None:
    """Make blocks of the cells of layout tables: tables that contain other tables, or have one column."""
    tables = soup.find_all("table")
    wide = {_table_of(row) for row in soup.find_all("tr") if len(row.find_all(_CELLS, recursive=False)) > 1}
    outer = {id(table.find_parent("table")) for table in tables}
    layout = {id(table) for table in tables if id(table) in outer or id(table) not in wide}
    for part in soup.find_all((*_GROUPS, "tr", *_CELLS)):
        if id(part.find_parent("table")) in layout:
            part.name = "div"
    for table in tables:
        if id(table) in layout:
            table.name = "div"


def _write_fields(soup: BeautifulSoup) -> None:
    """Write the values of fields as text."""
    for entry in soup.find_all("input"):
        kind = str(entry.get("type")).lower()
        value = "" if kind in _NOT_WRITTEN else str(entry.get("value") or "")
        if kind in ("checkbox", "radio"):
            value = "[x]" if entry.has_attr("checked") else "[ ]"
        entry.replace_with(f" {value} ")


def _unchosen(soup: BeautifulSoup) -> Iterator[LeftOut]:
    """Remove the options of lists that are not chosen. If no option is marked, the first one is chosen."""
    by_list: defaultdict[int, list[Tag]] = defaultdict(list)
    for option in soup.find_all("option"):
        by_list[id(option.find_parent(lambda element: element.name != "optgroup"))].append(option)
    for options in by_list.values():
        is_marked = any(option.has_attr("selected") for option in options)
        others = [option for option in options[not is_marked :] if not option.has_attr("selected")]
        texts = ["".join(option.extract().find_all(string=True, recursive=False)) for option in others]
        if any(map(str.strip, texts)):
            yield LeftOut("options that are not chosen", "\n".join(texts))


def _remove(soup: BeautifulSoup, reasons: dict[str, str], within: tuple[str, ...] = ()) -> Iterator[LeftOut]:
    """Remove elements with these names, except inside elements named in `within`."""
    for element in soup.find_all(list(reasons)):
        if element.decomposed or (within and element.find_parent(within)):
            continue
        text = _markdown(element) if element.name in _NOT_MAIN else element.get_text("\n")
        reason = reasons[element.name]
        element.decompose()
        if text.strip():
            yield LeftOut(reason, text)


def _main_text(soup: BeautifulSoup, title: str, declared: str) -> tuple[str, list[LeftOut]]:
    """The page's marked main text, or else its recognised main text, or else the whole page.

    Also returns what is left out. The heading of the page is always kept.
    """
    left_out = [*_remove(soup, {"nav": _NOT_MAIN["nav"]}), *_remove(soup, _NOT_MAIN, within=_MAIN)]
    whole, heading = _markdown(soup), _heading(soup, title, declared)
    if not whole.strip():  # a page that is navigation only
        dialogs = [left for left in left_out if left.reason == _NOT_MAIN["dialog"]]
        return "\n\n".join(left.text.strip() for left in left_out if left not in dialogs), dialogs
    marked = _marked(soup)
    main = _markdown(marked) if marked is not None else ""
    if marked is not None and main and len(main) >= MAIN_SHARE * len(whole):
        marked.extract()
        rest, reason = _markdown(soup), "text outside of the element that marks the main text"
    else:
        recognised = _recognise(soup, whole, heading)
        if recognised is None:
            return whole, left_out
        (main, rest), reason = recognised, "text beside what was recognised as the main text"
    if heading and f" {_words(heading)} " not in f" {_words(main)} ":
        main = f"# {heading}\n\n{main}"
    rest = "\n".join(line for line in rest.split("\n") if _words(line) not in ("", _words(heading)))
    return main, [*left_out, *([LeftOut(reason, rest)] if rest else [])]


def _marked(soup: BeautifulSoup) -> Tag | None:
    """The only `main` or `article` element of a page; of a `main`, its only `article` if that has the first heading."""
    mains = soup.find_all("main")
    articles = (mains[0] if len(mains) == 1 else soup).find_all("article")
    if len(mains) != 1:
        return articles[0] if len(articles) == 1 and not mains else None
    heading = mains[0].find("h1")
    return articles[0] if len(articles) == 1 and heading is not None and articles[0].find("h1") is heading else mains[0]


def _heading(soup: BeautifulSoup, title: str, declared: str) -> str:
    """The first-level heading that equals the page's title, or else the first one that is not the site's name."""
    headings = list(filter(None, map(_line, soup.find_all("h1"))))
    titles = [one for one in headings if one.casefold() == title.casefold()]
    others = [one for one in headings if not declared.casefold().endswith(one.casefold())]
    return next(iter(titles + others), "")


def _words(text: str) -> str:
    return " ".join(_WORD.findall(text))


def _recognise(soup: BeautifulSoup, whole: str, heading: str) -> tuple[str, str] | None:
    """The main text of a long page, and the rest; None if the recognised text has too few of its words or numbers.

    It reaches from the heading, or the first recognised line, to the last recognised line.
    The recognised text only marks lines, by runs of words, because some methods lose headings, lists and code.
    """
    if len(whole) <= SHORT or _has_no_layout(soup):
        return None
    import trafilatura  # takes a quarter of a second to import, and many pages mark their main text

    is_large = len(soup.find_all(True, limit=MAX_COMPARED + 1)) > MAX_COMPARED
    found = trafilatura.extract(
        str(soup), include_comments=False, include_tables=True, favor_recall=True, fast=is_large
    )
    counts = ((len(kind.findall(found or "")), len(kind.findall(whole))) for kind in (_WORD, _NUMBER))
    if any(recognised < RECOGNISED_SHARE * all_ for recognised, all_ in counts):
        return None
    lines, runs = whole.split("\n"), set(_runs(found or ""))
    main = [place for place, line in enumerate(lines) if _share_in(runs, line) >= RECOGNISED_SHARE]
    if not main:
        return None
    first, last = main[0], main[-1]
    while last + 1 < len(lines) and lines[last + 1].strip():
        last += 1
    while first and lines[first - 1].strip():
        first -= 1
    named = [(_words(line), place) for place, line in enumerate(lines) if line.startswith("#")]
    headings = {words: place for words, place in reversed(named) if words}
    first = min(first, headings.get(_words(heading), first))
    while first and (not lines[first - 1].strip() or lines[first - 1].startswith("#")):
        first -= 1
    left = {*range(first), *range(last + 1, len(lines))}
    kept, rest = ([line for at, line in enumerate(lines) if (at in left) == is_left] for is_left in (False, True))
    return _GAP.sub("\n\n", "\n".join(kept)), "\n".join(rest)


def _has_no_layout(soup: BeautifulSoup) -> bool:
    """Whether most text is directly in the body, as programs for documents write it: then all of it is main text."""
    if soup.body is None:
        return False
    parts = [soup.body, *soup.body.find_all("div", class_=_WORD_SECTION, recursive=False)]
    flow = itertools.chain.from_iterable(part.find_all(_FLOW, recursive=False) for part in parts)
    return sum(len(_line(one)) for one in flow) >= RECOGNISED_SHARE * len(_line(soup.body))


def _runs(text: str) -> list[int]:
    """The hashes of the runs of words. They take a third of the memory of the words."""
    words = _WORD.findall(text)
    return list(map(hash, zip(*(words[start:] for start in range(RUN)), strict=False)))


def _share_in(runs: set[int], line: str) -> float:
    """The share of a line's runs that is in `runs`; 0 for a line with fewer words than a run."""
    own = _runs(line)
    return sum(run in runs for run in own) / len(own) if own else 0.0


def _take_contents(text: str) -> tuple[str, list[LeftOut]]:
    """Removes tables of contents: consecutive lines, except blank ones, with the words of headings."""
    lines = text.split("\n")
    headings = {_words(line) for line in lines if line.startswith("#")} - {""}
    places = [place for place, line in enumerate(lines) if line.strip()] if headings else []
    runs = itertools.groupby(places, lambda at: not lines[at].startswith("#") and _words(lines[at]) in headings)
    found = (list(run) for repeats, run in runs if repeats)
    left = {place for run in found if len(run) >= CONTENTS for place in run}
    kept, contents = ("\n".join(line for at, line in enumerate(lines) if (at in left) == out) for out in (False, True))
    return (_GAP.sub("\n\n", kept), [LeftOut("the table of contents", contents)]) if left else (text, [])


def _declared(soup: BeautifulSoup, names: Iterable[str]) -> str:
    """The content of the first `meta` element with one of these names; empty if there is none."""
    for element in soup.find_all("meta"):
        name = element.get("name") or element.get("property") or element.get("itemprop") or ""
        content = element.get("content")
        if str(name).lower() in names and content:
            return str(content).strip()
    return ""


def _published(soup: BeautifulSoup) -> str:
    """The first date in the data about the page for search engines (JSON-LD); empty if there is none."""
    data = (_PUBLISHED.search(script.get_text()) for script in soup.find_all("script", type="application/ld+json"))
    return next((found[1] for found in data if found), "")


def _line(element: Tag) -> str:
    """The text of an element on one line, without the mark of a link to itself at its end."""
    return " ".join(element.get_text().split()).rstrip(_PERMALINK_MARKS)


def _beside(element: Tag, side: str) -> str:
    """The text beside an element on its line, even if the element is alone in a link, `span` or `sup`."""
    while (sibling := getattr(element, side)) is None and element.parent is not None and element.parent.name in _INLINE:
        element = element.parent
    return sibling.get_text() if sibling else ""


def _without_marks_in_words(convert: Callable[..., str]) -> Callable[..., str]:
    """Wraps a conversion of emphasis so that it puts no marks inside a word or number: they would cut it."""

    def converted(self: MarkdownConverter, el: Tag, text: str, parent_tags: set[str]) -> str:
        sides = (_beside(el, "previous_sibling"), text), (text, _beside(el, "next_sibling"))
        is_within = any(_WITHIN.match(f"{left[-2:]:>2}\0{right[:2]}") for left, right in sides)
        return text if is_within or not text.strip() else convert(self, el, text, parent_tags)

    return converted


_library: Any = MarkdownConverter


class _PageConverter(MarkdownConverter):
    """Separates the text of blocks that the library treats as part of a line, and keeps words whole."""

    convert_header = convert_footer = convert_nav = convert_aside = convert_main = _library.convert_div
    convert_address = convert_figure = convert_fieldset = convert_form = _library.convert_div
    convert_legend = convert_summary = convert_details = convert_center = _library.convert_div

    def convert_button(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        """The text of a control, separate from the text beside it."""
        return f" {text} "

    convert_option = convert_optgroup = convert_textarea = convert_button

    def convert_sup(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        """A raised text, apart from a number before it."""
        return markdown_writer.separate_raised(_beside(el, "previous_sibling"), text, _beside(el, "next_sibling"))

    def convert_li(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        """An item of a list, with a letter or Roman number if its list has them."""
        item: str = _library.convert_li(self, el, text, parent_tags)
        number, point, rest = item.partition(".")
        kind = _list_kind(el.parent)
        return markdown_writer.label(int(number), kind) + rest if point and number.isdecimal() and kind else item

    convert_b = convert_strong = _without_marks_in_words(_library.convert_b)
    convert_em = convert_i = _without_marks_in_words(_library.convert_em)


def _list_kind(parent: Tag | None) -> str:
    """The letters or Roman numbers of a numbered list; empty for numbers and for other elements."""
    if parent is None or parent.name != "ol":
        return ""
    styled = _LIST_STYLE.search(str(parent.get("style")))
    return "_".join(styled.groups()) if styled else _LIST_TYPES.get(str(parent.get("type")), "")


def _markdown(element: Tag) -> str:
    converted: str = _PageConverter(
        heading_style="ATX",
        bullets="-",
        strip=["a", "img"],
        escape_asterisks=False,
        escape_underscores=False,
        escape_misc=False,
        table_infer_header=True,
    ).convert_soup(element)
    return converted


def _fill_tables(soup: BeautifulSoup) -> None:
    """Fill tables whose cells extend over several rows or columns, and move their captions above them.

    Removes the widths of columns and the groups of rows: the library takes the first element of a table for its first
    row, and the first row of each group for names.
    """
    for group in soup.find_all(("col", "colgroup", *_GROUPS)):
        group.unwrap()
    for element in soup.find_all("table"):
        for space in element.find_all(string=lambda text: not text.strip(), recursive=False):
            space.extract()  # beside a row that is removed it would be a blank line, which ends a table
    for caption in soup.find_all("caption"):
        if caption.parent is not None and caption.parent.name == "table":
            caption.name = "p"
            caption.parent.insert_before(caption.extract())
    rows: defaultdict[int, list[Tag]] = defaultdict(list)
    for row in soup.find_all("tr"):
        rows[_table_of(row)].append(row)
    filler = _Filler(soup, MOST_ADDED)
    for table in dict.fromkeys(_table_of(cell.parent) for cell in soup.find_all(_extends) if cell.parent is not None):
        filler.fill(rows[table])
    for cell in soup.find_all(_extends):  # of tables beyond the limit
        _span(cell, "colspan")


def _table_of(row: Tag) -> int:
    """The identity of the table of a row. The row may be in a group of rows."""
    parent = row.parent
    is_group = parent is not None and parent.name in _GROUPS
    return id(parent.parent if is_group and parent is not None else parent)


def _extends(element: Tag) -> bool:
    return element.name in _CELLS and ("rowspan" in element.attrs or "colspan" in element.attrs)


@dataclass(slots=True)
class _Filler:
    """Fills the rows of tables, so that each has a cell in each column that is not only layout."""

    soup: BeautifulSoup
    left: int
    places: int = MOST_PLACES

    def fill(self, elements: Sequence[Tag]) -> None:
        """Fill the rows of a table. Rows without text are removed.

        A cell that extends over all columns is a heading. It is not repeated.
        """
        above: dict[int, tuple[Tag, int]] = {}
        grid = [self._place(element, above) for element in elements]
        columns, written = _columns(grid), set[int]()
        for element, row in zip(elements, grid, strict=True):
            if self.left <= 0:
                return
            is_heading = len(set(map(id, row))) == 1
            for part in [*element.find_all(_CELLS, recursive=False), *element.find_all(string=True, recursive=False)]:
                part.extract()
            for cell in [row[column] for column in columns if column < len(row)]:
                is_first = id(cell) not in written
                written.add(id(cell))
                element.append(cell if is_first else self._added("") if is_heading else self._repeated(cell))
            if not element.get_text().strip():
                element.decompose()
        _join_names(elements)

    def _place(self, element: Tag, above: dict[int, tuple[Tag, int]]) -> list[Tag]:
        """The cells of a row by column. `above` has the cells that extend into the next rows, and how many rows."""
        row: list[Tag] = []
        cells = deque(element.find_all(_CELLS, recursive=False))
        if self.places <= 0:
            return list(cells)
        end = max(above, default=-1)
        while cells or len(row) <= end:
            column = len(row)
            if column in above:
                cell, rows = above.pop(column)
                if rows > 1:
                    above[column] = cell, rows - 1
                row.append(cell)
            elif cells:
                cell = cells.popleft()
                width, rows = max(1, min(_span(cell, "colspan"), self.places)), _span(cell, "rowspan")
                if rows > 1:
                    above |= {column + offset: (cell, rows - 1) for offset in range(width)}
                row += [cell] * width
            else:
                row.append(self._added(""))
            self.places -= len(row) - column
        return row

    def _repeated(self, cell: Tag) -> Tag:
        """A copy of a cell; blank if the cell is long or has many elements."""
        inner = list(itertools.islice(cell.descendants, markdown_writer.LONGEST_REPEATED))
        text = " ".join(" ".join(one for one in inner if isinstance(one, NavigableString)).split())
        is_short = len(text) <= markdown_writer.LONGEST_REPEATED and len(inner) < markdown_writer.LONGEST_REPEATED
        return self._added(text if is_short else "", cell.name)

    def _added(self, text: str, name: str = "td") -> Tag:
        self.left -= 1
        added = self.soup.new_tag(name)
        added.string = text
        return added


def _join_names(rows: Sequence[Tag]) -> None:
    """Join names of columns that are on two or three rows: those below each other are one name."""
    cells = ([*row.find_all(_CELLS, recursive=False)] for row in rows[: MOST_NAMES + 1])
    heads = list(itertools.takewhile(_are_names, cells))
    if 1 < len(heads) <= min(MOST_NAMES, len(rows) - 1):
        for column in zip(*heads, strict=False):
            column[0].string = " ".join(dict.fromkeys(" ".join(cell.get_text(" ").split()) for cell in column)).strip()
        for row in rows[1 : len(heads)]:
            row.decompose()


def _are_names(cells: Sequence[Tag]) -> bool:
    """Whether the cells of a row are names of columns, and not one name of the rows below it."""
    return all(cell.name == "th" for cell in cells) and len({cell.get_text() for cell in cells}) > 1


def _columns(grid: Sequence[Sequence[Tag]]) -> list[int]:
    """The columns that are not only layout: with a cell of their own that is neither blank nor a sign beside a number.

    A sign, such as $ before or ) after the number, moves to the number if its column is left out.
    """
    cells = {id(cell): cell for row in grid for cell in row}
    texts = {key: cell.get_text().strip() for key, cell in cells.items()}
    kept: list[int] = []
    rows: Sequence[Sequence[Tag]] = grid
    for column in range(max(map(len, grid), default=0)):
        rows = [row for row in rows if column < len(row)]
        signs: list[tuple[Tag, str, bool]] = []
        for row in rows:
            text, after = texts[id(row[column])], row[column + 1 : column + 2]
            if not text or any(row[column] is cell for cell in (*after, *(row[place] for place in kept[-1:]))):
                continue
            sides = zip((after, row[column - 1 : column]), (_BEFORE, _AFTER), strict=True)
            beside = [(side[0], text, sign is _BEFORE) for side, sign in sides if side and sign.fullmatch(text)]
            beside = [one for one in beside if _AMOUNT.fullmatch(texts[id(one[0])])]
            if len(beside) != 1:
                kept.append(column)
                break
            signs += beside
        else:
            for number, text, is_before in signs:
                number.insert(0 if is_before else len(number.contents), text)
    return kept


def _span(cell: Tag, name: str) -> int:
    """The number of columns or rows over which a cell extends. Resets it, so that the table is not filled again."""
    value = str(cell.attrs.pop(name, ""))
    return max(1, min(int(value), MOST_COLUMNS)) if value.isdecimal() and len(value) < 6 else 1

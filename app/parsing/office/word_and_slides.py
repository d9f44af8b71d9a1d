"""Reads DOCX, PPTX, ODT, ODP, and DOC and PPT of Office before 2007; a slide is a page.

The library does not return the beginnings of slides, headers, footers, comments, and some kinds of charts. This module
reads them. It first changes the package so that each slide begins with a mark and no comment is inside a word.
"""

from __future__ import annotations

import html
import itertools
import re
import struct
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import anydoc
from lxml import etree

from app.errors import UnreadableFile
from app.parsing import author_and_time, markdown_writer, zip_packages
from app.parsing.office import office_markdown
from app.parsing.office.office_markdown import PAGE, Writer
from app.parsing.pages import pictures
from app.parsing.pages.pictures import Embedded
from app.parsing.types import DELETED, ExtractedDocument, InputFile, LeftOut

_CONTENT, _STYLES, _META = "content.xml", "styles.xml", "meta.xml"
_DOCUMENT = re.compile(r"word/document\d*\.xml")
_CORE = "docProps/core.xml"
_SLIDE = re.compile(r"ppt/slides/[^/]+\.xml")
_NOTES = re.compile(r"ppt/notesSlides/[^/]+\.xml|word/(?:foot|end)notes\.xml")
_CHART = re.compile(r"(?:word|ppt|xl)/charts/chart[^/]*\.xml")
_COMMENTS = re.compile(r"word/comments\.xml|ppt/comments/[^/]+\.xml")
_HEADERS = re.compile(r"word/(?:header|footer)\d*\.xml")
_OBJECT = re.compile(r"[^/]+/content\.xml")
_PARTS = re.compile(
    r"word/(?:document\d*|footnotes|endnotes|comments)\.xml"
    r"|ppt/(?:slides|notesSlides|comments|diagrams)/(?:slide|notesSlide|comment|modernComment|data)[^/]*\.xml"
)
_PAGE_NUMBER = re.compile(r"\W*\d{0,4}\W*")
_OFFICE_TEXT = frozenset({"t", "text"})
_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}t"
_FORMULA = "{http://www.w3.org/1998/Math/MathML}math"
_TITLE = "{http://schemas.openxmlformats.org/drawingml/2006/main}t"
_DIGITS = 15
_SYMBOL = re.compile(r"[^\x00-\x7f]")
"""A sign of a formula, which the library writes as a command of LaTeX."""
_DELETED = frozenset({"delText"})
_REWRITTEN = re.compile(rb":ruby>|superscript|:sym |:ffData>|:sdt>|:noBreakHyphen")
"""What the library does not read, or reads as a part of the word before it."""
_NUMBERING = "word/numbering.xml"
_BLANK_BULLET = re.compile(rb'(<w:numFmt w:val=)"bullet"(\s*/>\s*<w:lvlText w:val="\s*"\s*/>)')
"""A bullet that is a blank, with which pandoc indents the further paragraphs of an item."""
_CHECKED, _BLANK = "\u2612", "\u2610"
_SIGNS = {
    f"{font} {ord(code):02X}": character
    for font, codes, characters in (
        ("Wingdings", "oqrx\xa8\xfb\xfc\xfd\xfe", "☐☐☐☒☐✗✓☒☒"),
        ("Wingdings 2", "PQRST\x99\xa3", "✓✗☒☒☒☐☐"),
        ("Symbol", "abcdefghijklmnopqrstuvwxyz", "αβχδεφγηιϕκλμνοπθρστυϖωξψζ"),
        ("Symbol", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ"),
        ("Symbol", "\xa3\xa5\xae\xb0\xb1\xb3\xb4\xb9\xbb\xd6", "≤∞→°±≥×≠≈√"),
    )
    for code, character in zip(codes, characters, strict=True)
}
"""Boxes, Greek letters and operators by their fonts and codes, which are not Unicode."""
_BREAKS = frozenset(
    {"p", "h", "tc", "br", "cr", "tab", "ptab", "cm", "table-cell", "line-break", "s", "note", "annotation"}
    | {"ruby-text", "title", "desc", "covered-table-cell", "list-item", "oMath", "pt", "rt", "rubyBase"}
    | {"d", "f", "rad", "acc", "nary", "func", "sub", "sup", "num", "den", "deg", "lim"}  # the parts of a formula
)
_NO_TEXT = frozenset(
    {"tracked-changes", "binary-data", "event-listeners", "creator", "date", "forms", "Fallback"}
    | {"note-citation", "index-title-template", "number", "moveFrom"}
)
_ON_EACH_SLIDE = frozenset({"ftr", "dt", "sldNum", "hdr", "footer", "date-time", "page-number", "header"})
_IMPORTED = "imported files"
_EACH_SLIDE = "footers, dates and numbers of slides"
_SHAPE = """<p:sp xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"
 xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><p:txBody>%s</p:txBody></p:sp>"""
_PARAGRAPH = "<a:p><a:r><a:t>%s</a:t></a:r></a:p>"
_FRAME = f"""<draw:frame xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"
 xmlns:presentation="urn:oasis:names:tc:opendocument:xmlns:presentation:1.0"
 xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" presentation:class="title">
<draw:text-box><text:p>{PAGE}</text:p></draw:text-box></draw:frame>"""
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_DRAWING = _TITLE[:-1]
_RUNS = [f"{kind}{name}" for kind in (_WORD, _DRAWING) for name in ("t", "tab", "br", "p")]
"""Texts, and what divides them."""
_DRAWN = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}*"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_LEVEL = f"{_TEXT}outline-level"
_CONTROL = _DRAWN.replace("*", "control")
"""An element, and its attribute with the id of a field of a form."""
_GROUP, _FRAME_TAG, _TEXT_BOX, _IMAGE = (_DRAWN.replace("*", name) for name in ("g", "frame", "text-box", "image"))
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}table"
_SVG = "{urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0}"
_MAIN_STREAM, _WORD_97 = "WordDocument\0".encode("utf-16-le"), b"\xec\xa5"
"""The name of the main stream in the directory of a DOC, and how the stream begins."""
_SHIFT, _LARGEST_SHIFT, _ENTRY, _FIRST_SECTOR, _LENGTHS = 30, 16, 128, 116, range(0x54, 0x6C)
"""Places of the size of a sector, of the first sector in an entry of the directory, and of the lengths of texts."""
_STORIES = {"headers and footers": (0x54, 24), "comments": (0x5C, 2), "text boxes": (0x64, 2)}
"""Where the lengths of these texts are. The lines above notes, and page numbers, count as headers."""
_FORM = "{urn:oasis:names:tc:opendocument:xmlns:form:1.0}"
_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_PARENT, _POSITION = f"{_STYLE}parent-style-name", f"{_STYLE}text-position"
_CLASS = "{urn:oasis:names:tc:opendocument:xmlns:presentation:1.0}class"


@dataclass(frozen=True, slots=True)
class Package:
    """A file for the library, the document without its text, and the paragraphs that the library does not return."""

    raw: bytes
    document: ExtractedDocument
    has_slides: bool = False
    extras: tuple[str, ...] = ()


def read(file: InputFile) -> Iterator[ExtractedDocument]:
    """The document with its title, author, language and creation time. Raises UnreadableFile.

    The title of a presentation is the title of its first slide, because its own title is often the template's.
    """
    package = _prepare(file.raw)
    embedded = Embedded(file.recognise)
    writer = Writer(_parse(package), embedded)
    pages, contents = writer.pages(), list[LeftOut]()
    if not package.has_slides:
        pages[0], contents = office_markdown.remove_contents_tables(pages[0])
    pages[-1] = "\n\n".join(filter(None, [pages[-1], *package.extras]))
    if not any(pages):
        if any(left.reason == _IMPORTED for left in package.document.left_out):
            raise UnreadableFile("no_text", "The text is in files that Word imports: open and save it with Word.")
        raise pictures.blank("The document contains no text.", file.recognise)
    title, document = pages[0].partition("\n")[0], package.document
    yield replace(
        document,
        text="\n\n".join(pages),
        title=title.removeprefix("## ") if package.has_slides and title.startswith("## ") else document.title,
        page_starts=pictures.page_starts(pages) if package.has_slides else (),
        warnings=tuple(embedded.warnings),
        left_out=(*document.left_out, *contents, *writer.left_out, *embedded.left_out),
    )


def _parse(package: Package) -> anydoc.Document:
    try:
        return anydoc.to_document(package.raw)
    except anydoc.EncryptedError as error:
        raise UnreadableFile("encrypted", zip_packages.PROTECTED) from error
    except anydoc.ResourceLimitError as error:
        raise UnreadableFile("parse_limit", "The file unpacks to more than is allowed.") from error
    except anydoc.ConvertError as error:
        message = "The file is damaged, incomplete, or of an Office before 97: save it again."
        raise UnreadableFile("damaged", message) from error


def _prepare(raw: bytes) -> Package:
    """The package of a file. Office files before 2007 are unchanged. Raises XMLSyntaxError."""
    if not raw.startswith(b"PK"):
        return Package(raw, ExtractedDocument("", left_out=tuple(_unread_stories(raw))))
    with zip_packages.open_archive(raw) as archive:
        return (_opendocument if _CONTENT in archive.namelist() else _office)(raw, archive)


def _unread_stories(raw: bytes) -> Iterator[LeftOut]:
    """The texts of a DOC that the library does not return, by the lengths at the beginning of its main stream."""
    entry = raw.find(_MAIN_STREAM)
    if entry < 0 or len(raw) < entry + _ENTRY:
        return
    (shift,), (sector,) = struct.unpack_from("<H", raw, _SHIFT), struct.unpack_from("<I", raw, entry + _FIRST_SECTOR)
    begin = (sector + 1) << min(shift, _LARGEST_SHIFT)
    if raw[begin : begin + len(_WORD_97)] == _WORD_97 and len(raw) >= begin + _LENGTHS.stop:
        for reason, (at, least) in _STORIES.items():
            (length,) = struct.unpack_from("<i", raw, begin + at)
            if length > least:
                yield LeftOut(f"{reason}, which are not read in DOC", where=f"{length:,} characters")


def content(raw: bytes) -> Iterator[tuple[str, str]]:
    """The text of each part of a package. Nothing for an Office file before 2007."""
    if not raw.startswith(b"PK"):
        return
    with zip_packages.open_archive(raw) as archive:
        if _CONTENT in archive.namelist():
            yield "the document", _lines(_write_controls(separate_raised_spans(_part(archive, _CONTENT))), None)
            return
        for name in archive.namelist():
            if _PARTS.fullmatch(name):
                part = _part(archive, name)
                is_body = any(kind.fullmatch(name) for kind in (_DOCUMENT, _SLIDE, _NOTES))
                shown = _separate_raised(part) if is_body else part
                yield name.rpartition("/")[2].removesuffix(".xml"), _lines(shown, _OFFICE_TEXT)
            elif _CHART.fullmatch(name):
                yield "a chart", " ".join(_chart_words(_part(archive, name)))
        yield "headers and footers", "\n".join(_headers(archive))


def charts(archive: zipfile.ZipFile) -> list[str]:
    """The text of each chart of a package of Office."""
    return [text for name in archive.namelist() if _CHART.fullmatch(name) and (text := _chart(_part(archive, name)))]


def _office(raw: bytes, archive: zipfile.ZipFile) -> Package:
    names = archive.namelist()
    slides = {name: _part(archive, name) for name in names if _SLIDE.fullmatch(name)}
    if "ppt/presentation.xml" in names and not slides:
        raise UnreadableFile("no_text", "The presentation has no slides.")
    notes = {name: _separate_raised(_part(archive, name)) for name in names if _NOTES.fullmatch(name)}
    left_out = list(itertools.chain.from_iterable(map(_take_numbers, slides.values())))
    left_out += itertools.chain.from_iterable(map(_placeholders, (*slides.values(), *notes.values())))
    for name, slide in slides.items():
        for tree in slide.iter("{*}spTree"):
            tree.insert(0, _shape(PAGE))
        _write_charts(archive, name, _separate_raised(slide))
    changed = slides | notes
    main = next(filter(_DOCUMENT.fullmatch, names), "")
    text = archive.read(main) if main else b""
    if b"altChunk" in text:
        left_out += _imported(archive, main)
    if b"delText" in text:
        left_out += _deleted(_lines(zip_packages.xml(text), _DELETED))
    if _REWRITTEN.search(text):
        document = _write_readings(zip_packages.xml(text))
        left_out += _unread_symbols(document)
        changed[main] = _separate_raised(_write_signs(document))
    numbering, blanks = _BLANK_BULLET.subn(rb'\1"none"\2', archive.read(_NUMBERING) if _NUMBERING in names else b"")
    if blanks:
        changed[_NUMBERING] = numbering
    properties = zip_packages.xml(archive.read(_CORE)) if _CORE in names else etree.Element("none")
    extras = (*([] if slides else charts(archive)), *_comments(archive, names), *_headers(archive))
    return Package(zip_packages.replace_parts(raw, changed), _describe(properties, left_out), bool(slides), extras)


def _opendocument(raw: bytes, archive: zipfile.ZipFile) -> Package:
    names = archive.namelist()
    root = separate_raised_spans(zip_packages.xml(archive.read(_CONTENT)))
    pages = list(root.iter("{*}page"))
    left_out = [*itertools.chain.from_iterable(map(_placeholders, pages))]
    left_out += _deleted("".join(_lines(changes, None) for changes in root.iter("{*}tracked-changes")))
    for page in pages:
        page.insert(0, etree.fromstring(_FRAME))
    if not pages:
        _frame_shapes(root)
    _wrap_shapes(root)
    _describe_pictures(root)
    _bracket_readings(root)
    _write_controls(root)
    _mark_titles(root)
    comments = [f"Comment: {text}" for text in map(_take, list(root.iter("{*}annotation"))) if text]
    parts = (_part(archive, name) for name in names if _OBJECT.fullmatch(name))
    objects = (_object(part) for part in parts if part.tag != _FORMULA)  # the library reads formulas
    styles = _part(archive, _STYLES) if _STYLES in names and not pages else etree.Element("none")
    headers = (_lines(found, None) for found in styles.iter("{*}header", "{*}footer"))
    properties = _part(archive, _META) if _META in names else etree.Element("none")
    etree.strip_elements(root, f"{_TEXT}number", with_tail=False)  # the library numbers what has them itself
    for paragraph in root.iter(f"{_TEXT}numbered-paragraph"):
        paragraph.tag = f"{_TEXT}section"  # the library reads the paragraphs of a section
    document = replace(_describe(properties, left_out), language=zip_packages.words_of(properties, "language") or None)
    extras = (*_distinct(objects), *comments, *itertools.filterfalse(_PAGE_NUMBER.fullmatch, _distinct(headers)))
    return Package(zip_packages.replace_parts(raw, {_CONTENT: root}), document, bool(pages), extras)


def _describe(properties: Any, left_out: Iterable[LeftOut]) -> ExtractedDocument:
    """A document without its text, with the properties of a file of Office or OpenDocument."""
    author = zip_packages.words_of(properties, "initial-creator") or zip_packages.words_of(properties, "creator")
    created = zip_packages.words_of(properties, "created") or zip_packages.words_of(properties, "creation-date")
    return ExtractedDocument(
        "",
        zip_packages.words_of(properties, "title"),
        author_and_time.author(author),
        created_at=author_and_time.parse_moment(created),
        left_out=tuple(left_out),
    )


def _part(archive: zipfile.ZipFile, name: str) -> Any:
    """The root element of a part, with its signs as text; empty if it is not XML, because the library skips it too."""
    try:
        return _write_signs(zip_packages.xml(archive.read(name)))
    except etree.XMLSyntaxError:
        return etree.Element("none")


def _lines(root: Any, only: frozenset[str] | None) -> str:
    """The text in elements with these names (None: in all), with line breaks where the text is divided."""
    pieces: list[str] = []
    walk = etree.iterwalk(root, events=("start", "end"))
    for event, element in walk:
        name = element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""  # an entity has none
        if name in _BREAKS:
            pieces.append("\n")
        if event == "end":
            pieces.append("" if only is not None or element is root else element.tail or "")
        elif name in _NO_TEXT and element is not root:
            walk.skip_subtree()
        elif only is None or name in only:
            text = element.text or ""
            pieces.append(_SYMBOL.sub(" ", text) if element.tag == _MATH else text)
    return "".join(pieces)


def _write_charts(archive: zipfile.ZipFile, name: str, slide: Any) -> None:
    """Replace the charts on a slide by their text, because the library mixes up the values of some charts."""
    frames = [frame for frame in slide.iter("{*}graphicFrame") if next(frame.iter("{*}chart"), None) is not None]
    targets = zip_packages.targets(archive, name) if frames else {}
    for frame in frames:
        _kind, part = targets.get(next(frame.iter("{*}chart")).get(zip_packages.RELATION), ("", ""))
        if part in archive.namelist():
            frame.getparent().replace(frame, _shape(_chart(_part(archive, part))))


def _write_readings(document: Any) -> Any:
    """Move the reading above a word into parentheses after the word."""
    for ruby in list(document.iter(f"{_WORD}ruby")):
        parts = [ruby.find(f"{_WORD}{name}") for name in ("rubyBase", "rt")]
        base, reading = ("" if part is None else _lines(part, _OFFICE_TEXT).strip() for part in parts)
        text = etree.Element(f"{_WORD}t")
        text.text = f"{base}({reading})" if reading else base
        ruby.getparent().replace(ruby, text)
    return document


def _write_signs(document: Any) -> Any:
    """Write symbols, hyphens and the values of form fields as text, and move rows out of content controls."""
    for control in list(document.iter(f"{_WORD}sdt")):
        if control.getparent() is not None and control.getparent().tag == f"{_WORD}tbl":
            for row in control.findall(f"{_WORD}sdtContent/*"):
                control.addprevious(row)
    for element in list(document.iter(f"{_WORD}sym", f"{_WORD}noBreakHyphen", f"{_WORD}ffData")):
        is_symbol = element.tag != f"{_WORD}ffData"
        text = etree.Element(f"{_WORD}t")
        text.text = _symbol(element) if is_symbol else _field_value(element)
        (element if is_symbol else element.getparent()).addprevious(text)
    return document


def _symbol(symbol: Any) -> str:
    """The character of a symbol; empty if its font or code is not known."""
    if symbol.tag == f"{_WORD}noBreakHyphen":
        return "-"
    code = symbol.get(f"{_WORD}char", "")[-2:].upper()
    return _SIGNS.get(f"{symbol.get(f'{_WORD}font')} {code}", "")


def _unread_symbols(document: Any) -> list[LeftOut]:
    """The fonts with symbols whose characters are not known."""
    fonts = dict.fromkeys(one.get(f"{_WORD}font", "") for one in document.iter(f"{_WORD}sym") if not _symbol(one))
    return [LeftOut("symbols of fonts", where=font) for font in fonts]


def _field_value(data: Any) -> str:
    """A check box, or the chosen entry of a list. Empty for a field of text, whose value is text."""
    if data.find(f"{_WORD}checkBox") is not None:
        return _BLANK if _setting(data, "checkBox", "checked", "1") in ("0", "false") else _CHECKED
    entries = (one.get(f"{_WORD}val", "") for one in data.iterfind(f"{_WORD}ddList/{_WORD}listEntry"))
    listed = {str(number): entry for number, entry in enumerate(entries)}
    return str(listed.get(_setting(data, "ddList", "result", "0"), ""))


def _setting(data: Any, kind: str, name: str, bare: str) -> str:
    """What is chosen in a form field, else its default, else 0; `bare` is the value of an element without one."""
    found = (data.find(f"{_WORD}{kind}/{_WORD}{one}") for one in (name, "default"))
    return next((str(one.get(f"{_WORD}val", bare)) for one in found if one is not None), "0")


def _separate_raised(part: Any) -> Any:
    """Write raised numbers of a document or slide apart from the numbers before them, such as exponents."""
    texts = list(part.iter(*_RUNS))
    raised = {
        one.getparent().getparent() for one in part.iter("{*}vertAlign") if one.get(f"{_WORD}val") == "superscript"
    }
    raised |= {one.getparent() for one in part.iter(f"{_DRAWING}rPr") if one.get("baseline", "0")[0] in "123456789"}
    for before, text, after in zip(texts, texts[1:], [*texts[2:], None], strict=False):
        if text.getparent() in raised:
            following = "" if after is None else after.text or ""
            text.text = markdown_writer.separate_raised(before.text or "", text.text or "", following)
    return part


def separate_raised_spans(root: Any) -> Any:
    """Like `_separate_raised`, for a document of OpenDocument: there styles raise texts."""
    properties = (one for one in root.iter(f"{_STYLE}text-properties") if one.get(_POSITION, "").startswith("super"))
    raised = {one.getparent().get(f"{_STYLE}name") for one in properties}
    for span in root.iter(f"{_TEXT}span"):
        if span.get(f"{_TEXT}style-name") in raised:
            above = span.getprevious()
            before = span.getparent().text if above is None else above.tail or above.text
            span.text = markdown_writer.separate_raised(before or "", span.text or "", span.tail or "")
    return root


def _frame_shapes(root: Any) -> None:
    """Put the text of each shape into a frame of its own, because the library joins it to the text beside the shape."""
    etree.strip_tags(root, _GROUP)
    for shape in list(root.iter(_DRAWN)):
        paragraphs = shape.findall(f"{_TEXT}p")
        if paragraphs and shape.tag not in (_FRAME_TAG, _TEXT_BOX):
            shape.tag = _FRAME_TAG
            etree.SubElement(shape, _TEXT_BOX).extend(paragraphs)


def _bracket_readings(root: Any) -> None:
    """Put the reading above a word into parentheses after the word."""
    for reading in root.iter(f"{_TEXT}ruby-text"):
        text = _lines(reading, None).strip()
        reading.clear(keep_tail=True)
        reading.text = f"({text})" if text else ""


def _describe_pictures(root: Any) -> None:
    """Join the two descriptions of a picture, of which the library reads one, and remove pictures of tables."""
    for picture in list(root.iter(_IMAGE)):
        frame = picture.getparent()
        if frame.find(_TABLE) is not None:
            frame.remove(picture)
        elif texts := [one for one in frame.iterchildren(f"{_SVG}title", f"{_SVG}desc") if one.text]:
            texts[0].tag = f"{_SVG}title"
            texts[0].text = " ".join(dict.fromkeys(one.text for one in texts))
            for other in texts[1:]:
                frame.remove(other)


def _wrap_shapes(root: Any) -> None:
    """Put frames and shapes beside paragraphs into paragraphs, so that the library reads them."""
    parents = root.iter("{*}text", "{*}section")
    shapes = list(itertools.chain.from_iterable(parent.iterchildren(_DRAWN) for parent in parents))
    for shape in shapes:
        paragraph = etree.Element(f"{_TEXT}p")
        shape.getparent().replace(shape, paragraph)
        paragraph.append(shape)


def _write_controls(root: Any) -> Any:
    """Write the controls of forms as text: boxes with their labels, chosen entries, or values."""
    controls = list(root.iter(_CONTROL))
    texts = {one.get(f"{_FORM}id"): _control_text(one) for one in root.iter(f"{_FORM}*")} if controls else {}
    for control in controls:
        span = etree.Element(f"{_TEXT}span")
        span.text, span.tail = texts.pop(control.get(_CONTROL), ""), control.tail  # each field has one control
        control.getparent().replace(control, span)
    return root


def _control_text(found: Any) -> str:
    label = found.get(f"{_FORM}label", "")
    if found.tag in (f"{_FORM}checkbox", f"{_FORM}radio"):
        return f"{_CHECKED if _is_chosen(found) else _BLANK} {label}"
    chosen = (one.get(f"{_FORM}label", "") for one in found.iterchildren(f"{_FORM}option") if _is_chosen(one))
    return ", ".join(chosen) or str(found.get(f"{_FORM}current-value", found.get(f"{_FORM}value", "")))


def _is_chosen(field: Any) -> bool:
    """Whether a box or entry is chosen, by its current state, or else by its default."""
    states = ("current-state", "current-selected", "state", "selected")
    return next((one for state in states if (one := field.get(_FORM + state))), "") in ("checked", "true")


def _mark_titles(root: Any) -> None:
    """Make headings of the paragraphs in the style for the title of a document."""
    styles = (style.get(f"{_STYLE}name") for style in root.iter(f"{_STYLE}style") if style.get(_PARENT) == "Title")
    titles = {"Title", *styles}
    for paragraph in root.iter(f"{_TEXT}p"):
        if paragraph.get(f"{_TEXT}style-name") in titles and not paragraph.get(_LEVEL):
            paragraph.tag = f"{_TEXT}h"
            paragraph.set(_LEVEL, "1")
            paragraph.set(f"{_TEXT}is-list-header", "true")  # so that it has and takes no number


def _shape(text: str) -> Any:
    return etree.fromstring(_SHAPE % "".join(_PARAGRAPH % html.escape(line) for line in text.split("\n")))


def _object(part: Any) -> str:
    """The text of an object in an OpenDocument file. For a chart, its titles and the rows of its table."""
    rows = [[_lines(cell, None).strip() for cell in row] for row in part.iter("{*}table-row")]
    titles = [_lines(title, None).strip() for title in part.iter("{*}title", "{*}subtitle")]
    return "\n".join((*titles, *(", ".join(filter(None, row)) for row in rows))) if rows else _lines(part, None)


def _chart(chart: Any) -> str:
    """The titles of a chart, and on one line for each series its name with its categories and values."""
    lines = [" ".join(element.text or "" for element in chart.iter(_TITLE))]
    for series in chart.iter("{*}ser"):
        name = " ".join(_points(series, "tx").values())
        keys, values = _points(series, "cat", "xVal"), _points(series, "val", "yVal", "bubbleSize")
        places = dict.fromkeys((*values, *keys))
        pairs = (" ".join(filter(None, (keys.get(place), values.get(place)))) for place in places)
        lines.append(f"{name}: {', '.join(pairs)}".removeprefix(": "))
    return "\n".join(filter(None, lines))


def _points(series: Any, *paths: str) -> dict[str, str]:
    """The texts of the points of a series, by place. With levels, a place has several texts."""
    found: dict[str, str] = {}
    for path in paths:
        for point in series.iterfind(f"{{*}}{path}//{{*}}pt"):
            place, text = point.get("idx", ""), _number(point.findtext("{*}v") or "")
            found[place] = f"{found[place]} {text}" if place in found else text
    return found


def _chart_words(chart: Any) -> Iterator[str]:
    """The titles, names and values of a chart. Its series repeat the categories; numbers of categories are dates."""
    yield from (element.text or "" for element in chart.iter(_TITLE))
    yield from dict.fromkeys(element.text or "" for element in chart.iterfind(".//{*}strCache//{*}v"))
    for path in ("xVal", "val", "yVal", "bubbleSize"):
        yield from (_number(element.text or "") for element in chart.iterfind(f".//{{*}}{path}//{{*}}numCache//{{*}}v"))


def _number(text: str) -> str:
    """Removes the noise in the last digits of a number from a chart's cache. Other text is unchanged."""
    try:
        return f"{float(text):.15g}" if len(text) > _DIGITS else text
    except ValueError:
        return text


def _placeholders(slide: Any) -> Iterator[LeftOut]:
    """The footer, date and number of a slide, before they are left out."""
    for shape in slide.iter("{*}sp", "{*}frame"):
        placeholder = next(shape.iter("{*}ph"), None)
        kind = shape.get(_CLASS) if placeholder is None else placeholder.get("type")
        if kind in _ON_EACH_SLIDE and (text := _lines(shape, None).strip()):
            yield LeftOut(_EACH_SLIDE, " ".join(text.split()))


def _take_numbers(slide: Any) -> Iterator[LeftOut]:
    """Remove the slide number, which may be in any shape of the slide."""
    for field_ in list(slide.iter("{*}fld")):
        if field_.get("type") == "slidenum":
            yield LeftOut(_EACH_SLIDE, _lines(field_, _OFFICE_TEXT))
            field_.getparent().remove(field_)


def _imported(archive: zipfile.ZipFile, main: str) -> Iterator[LeftOut]:
    """The files, mostly HTML, that Word turns into text when it opens the document."""
    for kind, part in zip_packages.targets(archive, main).values():
        if kind == "aFChunk":
            yield LeftOut(_IMPORTED, where=part)


def _deleted(text: str) -> list[LeftOut]:
    return [LeftOut(DELETED, text)] if text.strip() else []


def _comments(archive: zipfile.ZipFile, names: Iterable[str]) -> Iterator[str]:
    for name in names:
        if _COMMENTS.fullmatch(name):
            for comment in _part(archive, name).iter("{*}comment", "{*}cm"):
                if text := _lines(comment, _OFFICE_TEXT).strip():
                    yield f"Comment: {' '.join(text.split())}"


def _headers(archive: zipfile.ZipFile) -> list[str]:
    """The lines of the headers and footers of a package of Office, without page numbers."""
    names = filter(_HEADERS.fullmatch, archive.namelist())
    lines = _distinct(_lines(_part(archive, name), _OFFICE_TEXT) for name in names)
    return list(itertools.filterfalse(_PAGE_NUMBER.fullmatch, lines))


def _distinct(texts: Iterable[str]) -> list[str]:
    """The different lines of the texts as paragraphs, each once."""
    lines = (" ".join(line.split()) for text in texts for line in text.split("\n"))
    return list(dict.fromkeys(filter(None, lines)))


def _take(annotation: Any) -> str:
    """Removes a comment from its document and returns its text. The text after it stays."""
    text = " ".join(_lines(annotation, None).split())
    parent, before = annotation.getparent(), annotation.getprevious()
    if before is not None:
        before.tail = (before.tail or "") + (annotation.tail or "")
    else:
        parent.text = (parent.text or "") + (annotation.tail or "")
    parent.remove(annotation)
    return text

"""Makes files of the supported formats, and damaged and hostile ones."""

import base64
import io
import json
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

import docx
import pptx
import xlsxwriter
from reportlab.lib.pagesizes import A4
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfgen.canvas import Canvas

LEFT, TOP, LEADING = 60, 780, 14
COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def pdf(pages: Sequence[Iterable[str]], *, title: str = "", author: str = "", password: str = "") -> bytes:
    """A PDF of lines: `# ` gives a larger font, `## ` also an entry of the outline, `### ` the largest font."""
    encrypt = StandardEncryption(password, canPrint=0) if password else None
    drawn = Canvas("", pagesize=A4, encrypt=encrypt)
    drawn.setTitle(title)
    drawn.setAuthor(author)
    for number, lines in enumerate(pages):
        y = TOP
        for line in lines:
            _draw(drawn, line, y, number)
            y -= 2 * LEADING if line.startswith("#") else LEADING
        drawn.showPage()
    return bytes(drawn.getpdfdata())


def _draw(drawn: Canvas, line: str, y: float, number: int) -> None:
    words = line.lstrip("#").strip() if line.startswith("#") else line
    drawn.setFont("Helvetica", 18 if line.startswith("###") else 14 if line.startswith("#") else 10)
    drawn.drawString(LEFT, y, words)
    if line.startswith("## "):
        drawn.bookmarkPage(f"{number}-{words}")
        drawn.addOutlineEntry(words.lstrip("0123456789. "), f"{number}-{words}", level=0)


def two_columns(rows: Sequence[tuple[str, str]], heading: str) -> bytes:
    """A PDF whose content is drawn line by line across two columns under a heading over both."""
    drawn = Canvas("", pagesize=A4)
    drawn.setFont("Helvetica", 18)
    drawn.drawString(LEFT, TOP, heading)
    drawn.setFont("Helvetica", 10)
    for number, (left, right) in enumerate(rows):
        drawn.drawString(LEFT, TOP - 40 - LEADING * number, left)
        drawn.drawString(310, TOP - 40 - LEADING * number, right)
    return bytes(drawn.getpdfdata())


def placed(*pages: Iterable[tuple[float, float, str, str]]) -> bytes:
    """A PDF of texts at places: x, y below the top, the font and its size such as `Courier 14`, and the text."""
    drawn = Canvas("", pagesize=A4)
    for texts in pages:
        for x, y, font, text in texts:
            name, size = font.split()
            drawn.setFont(name, float(size))
            drawn.drawString(LEFT + x, TOP - y, text)
        drawn.showPage()
    return bytes(drawn.getpdfdata())


def ruled_table(rows: Sequence[Sequence[str]], *, spaced: float = 0.0, rotation: int = 0) -> bytes:
    """A PDF with a sentence above and below a table with lines around its cells, whose letters may be spaced.

    `rotation` turns the page by 90 degrees; its text is upright on the screen.
    """
    drawn = Canvas("", pagesize=A4)
    if rotation:
        drawn.setPageRotation(rotation)
        drawn.translate(A4[0] if rotation == 90 else 0, 0 if rotation == 90 else A4[1])
        drawn.rotate(90 if rotation == 90 else -90)
        drawn.translate(0, -200)
    drawn.drawString(LEFT, TOP, "The table below lists the tides.")
    width, height, top = 100, 20, TOP - 40
    for number in range(len(rows) + 1):
        drawn.line(LEFT, top - height * number, LEFT + width * len(rows[0]), top - height * number)
    for number in range(len(rows[0]) + 1):
        drawn.line(LEFT + width * number, top, LEFT + width * number, top - height * len(rows))
    for y, row in enumerate(rows):
        for x, cell in enumerate(row):
            drawn.drawString(LEFT + width * x + 5, top - height * (y + 1) + 6, cell, charSpace=spaced)
    drawn.drawString(LEFT, top - height * len(rows) - 30, "Tides come twice a day.")
    return bytes(drawn.getpdfdata())


def slide_pages(pages: Sequence[Sequence[str]], footer: str) -> bytes:
    """A PDF of slides with a background, a bar behind the title, and bars behind the parts of the footer.

    A line that begins with `later:` is drawn beyond the edges of the page, as programs hide it.
    """
    width, height = 360, 270
    drawn = Canvas("", pagesize=(width, height))
    for title, *lines in pages:
        for x, y, *size in ((0, 0, width, height), (0, 244, width, 26), *((120 * at, 0, 120, 9) for at in range(3))):
            drawn.setFillGray(0.9)
            drawn.rect(x, y, *size, stroke=0, fill=1)
        drawn.setFillGray(0)
        drawn.setFont("Helvetica", 14)
        drawn.drawString(9, 250, title)
        for number, line in enumerate(lines):
            is_later = line.startswith("later:")
            drawn.setFont("Helvetica", 10)
            drawn.drawString(33 + 2_000 * is_later, 200 - LEADING * number + 2_000 * is_later, line)
        drawn.setFont("Helvetica", 5)
        for at, part in enumerate(footer.split(" | ")):
            drawn.drawString(130 * at + 30, 2, part)
        drawn.showPage()
    return bytes(drawn.getpdfdata())


def merged_table(rows: Sequence[tuple[str, str]]) -> bytes:
    """A PDF with lines around the cells of the right column, and one frame around the lines of the left one."""
    drawn = Canvas("", pagesize=A4)
    bottom = TOP - 20 * len(rows)
    drawn.rect(LEFT, bottom, 200, TOP - bottom)
    drawn.rect(LEFT + 200, bottom, 100, TOP - bottom)
    for number, (left, right) in enumerate(rows):
        y = TOP - 20 * (number + 1)
        drawn.line(LEFT + 200, y, LEFT + 300, y)
        drawn.drawString(LEFT + 5, y + 6, left)
        drawn.drawString(LEFT + 205, y + 6, right)
    return bytes(drawn.getpdfdata())


def turned_pdf(lines: Sequence[str], *, rotation: int = 0, angle: int = 0, level: Sequence[str] = ()) -> bytes:
    """A PDF page with this /Rotate, with lines that run at an angle, counter-clockwise, and others that are level."""
    drawn = Canvas("", pagesize=A4)
    drawn.setPageRotation(rotation)
    for number, line in enumerate(level):
        drawn.drawString(LEFT, TOP - LEADING * number, line)
    drawn.translate(300, 420)
    drawn.rotate(angle)
    for number, line in enumerate(lines):
        drawn.drawString(-200, -LEADING * number, line)
    return bytes(drawn.getpdfdata())


def form_pdf(values: Mapping[str, str], *, choice: str, checked: bool, note: str) -> bytes:
    """A PDF with a form: named text fields, a choice and a box, and with a note."""
    drawn = Canvas("", pagesize=A4)
    for number, (name, value) in enumerate(values.items()):
        y = TOP - 3 * LEADING * number
        drawn.drawString(LEFT, y + 4, f"{name}:")
        drawn.acroForm.textfield(name=name, value=value, x=LEFT + 80, y=y, width=200, height=18)
    drawn.acroForm.choice(name="choice", value=choice, options=[choice, "Other"], x=LEFT, y=400, width=200, height=18)
    drawn.acroForm.checkbox(name="box", checked=checked, x=LEFT, y=300)
    drawn.drawString(LEFT + 40, 304, "Agreed")
    drawn.textAnnotation(note, Rect=[300, 200, 320, 220])
    return bytes(drawn.getpdfdata())


def image_only_pdf() -> bytes:
    """A PDF as a scanner makes it: a drawing and no text."""
    drawn = Canvas("", pagesize=A4)
    drawn.rect(50, 50, 400, 600, fill=1)
    return bytes(drawn.getpdfdata())


def pdf_of_streams(content: bytes, *, pages: int = 1, filters: str = "/FlateDecode") -> bytes:
    """A PDF whose pages all have one content stream, which is stored as given."""
    kids = " ".join(f"{number} 0 R" for number in range(5, 5 + pages))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {pages} >>".encode(),
        b"<< /Length %d /Filter %s >>\nstream\n%s\nendstream" % (len(content), filters.encode(), content),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    fonts = b"/Resources << /Font << /F1 4 0 R >> >>"
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 3 0 R %s >>" % fonts
    objects += [page] * pages

    out = bytearray(b"%PDF-1.7\n")
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, table)
    out += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    return bytes(out)


def pdf_of_glyphs(content: str, texts: Mapping[int, str]) -> bytes:
    """A PDF of one page that draws with the font F, whose codes have these texts."""
    named = " ".join(f"<{code:02x}> <{text.encode('utf-16-be').hex()}>" for code, text in texts.items())
    codes = f"begincmap 1 begincodespacerange <00> <ff> endcodespacerange {len(texts)} beginbfchar {named} endbfchar"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 400 200] /Contents 4 0 R /Resources << /Font << /F 5 0 R >> >> >>",
        f"<< /Length {len(content)} >>\nstream\n{content}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode 6 0 R >>",
        f"<< /Length {len(codes) + 8} >>\nstream\n{codes} endcmap\nendstream",
    ]
    body = "".join(f"{number} 0 obj\n{one}\nendobj\n" for number, one in enumerate(objects, 1))
    return f"%PDF-1.7\n{body}trailer\n<< /Root 1 0 R >>\n%%EOF".encode()


def flate_bomb(megabytes: int) -> bytes:
    """A zlib stream that unpacks to this many megabytes of spaces: one block, which a full flush allows to repeat."""
    packer = zlib.compressobj(9)
    header = packer.compress(b"") + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(b" " * 1_000_000) + packer.flush(zlib.Z_FULL_FLUSH)
    return header + block * megabytes + packer.flush()


def saved(document: Any) -> bytes:
    """The file of a document of `docx` or a presentation of `pptx`."""
    target = io.BytesIO()
    document.save(target)
    return target.getvalue()


def word(*paragraphs: str, table: Sequence[Sequence[str]] = (), title: str = "", author: str = "") -> bytes:
    """A DOCX; `# ` begins a heading, seven of `#` the title, and `- ` an item of a list."""
    document = docx.Document()
    document.core_properties.title, document.core_properties.author = title, author
    for paragraph in paragraphs:
        if paragraph.startswith("#"):
            marks, _, words = paragraph.partition(" ")
            document.add_heading(words, level=len(marks) % 7)
        elif paragraph.startswith("- "):
            document.add_paragraph(paragraph[2:], style="List Bullet")
        else:
            document.add_paragraph(paragraph)
    if table:
        cells = document.add_table(rows=len(table), cols=len(table[0]))
        for row, values in zip(cells.rows, table, strict=True):
            for cell, value in zip(row.cells, values, strict=True):
                cell.text = value
    return saved(document)


def sheets(tables: Mapping[str, Sequence[Sequence[object]]]) -> bytes:
    """An XLSX with a sheet for each table."""
    target = io.BytesIO()
    with xlsxwriter.Workbook(target, {"default_date_format": "yyyy-mm-dd"}) as book:
        for name, rows in tables.items():
            sheet = book.add_worksheet(name)
            for number, row in enumerate(rows):
                sheet.write_row(number, 0, row)
    return target.getvalue()


def slides(*texts: tuple[str, Sequence[str], str], table: Sequence[Sequence[str]] = ()) -> bytes:
    """A PPTX of slides with a title, paragraphs (`- ` for an indented one) and notes; the last one has the table."""
    made = pptx.Presentation()
    for title, paragraphs, notes in texts:
        slide = made.slides.add_slide(made.slide_layouts[1])
        slide.shapes.title.text = title
        frame = slide.placeholders[1].text_frame
        frame.text = paragraphs[0]
        for paragraph in paragraphs[1:]:
            added = frame.add_paragraph()
            added.text, added.level = paragraph.removeprefix("- "), int(paragraph.startswith("- "))
        if notes:
            slide.notes_slide.notes_text_frame.text = notes
    if table:
        shape = made.slides[-1].shapes.add_table(len(table), len(table[0]), 0, 5_000_000, 5_000_000, 1_000_000)
        for row, values in zip(shape.table.rows, table, strict=True):
            for cell, value in zip(row.cells, values, strict=True):
                cell.text = value
    return saved(made)


def book(chapters: Mapping[str, str], *, title: str, author: str, encrypted: str = "", named: int = 1) -> bytes:
    """An EPUB of chapters in HTML, each `named` times; `encrypted` is the name of one that is marked as encrypted.

    Each line of `author` is an author.
    """
    creators = "".join(f"<dc:creator>{name}</dc:creator>" for name in author.splitlines())
    items = "".join(f'<item id="c{number}" href="{quote(name)}"/>' for number, name in enumerate(chapters))
    spine = "".join(f'<itemref idref="c{number}"/>' for number in range(len(chapters))) * named
    package = f"""<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title>{creators}
<dc:language>de</dc:language><dc:date>2021-05-06</dc:date></metadata>
<manifest>{items}</manifest><spine>{spine}</spine></package>"""
    container = """<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
<rootfile full-path="OEBPS/content.opf" media-type="application/oebps-package+xml"/></rootfiles></container>"""
    entries: dict[str, bytes | str] = {"mimetype": "application/epub+zip", "META-INF/container.xml": container}
    entries |= {"OEBPS/content.opf": package, **{f"OEBPS/{name}": text for name, text in chapters.items()}}
    if encrypted:
        entries["META-INF/encryption.xml"] = (
            '<encryption><EncryptedData xmlns="http://www.w3.org/2001/04/xmlenc#"><CipherData>'
            f'<CipherReference URI="OEBPS/{encrypted}"/></CipherData></EncryptedData></encryption>'
        )
    return archive(entries)


def archive(entries: Mapping[str, bytes | str], *, packed: bool = True, links: bool = False) -> bytes:
    """A ZIP archive of these entries, compressed unless they are not `packed`; or of `links` to what they contain."""
    target = io.BytesIO()
    method = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
    with zipfile.ZipFile(target, "w", method, compresslevel=9) as made:
        for name, content in entries.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (stat.S_IFLNK | 0o777) << 16
            made.writestr(entry if links else name, content)
    return target.getvalue()


def replace_entry(raw: bytes, name: str, content: str | None) -> bytes:
    """A ZIP archive in which one entry has another content, or is missing."""
    with zipfile.ZipFile(io.BytesIO(raw)) as found:
        entries = {one: content if one == name else found.read(one) for one in found.namelist()}
    return archive({one: text for one, text in entries.items() if text is not None})


def notebook(*cells: Mapping[str, object], metadata: Mapping[str, object] | None = None) -> bytes:
    """A notebook of these cells in the format of Jupyter, version 4."""
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": metadata or {}, "cells": cells}).encode()


def opendocument(
    body: str, *, kind: str = "text", encrypted: bool = False, styles: str = "", parts: Mapping[str, str] | None = None
) -> bytes:
    """An ODT or ODP with this XML in its body and in its styles, and with other parts, by Ana Veit, in German."""
    names = "".join(
        f' xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for prefix, name in {
            **{name: name for name in ("office", "text", "table", "meta", "presentation", "manifest", "style", "form")},
            "draw": "drawing",
            "svg": "svg-compatible",
        }.items()
    )
    dc = 'xmlns:dc="http://purl.org/dc/elements/1.1/"'
    styles = f"<office:automatic-styles>{styles}</office:automatic-styles>" if styles else ""
    content = f"<office:document-content{names}>{styles}<office:body>{body}</office:body></office:document-content>"
    meta = f"""<office:document-meta{names} {dc}><office:meta><dc:title>Mortar</dc:title><dc:language>de</dc:language>
<meta:initial-creator>Ana Veit</meta:initial-creator><meta:creation-date>2021-05-06T07:08:09</meta:creation-date>
</office:meta></office:document-meta>"""
    mark = "<manifest:encryption-data/>" if encrypted else ""
    return archive(
        {
            "mimetype": f"application/vnd.oasis.opendocument.{kind}",
            "content.xml": content,
            "meta.xml": meta,
            "META-INF/manifest.xml": f"<manifest:manifest{names}>{mark}</manifest:manifest>",
            **(parts or {}),
        }
    )


def compound(streams: Sequence[str]) -> bytes:
    """A compound file, as Office before 2007 wrote them, with empty streams of these names below its root."""
    none, last = 0xFFFFFFFF, len(streams)
    entries = [("Root Entry", 5, none, 1)]
    entries += [(name, 2, place + 1 if place < last else none, none) for place, name in enumerate(streams, 1)]
    directory = b"".join(
        name.encode("utf-16-le").ljust(64, b"\0")
        + struct.pack("<HBBIII", 2 * len(name) + 2, kind, 1, none, right, child)
        + b"\0" * 48
        for name, kind, right, child in entries
    ).ljust(512, b"\0")
    header = struct.pack("<8s16x5H6x", COMPOUND, 62, 3, 0xFFFE, 9, 6)
    header += struct.pack("<10I", 0, 1, 1, 0, 4_096, none - 1, 0, none - 1, 0, 0)
    header += b"\xff" * (512 - len(header))
    chains = struct.pack("<2I", 0xFFFFFFFD, 0xFFFFFFFE).ljust(512, b"\xff")
    return header + chains + directory


OLD_SHEETS = zlib.decompress(
    base64.b85decode(
        "c-rk)O=uHA6#izDZGLFdB&I?ulu)p0>_xnIsp}8gi<T;aB7$yBFrj5r)>ixht=1d`!IR>p(2JL<7k|)$-aLpEJqUu3=+Tp);Gxa>"
        "=4BRB&7lEXROVae&D;0h%)H%s^JZsX&nGK0_q(h31=|ro&5NL|K_;j~{F?+w?|G8->o65h<DWt#OcU8=;z{gfNY0_0?<x%33qB_b"
        "e57&=;}|MA`OGR}7yDof>B9g~f!idBql>*tF+It24b!`9`IPAnmRw^xK(-Ze6!X?lcAJXgBStUl;*kA5<TmeFvIU)ZA*1-xby2r9"
        "vC}QuV}GZjC)kcz(7X-ioxE$0Rgk6$oW(aU1AO&Y>a&cNudZBx<lmRdLrvs2j36)t?*s>U88N&HNR5d@#a#aM0<s_jzl@jM391Uk"
        "Qw3V3`-)D^o}`q!d-80-K9hH%GCT8XPApl?F^=+fqB(RhpX69iP`+Nc^X1L{kzwmNOQtx3*Yo^(=^8v-mMy4poHgtn+h&<=W_pEt"
        "UB`Sk(=<H-)qTUAirG8OHdk5ON8@Z|ytOto@EeIQe?IW2r~Jv<MEu-f^?Z8noi&4A+IMo)US8Aa7yaVaO^L^rUkjBJJ}~Y2EkA^f"
        "g!0`}n^^}I5oI>Xw0<Ywj!^cZiM?QZ+2chc%KjvA!K~XGP3#S}4=DTk+fT{;)kxuiR8qG3i6}HQG&D3cG&D3cRuV#e&j-{w!&Ik+"
        "kovE)NTsHKll-?hh!R~BbTHimhiVt+T8f{wFooZjSY{jlf1$)-8r{VxM%a(hmgARBeWLMsmfbM%=ax{b<JVg8bA`wM0dyhA1O"
    )
)
"""An XLS with the ports Lindau and Cuxhaven, and the heights 3.5 and 4, below the names `port` and `high`."""


def tar(entries: Mapping[str, bytes | str], *, mode: str = "w:gz", links: Mapping[str, str] | None = None) -> bytes:
    """A TAR archive of these entries, and of symbolic links to these targets."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode=mode) as made:  # type: ignore[call-overload]
        for name, content in entries.items():
            raw = content.encode() if isinstance(content, str) else content
            entry = tarfile.TarInfo(name)
            entry.size = len(raw)
            made.addfile(entry, io.BytesIO(raw))
        for name, to in (links or {}).items():
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, to
            made.addfile(entry)
    return target.getvalue()


OLD_WORD = zlib.decompress(
    base64.b85decode(
        "c-rmU%Sr-a7>Ds!&9bvvbg-zebBoHTMYXqG&?aatIzdnh9=e|vT|ie-mr(nz!RbFXViZA!V8Zi*hi{l+e3?<V-}6)I<^D1AYTv}H;Sby"
        "3m$RF#gJk<$!}tAQ-B5mbjQ;TU@WX|KSvJwxXJvVv008ub3$I#p=Vzzx>iWjpan<~tS9JNRyDV3V?&N6qV1NJ6<;sQntyik;@xA~6000"
        "0000000000000000000000006ozqM{b;_GLDp;wsqlYslLBdX1=2HKxYZgqpOEEx=MLt)|p;c+ZU1Sv9BTRYonS#qj!))@9|?idt1`YW"
        ">s9t?;-N-_(B<Z|?aPi1lQCv^hWc-Tr0oxl1cs#fp~GTClp^nr9`e{rdil=10QW9nDX6=jpdKKN|jbd$IT4arpi_e*P{=_jo=4^s9F_W"
        "OsM"
    )
)
"""A DOC with one paragraph: `Test OLE file, saved as Word 97-2003 Document.`"""
OLD_SLIDES = zlib.decompress(
    base64.b85decode(
        "c-rmS*G^PX7>40ZQ?VgNMaSN;cg5bYH&pChMCCwD6yxO>&ph=?^b+(&7{3{YNFW}d1|)f&<W2spoykhpE=Tk2YwPz<UrIlUQ5uSYa&s|"
        "d#A@BpFsCT$YvVw<Tpn6351W}B<_^1uO{sFvU#4lPIZaP9(#$j~%}y<Yk3i8{`)#FpndheksVyx`i&7~qPD|3#v@9)8E7HoeDy>dy(%Q"
        "5xtxxS~L)w@&rOjze+M2ed?P*8anRcb!X;0dl_N9)rKOIO1)1h=Y9Z5&iv2;A0NGDTgI+aeRGwEzPm(HgP>0-K+E~hK0D_u?3()HAxZl"
        "s&(R=S<;q`T=}x}P4Thv`vzoSvkosV6;4z3F*+Q9IYZ5%1Ukr>XkRS2Rq>{`J-UoBr_I(^b4FKIGKjR;Rw=b<v;avNLl}@xFMKE0vYsY"
        "p?C!IEMYF7PS}UAE@kKR}6lOeR}}_0RB#!BN&UuQ7a!?eyx43&fUH5`kfR2006)w&{6yU!;tabzcj)70{{R300000000000000000000"
        "00000000000000000000000000000mK7In{#do~"
    )
)
"""A PPT with one slide, whose title is `Test`."""

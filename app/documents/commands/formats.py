"""Implements `stepwell formats`: lists the formats of files that this installation reads."""

from __future__ import annotations

from app import runtime
from app.cli import options, terminal
from app.parsing import formats as known
from app.parsing.formats import FORMATS, FileFormat


def formats(as_json: options.AsJson = False) -> None:
    """List the formats, the suffixes of their files, and which parts are read.

    The first bytes of a file determine its format. The suffix only distinguishes formats that are plain text.
    """
    pictures = runtime.reads_pictures(options.settings(None))
    if as_json:
        terminal.write_json([_as_json(one, pictures=pictures) for one in FORMATS])
        return
    table = options.table("format", "files", "what is read")
    for one in FORMATS:
        table.add_row(
            ", ".join(one.listed),
            " ".join(f".{suffix}" for suffix in one.suffixes),
            one.read if pictures else one.kept or "nothing without OCR",
        )
    options.print_table(table)
    if not pictures:
        options.out.print(known.NEEDS_OCR, soft_wrap=True, markup=False)


def _as_json(format: FileFormat, *, pictures: bool) -> dict[str, object]:
    suffixes = [f".{suffix}" for suffix in format.suffixes]
    return {
        "formats": format.listed,
        "suffixes": suffixes,
        "read": format.read if pictures else format.kept,
        "is_read": pictures or not format.needs_ocr,
    }

"""Reads what stands on a page of a PDF beside its content: the values of form fields, and notes."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pypdfium2 as pdfium
from pypdfium2 import raw as pdfium_c

from app.parsing.pages.page_layout import TextRun
from app.parsing.pages.pdf_words import Box, PageTurn

MAX_ANNOTATIONS = 5_000
"""Annotations of a page that are read."""
_HIDDEN = pdfium_c.FPDF_ANNOT_FLAG_HIDDEN | pdfium_c.FPDF_ANNOT_FLAG_NOVIEW
_CHECKED = (pdfium_c.FPDF_FORMFIELD_CHECKBOX, pdfium_c.FPDF_FORMFIELD_RADIOBUTTON)
_CHOICES = (pdfium_c.FPDF_FORMFIELD_COMBOBOX, pdfium_c.FPDF_FORMFIELD_LISTBOX)
_NO_VALUE = (pdfium_c.FPDF_FORMFIELD_PUSHBUTTON, pdfium_c.FPDF_FORMFIELD_SIGNATURE)
_NO_NOTE = (pdfium_c.FPDF_ANNOT_LINK, pdfium_c.FPDF_ANNOT_POPUP, pdfium_c.FPDF_ANNOT_WIDGET)


def values(page: pdfium.PdfPage, turn: PageTurn) -> Iterator[TextRun]:
    """The values of the form fields of a turned page, each where its field is; `[x]` for a box that is checked."""
    if page.formenv is None:
        return
    form = page.formenv
    for annotation in _annotations(page):
        kind = pdfium_c.FPDFAnnot_GetFormFieldType(form, annotation)
        if kind < 0 or kind in _NO_VALUE or pdfium_c.FPDFAnnot_GetSubtype(annotation) != pdfium_c.FPDF_ANNOT_WIDGET:
            continue
        text = _value(form, annotation, kind).strip()
        rect = pdfium_c.FS_RECTF()
        if text and pdfium_c.FPDFAnnot_GetRect(annotation, rect):
            yield from _lines(text, turn.box((rect.left, rect.bottom, rect.right, rect.top)))


def _value(form: Any, annotation: Any, kind: int) -> str:
    if kind in _CHECKED:
        return "[x]" if pdfium_c.FPDFAnnot_IsChecked(form, annotation) else ""
    if kind in _CHOICES:
        options = range(pdfium_c.FPDFAnnot_GetOptionCount(form, annotation))
        chosen = [number for number in options if pdfium_c.FPDFAnnot_IsOptionSelected(form, annotation, number)]
        if chosen:
            return "\n".join(_string(pdfium_c.FPDFAnnot_GetOptionLabel, form, annotation, one) for one in chosen)
    return _string(pdfium_c.FPDFAnnot_GetFormFieldValue, form, annotation)


def _lines(text: str, box: Box) -> Iterator[TextRun]:
    """The lines of a value, one below the other in the box of its field."""
    left, bottom, right, top = box
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    height = (top - bottom) / max(1, len(lines))
    for number, line in enumerate(lines):
        yield TextRun(line, left, top - (number + 1) * height, right, top - number * height)


def notes(page: pdfium.PdfPage) -> Iterator[str]:
    """The notes on a page with their authors, and the texts that were written on it."""
    for annotation in _annotations(page):
        text = " ".join(_string(pdfium_c.FPDFAnnot_GetStringValue, annotation, b"Contents").split())
        if not text or (kind := pdfium_c.FPDFAnnot_GetSubtype(annotation)) in _NO_NOTE:
            continue
        author = " ".join(_string(pdfium_c.FPDFAnnot_GetStringValue, annotation, b"T").split())
        if kind == pdfium_c.FPDF_ANNOT_FREETEXT:
            yield text
        else:
            yield f"Note by {author}: {text}" if author else f"Note: {text}"


def _annotations(page: pdfium.PdfPage) -> Iterator[Any]:
    """The annotations of a page that are shown."""
    for number in range(min(MAX_ANNOTATIONS, pdfium_c.FPDFPage_GetAnnotCount(page))):
        with _annotation(page, number) as annotation:
            if annotation and not pdfium_c.FPDFAnnot_GetFlags(annotation) & _HIDDEN:
                yield annotation


@contextmanager
def _annotation(page: pdfium.PdfPage, number: int) -> Iterator[Any]:
    annotation = pdfium_c.FPDFPage_GetAnnot(page, number)
    try:
        yield annotation
    finally:
        pdfium_c.FPDFPage_CloseAnnot(annotation)


def _string(get: Any, *of: Any) -> str:
    """A text from PDFium, which says its size in bytes first."""
    size = get(*of, None, 0)
    buffer = ctypes.create_string_buffer(size)
    get(*of, ctypes.cast(buffer, ctypes.POINTER(pdfium_c.FPDF_WCHAR)), size)
    return buffer.raw[: max(0, size - 2)].decode("utf-16-le", "replace")

"""Shows numbers in the formats of spreadsheets that change what one reads: percent, currency, decimals and zeros."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal

BUILT_IN = {1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%", 37: "#,##0", 39: "#,##0.00"}
"""Formats that a workbook names by a number only (ECMA-376, part 1, 18.8.30)."""
_SKIPPED = re.compile(r"_.|\*.|\[(?!\$)[^\]]*\]")
"""Blanks as wide as a character, fillers, colours and conditions."""
_CURRENCY = re.compile(r"\[\$([^\]-]*)[^\]]*\]")
_FORMAT = re.compile(
    r"(?P<before>[^#0?]*)(?P<whole>[#0?,]*[#0?])(?:\.(?P<part>[0#?]+))?"
    r"(?P<percent>\s?%)?(?P<after>[^#0?%,]*)"
)
_LARGEST, _MOST_PLACES = 1e15, 10
"""Numbers and places beyond which a spreadsheet has no exact digits."""
_MARKS = re.compile(r'["\\]')
_DATE = re.compile(r"[ymdhseg]", re.IGNORECASE)


def show(value: float, code: str) -> str:
    """A number in the first section of a format; empty for a format that is not known here, as those of dates are."""
    section = _CURRENCY.sub(r'"\1"', _SKIPPED.sub("", code.partition(";")[0]))
    bare = re.sub(r'"[^"]*"|\\.', "", section)
    found = _FORMAT.fullmatch(section)
    if found is None or _DATE.search(bare) or abs(value) >= _LARGEST or len(found["part"] or "") > _MOST_PLACES:
        return ""
    number = Decimal(f"{abs(value):.15g}") * (100 if found["percent"] else 1)
    rounded = number.quantize(Decimal(1).scaleb(-len(found["part"] or "")), ROUND_HALF_UP)
    whole, point, part = f"{rounded:,f}".partition(".")
    if "," not in found["whole"]:
        whole = whole.replace(",", "").zfill(found["whole"].count("0"))
    before, after = (_MARKS.sub("", text) for text in (found["before"], found["after"]))
    return f"{'-' if value < 0 else ''}{before}{whole}{point}{part}{found['percent'] or ''}{after}".strip()

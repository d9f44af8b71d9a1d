"""Decodes the escapes of JSON and XML, which hide words from a search; layout, markup and numbers stay as written."""

from __future__ import annotations

import html
import json
import re

_IN_JSON = re.compile(r"(?P<codes>(?:\\u[0-9a-fA-F]{4})+)|\\(?P<character>.)", re.DOTALL)
_CHARACTERS = {"n": "\n", "t": "\t", "r": "", "b": " ", "f": " ", "/": "/"}
_IN_XML = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")


def decode_json(text: str) -> str:
    """The text of a JSON file with its characters instead of their codes; quotes and backslashes stay escaped."""
    return _IN_JSON.sub(_json_character, text)


def decode_xml(text: str) -> str:
    """The text of an XML file with characters instead of references to them; angle brackets stay references."""
    return _IN_XML.sub(_xml_character, text)


def _json_character(escape: re.Match[str]) -> str:
    if codes := escape["codes"]:
        return json.dumps(json.loads(f'"{codes}"'), ensure_ascii=False)[1:-1]
    return _CHARACTERS.get(escape["character"], escape[0])


def _xml_character(reference: re.Match[str]) -> str:
    character = html.unescape(reference[0])
    return reference[0] if character in "<>" else character

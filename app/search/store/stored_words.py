"""Finds stored words that begin like given words, and words that occur in texts only after a minus sign."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence

from app.database import sql
from app.database.transactions import Reading
from app.documents.store import visible_document_lists
from app.text.queries.parsed_query import IndexText
from app.text.words import languages, tsvector_text

MOST_READ = 200
"""Most chunks with a word whose texts are read, to find a minus sign before it."""

_HOST_FORMS = tuple(itertools.product(("", "www."), ("english", languages.TRUNCATED)))
"""What may precede the name of a host, and configurations. Others index such names as English does."""


async def find_by_prefix(db: Reading, prefixes: Sequence[str], *, limit: int) -> dict[str, list[str]]:
    """For each prefix, up to `limit` stored lexemes that begin with it, by descending document frequency."""
    binds = {
        "user_id": db.user_id,
        "firsts": prefixes,
        "ends": [_after(first) for first in prefixes],
        "queries": ["'" + first.replace("\\", "\\\\").replace("'", "''") + "':*" for first in prefixes],
        "limit": limit,
    }
    parts, seen = await visible_document_lists.counted_binds(db)
    rows = await db.execute(sql.statement("lexemes_by_prefix", *parts), {**binds, **seen})
    return {row.first: row.lexemes for row in rows}


async def find_unknown_hosts(db: Reading, hosts: Sequence[str]) -> list[str]:
    """Returns the hosts of which no text has the name or an address, with or without "www."."""
    forms = {host: {_index(start + host, config) for start, config in _HOST_FORMS} for host in hosts}
    found = await find_by_prefix(db, sorted(set().union(*forms.values()) - {""}), limit=1)
    return [host for host, some in forms.items() if some.isdisjoint(found)]


def _index(host: str, config: str) -> str:
    """Returns how texts index the name of a host; its parts follow it."""
    return tsvector_text.index_text(host, config).partition(" ")[0]


async def find_signed(db: Reading, words: Mapping[str, IndexText]) -> list[str]:
    """Returns the words that occur only after a minus sign, such as "rf" in "-rf".

    At most MOST_READ visible chunks with each word are read.
    """
    binds = {
        "user_id": db.user_id,
        "words": [re.escape(word) for word in words],
        "words_folded": [text.folded for text in words.values()],
        "words_plain": [text.plain for text in words.values()],
        "most_read": MOST_READ,
    }
    found = set(await db.scalars(sql.statement("signed_words"), binds))
    return [word for word in words if re.escape(word) in found]


def _after(start: str) -> str:
    following = min(ord(start[-1]) + 1, 0x10FFFF)
    return start[:-1] + chr(0xE000 if following == 0xD800 else following)

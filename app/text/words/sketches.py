"""Summarises a text in 64 bytes, from which the similarity of two texts is estimated, and finds similar ones.

A sketch is a MinHash (Broder 1997) of the runs of SHINGLE words of a text: of each of HASHES permutations the lowest
four bits of the least hash (b-bit minwise hashing: Li and König 2010). Sketches are stored, so what is computed here
must not change without a new name of the column.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from app.text import interruption
from app.text.words import characters

SHINGLE = 3
HASHES = 128
BYTES = HASHES // 2
MIN_WORDS = 40
"""Words of the shortest text with a sketch; shorter ones that say the same of different things are too alike."""
LEAST = 0.8
"""Least estimated Jaccard index of near duplicates."""
BAND = 3
"""Bytes of a band: texts of which no band is equal are not compared."""
_BLOCK = 32_768
_WORD = re.compile(rf"[{characters.UNSPACED}]|[^\W_{characters.UNSPACED}]+")
_SEEDS = np.frombuffer(hashlib.shake_256(b"stepwell sketch").digest(8 * HASHES), "<u4").astype(np.uint32)
_FACTORS, _TERMS = _SEEDS[:HASHES] | np.uint32(1), _SEEDS[HASHES:]
_SAME_BY_CHANCE = 1 / 16

Numbers = NDArray[np.uint32]
Sketches = NDArray[np.uint8]
"""Sketches, a row each."""


def of(text: str) -> bytes:
    """The sketch of a text; empty if it has fewer than MIN_WORDS words. Linear in the length."""
    least = np.full(HASHES, np.iinfo(np.uint32).max, np.uint32)
    count = 0
    for words in _hashed_words(text):
        interruption.point()
        count += len(words)
        for start in range(0, len(words) - SHINGLE + 1, 1_024):
            some = _hashed_shingles(words[start : start + 1_024 + SHINGLE - 1])
            np.minimum(least, (some[:, None] * _FACTORS + _TERMS).min(axis=0), out=least)
    if count < MIN_WORDS:
        return b""
    low = (_mixed(least) & np.uint32(15)).astype(np.uint8)
    return (low[::2] | low[1::2] << 4).tobytes()


def _hashed_words(text: str) -> Iterator[Numbers]:
    """The hashes of the words of each block of a text, after the last ones of the block before."""
    kept: list[int] = []
    for start in range(0, len(text), _BLOCK):
        found = _WORD.findall(text[start : start + _BLOCK].casefold())
        kept += [zlib.crc32(word.encode("utf-8", "replace")) for word in found]
        yield np.array(kept, np.uint32)
        kept = kept[1 - SHINGLE :]


def _hashed_shingles(words: Numbers) -> Numbers:
    first, second, third = words[:-2], words[1:-1], words[2:]
    return _mixed(first * np.uint32(0x9E3779B1) + second * np.uint32(0x85EBCA77) + third * np.uint32(0xC2B2AE3D))


def _mixed(numbers: Numbers) -> Numbers:
    """The numbers with their bits mixed: the finaliser of MurmurHash3."""
    for factor, shift in ((0x85EBCA6B, 16), (0xC2B2AE35, 13)):
        numbers = (numbers ^ (numbers >> np.uint32(shift))) * np.uint32(factor)
    return numbers ^ (numbers >> np.uint32(16))


def similarity(ones: Sketches, others: Sketches) -> NDArray[np.float64]:
    """Estimated Jaccard indexes of pairs of sketches; their standard error is .04 at .8."""
    different = ones ^ others
    equal: NDArray[np.float64] = np.mean(((different & 15) == 0, (different >> 4) == 0), axis=(0, 2))
    return (equal - _SAME_BY_CHANCE) / (1 - _SAME_BY_CHANCE)


def near(sketches: Sketches) -> NDArray[np.intp]:
    """The row of the first near duplicate of each sketch; its own row for the first of a set and for the others.

    Every sketch of a set is a near duplicate of the first one, so that a chain of small changes is no set. Within a
    band, a sketch is compared with the first one that has the same band, so the work is linear but for sorting.
    """
    firsts = np.arange(len(sketches))
    for start in range(0, BYTES - BAND + 1, BAND):
        keys = sketches[:, start : start + BAND].astype(np.uint32) @ np.array((1, 1 << 8, 1 << 16), np.uint32)
        rows, least = _with_first(keys)
        closer = rows[(least < firsts[rows]) & (similarity(sketches[rows], sketches[least]) >= LEAST)]
        firsts[closer] = least[np.searchsorted(rows, closer)]
    roots = firsts[firsts]
    moved = np.flatnonzero(roots != firsts)
    is_near = similarity(sketches[moved], sketches[roots[moved]]) >= LEAST
    firsts[moved] = np.where(is_near, roots[moved], moved)
    lost = np.flatnonzero(firsts[firsts] != firsts)
    firsts[lost] = lost
    return firsts


def _with_first(keys: Numbers) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The rows whose key an earlier row has, in order, and the first row with the key of each."""
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.concatenate(([True], np.diff(keys[order]) != 0))[: len(keys)])
    firsts = np.empty_like(order)
    firsts[order] = np.repeat(order[starts], np.diff(np.append(starts, len(order))))
    rows = np.flatnonzero(firsts != np.arange(len(keys)))
    return rows, firsts[rows]

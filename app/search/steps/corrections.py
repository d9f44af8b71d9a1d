"""Corrects typing errors: adds similar stored words to a query with words that no chunk contains.

Codes that no chunk contains are searched as chunks write them: `E-2041` for `E2041`.

The vector leg always finds something, so nobody would notice a misspelt word. If every word of the query is stored,
nothing is looked up (docs/decisions/0027-typing-errors.md).
"""

from __future__ import annotations

import functools
import itertools
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.database import sql
from app.database.transactions import Reading, SearchTransaction
from app.documents.store import visible_document_lists
from app.query.search_types import AddedTerm, LexicalQuery, Term, absent_terms
from app.relevance import stem_matching
from app.search import hybrid_request
from app.search.state import SearchState, Step
from app.text.queries import parsed_query, query_parsing, syntax
from app.text.queries.parsed_query import IndexText, ParsedQuery

ORIGIN = "corrections"
NAME = "similar_words"
"""The name of the correction in the answer's `relaxed`."""
MAX_WORDS = 8
"""Most unknown words of a query to correct. The longest are chosen: they have the fewest neighbours by chance."""
MAX_OF_PART = 2
"""A caller who sees a part of the documents gets no corrections for a query with more unknown words of at least
SHORTEST_EDITED letters. A part lacks most words, so such a query is about something else and not misspelt."""
MAX_LEXEMES = 3
"""Most lexemes that correct a word. If there are more, they are neighbours by chance, and none is searched."""


SHORTEST, SHORTEST_EDITED, LONGEST = 3, 5, 24
"""Least letters of a word that may lack accents, least of one that may have a typing error, and most of both. Shorter
words would match others by chance."""
_ARABIC = "\u0600"
"""The first letter of the scripts in which stems may begin within a word."""
_LATIN = "abcdefghijklmnopqrstuvwxyz"
_ACCENTS = (
    "catalan àçèéíïòóúü|danish åæø|french éèêàâçîïôùû|irish áéíóú|italian àèéìòù|lithuanian ąčęėįšųūž|norwegian åæø|"
    "portuguese ãáâçéêíóôõú|romanian ăâîșț|spanish íñóü|swedish åäö"
)
_ACCENTED = {config: letters for config, letters in map(str.split, _ACCENTS.split("|"))}
"""The letters that people type without accents, in languages whose stemmers need accents; German's does not."""
_ALPHABETS = (
    f"{_LATIN}äöüßàâçèéêëîïôùûñáíóúãõåøæ",
    *(_LATIN + letters for letters in ("ąćęłńóśźż", "áčďéěíňóřšťúůýž", "áéíóöőúüű", "çğıöşü", *_ACCENTED.values())),
    "абвгдеёжзийклмнопрстуфхцчшщъыьэюя",
    "абвгґдеєжзиіїйклмнопрстуфхцчшщьюя",
    "αβγδεζηθικλμνξοπρστυφχψωςάέήίόύώ",
    "ءآأؤإئابةتثجحخدذرزسشصضطظعغفقكلمنهوىيپچژکگی",
    "אבגדהוזחטיךכלםמןנסעףפץצקרשת",
)
_CONFIGS = sql.inline(
    "SELECT s.config FROM stepwell.text_statistics AS s WHERE s.user_id = :user_id AND s.chunks > 0 ORDER BY s.config"
)
MAX_RESPELLED = 400
"""Most words that a word without accents may stand for, in all languages of the documents together."""
SPELLED, MISSPELT = 0.99, 0.5
"""Weights of a word with its accents and of the correction of a typing error; a word of the query has 1."""
_WORD = re.compile(r"[^\W\d_]+")
MAX_WRITINGS = 4
"""Most other writings of the codes of a query that are searched for."""
MAX_READ = 5
"""Chunks whose texts are read to find another writing. If its letter is a stop word, some have only the number."""
_CODE = re.compile(
    r"(?<![^\W_])(?:[A-Za-z]\d{1,4}\.[^\W_]{1,8}|[^\W\d_]{1,8}-\d{1,12}|\d{1,12}-[^\W\d_]{1,8}"
    r"|(?:[A-Za-z]|[A-Z]{2,8}) \d{1,12}|[^\W_]{2,24})(?![^\W_])"
)
"""What may be a code. A word before a number belongs to it if it is one letter or in capitals: else each unknown number
would cost a search."""
_PAIR = re.compile(r"(?<![^\W_])[A-Za-z]{1,3}\d{1,4}[A-Za-z]? [A-Za-z]{1,3}\d{1,4}(?![^\W_])")
"""Two parts that may be one code, such as `N02 BE01`."""
_JOINT = re.compile(r"(?<=\d)(?=[^\W\d_])|(?<=[^\W\d_])(?=\d)")


async def recall(search: SearchState, db: SearchTransaction) -> SearchState:
    """Run the statement again with corrections of the unknown codes and words, if there are any."""
    return await _correct(await _rewrite_codes(search, db), db)


async def _rewrite_codes(search: SearchState, db: SearchTransaction) -> SearchState:
    """Run the statement again with the unknown codes of the query as chunks write them."""
    if (lexical := search.request.lexical) is None:
        return search
    missing = {term.lexeme for term in absent_terms(_own(search.result.terms, lexical))}
    points = dict(itertools.islice(_with_points(search.parsed.words, missing), MAX_WRITINGS))
    stored = await _find_stored_edits(db, points)
    found = {code: one.lexemes[0] for code, one in stored.items() if one.lexemes[0] in points[code]}
    for code, other in itertools.islice(_other_writings(search.parsed.words, missing), MAX_WRITINGS):
        text = hybrid_request.index_text(other)
        wanted = replace(lexical, words=text, strict=(*lexical.strict, text))
        tried = await search.recall(db, replace(search.request, limit=MAX_READ, with_content=True, lexical=wanted))
        pattern = re.compile(rf"(?<![^\W_]){other.replace(' ', '[ -]')}(?![^\W_])", re.IGNORECASE)
        if any(pattern.search(one.content) for one in tried.result.candidates):
            found[code] = other
    if not found:
        return search
    codes = "|".join(map(re.escape, found))
    words = re.sub(rf"(?<![^\W_])(?:{codes})(?![^\W_])", lambda match: found[match[0]], search.parsed.words)
    added = (*lexical.added, *(AddedTerm(ORIGIN, code, other) for code, other in found.items()))  # to be explained
    rewritten = replace(lexical, words=hybrid_request.index_text(words), added=added)
    return await replace(search, relaxed=(NAME,)).recall(db, replace(search.request, lexical=rewritten))


def _other_writings(words: str, missing: set[str]) -> Iterator[tuple[str, str]]:
    """The codes of a query with an unknown part, and other writings: `E 2041` for `E2041`, `P0301` for `P-0301`."""
    for code in dict.fromkeys((*_PAIR.findall(words), *_CODE.findall(words))):
        parts = re.split("[ .-]", code)
        if missing.isdisjoint(map(str.casefold, (code, *parts))):
            continue
        if len(parts) > 1:
            yield code, "".join(parts)
        else:
            yield from ((code, f"{code[: at.start()]} {code[at.start() :]}") for at in _JOINT.finditer(code))


def _with_points(words: str, missing: Collection[str]) -> Iterator[tuple[str, list[str]]]:
    """The unknown codes of a query, each with a point after three or more characters: `J45.909` for `J45909`."""
    for code in dict.fromkeys(_CODE.findall(words)):
        if (one := code.casefold()) in missing and one.isalnum() and _JOINT.search(one):
            yield code, [f"{one[:at]}.{one[at:]}" for at in range(3, len(one))]


async def _correct(search: SearchState, db: SearchTransaction) -> SearchState:
    """Run the statement again with corrections of the unknown words, if there are any."""
    request, lexical = search.request, search.request.lexical
    if lexical is None:
        return search
    terms = _own(search.result.terms, lexical)
    groups = () if search.found_nothing else search.parsed.groups  # a prefix that finds passages is not misspelt
    prefixes = [one.text for group in groups for one in parsed_query.operands(group) if one.is_prefix]
    words = _unknown(search.parsed, terms, prefixes)
    edited = [word for word in words if len(word) >= SHORTEST_EDITED]
    if not words or (db.restriction is not None and len(edited) > MAX_OF_PART):
        return search
    seen = None if db.listed is None else db.listed.statistics
    configs = sorted(seen) if seen is not None else await db.scalars(_CONFIGS, {"user_id": db.user_id})
    spelled = await _find_stored_edits(db, spellings(words, configs))
    found = spelled | await _find_stored_edits(db, {word: edits(word) for word in edited if word not in spelled})
    missing = [term.lexeme for term in absent_terms(terms)]
    lexemes = {word: _unrelated(found[word].lexemes, word, missing) for word in words if word in found}
    corrections = [
        AddedTerm(
            ORIGIN,
            word,
            lexemes=tuple(known),
            weight=SPELLED if word in spelled else MISSPELT,
            idf=found[word].idf,
            corrects=_forms(word, missing),
        )
        for word, known in lexemes.items()
        if 1 <= len(known) <= MAX_LEXEMES
    ]
    if not corrections:
        return search
    corrected = replace(request, lexical=replace(lexical, added=(*lexical.added, *corrections)))
    with search.context.timed("recall"):
        return await replace(search, relaxed=(NAME,)).recall(db, corrected)


def _forms(word: str, missing: Sequence[str]) -> tuple[str, ...]:
    """The lexemes that a misspelt word has in the languages of the documents."""
    spellings = (word, hybrid_request.index_text(word).folded)
    return tuple(
        one for one in missing if any(stem_matching.may_be_stem(stem_matching.fold(one), form) for form in spellings)
    )


@dataclass(frozen=True, slots=True)
class _StoredEdits:
    """The stored lexemes of a word's edits, most frequent first, and the idf of the first.

    No correction has a larger idf: the rarest neighbour of a word is rarely what was meant. The idf is None if it
    counts documents that the caller does not see.
    """

    lexemes: Sequence[str]
    idf: float | None


async def _find_stored_edits(db: Reading, edited: Mapping[str, Iterable[str]]) -> dict[str, _StoredEdits]:
    """The stored edits of each word that no visible chunk contains.

    A word without a lexeme of its own, such as a stop word, has no corrections.
    """
    if not edited:
        return {}
    own, changed = list(map(hybrid_request.index_text, edited)), list(map(_index, edited.values()))
    binds = {
        "user_id": db.user_id,
        "words": list(edited),
        "words_folded": [text.folded for text in own],
        "words_plain": [text.plain for text in own],
        "edits_folded": [text.folded for text in changed],
        "edits_plain": [text.plain for text in changed],
        "limit": MAX_LEXEMES + 1,
    }
    parts, seen = await visible_document_lists.counted_binds(db)
    rows = await db.execute(sql.statement("corrections_of_words", *parts), {**binds, **seen})
    return {row.word: _StoredEdits(row.lexemes, row.idf if db.counts_seen else None) for row in rows}


def _index(words: Iterable[str]) -> IndexText:
    """Words as they are indexed. ASCII letters are indexed as they are; to analyse hundreds of them takes .6 ms."""
    text = " ".join(words)
    return IndexText(text, text) if text.isascii() else hybrid_request.index_text(text)


def explain(search: SearchState) -> dict[str, Any]:
    """The lexemes that correct each misspelt word, and how chunks write a code."""
    added = search.request.lexical.added if search.request.lexical else ()
    return {"corrections": {one.word: list(one.lexemes) or [one.text] for one in added if one.origin == ORIGIN}}


def _own(terms: Sequence[Term], lexical: LexicalQuery) -> list[Term]:
    """The terms that the query itself contains. Terms with alternatives count as known: they are not misspelt."""
    meant = {lexeme for one in lexical.added for lexeme in one.alternative_to}
    own = (term for term in terms if not term.is_added)
    return [replace(term, df=term.df or 1) if term.lexeme in meant else term for term in own]


def _unknown(parsed: ParsedQuery, terms: Sequence[Term], prefixes: Sequence[str]) -> list[str]:
    """The words that may be misspelt and have an unknown lexeme, except quoted and required words and prefixes.

    A word that begins with a known lexeme may have that lexeme in another language, so it counts as known.
    """
    known = [term.lexeme for term in terms if term.df and len(term.lexeme) >= stem_matching.SHORTEST]
    firsts = {term.lexeme[0] for term in absent_terms(terms)}
    if not firsts:
        return []
    words = may_be_misspelt(parsed.words, (*parsed.phrases, *parsed.required, *prefixes))
    forms = {word: {word, _index([word]).folded} for word in words}
    unknown = [word for word in words if any(firsts.intersection(form[: _stem_window(form)]) for form in forms[word])]
    is_known = {
        word: any(stem_matching.may_be_stem(stem, form) for form in forms[word] for stem in known) for word in unknown
    }
    return [word for word in unknown if not is_known[word]][:MAX_WORDS]


def _stem_window(form: str) -> int:
    """Within how many letters a stem of a word begins: Arabic's stemmer takes off `wal` and the like."""
    return 4 if form[:1] >= _ARABIC else 1


def _unrelated(lexemes: Sequence[str], word: str, missing: Sequence[str]) -> list[str]:
    """Omits lexemes that begin with a stem of an inflected word: "supplier" is a relative of "supplies".

    A stem that equals the word does not count: the word may lack its last letter, as "accoun" does.
    """
    return [lexeme for lexeme in lexemes if not any(lexeme.startswith(stem) for stem in missing if stem != word)]


def may_be_misspelt(query: str, literal: Iterable[str] = ()) -> list[str]:
    """Returns the words of a query that may have a typing error or lack accents, each once, the longest first.

    Omits words in `literal`, identifiers, file names, numbers and acronyms, because they are meant as written, and
    words of other scripts than Latin, Cyrillic, Greek, Arabic and Hebrew.
    """
    kept = {word.casefold() for text in literal for word in _WORD.findall(text)}
    kept |= {word.casefold() for word in query_parsing.identifiers(query)}
    all_capitals = query.isupper()
    found: dict[str, None] = {}
    for word in query.split():
        bare = word.strip(syntax.EDGES)
        is_usual = all_capitals or bare[1:] == bare[1:].lower()
        if is_usual and SHORTEST <= len(bare) <= LONGEST and _WORD.fullmatch(bare) and _alphabet(bare):
            found[bare.casefold()] = None
    return sorted((word for word in found if word not in kept), key=len, reverse=True)


def edits(word: str) -> list[str]:
    """Returns the words that one typing error turns into `word`: a letter is missing, added or wrong, or two swapped.

    These are the words at a distance of 1 (optimal string alignment), in the letters of its alphabet. The first letter
    is not replaced: it is wrong in only 1.4 % of errors (Yannakoudakis and Fawthrop 1983).
    """
    letters = _alphabet(word) or ""
    splits = [(word[:place], word[place:]) for place in range(len(word) + 1)]
    found = [before + after[1:] for before, after in splits if after]
    found += [before + after[1] + after[0] + after[2:] for before, after in splits if len(after) > 1]
    found += [before + letter + after[1:] for before, after in splits[1:] if after for letter in letters]
    found += [before + letter + after for before, after in splits for letter in letters]
    return [one for one in dict.fromkeys(found) if one != word]


def spellings(words: Iterable[str], configs: Iterable[str]) -> dict[str, list[str]]:
    """Returns the words that each word may stand for if it lacks the accents of a language of the configurations."""
    used = [_typed(config) for config in configs if config in _ACCENTED]
    most = MAX_RESPELLED // max(1, len(used))
    found = {word: [one for typed in used for one in itertools.islice(_spellings(word, typed), most)] for word in words}
    return {word: respelled for word, respelled in found.items() if respelled}


@functools.cache
def _typed(config: str) -> dict[str, list[str]]:
    """The letters with accents of a language, by what people type instead of them, the longest first.

    Two letters such as "ae" stand for one (æ), or for the first one with an accent and the second (åe).
    """
    typed: defaultdict[str, list[str]] = defaultdict(list)
    for letter in _ACCENTED[config]:
        typed[hybrid_request.index_text(letter).folded].append(letter)
    for pair in [written for written in typed if len(written) > 1]:
        typed[pair] += [letter + pair[1:] for letter in typed.get(pair[0], ())]
    return dict(sorted(typed.items(), key=lambda one: -len(one[0])))


def _spellings(word: str, typed: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The words with an accent on one letter, then those with accents on two, and so on."""
    parts = re.findall("|".join(typed) + "|.", word)
    places = [place for place, part in enumerate(parts) if part in typed]
    chosen = itertools.chain.from_iterable(itertools.combinations(places, count + 1) for count in range(len(places)))
    written = ((some, letters) for some in chosen for letters in itertools.product(*(typed[parts[at]] for at in some)))
    for some, letters in written:
        changed = dict(zip(some, letters, strict=True))
        yield "".join(changed.get(place, part) for place, part in enumerate(parts))


def _alphabet(word: str) -> str | None:
    """Returns the letters of the first alphabet that a word is written in, English for ASCII; None if there is none."""
    if word.isascii():
        return _LATIN
    return next((letters for letters in _ALPHABETS if set(word.casefold()) <= set(letters)), None)


STEP = Step(uses=lambda search: search.found_nothing or search.lacks_words, recall=recall, explain=explain)

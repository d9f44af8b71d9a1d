"""Parses a query into words, phrases and conditions, classifies its shape, and finds its literal matches in a hit."""

from __future__ import annotations

import itertools
import json
import re
import unicodedata
import urllib.parse
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from app.enums import QueryType
from app.text import unstorable_json
from app.text.queries import syntax
from app.text.queries.parsed_query import Condition, Negation, ParsedQuery, is_simple
from app.text.queries.syntax import QueryReading
from app.text.words import characters, cleaning, word_lists

MIN_SENTENCE_WORDS = 6  # a shorter query with a function word is not a sentence
MIN_ASKED = 2  # fewer words than these after "tell me" are no request
MAX_TURNS = 2  # of a chat that are searched for: a later one often leaves out what an earlier one names
MAX_HOSTS = 8  # hosts of addresses that are looked up
MAX_COURTESIES = 3  # before a question, and after it
MAX_WORDS_OUTSIDE_QUOTES = 3  # a question with more words outside its quotes does not require the quoted phrases
ASKED_IN_JSON = ("query", "queries", "question", "questions", "q", "input", "text")
"""The names under which a JSON object has what is asked; the first that it has counts."""
MAX_IDENTIFIER_LENGTH = 200  # code points; a longer word is data

_CONTENT = re.compile(r"[^\W_]")
_TEXTS = ("word", "phrase", "prefix", "mark")
"""The kinds of tokens with a text."""
_IDENTIFIER = re.compile(
    r"[^\W_]+(?:_+[^\W_]+)+|_++[^\W_]\w*+"  # snake_case, __init__
    r"|[a-z]{2,}\d*(?:[A-Z][a-z0-9]+)+[A-Z]*|(?:[A-Z][a-z0-9]+){3,}|[A-Z]\w*(?:Error|Exception)"  # camelCase
    r"|v\d+(?:\.\d+)+\S*|\d+\.\d+\.\d+\S*"  # versions, addresses
    r"|[A-Z]{1,8}-?\d{3,}|0x[\da-fA-F]+|(?=\d*[a-f])(?=[a-f]*\d)[\da-f]{7,40}"  # codes
    r"|--[a-z][a-z0-9-]*=?\S*"  # flags
    r"|(?:[A-Za-z]:|~|\.{0,2})?[/\\][\w.-]+(?:[/\\][\w.-]*)*|https?://\S+|\S+@[\w-]+\.[\w.-]+"  # paths, addresses
    r"|[\w-]+(?:/[\w.-]+)*/[\w-]+\.[a-z]{1,5}|[a-z0-9_-]{2,}(?:\.[a-z0-9_]{1,})+|\w+\(\)|\w+::\w+\S*"
)


_ADDRESS = re.compile(
    r"(?<![^\s(\[<,;])https?://(?P<host>[^\s/?#:.\"<>()\[\]]+\.[^\s/?#:\"<>()\[\]]+)"
    r"(?P<path>[^\s?#\"<>()\[\]]*)[^\s\"<>()\[\]]*",
    re.IGNORECASE,
)
"""An address of the web that no quote, sign or field precedes."""
_LETTERS = re.compile(r"[^\W\d_]{2,}")
_FRAME = re.compile(
    r"^[ \t]*+(?:Traceback \(most recent call last\):|\.\.\. \d+ (?:more|common frames omitted)"
    r"|(?:The above exception was|During handling of the above exception).{0,80}:"  # Python, two errors
    r'|File "[^"\n]+", line \d+.*(?:\n[ \t]{4,}(?!File ").*)*'  # Python, with its code
    r"|at (?:(?:.{0,400}[ \t])?[^\s\d]\S*:\d+\)?|.{1,400}(?::line \d+"
    r"|\((?:<anonymous>|native|Native Method|Unknown Source|index \d+)\)))"
    r"|from [^\s:]+:\d+:in .*|.{1,400}? called at .{1,400}? line \d+\.?"  # Ruby, Perl
    r"|#\d+[ \t].{1,400}(?: at [^\s\d]\S*:\d+|\(\d+\): .*)|(?<=[ \t])/\S+:\d+(?: \+0x[\da-f]+)?"  # gdb, PHP, Go
    r")[ \t\r]*(?:\n|$)",
    re.MULTILINE,
)
"""A frame of a stack trace, or a line that joins traces. In JavaScript, Java and C# a frame begins with `at`."""
_TURN = re.compile(
    r"(?im)^(?:role\n(?:(user)|\w+)\ncontent\n(?:type\ntext\ntext\n)?|(?:(user|human)|assistant|ai|bot)[ \t]*:[ \t]*)"
)
"""The beginning of a turn of a chat with a model, in JSON or in text."""
_GREETING = (
    r"(?:hi|hello|hey|dear|good (?:morning|afternoon|evening)|hallo|guten (?:tag|morgen)|hola|buenos días|bonjour|ciao"
    r"|buongiorno|olá|bom dia)"
)
_THANKS = (
    r"(?:please|bitte|por favor|s'il vous plaît|(?:many )?thanks|thank you|thx|cheers|(?:vielen )?dank|danke|merci"
    r"|(?:muchas )?gracias|grazie|obrigad[oa])"
)
_REGARDS = (
    r"(?:(?:(?:best|kind|warm) )?regards|best wishes|(?:mit freundlichen|viele|beste) grüßen?|cordialement|saludos"
    r"|cordiali saluti|atenciosamente)"
)
_SALUTATION = re.compile(
    rf"\s*(?:{_GREETING}|liebe[rs]?|sehr geehrte[rs]?|estimad[oa]s?|ch(?:er|ère)s?|gentil[ei]|prezad[oa]s?)"
    r"\b[^\n?]{0,80}\n",
    re.IGNORECASE,
)
_SIGN_OFF = re.compile(
    rf"^[ \t]*(?:(?:with )?{_REGARDS}|liebe grüße|(?:yours )?sincerely|{_THANKS})[ \t]*[,.!]?[ \t\r]*$",
    re.IGNORECASE | re.MULTILINE,
)
"""The first line of a letter, and the last one before the names and whatever is quoted below."""
_OPENING = re.compile(
    r"\s*¿?(?:"
    rf"{_GREETING}(?: (?:there|all|everyone|team|folks|colleagues|sir|or|madam|zusammen|a todos|à tous))*"
    r"\s{0,3}[,.!:\n]"
    r"|(?:please |could you |can you |would you |will you )+(?:kindly )?"
    r"(?:(?:tell|show|give) me|explain(?: to me)?|help me)\b"
    r"|tell me\b|(?:i would like|i'd like|i want|i need) to know\b|i was wondering\b|do you know\b"
    r"|(?:können sie|könnten sie|kannst du) (?:mir )?(?:bitte )?(?:sagen|erklären)\b"
    r"|ich (?:möchte|will|würde gern) wissen\b"
    r"|(?:pouvez-vous|pourriez-vous|peux-tu) (?:me |m'|m’)(?:dire|expliquer)\b|je (?:voudrais|veux) savoir\b"
    r"|(?:puedes?|podrías?) (?:decirme|explicarme)\b|(?:quiero|quisiera|me gustaría) saber\b"
    r"|(?:puoi|può|potresti|potrebbe) (?:dirmi|spiegarmi)\b|vorrei sapere\b"
    r"|(?:pode|poderia) (?:me )?(?:dizer|explicar)(?:-me)?\b|(?:quero|queria|gostaria de) saber\b"
    r"|(?:answer (?:the |this |my )?(?:following )?question\b[^?:]{0,200}|question\s?):"
    r")[\s,:]*",
    re.IGNORECASE,
)
_SEARCH = re.compile(
    r"(?:please )?(?:(?:find|get|give me|show me|look for|search for) (?:me )?(?:all |any |some |more )?"
    r"(?:information|info|details|documents|passages|everything) "
    r"(?:about|on|regarding|concerning|(?:that|which) (?:describes?|explains?|mentions?|discuss(?:es)?))"
    r"(?: the following)?"
    r"|search (?:in |through )?(?:my|our|the) (?:documents|docs|files|notes|knowledge base) (?:for|about))\b[\s:]*"
    r"(?=\w)",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    r"(?<=[.,;!?\n])\s{0,3}(?:"
    rf"{_THANKS}"
    r"(?: (?:so|very|a lot|much|again|in advance|for (?:your|any|the) help|im voraus|schön|sehr|beaucoup|d'avance|mille"
    r"|por adelantado|de antemano))*(?:[,\n]\s{0,3}[^\W\d_]{1,20}){0,2}"
    rf"|{_REGARDS}"
    r"[\s,]{0,4}(?:[^\W\d_]{1,20}[ .]{0,2}){0,3}"
    r")[\s.!]{0,5}$",
    re.IGNORECASE,
)
"""How people begin and end a question to somebody. Verbose queries lose most by such words (Huston and Croft 2010)."""
_LETTER = rf"[^\W{characters.UNSPACED}]"
_BEFORE, _AFTER = rf"(?<!{_LETTER})(?<!{_LETTER}[-.:])", rf"(?!{_LETTER})(?![-.:]{_LETTER})"
_WORDS = re.compile(rf"{_LETTER}+|[{characters.UNSPACED}]")
MIN_TITLE_LENGTH = 4
"""Least number of characters in a title that is matched. Shorter titles occur in queries by chance."""
_ASKED = re.compile(
    r"(?<![\w-])(?:latest|newest|most\s+recent(?:ly)?"
    r"|(?:aller)?neue?ste[mnrs]?|aktuellste[mnrs]?"
    r"|nieuwste|meest\s+recente"
    r"|(?:plus\s+récente?s?|más\s+recientes?|più\s+recent[ei]|mais\s+recentes?)(?!\s+qu))(?![\w-])",
    re.IGNORECASE,
)
"""Only superlatives: "recent", "current" and "last" mostly restrict a question and do not ask for the newest. "plus
récent que" compares."""
_QUOTED = re.compile(r"[\"“”„«][^\"“”„«»]*[\"“”»]|(?<!\w)['‘][^'‘’]*['’](?!\w)")
_DATED = re.compile(
    r"(?<![\w.-])(?:(?:1[89]|20)\d\d(?:[-/.]?(?:0?[1-9]|1[0-2])(?:[-/.]?[0-3]?\d)?)?|[0-3]?\d\.\s?[01]?\d\.\d{2,4})(?![\w-])"
)
"""A year from 1800 to 2099, alone or with a month and a day."""


def length(query: str) -> int:
    """Returns the number of characters of a query, or of its NFKC if that is longer, because words are indexed in NFKC.

    One ligature may stand for 18 characters (U+FDFA).
    """
    return max(len(query), len(unicodedata.normalize("NFKC", query)))


def without_json(query: str) -> str:
    """Returns what a JSON object asks, or the names and values of JSON without a question, such as a logged record.

    JSON is data. Its quotes would be required phrases, its names of arguments words of the question.
    """
    text = query.strip()
    if text.startswith("```"):
        text = text.strip("`").removeprefix("json").lstrip()
    if text[:1] not in ("{", "["):
        return query
    try:
        data = json.loads(text, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return query
    asked = next((data[name] for name in ASKED_IN_JSON if name in data), data) if isinstance(data, dict) else data
    found = "\n".join(_texts(asked))
    return found if found and unstorable_json.is_usable(found) else query


def _texts(data: Any) -> Iterator[str]:
    """Yields the names and values of JSON in their order, however deep they are nested."""
    pending = [data]
    while pending:
        one = pending.pop()
        if isinstance(one, dict):
            pending += itertools.chain.from_iterable((value, name) for name, value in reversed(one.items()))
        elif isinstance(one, list):
            pending += reversed(one)
        elif one is not None:
            yield str(one)


def without_frames(query: str) -> str:
    """Returns a query without the frames of a pasted stack trace, so that its error is searched for.

    The names and numbers of many frames outweigh the words of the error, and a model reads the beginning only. One line
    that looks like a frame, and a trace without an error, are kept.
    """
    error, frames = _FRAME.subn("", query)
    return error if frames > 1 and error.strip() else query


def end_of_chat(query: str) -> str:
    """Returns the last two turns of the user in a chat with a model, if it ends with one. The answers would be found.

    Any other text is returned unchanged, such as a question above the settings `bot: on` and `user: root`.
    """
    parts = _TURN.split(query)
    turns = [(parts[at] or parts[at + 1], parts[at + 2].strip()) for at in range(1, len(parts), 3)]
    said = [(role, text) for role, text in turns if text]
    asked = [text for role, text in said if role]
    has_speakers = len(asked) < len(turns) or "role\n" in query
    is_chat = has_speakers and said[-1:] and said[-1][0] and "?" not in parts[0]
    return "\n".join(asked[-MAX_TURNS:]) if is_chat else query


def body_of_letter(query: str) -> str:
    """Returns what a letter or mail says between its salutation and its sign-off, if it asks there and not below.

    Names, numbers and quoted messages below would be searched for. Any other text is returned unchanged.
    """
    salutation = _SALUTATION.match(query)
    sign_off = _SIGN_OFF.search(query, salutation.end()) if salutation else None
    if salutation is None or sign_off is None:
        return query
    body, below = query[salutation.end() : sign_off.start()], query[sign_off.end() :]
    return body if "?" in body and "?" not in below else query


def without_courtesies(query: str) -> str:
    """Returns a question without greetings, thanks and requests such as "could you tell me", which no passage answers.

    If a capital follows and no question is left, they are part of a title: "Hello, Love, Goodbye director".
    """
    asked = query
    for _ in range(MAX_COURTESIES):
        opening, closing = _OPENING.match(asked), _CLOSING.search(asked)
        if opening is None and closing is None:
            break
        asked = asked[opening.end() if opening else 0 : closing.start() if closing else None]
    words = asked.split()
    is_asked = asked[:1].islower() or _is_sentence(asked, words)
    asked = asked if is_asked and len(words) >= MIN_ASKED else query
    searched = _SEARCH.match(asked)
    return asked[searched.end() :] if searched else asked


def hosts_of_addresses(query: str) -> list[str]:
    """Returns the hosts of the addresses in a query that has other words too, in lower case and without "www."."""
    if "://" not in query or sum(map(bool, map(_CONTENT.search, _ADDRESS.sub(" ", query).split()))) < MIN_ASKED:
        return []
    return list(dict.fromkeys(_host(found) for found in _ADDRESS.finditer(query)))[:MAX_HOSTS]


def without_addresses(query: str, hosts: Collection[str]) -> str:
    """Returns a query with only the words of the last segment, which names the page, of addresses on these hosts."""
    return _ADDRESS.sub(lambda found: _page(found["path"]) if _host(found) in hosts else found[0], query)


def _host(address: re.Match[str]) -> str:
    return address["host"].lower().removeprefix("www.").rstrip(".,;!")


def _page(path: str) -> str:
    name = urllib.parse.unquote(path).rstrip("/").rpartition("/")[2]
    return " ".join(_LETTERS.findall(re.sub(r"\.[a-z]{1,5}$", "", name)))


def normalise(query: str) -> str:
    """Returns the query in NFC, without control and invisible characters, each run of white space one space."""
    return " ".join(cleaning.clean(query).text.split())


def parse(query: str, *, literal: Collection[str] = ()) -> ParsedQuery:
    """Reads a query in the grammar of `syntax`. A query that breaks the grammar is read as words, never rejected.

    A query of only exclusions has no `words`, but `text` keeps the excluded words, because something must be embedded.
    If a question has more words outside than inside its quotes, the quoted words are a title or saying and not a
    required phrase. `literal` are words whose minus sign belongs to them, such as "-rf".
    """
    query = normalise(query)
    reading = syntax.read(query, literal=literal)
    said = [(place, token) for place, token in enumerate(reading.tokens) if token.kind in _TEXTS]
    wanted = [token for place, token in said if place not in reading.excluded]
    words = " ".join(token.text for token in (reading.tokens if reading.error else wanted) if token.text)
    text = words or " ".join(token.text for _place, token in said) or query
    required, phrases, excluded, groups = _sort(reading)
    if phrases:
        outside = sum(token.kind == "word" for token in wanted)
        inside = sum(len(phrase.split()) for phrase in phrases)
        is_about_them = outside > max(MAX_WORDS_OUTSIDE_QUOTES, inside) and _is_sentence(words, words.split())
        phrases = () if is_about_them else phrases
    signed = (place for place in sorted(reading.excluded) if place and reading.tokens[place - 1].kind == "-")
    return ParsedQuery(
        text=text,
        words=words,
        required=required,
        phrases=phrases,
        excluded=excluded,
        query_type="phrase" if phrases else query_type(text),
        groups=groups,
        expression_error=reading.error,
        signed=_distinct(
            f"-{bare(reading.tokens[place].text)}" for place in signed if reading.tokens[place].kind == "word"
        ),
    )


def _sort(
    reading: QueryReading,
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], tuple[Condition, ...]]:
    """The required words, the phrases, the exclusions, and all other conditions."""
    required, phrases, excluded = list[str](), list[str](), list[str]()
    groups: list[Condition] = []
    for clause in reading.clauses:
        one = clause.condition
        if clause.role == "optional":
            continue
        if not is_simple(one):
            groups.append(one if clause.role == "required" else Negation(one))
        elif clause.role == "excluded":
            excluded.append(bare(one.text))
        elif one.is_phrase:
            phrases.append(one.text)
        else:
            required.append(bare(one.text))
    return _distinct(required), _distinct(phrases), _distinct(excluded), tuple(dict.fromkeys(groups))


def query_type(text: str) -> QueryType:
    """Returns the shape of a query without phrases: the first that fits of technical, conceptual, entity and keyword.

    An identifier makes it technical. A question, or six words with a function word, is conceptual even if it contains a
    name. If that name is a known entity, the caller sets the type to entity. Two capitalised words in a row, with or
    without a particle such as "of" between them, are an entity, unless the query is all capitals.
    """
    if identifiers(text):
        return "technical"
    words = _bare_words(text)
    if _is_sentence(text, words):
        return "conceptual"
    pairs = itertools.pairwise(word for word in words if word not in word_lists.QUERY_PARTICLES)
    has_name = any(first[0].isupper() and second[0].isupper() for first, second in pairs)
    return "entity" if has_name and not all(map(str.isupper, words)) else "keyword"


def identifiers(text: str) -> list[str]:
    """Returns the words of a query that are names of code, codes, versions, flags, paths or addresses.

    Plain numbers, such as years, do not count.
    """
    return [word for word in _bare_words(text) if len(word) <= MAX_IDENTIFIER_LENGTH and _IDENTIFIER.fullmatch(word)]


def _bare_words(text: str) -> list[str]:
    return [stripped for word in text.split() if (stripped := bare(word))]


def bare(word: str) -> str:
    """Returns a word without the punctuation around it."""
    return word.strip(syntax.EDGES) if not word.endswith("()") else word.lstrip(syntax.EDGES)


def _distinct(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value for value in values if _CONTENT.search(value)))


def _is_sentence(text: str, words: Sequence[str]) -> bool:
    if syntax.is_question(text, words):
        return True
    lowered = [word.lower() for word in words]
    return len(words) >= MIN_SENTENCE_WORDS and any(word in word_lists.SENTENCE_WORDS for word in lowered)


def asks_for_newest(query: str) -> bool:
    """Whether a query asks for the newest: "latest", "newest" or "most recent", also in six other languages.

    Quoted words are a title or a phrase and do not count. A query that names a date asks for the newest of that time.
    """
    unquoted = _QUOTED.sub(" ", query)
    return _ASKED.search(unquoted) is not None and _DATED.search(unquoted) is None


def find_literal_matches(parsed: ParsedQuery, passages: Iterable[tuple[str, str]]) -> list[tuple[str, ...]]:
    """Returns the literal matches of each passage: any of `phrase`, `identifier`, `title`.

    A passage is a title and a content, which includes the headings above the text. A part of a longer identifier does
    not match: "ERR_40" in "ERR_4012", "1.2" in "1.2.3". Letters of a script without spaces may adjoin an identifier.
    """
    phrases, words = list(map(_space, parsed.phrases)), _space(parsed.words)
    coded = identifiers(parsed.words) if parsed.query_type == "technical" else []
    codes = [re.compile(f"{_BEFORE}{re.escape(one.casefold())}{_AFTER}") for one in coded]
    every = []
    for title, content in passages:
        found, text = [], f"{title} {content}"
        if phrases and _contains_all(_space(text), phrases):
            found.append("phrase")
        if codes and _matches_any(text.casefold(), codes):
            found.append("identifier")
        spaced_title = _space(title)
        if len(spaced_title.strip()) >= MIN_TITLE_LENGTH and spaced_title in words:
            found.append("title")
        every.append(tuple(found))
    return every


def _contains_all(text: str, phrases: Iterable[str]) -> bool:
    return all(phrase.strip() and phrase in text for phrase in phrases)


def _matches_any(text: str, codes: Iterable[re.Pattern[str]]) -> bool:
    return any(code.search(text) for code in codes)


def _space(text: str) -> str:
    """Returns the words of a text, each between single spaces, so that `in` compares whole words.

    In scripts without spaces each character is a word.
    """
    return f" {' '.join(_WORDS.findall(text.casefold()))} "

"""Finds the text-search configuration of Postgres for a named language, or for the language of a text.

A text's language is detected by script, alphabet and frequent words (docs/decisions/0033-language-detection.md). The
frequent words of a language come from jusText's lists, which are sorted by frequency. Each different word of a text is
evidence for a language: the logarithm of LISTED / rank, with its rank in the language's list. By Zipf's law the
frequency of a word is inversely proportional to its rank. Letters that English lacks are evidence, too.
"""

from __future__ import annotations

import functools
import importlib.util
import itertools
import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

MAX_LENGTH = 100
"""Most characters of a language name that is looked up."""
UNSTEMMED = "simple"
"""The configuration for languages without their own: no stemming, no stop words."""
TRUNCATED = "stepwell.truncated"
"""The configuration for inflected languages without a good stemmer: words are cut off after six letters."""

_STEMMED_NAMES = (
    "arabic ar العربية|armenian hy Հայերեն|catalan ca català|danish da dansk|"
    "dutch nl Nederlands flemish|english en|french fr français|german de Deutsch|"
    "greek el Ελληνικά|hindi hi हिन्दी|indonesian id Bahasa_Indonesia|irish ga Gaeilge|"
    "italian it italiano|lithuanian lt lietuvių|nepali ne नेपाली|norwegian no nb nn norsk bokmål nynorsk|"
    "portuguese pt português|romanian ro română moldovan|russian ru русский|serbian sr српски srpski|"
    "spanish es español castellano castilian|swedish sv svenska|tamil ta தமிழ்|yiddish yi ייִדיש"
)
_STEMMED = {config: names for config, *names in map(str.split, _STEMMED_NAMES.split("|"))}
"""The languages with a configuration of their own: its name, the codes of the language, and its own names."""
CODES = {config: code for config, (code, *_) in _STEMMED.items()}
"""The ISO 639-1 code of each language with a configuration of its own."""
_TRUNCATED_NAMES = (
    "afrikaans af albanian sq shqip azerbaijani az basque eu euskara belarusian be беларуская bosnian bs bosanski "
    "bulgarian bg български croatian hr hrvatski czech cs čeština esperanto eo estonian et eesti finnish fi suomi "
    "galician gl galego hungarian hu magyar icelandic is íslenska kazakh kk kyrgyz ky latin la latvian lv latviešu "
    "macedonian mk македонски mongolian mn polish pl polski slovak sk slovenčina slovenian sl slovenščina "
    "turkish tr Türkçe ukrainian uk українська uzbek uz"
)
"""Their words are inflected by endings. Postgres has no stemmer for them, or one that finds less."""
_OTHERS = (
    "bengali বাংলা burmese မြန်မာ chinese 中文 汉语 漢語 mandarin cantonese filipino tagalog georgian ქართული "
    "hebrew עברית japanese 日本語 khmer ខ្មែរ korean 한국어 lao ລາວ malay marathi मराठी persian فارسی farsi punjabi "
    "swahili kiswahili telugu తెలుగు thai ไทย urdu اردو vietnamese Tiếng_Việt welsh cymraeg"
)


def look_up_config(language: str) -> str | None:
    """Returns the Postgres text-search configuration of a language, 'simple' if it has none; None for no language.

    A language is a BCP 47 tag ("de-AT", "zh_Hant"), an ISO 639 code ("de", "ger"), or a name in English or in the
    language itself ("German", "Deutsch"), with or without accents.
    """
    if len(language) > MAX_LENGTH:
        return None
    key = _key(language)
    if key in CONFIGS:
        return CONFIGS[key]
    import langcodes  # its tables take a thirtieth of the service's start, and few languages need them

    if not langcodes.tag_is_valid(language.strip()):
        return None
    return CONFIGS.get(langcodes.Language.get(language.strip()).language or "", UNSTEMMED)


@functools.cache
def configs_of(codes: frozenset[str]) -> frozenset[str]:
    """Returns the configurations of languages by their two-letter codes."""
    return frozenset(CONFIGS.get(code, UNSTEMMED) for code in codes)


def accepted() -> str:
    """Returns a sentence on the languages that `look_up_config` accepts."""
    stemmed = ", ".join(name.capitalize() for name in _STEMMED)
    return (
        "Use a BCP 47 tag or ISO 639 code such as en, de-AT or zh-Hant, or a name in English or the language itself. "
        f"Stemmed are {stemmed}. Words of Polish, Turkish, Ukrainian and other languages that inflect by endings end "
        "after six letters; others, such as Chinese, are indexed as written."
    )


def _key(name: str) -> str:
    bare = (c for c in unicodedata.normalize("NFKD", name.strip()) if unicodedata.category(c) != "Mn")
    return " ".join("".join(bare).casefold().split())


CONFIGS: Mapping[str, str] = MappingProxyType(
    {
        _key(name.replace("_", " ")): config
        for config, names in (
            *_STEMMED.items(),
            (TRUNCATED, _TRUNCATED_NAMES.split()),
            (UNSTEMMED, _OTHERS.split()),
        )
        for name in (config, *names)
    }
)
"""Names and two-letter codes of languages, as keys, to the text-search configuration of Postgres 15 to 18."""

LISTED = 400
"""Number of known words per language."""
SAMPLE, SAMPLES = 2_000, 3
"""Code points of a sample, and samples of a longer text: from its beginning, its middle and its end."""
LEAST_WORDS, LEAST_FREQUENT = 4, 2
"""A text in Latin script is foreign only with LEAST_WORDS different words that are frequent in the language or have
letters that English lacks, LEAST_FREQUENT of them frequent: foreign names alone are no foreign text."""
FOREIGN_LETTERS = 1.0
"""The evidence of a word with letters that English lacks, for each language that has all of these letters."""
LEAST_SHARE = 0.2
"""Least evidence for the language per different word of the text."""
LEAD = 1.5
"""The evidence for the language must be at least this many times the evidence for English."""
RIVAL, LISTED_AT_ALL = 0.6, 2.0
"""A query may be in a language with at least RIVAL times the evidence for the likeliest one. Each listed word adds
LISTED_AT_ALL: "do" is frequent in Portuguese, but "What does it do?" has three words of English."""
LEAST_SCRIPT = 0.5
"""Another script than Latin decides if it has more than this share of the letters."""
PASSAGE_WORDS, PASSAGE_SHARE, PASSAGE_LEAD = 15, 0.35, 2.0
"""A passage is in another language than its document with at least so many different words, so much evidence for that
language per word, and so many times the evidence for the document's language."""
PRESENT_SCRIPT = 0.1
"""A passage with a larger share of letters of another script is in that script. Fewer are names and symbols."""

_STEMMED_LISTS = (
    "Arabic Catalan Danish Dutch English French German Hindi Indonesian Irish Italian Lithuanian Nepali Portuguese "
    "Romanian Russian Serbian Spanish Swedish"
)
_TRUNCATED_LISTS = (
    "Afrikaans Albanian Azerbaijani Basque Belarusian Bosnian Bulgarian Croatian Czech Esperanto Estonian Finnish "
    "Galician Hungarian Icelandic Kazakh Kyrgyz Latvian Macedonian Polish Slovak Slovenian Turkish Ukrainian Uzbek"
)
_OTHER_LISTS = "Malay Maltese Marathi Persian Swahili Tagalog Urdu Vietnamese Welsh"
_BY_WORDS = {
    **{name: name.lower() for name in _STEMMED_LISTS.split()},
    **dict.fromkeys(("Norwegian_Bokmal", "Norwegian_Nynorsk"), "norwegian"),
    **dict.fromkeys(_TRUNCATED_LISTS.split(), TRUNCATED),
    **dict.fromkeys(_OTHER_LISTS.split(), UNSTEMMED),
}
"""Text-search configurations by list of words.

Languages without a configuration are listed too, so that they are not mistaken for others.
"""
_SHARED = {
    "russian": {"Russian", "Serbian", "Ukrainian", "Bulgarian", "Macedonian", "Belarusian", "Kazakh", "Kyrgyz"},
    "arabic": {"Arabic", "Persian", "Urdu"},
    "hindi": {"Hindi", "Nepali", "Marathi"},
}
"""The lists of languages that share a script. Words decide between them."""
_CYRILLIC = "абвгдежзийклмнопрстуфхцчшщъыьэюяёђѓєѕіїјљњћќўџґғқңүұһәө"
_ALPHABETS = {
    "Belarusian": "абвгдежзйклмнопрстуфхцчшыьэюяёіў",
    "Bulgarian": "абвгдежзийклмнопрстуфхцчшщъьюя",
    "Kazakh": "абвгдежзийклмнопрстуфхцчшщъыьэюяёіғқңүұһәө",
    "Kyrgyz": "абвгдежзийклмнопрстуфхцчшщъыьэюяёңүө",
    "Macedonian": "абвгдежзиклмнопрстуфхцчшѓѕјљњќџ",
    "Russian": "абвгдежзийклмнопрстуфхцчшщъыьэюяё",
    "Serbian": "абвгдежзиклмнопрстуфхцчшђјљњћџ",
    "Ukrainian": "абвгдежзийклмнопрстуфхцчшщьюяєіїґ",
}
"""They tell apart languages in short texts, whose few frequent words are in the lists of several languages."""
MOST_FOREIGN = 0.01
"""A larger share of letters outside of a language's alphabet excludes the language. A foreign name has fewer."""
_SCRIPTS = {
    "greek": "\u0370-\u03ff\u1f00-\u1fff",
    "armenian": "\u0530-\u058f",
    "tamil": "\u0b80-\u0bff",
    "russian": "\u0400-\u052f",
    "arabic": "\u0600-\u06ff\u0750-\u077f",
    "hindi": "\u0900-\u097f",
}
"""Scripts by the configuration of their only, or their most frequent, language."""
_SCRIPTS_OF = {
    "serbian": (None, "russian"),
    "nepali": ("hindi",),
    **dict.fromkeys(_SCRIPTS, ()),
    TRUNCATED: (None, "russian"),
    UNSTEMMED: (None, *_SHARED),
}
"""The scripts of each configuration, if any of its languages has another script than Latin (None)."""
_OTHER_SCRIPT = rf"[^\W\d_\u0000-\u024f\u1e00-\u1eff{''.join(_SCRIPTS.values())}]"
_PATTERNS = {
    **{config: re.compile(f"[{letters}]") for config, letters in _SCRIPTS.items()},
    UNSTEMMED: re.compile(_OTHER_SCRIPT),
}
_NOT_LATIN = re.compile(r"[^\W\d_\u0000-\u024f\u1e00-\u1eff]")
_LETTER = re.compile(r"[^\W\d_]")
_CODE = re.compile(r"(?<!\S)\S*?\w[./\\@]\w\S*|\b[^\W\d_]*[\d_]\w*")
_WORD = re.compile(r"[^\W\d_][^\W\d_\u0300-\u036f\u0900-\u0903\u093a-\u094f]+")


def detect_config(text: str) -> str | None:
    """Returns the text-search configuration of a text's language; None for English, or if there is too little evidence.

    It takes the same time for every text that is longer than the samples.
    """
    last = len(text) - SAMPLE
    starts = [place * last // (SAMPLES - 1) for place in range(SAMPLES)]
    sample = text if len(text) <= SAMPLE * SAMPLES else "\n".join(text[start : start + SAMPLE] for start in starts)
    script = _script(sample) if not sample.isascii() else None
    if script is not None and script not in _SHARED:
        return script
    lowered = sample.lower()
    words = dict.fromkeys(_WORD.findall(lowered))  # in their order, so that the sums are always the same
    evidence = _evidence(words)
    if script is not None:
        possible = _in_alphabet(_SHARED[script], lowered)
        evidence = {name: found for name, found in evidence.items() if name in possible}
        if not evidence:
            return script if script.title() in possible else TRUNCATED if script == "russian" else UNSTEMMED
        return _BY_WORDS[max(evidence, key=lambda name: sum(evidence[name]))]
    # In Latin script, a text may be English unless there is clear evidence of another language.
    spelled = Counter(name for word in words if not word.isascii() for name in _languages_with_letters_of(word))
    sums = {
        name: sum(found) + FOREIGN_LETTERS * spelled[name]
        for name, found in evidence.items()
        if len(found) >= LEAST_FREQUENT and len(found) + spelled[name] >= LEAST_WORDS
    }
    best = max(sums, key=sums.__getitem__, default="")
    needed = max(LEAST_SHARE * len(words), LEAD * sum(evidence.get("English", ())))
    return _BY_WORDS[best] if best and sums[best] >= needed else None


def config_of_passage(text: str, config: str) -> str:
    """Returns the text-search configuration of a passage from a document with the configuration `config`.

    It is another one only if the passage is clearly in another language that has a stemmer or is cut off.
    """
    if config == UNSTEMMED:
        return config
    script = _script(text) if not text.isascii() else None
    if script is not None:
        is_own = script in (config, *_SCRIPTS_OF.get(config, ()))
        found = config if is_own else detect_config(text) or config
    else:
        words = dict.fromkeys(_WORD.findall(_CODE.sub(" ", text.lower())))
        sums = {name: sum(weights) for name, weights in _evidence(words).items()}
        best = max(sums, key=sums.__getitem__, default="")
        own = max(_of_config(config, sums).values(), default=0.0)
        needed = max(PASSAGE_SHARE * len(words), PASSAGE_LEAD * own)
        is_clear = len(words) >= PASSAGE_WORDS and sums.get(best, 0.0) >= needed
        found = _BY_WORDS[best] if is_clear else config
    return config if found == UNSTEMMED else found


def configs_of_script(text: str) -> frozenset[str]:
    """Returns the configurations of the languages in the script that most letters of a text have; none for Latin."""
    script = _script(text) if not text.isascii() else None
    if script is None:
        return frozenset()
    return frozenset(_BY_WORDS[name] for name in _SHARED.get(script, ())) | {script}


def may_be_in(text: str, config: str, passage: str = "") -> bool:
    """Returns whether a query may be in the language of a passage from a document with the configuration `config`.

    A query has too few words for `detect_config`, which must be sure. Here the evidence for the language must be at
    least RIVAL times the evidence for any other. A query without frequent words may be in any language of its
    script. Pieces of identifiers are no words. If the document is in Latin script but the passage is not, as in a
    Chinese page of commands, the passage's script decides. Of the languages of TRUNCATED, the passage's likeliest
    one counts.
    """
    if config in _SCRIPTS and config not in _SHARED:
        return _PATTERNS[config].search(text) is not None
    script = None if text.isascii() else _script(text)
    written = None if config in _SCRIPTS_OF else _script(passage, PRESENT_SCRIPT)
    if written is not None:
        return script == written
    if script != config and script not in _SCRIPTS_OF.get(config, (None,)):
        return False
    sums = _sums(text)
    own = _of_config(config, sums)
    if config == TRUNCATED and (possible := _of_config(config, _sums(passage))):  # it has many languages
        likeliest = max(possible, key=possible.__getitem__)
        own = {likeliest: own.get(likeliest, 0.0)}
    return max(own.values(), default=0.0) >= RIVAL * max(sums.values(), default=0.0)


def _of_config(config: str, by_list: Mapping[str, float]) -> dict[str, float]:
    return {name: value for name, value in by_list.items() if _BY_WORDS[name] == config}


def _sums(text: str) -> dict[str, float]:
    """Returns the evidence of a short text for each list."""
    evidence = _evidence(dict.fromkeys(_WORD.findall(_CODE.sub(" ", text.lower()))))
    return {name: sum(found) + LISTED_AT_ALL * len(found) for name, found in evidence.items()}


def is_frequent(word: str) -> bool:
    """Returns whether a word in lower case is among the most frequent ones of any listed language."""
    return word in _frequent_words()


def _in_alphabet(names: Iterable[str], sample: str) -> set[str]:
    """Returns the lists whose language has the letters of a text, as far as its alphabet is known."""
    counts = {letter: sample.count(letter) for letter in _CYRILLIC}
    most = MOST_FOREIGN * len(_LETTER.findall(sample))
    foreign = {name: counts.keys() - set(_ALPHABETS.get(name, _CYRILLIC)) for name in names}
    return {name for name in names if sum(counts[letter] for letter in foreign[name]) <= most}


def _evidence(words: Iterable[str]) -> dict[str, list[float]]:
    """Returns the evidence of each word for each list that contains it."""
    frequent = _frequent_words()
    evidence: dict[str, list[float]] = defaultdict(list)
    for word in words:
        for name, weight in frequent.get(word, ()):
            evidence[name].append(weight)
    return evidence


def _languages_with_letters_of(word: str) -> Iterable[str]:
    """Returns the lists of the languages that have all letters of a word beyond ASCII."""
    letters = _letters()
    return frozenset.intersection(*(letters.get(letter, frozenset()) for letter in word if not letter.isascii()))


@functools.cache
def _letters() -> Mapping[str, frozenset[str]]:
    """Returns, by letter beyond ASCII, the lists of the languages with at least two frequent words that have it."""
    words = ((name, letter) for word, lists in _frequent_words().items() for name, _ in lists for letter in set(word))
    uses = Counter(pair for pair in words if not pair[1].isascii())
    found: dict[str, set[str]] = defaultdict(set)
    for (name, letter), count in uses.items():
        if count > 1:
            found[letter].add(name)
    return {letter: frozenset(names) for letter, names in found.items()}


@functools.cache
def _frequent_words() -> Mapping[str, Sequence[tuple[str, float]]]:
    """Returns the lists and weights of each frequent word. Takes 30 ms and 6 MB, once.

    The library of the lists is not imported, because it loads an HTML parser.
    """
    spec = importlib.util.find_spec("justext")
    assert spec is not None
    assert spec.origin is not None
    weights: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for name in _BY_WORDS:
        with (Path(spec.origin).parent / "stoplists" / f"{name}.txt").open(encoding="utf-8") as lines:
            words = dict.fromkeys(filter(None, (line.strip().lower() for line in lines)))
        for rank, word in enumerate(itertools.islice(words, LISTED), start=1):
            weights[word].append((name, math.log(LISTED / rank)))
    return dict(weights)


def _script(sample: str, least: float = LEAST_SCRIPT) -> str | None:
    """Returns the configuration of the first script, other than Latin, with more than a share of the letters."""
    if _NOT_LATIN.search(sample) is None:
        return None
    letters = len(_LETTER.findall(sample))
    for config, letter in _PATTERNS.items():
        if len(letter.findall(sample)) > least * letters:
            return config
    return None

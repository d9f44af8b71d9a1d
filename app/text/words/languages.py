"""Finds the text-search configuration of Postgres for a language given as a tag, an ISO 639 code or a name."""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Mapping
from types import MappingProxyType

MAX_LENGTH = 100
"""Characters of the longest language that is looked up."""
UNSTEMMED = "simple"
"""The configuration of languages without one of their own: no stemming, no stop words."""

_STEMMED = {
    "arabic": "ar العربية",
    "armenian": "hy Հայերեն",
    "basque": "eu euskara",
    "catalan": "ca català",
    "danish": "da dansk",
    "dutch": "nl Nederlands flemish",
    "english": "en",
    "estonian": "et eesti",
    "finnish": "fi suomi",
    "french": "fr français",
    "german": "de Deutsch",
    "greek": "el Ελληνικά",
    "hindi": "hi हिन्दी",
    "hungarian": "hu magyar",
    "indonesian": "id Bahasa_Indonesia",
    "irish": "ga Gaeilge",
    "italian": "it italiano",
    "lithuanian": "lt lietuvių",
    "nepali": "ne नेपाली",
    "norwegian": "no nb nn norsk bokmål nynorsk",
    "portuguese": "pt português",
    "romanian": "ro română moldovan",
    "russian": "ru русский",
    "serbian": "sr српски srpski",
    "spanish": "es español castellano castilian",
    "swedish": "sv svenska",
    "tamil": "ta தமிழ்",
    "turkish": "tr Türkçe",
    "yiddish": "yi ייִדיש",
}
_OTHERS = (
    "afrikaans albanian shqip belarusian беларуская bengali বাংলা bosnian bosanski bulgarian български burmese မြန်မာ "
    "chinese 中文 汉语 漢語 mandarin cantonese croatian hrvatski czech čeština esperanto filipino tagalog galician "
    "galego georgian ქართული hebrew עברית icelandic íslenska japanese 日本語 kazakh khmer ខ្មែរ korean 한국어 lao ລາວ "
    "latin latvian latviešu macedonian македонски malay marathi मराठी mongolian persian فارسی farsi polish polski "
    "punjabi slovak slovenčina slovenian slovenščina swahili kiswahili telugu తెలుగు thai ไทย ukrainian українська "
    "urdu اردو uzbek vietnamese Tiếng_Việt welsh cymraeg"
)


def config_for(language: str) -> str | None:
    """Returns the Postgres text-search configuration of a language, 'simple' for one without; None for no language.

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
    """Returns a sentence on the languages that `config_for` accepts."""
    stemmed = ", ".join(name.capitalize() for name in _STEMMED)
    return (
        "Use a BCP 47 tag or ISO 639 code such as en, de-AT or zh-Hant, or a name in English or the language itself. "
        f"Stemmed are {stemmed}; others, such as Chinese, are indexed without stemming."
    )


def _key(name: str) -> str:
    """Returns a name without case and accents."""
    bare = (c for c in unicodedata.normalize("NFKD", name.strip()) if unicodedata.category(c) != "Mn")
    return " ".join("".join(bare).casefold().split())


def _configs() -> dict[str, str]:
    found: dict[str, str] = {}
    for config, names in (*_STEMMED.items(), (UNSTEMMED, _OTHERS)):
        found |= dict.fromkeys((_key(name.replace("_", " ")) for name in (config, *names.split())), config)
    return found


CONFIGS: Mapping[str, str] = MappingProxyType(_configs())
"""Names and two-letter codes of languages, as keys, to the text-search configuration of Postgres 15 to 18."""

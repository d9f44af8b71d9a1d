"""Languages are given as tags, codes or names; what is none is not taken for one."""

from __future__ import annotations

import pytest

from app.text.words import languages


@pytest.mark.parametrize(
    ("language", "config"),
    [
        *((name, "english") for name in ("en", "en-US", "en_GB", "EN", "eng", "english", "English", " English ")),
        *((name, "german") for name in ("de", "de-AT", "ger", "deu", "German", "Deutsch", "DEUTSCH")),
        *((name, "french") for name in ("fr-CA", "fre", "français", "Francais", "FRANÇAIS")),
        *((name, "norwegian") for name in ("no", "nb", "nn", "nob", "norsk", "Bokmål")),
        ("pt_BR", "portuguese"),
        ("Ελληνικά", "greek"),
        ("русский", "russian"),
        ("हिन्दी", "hindi"),
        ("Bahasa Indonesia", "indonesian"),
        ("sr-Latn", "serbian"),
        ("mo", "romanian"),
        *(
            (name, "simple")
            for name in ("zh", "zh-Hant", "zh_TW", "Chinese", "中文", "ja", "日本語", "pl", "tlh", "und")
        ),
        ("simple", "simple"),
    ],
)
def test_a_language_has_a_configuration(language, config):
    assert languages.config_for(language) == config


@pytest.mark.parametrize(
    "unknown", ["", " ", "Klingonese", "xx", "deutsche", "e", "en-", "12", "en US", "x" * 1000, "\x00"]
)
def test_what_is_no_language_has_no_configuration(unknown):
    assert languages.config_for(unknown) is None


def test_all_configurations_of_postgres_are_reachable_by_their_names():
    assert len(set(languages.CONFIGS.values())) == 30
    assert all(languages.config_for(config) == config for config in languages.CONFIGS.values())
    assert all(config.capitalize() in languages.accepted() for config in set(languages.CONFIGS.values()) - {"simple"})

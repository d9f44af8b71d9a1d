"""Languages are given as tags, codes or names; what is none is not taken for one."""

import pytest

from app import samples
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
        *((name, "simple") for name in ("zh", "zh-Hant", "zh_TW", "Chinese", "中文", "ja", "日本語", "tlh", "und")),
        *((name, languages.TRUNCATED) for name in ("pl", "cze", "Polski", "uk-UA", "Українська", "et", "hr")),
        ("simple", "simple"),
    ],
)
def test_a_language_has_a_configuration(language, config):
    assert languages.look_up_config(language) == config


@pytest.mark.parametrize(
    "unknown", ["", " ", "Klingonese", "xx", "deutsche", "e", "en-", "12", "en US", "x" * 1000, "\x00"]
)
def test_what_is_no_language_has_no_configuration(unknown):
    assert languages.look_up_config(unknown) is None


def test_all_configurations_of_postgres_are_reachable_by_their_names():
    assert len(set(languages.CONFIGS.values())) == 26
    assert all(languages.look_up_config(config) == config for config in languages.CONFIGS.values())
    stemmed = set(languages.CONFIGS.values()) - {languages.UNSTEMMED, languages.TRUNCATED}
    assert all(config.capitalize() in languages.accepted() for config in stemmed)


TEXTS = {
    "german": "Die Kündigungsfrist beträgt drei Monate zum Ende eines Quartals, und der Mieter muss sie einhalten.",
    "french": "Le délai de préavis est de trois mois avant la fin du trimestre, et il faut une lettre.",
    "spanish": "El plazo de preaviso es de tres meses antes del final del trimestre y se cuenta desde la carta.",
    "italian": "Il termine di preavviso è di tre mesi prima della fine del trimestre, e la lettera è firmata.",
    "portuguese": "O prazo de aviso prévio é de três meses antes do fim do trimestre, e a carta tem de ser assinada.",
    "dutch": "De opzegtermijn bedraagt drie maanden en gaat in op de eerste dag van de maand.",
    "swedish": "Uppsägningstiden är tre månader och börjar löpa från den första i månaden efter att den har skickats.",
    "norwegian": "I går snakket vi med utleieren, og han skal få reparert varmen før vinteren kommer til byen.",
    "romanian": "Termenul de preaviz este de trei luni înainte de sfârșitul trimestrului și nu poate fi mai scurt.",
    "russian": "Ледоход на реке начался раньше обычного, и переправа закрыта до конца апреля.",
    "arabic": "مدة الإشعار ثلاثة أشهر قبل نهاية العقد، ويجب أن يكون الإخطار مكتوبا.",
    "hindi": "अनुबंध समाप्त करने की सूचना अवधि तीन महीने है और यह लिखित में होनी चाहिए।",
    "greek": "Η προθεσμία καταγγελίας είναι τρεις μήνες.",
    "armenian": "Պայմանագրի լուծման ժամկետը երեք ամիս է։",
    "spanish, with few frequent words": "La factura debe pagarse en treinta días después de su envío.",
    "tamil": "ஒப்பந்தத்தை முடிக்க மூன்று மாத அறிவிப்பு தேவை.",
}
UNSTEMMED = {
    "Japanese": "解約の予告期間は三か月です。書面で通知してください。",
    "Chinese": "合同解除的通知期限为三个月,必须以书面形式提出。",
    "Korean": "해지 통보 기간은 석 달이며 서면으로 알려야 합니다.",
    "Hebrew": "תקופת ההודעה המוקדמת היא שלושה חודשים לפני סוף החוזה.",
    "Thai": "ระยะเวลาแจ้งล่วงหน้าคือสามเดือน",
}
TRUNCATED = {
    "Turkish, with few frequent words": "Fatura otuz gün içinde ödenmelidir.",
    "Turkish": "Masrafları paylaşacağız ama bu daha kesin değil; her şey için bir ay sonra yeniden konuşacağız.",
    "Finnish": "Irtisanomisaika on kolme kuukautta, ja se alkaa kuukauden lopusta, mutta siitä ei ole vielä sovittu.",
    "Polish": "Okres wypowiedzenia wynosi trzy miesiące i kończy się z końcem kwartału, a pismo musi być podpisane.",
    "Belarusian": "Рэчка замёрзла, паром не ходзіць.",
    "Ukrainian": "Строк повідомлення про розірвання договору становить три місяці, і лист має бути підписаний.",
}
WITHOUT = {
    "nothing": "",
    "a word": "Kündigungsfrist",
    "English": "The notice period is three months before the end of the quarter, and der Mieter has to keep it.",
    "code": "def de(la, el):\n    for i in range(10):\n        if la in el or not i:\n            return None\n",
    "a table": "id,name,de,la\n1,Ana,3,4\n2,Ben,5,6",
    "numbers": "12 345 2026-11-24 0x1f",
    "foreign names alone": "Erdoğan Gökçe, Jürgen Müller, Łukasz Żółć, François Hérault",
    "a foreign title in English": "Los Hijos de López is an Argentine film that was made in 1980 by the same crew.",
    "foreign names in English": "Los Angeles, San Diego and El Paso are cities in the south-west of the United States.",
}


CASES = [
    *((text, name.partition(",")[0]) for name, text in TEXTS.items()),
    *((text, languages.UNSTEMMED) for text in UNSTEMMED.values()),
    *((text, languages.TRUNCATED) for text in TRUNCATED.values()),
    *((text, None) for text in WITHOUT.values()),
]


@pytest.mark.parametrize(("text", "config"), CASES, ids=[*TEXTS, *UNSTEMMED, *TRUNCATED, *WITHOUT])
def test_a_sentence_shows_its_language_if_there_is_enough_evidence(text: str, config: str | None) -> None:
    assert languages.detect_config(text) == config


def test_the_sample_notes_are_not_taken_for_another_language() -> None:
    found = {
        path.name: languages.detect_config(path.read_text(encoding="utf-8")) for path in samples.NOTES.rglob("*.md")
    }
    assert {name: config for name, config in found.items() if config is not None} == {}


@pytest.mark.parametrize(
    ("query", "configs"),
    [
        ("Πού είναι ο φάρος;", {"greek"}),
        ("где маяк NFL", {"russian", "serbian", languages.TRUNCATED}),
        ("灯台", {"simple"}),
        ("wieża w Łodzi", set()),
        ("who is Νίκος?", set()),
    ],
)
def test_a_script_stands_for_the_languages_that_have_it(query: str, configs: set[str]) -> None:
    assert languages.configs_of_script(query) == configs


@pytest.mark.parametrize(
    ("query", "config", "expected"),
    [
        ("What does it do?", "english", True),
        ("Where did the mother of Setepenre die?", "english", True),
        ("Wo liegt die Datei?", "english", False),
        ("What does it do?", "german", False),
        ("urllib_type", "english", True),
        ("/etc/backup/die.ini", "english", True),
        ("mail.example.de", "english", True),
        ("灯台はどこですか", "english", False),
        ("Где маяк?", "russian", True),
    ],
)
def test_a_query_may_be_in_the_language_of_most_of_its_frequent_words(query: str, config: str, expected: bool) -> None:
    assert languages.may_be_in(query, config) == expected


def test_a_query_is_compared_with_the_language_of_a_passage_whose_words_are_cut_off() -> None:
    for passage, query in (("Turkish", "Kira ne zaman ve nasıl ödenir?"), ("Polish", "Kiedy i jak płaci się czynsz?")):
        assert languages.may_be_in(query, languages.TRUNCATED, TRUNCATED[passage])
        assert not languages.may_be_in("Wat is die tyd van die dag?", languages.TRUNCATED, TRUNCATED[passage])
        assert not languages.may_be_in("When is the rent paid, and how?", languages.TRUNCATED, TRUNCATED[passage])


def test_the_script_of_a_passage_decides_in_a_document_of_another_script() -> None:
    chinese, english = "tar -xzf FILE --directory DIR 解压文件到目录", "Beijing (北京) is the capital of China."
    for query, passage in (("如何解压文件？", chinese), ("How do I unpack a file?", english)):
        others = {chinese, english} - {passage}
        assert languages.may_be_in(query, "english", passage)
        assert not any(languages.may_be_in(query, "english", other) for other in others)


SPANISH = f"{TEXTS['spanish']} La factura debe pagarse en treinta días después de su envío."
LONG = f"{WITHOUT['English']} When is the rent paid, and how?"


@pytest.mark.parametrize(
    ("passage", "document", "config"),
    [
        (SPANISH, "english", "spanish"),
        (LONG, "spanish", "english"),
        (TRUNCATED["Finnish"], "english", languages.TRUNCATED),
        (TEXTS["russian"], "english", "russian"),
        (TEXTS["russian"], languages.TRUNCATED, languages.TRUNCATED),
        (SPANISH, "portuguese", "spanish"),
        (SPANISH, "catalan", "catalan"),
        (SPANISH, languages.UNSTEMMED, languages.UNSTEMMED),
        (UNSTEMMED["Chinese"], "english", "english"),
        *((text, "english", "english") for text in WITHOUT.values()),
        (" ".join(f"0x0{n:x}de 0x{n:x}la" for n in range(4_000, 4_100)), "english", "english"),
        ("La Salle, Jean de Bethencourt, El Hierro, Los Llanos " + TEXTS["greek"], "greek", "greek"),
    ],
)
def test_a_passage_has_another_language_than_its_document_only_if_that_is_clear(passage, document, config) -> None:
    assert languages.config_of_passage(passage, document) == config


def test_only_samples_of_a_long_text_are_read() -> None:
    sample = (TEXTS["german"] * 100)[: languages.SAMPLE]
    between = (TEXTS["greek"] * 1_000)[:20_000]
    assert languages.detect_config(f"{between}{sample}{between}") == "greek"
    assert languages.detect_config(f"{sample}{between}{sample}{between}{sample}") == "german"

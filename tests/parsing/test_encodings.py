"""Bytes are read in the encoding that they were written in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import BadRequest
from app.parsing import encodings
from app.text.words import cleaning


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("grüße".encode(), "grüße"),
        (b"\xef\xbb\xbfhead", "head"),
        ("grüße €".encode("utf-16"), "grüße €"),
        ("plain words".encode("utf-16-le"), "plain words"),
        ("plain words".encode("utf-16-be"), "plain words"),
        ("wide".encode("utf-32"), "wide"),
        ("caf\xe9 \x93quoted\x94".encode("latin-1"), "café “quoted”"),
        (b"caf\xe9 \x81", "caf\xe9 \x81"),
        (b"a\x00b, the rest of a sentence", "a\x00b, the rest of a sentence"),
        (b"", ""),
        (
            "<?xml version='1.0' encoding='iso-8859-7'?><a>λ</a>".encode("iso-8859-7"),
            "<?xml version='1.0' encoding='iso-8859-7'?><a>λ</a>",
        ),
    ],
)
def test_bytes_are_read_in_the_encoding_they_were_written_in(raw, text):
    assert encodings.decode(raw).text == text


def test_a_guessed_encoding_is_reported_and_utf8_is_not():
    assert encodings.decode("grüße".encode()).warnings == ()
    assert encodings.decode("grüße".encode("cp1252")).warnings == ("not UTF-8: read as Windows-1252",)
    assert encodings.decode(b"\xff\xfea\x00b").warnings == ("read as UTF-16-LE", "undecodable bytes were replaced")


@pytest.mark.parametrize(
    "raw",
    [
        b"\x89PNG\r\n\x1a\n" + bytes(64),
        b"PK\x03\x04" + bytes(30),
        bytes(range(256)) * 4,
        bytes(100),
        b"BM" + bytes(52) + b"\xff" * 9_000,
    ],
)
def test_binary_content_is_refused_with_the_field_named(raw):
    with pytest.raises(BadRequest) as refusal:
        encodings.decode(raw)
    assert refusal.value.field == "content"


@pytest.mark.parametrize("text", ["grüße €uro", "日本語のテキスト", "Ωmega 😀 end", "plain", "журнал порта\0 начат"])
def test_the_beginning_of_a_text_is_text_wherever_it_is_cut(text):
    raw = text.encode()
    assert all(encodings.is_text(raw[:end]) for end in range(len(raw) + 1))
    assert not encodings.is_text(bytes(100))


@given(st.binary(max_size=300))
def test_any_bytes_are_either_text_or_a_bad_request(raw):
    try:
        decoded = encodings.decode(raw)
    except BadRequest:
        return
    cleaning.clean(decoded.text).text.encode("utf-8")


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1251", "Известковый раствор сохнет медленно, потому что зимой холодно. "),
        ("koi8_r", "Известковый раствор сохнет медленно, потому что зимой холодно. "),
        (
            "cp1258",
            "Xin cha\u0300o ca\u0301c b\u0061\u0323n, hôm nay chu\u0301ng ta ho\u0323c tiê\u0301ng Viê\u0323t. ",
        ),
        ("cp1253", "Ο ασβέστης στεγνώνει αργά τον χειμώνα, γιατί κάνει κρύο. "),
        ("shift_jis", "石灰モルタルは冬にゆっくり乾きます。壁を塗る前に水で濡らします。"),
        ("gb18030", "石灰砂浆在冬天干得很慢,抹墙之前先用水打湿。"),
        ("cp949", "석회 모르타르는 겨울에 천천히 마릅니다. "),
        ("cp1250", "Příliš žluťoučký kůň úpěl ďábelské ódy. Voda v přístavu stoupá každé ráno a večer. "),
        ("cp1250", "A kikötőben a víz minden reggel és este emelkedik, és a hajók az őrtoronynál állnak. "),
        ("iso8859-2", "Łódź stoi przy nabrzeżu, a opłata za postój wynosi pięć złotych dziennie. "),
        ("cp1254", "Liman sözleşmesi gereğince gemiler rıhtıma yanaşmadan önce ücret öder. "),
        ("cp850", "Störung F12 am Förderband Süd, Überlast. Getriebeöl prüfen, Maß 12 mm. "),
        ("cp850", "Le café est fermé cet été, où est la clé ? "),
        ("cp850", "El señor Núñez llegó mañana a la estación con más equipaje. "),
        ("cp852", "Przystań jest czynna codziennie, a opłata za postój wynosi pięć złotych. "),
        ("cp866", "Известковый раствор сохнет медленно, потому что зимой холодно. "),
        ("koi8_u", "Вапняний розчин сохне повільно, тому що взимку холодно, її немає. "),
        ("mac_roman", "Störung am Förderband Süd, Überlast. Getriebeöl prüfen, größer als 12 mm. "),
        ("iso2022_jp", "石灰モルタルは冬にゆっくり乾きます。壁を塗る前に水で濡らします。"),
        ("cp1252", "Er sagte „Süd“, „ja“ und “no”, don’t, … Šibenik, œuvre, fiancée, Zoë. "),
        ("cp1252", "Os navios chegam à noite e não pagam até à manhã seguinte. "),
        ("cp1252", "Der Mörtel trocknet über Nacht – größere Flächen später. "),
        ("cp1252", "the\xa0keeper lights a\xa0lamp on\xa0the pier. "),
        ("cp1252", "2024-01-02;20 €\n"),
    ],
)
def test_a_text_in_an_older_encoding_of_its_script_is_read_with_a_warning(encoding: str, text: str) -> None:
    decoded = encodings.decode((text * 5).encode(encoding))
    assert decoded.text == text * 5
    assert decoded.warnings


def test_a_text_in_utf_8_with_some_other_bytes_loses_no_letter() -> None:
    raw = "Größe der Fähre und der Flöße, überall größer. ".encode() * 5 + "Gebühr".encode("cp1252")
    decoded = encodings.decode(raw)
    assert decoded.text.endswith("größer. Gebühr")
    assert decoded.warnings == ("not wholly UTF-8: other bytes read as Windows-1252",)


@pytest.mark.parametrize(("encoding", "sign", "word"), [("cp932", "¥", "資料"), ("cp949", "₩", "자료")])
def test_a_backslash_before_an_amount_is_the_currency_that_its_fonts_show(encoding: str, sign: str, word: str) -> None:
    kept = f"C:\\2024\\100 '\\1' '\\033' {word}\\2024"
    raw = b"a,\\3,200,(\\185)\n" + kept.encode(encoding)
    assert encodings.decode(raw, encoding).text == f"a,{sign}3,200,({sign}185)\n{kept}"

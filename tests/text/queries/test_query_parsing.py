"""Queries are parsed into words, phrases and operators, and no query is rejected."""

import pytest

from app.text.queries import query_parsing


@pytest.mark.parametrize(
    ("query", "words", "required", "phrases", "excluded"),
    [
        ('"exact phrase" rest', "exact phrase rest", (), ("exact phrase",), ()),
        ("“curly one” „deutsch“ «a b»", "curly one deutsch a b", (), ("curly one", "deutsch", "a b"), ()),
        ("+must may", "must may", ("must",), (), ()),
        ('+"must phrase" x', "must phrase x", (), ("must phrase",), ()),
        ("keep -drop", "keep", (), (), ("drop",)),
        ("keep NOT drop", "keep", (), (), ("drop",)),
        ('keep -"two words"', "keep", (), (), ("two words",)),
        ('keep NOT "two words"', "keep", (), (), ("two words",)),
        ("cats AND dogs", "cats dogs", ("cats", "dogs"), (), ()),
        ("a AND b AND c", "a b c", ("a", "b", "c"), (), ()),
        ("a AND NOT b", "a", ("a",), (), ("b",)),
        ('cats AND "big dogs"', "cats big dogs", ("cats",), ("big dogs",), ()),
        ("cats OR dogs", "cats dogs", (), (), ()),
        ("foo, -bar, +baz.", "foo, baz.", ("baz",), (), ("bar",)),
        ("x -foo-bar", "x", (), (), ("foo-bar",)),
        *((text, text, (), (), ()) for text in ("AND then", "then AND", "then NOT", "foo & | !( <-> :*")),
        ('an "open quote', "an open quote", (), (), ()),
        ('5" pipe and 6" pipe', "5 pipe and 6 pipe", (), (), ()),
        ('nothing "" here "..."', "nothing here ...", (), (), ()),
    ],
)
def test_operators_bind_their_words_and_what_is_no_clear_operator_is_text(query, words, required, phrases, excluded):
    parsed = query_parsing.parse(query)
    assert (parsed.required, parsed.phrases, parsed.excluded) == (required, phrases, excluded)
    assert parsed.words.split() == parsed.text.split() == words.split()


@pytest.mark.parametrize(("query", "text"), [("-mice", "mice"), ("NOT mice", "mice"), ('-ale -"b c"', "ale b c")])
def test_a_query_of_exclusions_keeps_something_to_embed(query, text):
    parsed = query_parsing.parse(query)
    assert (parsed.text, parsed.words) == (text, "")
    assert parsed.excluded


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ('who wrote "war and peace"', "phrase"),
        *((name, "entity") for name in ("Oak Ridge", "Oak Ridge budget", "Haymo of Faversham", "U.S. Army")),
        *((text, "conceptual") for text in ("What did Ana Silva decide?", "how do I reset my password")),
        *((text, "conceptual") for text in ("wie funktioniert das", "¿dónde está la biblioteca", "pourquoi ça marche")),
        ("papers on internal flow in heat exchangers", "conceptual"),
        *((text, "technical") for text in ("error E-1042", "snake_case_name", "what does getUserName return?")),
        *((text, "technical") for text in ("NullPointerException", "python 3.11.2", "upgrade to v2.3")),
        *((text, "technical") for text in ("app/text/words/cleaning.py", "grep --recursive", "commit 9fceb02")),
        *((text, "keyword") for text in ("hotel booking", "COVID-19 vaccine", "HELLO WORLD", "what", "日本語", "😀")),
    ],
)
def test_the_type_of_a_query_follows_from_its_form(query, kind):
    assert query_parsing.parse(query).query_type == kind


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("  two \n words\t", "two words"),
        ("hid\u200bden\x00", "hidden"),
        ("\u202ereversed", "reversed"),
        ("cafe\u0301", "café"),
    ],
)
def test_a_query_is_normalised_to_what_is_seen(query, expected):
    assert query_parsing.normalise(query) == expected


PYTHON = """Traceback (most recent call last):
  File "/srv/app/fetch.py", line 22, in fetch
    return get(url)
           ^^^^^^^^
  File "/srv/app/http.py", line 7, in get
    raise Closed(url)
"""
TRACES = [
    (f"{PYTHON}http.Closed: no body\n", "http.Closed: no body\n"),
    (
        "TypeError: no size\n    at Set.size (/a/set.js:4:11)\n    at async Promise.all (index 0)",
        "TypeError: no size\n",
    ),
    ("Caused by: IOException: full\r\n\tat a.B.c(B.java:12)\r\n\t... 23 more\r\n", "Caused by: IOException: full\r\n"),
    ("full\n   at A.B() in C:\\a b.cs:line 3\n   at A.C() in C:\\c.cs:line 4", "full\n"),
    ("a.rb:2:in `b': full\n\tfrom a.rb:5:in `c'\n\tfrom a.rb:9:in `<main>'", "a.rb:2:in `b': full\n"),
    (
        "full at a.pl line 2.\n\tA::b(1) called at a.pl line 5\n\tmain::c() called at a.pl line 9",
        "full at a.pl line 2.\n",
    ),
    ("SIGSEGV\n#0  0x0052 in add (a=1) at add.c:3\n#1  main () at main.c:9", "SIGSEGV\n"),
    (
        "panic: full\nmain.add(...)\n\t/a/add.go:3 +0x1d\nmain.main()\n\t/a/main.go:9",
        "panic: full\nmain.add(...)\nmain.main()\n",
    ),
]


@pytest.mark.parametrize(("query", "expected"), TRACES)
def test_the_frames_of_a_stack_trace_are_no_part_of_a_query(query, expected):
    assert query_parsing.without_frames(query) == expected


@pytest.mark.parametrize(
    ("query", "question"),
    [
        ("Hi! Could you please tell me: what is the warranty? Thanks a lot in advance!", "what is the warranty?"),
        ("Dear Sir or Madam,\n\nWho signed the lease?\n\nKind regards,\nMartin Keller", "Who signed the lease?"),
        ("Answer the question using the documents alone. Be brief. Question: who is Ada?", "who is Ada?"),
        ("I would like to know how the boiler is reset", "how the boiler is reset"),
        ("Hi, can you show me the opening hours", "the opening hours"),
        ("Why is the pump loud? Thank you very much for your help!\nBest wishes, Ana", "Why is the pump loud?"),
        ("Können Sie mir bitte sagen, wann die Frist endet? Vielen Dank!", "wann die Frist endet?"),
        ("¿Podrías decirme cuándo vence el contrato? Gracias", "cuándo vence el contrato?"),
        ("Please find information on lime mortar", "lime mortar"),
        ("Find documents that describe the following: who is Ana?", "who is Ana?"),
        ("search my documents for Ana Torres", "Ana Torres"),
    ],
)
def test_greetings_thanks_and_requests_to_tell_are_no_part_of_a_question(query: str, question: str) -> None:
    assert query_parsing.without_courtesies(query) == question


MAIL = """Hi Ana,

the minutes were useful. Who signed the lease of the quay? Nobody here knows.

{}
Tom Berg
Quay Ltd., tel. +49 421 7712

> On 3 March Ana wrote:
> The minutes are {}
"""


@pytest.mark.parametrize("sign_off", ["Best regards,", "With kind regards", "Thanks!", "Mit freundlichen Grüßen\r"])
def test_a_letter_is_its_text_without_salutation_signature_and_quoted_message(sign_off: str) -> None:
    body = query_parsing.body_of_letter(MAIL.format(sign_off, "attached."))
    assert body.strip() == "the minutes were useful. Who signed the lease of the quay? Nobody here knows."


JSON_CHAT = (
    '[{"role": "system", "content": "Be short."}, {"role": "user", "content": "Is the quay open?"}, '
    '{"role": "assistant", "content": "Until 19:00."}, {"role": "user", "content": "And in winter?"}]'
)


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("User: Hi\nAssistant: Hello!\nUser: Is the quay open?\nAssistant: Until 19:00.\nUser: And in winter?\n", None),
        ("Be short.\n\nHUMAN: Is the quay open?\n\nAI: Until\n19:00.\n\nHUMAN: And in winter?\n\nAI:", None),
        *((JSON_CHAT, None), (f'{{"model": "m", "messages": {JSON_CHAT}}}', None)),
        ("Human: Is it open?\nAI:", "Is it open?"),
        ('{"messages": [{"role": "user", "content": "Is it open?"}]}', "Is it open?"),
        ('[{"role": "system", "content": "Ask?"}, {"role": "user", "content": "Is it open?"}]', "Is it open?"),
        ('[{"role": "user", "content": [{"type": "text", "text": "Is it open?"}]}]', "Is it open?"),
        *(("User: postgres", "User: postgres"), ("AI: who is liable?", "AI: who is liable?")),
        ("What is wrong here?\nbot: on\nuser: root", "What is wrong here?\nbot: on\nuser: root"),
        ("User: Is it open?\nBot: Yes.\nFollow-up: why?", "User: Is it open?\nBot: Yes.\nFollow-up: why?"),
    ],
)
def test_of_a_chat_that_ends_with_the_user_the_last_two_turns_are_searched(query: str, asked: str | None) -> None:
    expected = asked or "Is the quay open?\nAnd in winter?"
    assert query_parsing.end_of_chat(query_parsing.without_json(query)) == expected


@pytest.mark.parametrize(
    "query",
    [
        *(MAIL.format("Best regards,", "which ones?"), MAIL.format("See you", "attached."), MAIL.format("", "")),
        *("Hello Dolly!\nWhich year was it?", "Why is it loud?\nThanks\n> ERROR 7", "Hi,\nit is loud.\nThanks\nAna"),
    ],
)
def test_what_is_no_letter_or_asks_below_its_sign_off_is_searched_as_it_is(query: str) -> None:
    assert query_parsing.body_of_letter(query) == query


@pytest.mark.parametrize(
    "query",
    [
        *("Hello, Love, Goodbye director", "Please Please Me songs", "Tell Me Something Good", "Hello World in Go"),
        *("hello", "Thanks", "please tell me", "Who said thanks, please?", "find documents about", "can you help me?"),
        *("Dear Evan Hansen, who directed it?", "Hello Dolly! Which year was it released?", "Hey Jude: who wrote it?"),
        *("The pump fails, please find its manual.", "It is loud. Thanks to the new valve it runs, but why?"),
        *("Der Server startet nicht, bitte die Ursache suchen", "Is it stable? Thanks to the valve it is."),
    ],
)
def test_titles_and_sentences_that_greet_ask_or_thank_are_searched_as_they_are(query: str) -> None:
    assert query_parsing.without_courtesies(query) == query


@pytest.mark.parametrize(
    "query",
    [
        *(PYTHON, "who calls\n  at Set.size (/a/set.js:4:11)", "what do\n/a/b.go:12\n/c/d.go:30 do?\n/e/f.go:1"),
        *("When?\nat 10:30\nat the quay (old) 11:45", "Who?\n#12 standup at 10:30\n#13 review 11:45 (see 7)"),
    ],
)
def test_a_trace_without_an_error_a_single_frame_and_other_lines_with_numbers_are_searched(query):
    assert query_parsing.without_frames(query) == query


@pytest.mark.parametrize(
    ("query", "hosts", "rest"),
    [
        ("https://forum.example.org/t/48213?page=2#post-17 Who signed it?", ["forum.example.org"], "Who signed it?"),
        (
            "see (http://WWW.Quay.example/docs/lime_putty-2.html) for putty",
            ["quay.example"],
            "see (lime putty) for putty",
        ),
        (
            "is it https://quay.example, or https://a.example:80/k%C3%A4se/?",
            ["quay.example", "a.example"],
            "is it or käse",
        ),
        *(
            (query, [], query)
            for query in ("https://a.example/b lime", '"https://a.example" lime putty', "+https://a.example lime putty")
        ),
        *((query, [], query) for query in ("title:https://a.example lime putty", "at http://localhost/a lime putty")),
    ],
)
def test_addresses_beside_other_words_can_be_left_out_but_for_the_name_of_the_page(query, hosts, rest) -> None:
    assert query_parsing.hosts_of_addresses(query) == hosts
    assert query_parsing.without_addresses(query, hosts).split() == rest.split()


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ('{"query": "Who signed the lease?", "top_k": 5, "filters": null}', "Who signed the lease?"),
        ('{"k": 3, "question": "\\"loose ankles\\" film"}', '"loose ankles" film'),
        ('{"q": "Who signed the lease\\ud83d\\ude80?"}', "Who signed the lease\U0001f680?"),
        ('```json\n{"query": "Who signed the lease?"}\n```', "Who signed the lease?"),
        ('["Who signed the lease?", "When does it end?"]', "Who signed the lease?\nWhen does it end?"),
        (' {"queries": ["lease", {"en": "rent"}]}\n', "lease\nen\nrent"),
        (
            '{"error": "tide gauge silent", "code": 4012, "at": {"pier": [1.50, true]}}',
            "error\ntide gauge silent\ncode\n4012\nat\npier\n1.50\nTrue",
        ),
        *((text, text) for text in ("{}", "[null]", '{"a"', '{"query": ""}', '[1] "loose ankles"', '"loose ankles"')),
        *((text, text) for text in ("```json\nlease\n```", '{"query": "a\\u0000"}', '["\\ud800"]')),
        ("[" * 8_000, "[" * 8_000),
    ],
)
def test_json_is_searched_for_what_it_asks_or_for_its_names_and_values(query: str, asked: str) -> None:
    assert query_parsing.without_json(query) == asked


@pytest.mark.parametrize(
    ("query", "phrases"),
    [
        ('Who directed the film "Loose Ankles" in the year 1930?', ()),
        ("what did he say about “the long wait” after the meeting was over", ()),
        ('"loose ankles" film', ("loose ankles",)),
        ('What is "rain"?', ("rain",)),
        ('Who said "never leave a buoy out in ice" then?', ("never leave a buoy out in ice",)),
    ],
)
def test_quotation_marks_in_a_question_are_no_condition(query: str, phrases: tuple[str, ...]) -> None:
    parsed = query_parsing.parse(query)
    assert parsed.phrases == phrases
    assert parsed.query_type == ("phrase" if phrases else "conceptual")
    assert all(word in parsed.words for phrase in phrases for word in phrase.split())


@pytest.mark.parametrize(
    ("query", "words", "signed"),
    [
        ("Is the gasket good for -40°C?", "Is the gasket good for -40°C?", ()),
        ("What does tar -xzf do?", "What does tar -xzf do?", ()),
        ("java -Xmx4g heap", "java -Xmx4g heap", ()),
        ("board -12V rail", "board -12V rail", ()),
        ("grep -f names", "grep -f names", ()),
        ("rm -rf archive", "rm archive", ("-rf",)),
        ("drill -Krafthaus -LED", "drill", ("-Krafthaus", "-LED")),
        ("-猫 dog", "dog", ("-猫",)),
        ("keep NOT Xmx4g", "keep", ()),
        ("Kostenarten und -stellen", "Kostenarten und -stellen", ()),
        ("skapa en temporärfil eller -katalog", "skapa en temporärfil eller -katalog", ()),
        ("grund -stellen", "grund", ("-stellen",)),
        ('what is lime -"fast drying" for?', "what is lime for?", ()),
    ],
)
def test_the_sign_of_a_word_belongs_to_it_or_excludes_it(query: str, words: str, signed: tuple[str, ...]) -> None:
    parsed = query_parsing.parse(query)
    assert (parsed.words, parsed.signed) == (words, signed)
    assert parsed.text == words


def test_a_word_that_is_known_with_its_sign_only_is_searched_for() -> None:
    parsed = query_parsing.parse("rm -rf archive -dust", literal={"-rf"})
    assert (parsed.words, parsed.excluded) == ("rm -rf archive", ("dust",))


def _reasons(query: str, content: str, title: str = "") -> tuple[str, ...]:
    return query_parsing.find_literal_matches(query_parsing.parse(query), [(title, content)])[0]


@pytest.mark.parametrize(
    ("identifier", "content", "is_whole"),
    [
        *(
            ("ERR_40", text, True)
            for text in ("raised ERR_40.", "(err_40)", "ERR_40: it answered", "エラーERR_40が出た")
        ),
        ("E-1042", "E-1042, E-1043", True),
        ("v1.2", "since v1.2.", True),
        ("getUserName", "calls getUserName() twice", True),
        ("foo()", "then foo() returns", True),
        ("app/text.py", "in app/text.py", True),
        ("--dry-run", "pass --dry-run first", True),
        ("ERR_40", "raised ERR_4012, MY_ERR_40, ERR_40-B and X-ERR_40", False),
        ("E-104", "E-1042", False),
        ("v1.2", "since v1.2.3 or v1.21", False),
        ("10.0.1", "10.0.1.7", False),
        ("getUser", "calls getUserName() twice", False),
    ],
)
def test_an_identifier_matches_where_it_occurs_whole(identifier: str, content: str, is_whole: bool) -> None:
    assert _reasons(f"what is {identifier}", content) == (("identifier",) if is_whole else ())


def test_a_phrase_in_a_script_without_spaces_matches_inside_a_run() -> None:
    assert _reasons('"日本語"', "これは日本語です") == ("phrase",)
    assert _reasons('"日本語"', "日本の言語") == ()


NEWEST = (
    *("What is the latest decision on lime mortar?", "newest firmware", "Which outage was the most recent?"),
    *("latest firmware 7.2024.1-rc for board 4711", "Was ist der neueste Stand beim Umzug?"),
    *("die aktuellste Fassung", "la version la plus récente", "el informe más reciente"),
    *("il verbale più recente", "o relatório mais recente", "de nieuwste versie"),
)
OTHERS = (
    *("recent changes of the current plan", "the last landing", "image-latest", "latestVersion"),
    *("Does 'The Latest Stock Market News' mention lime?", 'notes on "the newest harbour"'),
    *("un document plus récent que celui-ci", "the latest good news as of 20260908", "newest pumps in 2024"),
    *("latest report before 2025-03", "der neueste Stand vom 3.5.2024"),
)


@pytest.mark.parametrize("query", NEWEST + OTHERS)
def test_superlatives_of_time_ask_for_the_newest_outside_of_titles_and_identifiers(query: str) -> None:
    assert query_parsing.asks_for_newest(query) == (query in NEWEST)

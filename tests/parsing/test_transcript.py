"""Transcripts become paragraphs that begin with their time, so that a hit says when something was said."""

import pytest
from reading import Read, refusal

VTT = """WEBVTT - Harbour meeting
Kind: captions

STYLE
::cue { color: red }

NOTE The first part is missing.

1
00:00:59.500 --> 00:01:04.000 align:start
<v.loud Ana Veit>The lime &amp; the <i>clay</i>
are late.</v>

01:10.000 --> 01:31.000
<v Ana Veit>Nothing dries.

01:31.000 --> 01:35.000
<v Bo Lund>I <00:01:32.000>called them.</v>
<v Ana Veit>When?</v>

1:02:03.000 --> 1:02:05.000
Goodbye.
"""
SRT = """\ufeff1
00:00:01,000 --> 00:00:03,000
{\\an8}<font color="red">High water</font>

at noon,

2
00:00:03,000 --> 00:00:05,000
at noon,
and 42

3
00:00:05,000 --> 00:00:06,000
meters.
"""


def test_a_transcript_has_times_and_speakers(read: Read) -> None:
    (document,) = read(VTT.encode(), "a.vtt")
    assert document.title == "Harbour meeting"
    assert document.text == (
        "[00:00:59] Ana Veit: The lime & the clay are late. Nothing dries.\n\n"
        "[00:01:31] Bo Lund: I called them.\nAna Veit: When?\n\n[01:02:03] Goodbye."
    )
    assert document.warnings == ("Left out as notes: 1 line.",)


def test_a_speaker_before_a_colon_begins_a_line(read: Read) -> None:
    said = ("Ana Veit: Nothing dries", "not even the clay", "Bo: I called them")
    cues = "".join(f"00:0{n}.000 --> 00:0{n}.900\n{text}\n\n" for n, text in enumerate(said))
    (document,) = read(f"WEBVTT\n\n{cues}".encode(), "a.vtt")
    assert document.text == "[00:00:00] Ana Veit: Nothing dries not even the clay\nBo: I called them"


def test_subtitles_have_no_numbers_and_no_line_twice(read: Read) -> None:
    (document,) = read(SRT.replace("\n", "\r\n").encode(), "a.srt")
    assert document.text == "[00:00:01] High water at noon, and 42 meters."
    assert document.warnings == ("Left out as lines that are shown again as they scroll: 1 line.",)


def test_a_line_with_a_space_does_not_end_a_cue(read: Read) -> None:
    cues = [
        "00:01.000 --> 00:03.000\n \nthe tide<00:02.000><c> turns</c>",
        "00:03.000 --> 00:04.000\nthe tide turns\n ",
    ]
    (document,) = read("\n\n".join(["WEBVTT", *cues]).encode(), "a.vtt")
    assert document.text == "[00:00:01] the tide turns"


def test_a_paragraph_without_the_end_of_a_sentence_has_at_most_a_minute(read: Read) -> None:
    cues = "".join(f"00:{n // 60:02}:{n % 60:02}.000 --> 00:59:59.000\nword{n}\n\n" for n in range(0, 150, 10))
    (document,) = read(f"WEBVTT\n\n{cues}".encode(), "a.vtt")
    assert [line[:10] for line in document.text.split("\n\n")] == ["[00:00:00]", "[00:01:00]", "[00:02:00]"]


@pytest.mark.parametrize(
    ("text", "code"), [("WEBVTT\n\nNo times.", "damaged"), ("WEBVTT\n\n00:01.000 --> 00:02.000\n<i></i>\n", "no_text")]
)
def test_a_transcript_without_times_or_text_is_refused(read: Read, text: str, code: str) -> None:
    assert refusal(read, text.encode(), "a.vtt") == code

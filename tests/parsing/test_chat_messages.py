"""The messages of a chat in JSON are one conversation, so that an answer stands below its question."""

import datetime
import json
from typing import Any

import pytest
from reading import Read


def slack(seconds: int, name: str, text: str, **others: Any) -> dict[str, Any]:
    """A message as in the export of a team's chat."""
    rich = {"type": "rich_text", "elements": [{"type": "text", "text": text}]}
    profile = {"real_name": name, "display_name": name[:2], "avatar_hash": "g9"}
    sent = {"ts": f"{1_705_316_400 + seconds}.000200", "user": "U7", "user_profile": profile, "blocks": [rich]}
    return {"type": "message", "text": text, **sent, **others}


def test_messages_are_one_text_with_their_senders_and_the_time_after_each_pause(read: Read) -> None:
    day = [
        slack(
            60, "Ana Beltrán", "Which port do we use for staging, 5432?", reactions=[{"name": "+1", "users": ["U1"]}]
        ),
        slack(90, "Devendra Rao", "use port 5443\n\nfor staging"),
        slack(7_200, "Ana Beltrán", "done"),
    ]
    (document,) = read(json.dumps(day).encode(), "2024-01-15.json")
    assert document.text == (
        "[2024-01-15 11:01] Ana Beltrán: Which port do we use for staging, 5432?\n"
        "Devendra Rao: use port 5443\nfor staging\n\n[2024-01-15 13:00] Ana Beltrán: done"
    )
    assert (document.title, document.fragment, document.markdown) == ("", "", False)
    assert document.metadata == {"participants": ["Ana Beltrán", "Devendra Rao"]}
    assert document.created_at == datetime.datetime(2024, 1, 15, 11, 1, 0, 200, datetime.UTC)


def test_messages_under_a_name_are_read_in_the_order_of_their_times(read: Read) -> None:
    def message(minute: int, author: object, content: str) -> dict[str, Any]:
        return {
            "id": f"9{minute}",
            "timestamp": f"2024-03-02T12:{minute}:00+01:00",
            "author": author,
            "content": content,
        }

    newest_first = [message(30, {"nickname": "Maple"}, "TERN_TELEMETRY=0"), message(10, "Quill", "How to disable it?")]
    (document,) = read(json.dumps({"name": "Tern", "messages": newest_first}).encode(), "a.json")
    assert document.text == "name: Tern\n\n[2024-03-02 11:10] Quill: How to disable it?\nMaple: TERN_TELEMETRY=0"
    assert document.title == "Tern"


def test_the_replies_of_a_thread_stand_below_its_first_message(read: Read) -> None:
    sent = [
        slack(0, "Ana", "Which port?"),
        slack(60, "Kim", "Lunch"),
        slack(9_000, "Bo", "5443 it is"),
        slack(9_060, "Kim", "Tea"),
    ]
    sent[0]["thread_ts"] = sent[2]["thread_ts"] = sent[0]["ts"]
    (document,) = read(json.dumps(sent).encode(), "a.json")
    assert document.text.split("\n\n") == [
        "[2024-01-15 11:00] Ana: Which port?",
        "[2024-01-15 13:30] Bo: 5443 it is",
        "[2024-01-15 11:01] Kim: Lunch",
        "[2024-01-15 13:31] Kim: Tea",
    ]


def test_formatted_texts_are_joined_and_attachments_are_read_once(read: Read) -> None:
    rich = ["take ", {"type": "bold", "text": "Hempel Hard"}, ", two coats"]
    notice = {"title": "dock 2.1", "fallback": "Deployed dock to production today", "color": "36a64f"}
    notice |= {"text": "Deployed dock to production today by Ana"}
    sent = [
        {"type": "message", "date": "2024-02-01T09:00:00", "from": "Pavel", "text": rich},
        slack(0, "Bot", "", attachments=[notice]),
        {"type": "message", "subtype": "joined", "text": "", "user": "Yusuf"},
    ]
    (document,) = read(json.dumps(sent).encode(), "a.json")
    assert document.text.splitlines()[::2] == [
        "[2024-01-15 11:00] Bot: Deployed dock to production today by Ana",
        "[2024-02-01 09:00] Pavel: take Hempel Hard, two coats",
    ]


@pytest.mark.parametrize(
    "changed", [{"type": "review"}, {"title": "Pump"}, {"ts": ""}, {"user": "", "user_profile": None}]
)
def test_objects_without_what_a_message_has_are_documents(read: Read, changed: dict[str, Any]) -> None:
    others = [slack(number, "Ana", f"The pump of quay {number} is loud.") | changed for number in range(3)]
    assert len(read(json.dumps(others).encode(), "a.json")) == 3


def test_messages_are_documents_if_a_field_is_named_for_their_text(read: Read) -> None:
    sent = [slack(number, "Ana", f"The pump of quay {number} is loud.") for number in range(2)]
    first, _second = read(json.dumps(sent).encode(), "a.json", "text")
    assert (first.text, first.metadata["user"]) == ("The pump of quay 0 is loud.", "U7")


def test_participants_beyond_the_most_are_said_to_be_left_out_of_the_metadata(read: Read) -> None:
    sent = [slack(number, f"Person {number}", f"The pump of quay {number} is loud.") for number in range(302)]
    (document,) = read(json.dumps(sent).encode(), "a.json")
    assert len(document.metadata["participants"]) == 300
    assert "participants: 2 left out of the metadata" in document.warnings
    assert "Person 301: The pump" in document.text


def test_a_sender_that_is_nested_hundreds_of_levels_deep_has_no_name(read: Read) -> None:
    nested: dict[str, Any] = {"name": "Ana"}
    for _ in range(600):
        nested = {"name": nested}
    sent = [slack(number, "Ana", f"The pump of quay {number} is loud.") for number in range(3)]
    (document,) = read(json.dumps([*sent, sent[0] | {"user_profile": nested, "user": ""}]).encode(), "a.json")
    assert document.metadata["participants"] == ["Ana"]

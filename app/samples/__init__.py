"""Contains the notes and questions of `stepwell demo`.

`NOTES` is a folder of Markdown files with YAML frontmatter about Kittiwell, an invented firm that builds sensor buoys
and restores stepwells: people, teams, projects, meetings, decisions, vendors, incidents, how-tos, products. All names
are made up. `letters`, beside it, is a folder that the demo does not store, so that it can be added as a source.
`QUESTIONS` are questions with the notes that answer them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

Kind = Literal["hybrid", "phrase", "technical", "multihop", "entity", "date"]

NOTES: Final = Path(__file__).resolve().parent / "notes"


@dataclass(frozen=True, slots=True)
class SampleQuestion:
    """A sample question. `answers` are the notes that answer it, as POSIX paths relative to `NOTES`, best first.

    For kind `multihop` the one answer shares no content word with the question: a name in a second note links them.
    `words` stand in the sentence that answers the question, where the demo asks it; other questions have none.
    """

    text: str
    kind: Kind
    answers: tuple[str, ...]
    words: str = ""


QUESTIONS: Final[tuple[SampleQuestion, ...]] = (
    SampleQuestion(
        "How many nights in a row may somebody be on call?", "hybrid", ("decisions/D-022-rota.md",), "Four nights"
    ),
    SampleQuestion("How do I get my money back for a train fare and a hotel?", "hybrid", ("howto/travel-claims.md",)),
    SampleQuestion("Why don't the Gannets phone home every minute?", "hybrid", ("decisions/D-014-sync-interval.md",)),
    SampleQuestion("Why should tired engineers not stay on call all week?", "hybrid", ("decisions/D-022-rota.md",)),
    SampleQuestion('"no cement below the third landing"', "phrase", ("decisions/D-019-lime.md",)),
    SampleQuestion(
        "ERR_TIDE_4012",
        "technical",
        (
            "products/gannet.md",
            "incidents/2025-03-14-skerrin-outage.md",
            "howto/reset-gannet.md",
            "meetings/2025-03-18-outage-review.md",
        ),
        "the head is stuck",
    ),
    SampleQuestion("ERR_CHAIN_6001", "technical", ("products/wagtail.md",)),
    SampleQuestion(
        "Which musical instrument does the author of the backfill guide play?",
        "multihop",
        ("people/ines-brandauer.md",),
        "viola",
    ),
    SampleQuestion(
        "What is the daily price of the masons who will rebuild the collapsed landing?",
        "multihop",
        ("vendors/stonehand.md",),
    ),
    SampleQuestion(
        "When does the certificate of the technician who recovered the drifting buoy expire?",
        "multihop",
        ("people/mara-veit.md",),
    ),
    SampleQuestion(
        "How long is the warranty on the battery that swelled at Hallin Reservoir?",
        "multihop",
        ("vendors/fennick.md",),
    ),
    SampleQuestion(
        "How much fuel does the boat chosen for the mooring survey burn?", "multihop", ("assets/petrel-anne.md",)
    ),
    SampleQuestion("Who supplies the sensor that failed in the March outage?", "multihop", ("vendors/hexholm.md",)),
    SampleQuestion(
        "What has cliffclarke been working on?",
        "entity",
        ("people/cliff-clarke.md", "projects/halyard.md", "decisions/D-014-sync-interval.md"),
    ),
    SampleQuestion(
        "What did Mara Tolland decide about money?",
        "entity",
        ("meetings/2025-09-16-budget.md", "people/mara-tolland.md"),
    ),
    SampleQuestion("Which decision was accepted on 4 November 2025?", "date", ("decisions/D-022-rota.md",)),
    SampleQuestion("What was agreed at the meeting on 16 September 2025?", "date", ("meetings/2025-09-16-budget.md",)),
)

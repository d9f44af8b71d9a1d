"""Contains the sentences of the two sets of chains; they share none of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Half = Literal["train", "test"]


@dataclass(frozen=True, slots=True)
class Fault:
    """A device, what happened to its part, in the past tense, and as a title."""

    device: str
    past: str
    title: str


@dataclass(frozen=True, slots=True)
class Wording:
    """Templates of one half.

    `incident` are the sections of a report, of which only the second contains the identifiers; `review` is about the
    same event without them. `supplier`, `runbook`, `ticket` and `engineer` are answers, and `stock` is a list that
    contains many parts. `questions` are by type.
    """

    faults: tuple[Fault, ...]
    incident: tuple[tuple[str, str], ...]
    review: str
    supplier: tuple[str, ...]
    runbook: tuple[str, ...]
    ticket: tuple[str, ...]
    engineer: str
    stock: tuple[str, str]
    questions: dict[str, str]


TRAIN: Final = Wording(
    faults=(
        Fault("lift pump", "seized", "Seized part"),
        Fault("sluice gate", "cracked", "Cracked part"),
        Fault("float buoy", "swelled", "Swollen part"),
        Fault("level gauge", "corroded", "Corroded part"),
        Fault("intake screen", "burst", "Burst part"),
    ),
    incident=(
        (
            "What happened",
            "On {day} the warden of {site} found the {device} standing still, because a part of it had {past}. The "
            "crew of {site} had noticed nothing during the night, and the water had risen by a hand's breadth.",
        ),
        (
            "What we found",
            "The {device} was opened in the workshop. The part that had {past} is of the type {part}, and the log "
            "of the controller {common} shows `{code}` eleven times since the evening before. {setting}",
        ),
        (
            "What we did",
            "The {device} was taken out on the same day and another one put in its place. {engineer} led the work "
            "at {site} and wrote this down; the rest is in {ticket}.",
        ),
        (
            "What we changed",
            "Wardens look at every {device} twice a week now. Nobody was hurt at {site}, and no water was lost.",
        ),
    ),
    review="The crew met about the {device} that had {past} at {site}. Everybody agreed that the part had {past} "
    "because of the heat, that the warden of {site} had acted well, and that the company should have been told "
    "earlier. The {device} of {site} will be looked at again in autumn.",
    supplier=(
        "{firm}, of {town}, makes the {part} to our drawing and nothing else for us.",
        "Guarantee: {months} months, whichever way it was used. Claims go to {firm} with the log.",
        "Delivery: {weeks} weeks by road. An invoice comes twice; pay the one with a stamp.",
    ),
    runbook=(
        "{code} means that a reading stayed above its ceiling for longer than it may.",
        "Hold the grey key for {weeks} seconds, wait until the lamp is green, and write the time in the book.",
        "If it comes back within {months} minutes, leave everything as it is and ring the duty telephone.",
    ),
    ticket=(
        "{ticket} was opened by the duty desk and closed after {weeks} days.",
        "Approved by {boss}, at a cost of {months}00 euros, from the budget for repairs.",
    ),
    engineer="{engineer} joined us {weeks} years ago from the shipyard of {town}, holds the diver's badge of class "
    "{months}, and plays the bassoon on Thursdays. Ask before borrowing the torque wrench.",
    stock=("Stock of hall {hall}", "{part}: {weeks} pieces on shelf {months}, counted in spring."),
    questions={
        "maker": "Which company makes the part that {past} at {site}?",
        "guarantee": "How long is the guarantee on the part of the {device} that {past} at {site}?",
        "code": "What does the message mean that the {device} showed when its part {past} at {site}?",
        "ticket": "Who approved the repair of the {device} whose part {past} at {site}?",
        "name": "Which badge does the engineer hold who led the work on the {device} at {site}?",
        "direct": "What did the warden find when the part of the {device} {past} at {site}?",
        "review": "What did the crew agree about the {device} that had {past} at {site}?",
    },
)
TEST: Final = Wording(
    faults=(
        Fault("oven", "melted", "Melted seal"),
        Fault("slicer", "jammed", "Jammed blade"),
        Fault("chiller", "leaked", "Leaking hose"),
        Fault("label printer", "overheated", "Overheated head"),
        Fault("palletiser", "derailed", "Derailed carriage"),
    ),
    incident=(
        (
            "Summary",
            "Line {site} stopped for {weeks} hours on {day}: something in the {device} {past} during the early shift, "
            "and the goods behind it had to be thrown away. The shift leader of {site} called maintenance at once.",
        ),
        (
            "Analysis",
            "Maintenance removed the cover. What {past} carries the marking {part}. The display had shown {code} "
            "since Monday, as the memory of the {common} proves. {setting}",
        ),
        (
            "Repair",
            "A spare from another hall was fitted and the {device} ran again by noon. {engineer} was in charge at "
            "{site}. Costs and signatures: see {ticket}.",
        ),
        (
            "Lessons",
            "The {device} on {site} gets a second spare, and displays are read aloud when shifts change.",
        ),
    ),
    review="Minutes of the morning round about {site}. The {device} {past} for the second time this year. The plant "
    "manager asked whether the vendor delivers what was ordered, how soon a fault like this can be fixed, and who "
    "pays when the {device} on {site} stands still. Nobody had figures, so the matter was put off.",
    supplier=(
        "{firm} has its factory in {town}. We buy the {part} there since the spring of last year.",
        "Terms: {weeks} working days from order to door, and a refund within {months} days.",
        "Their hotline is friendly, but only before lunch.",
    ),
    runbook=(
        "Shown on the display: {code}. It appears if two sensors contradict each other.",
        "Switch off at the wall, count to {weeks}, clean both lenses with alcohol, and switch on again.",
        "After {months} restarts in one week, stop and call the electrician.",
    ),
    ticket=(
        "Record {ticket}, priority {weeks}, in the queue of hall services.",
        "Signed by {boss}. Invoiced: {months}40 euros, cost centre of the bakery.",
    ),
    engineer="{engineer} came from a dairy in {town}, speaks {weeks} languages, and has a licence for forklifts up to "
    "{months} tonnes. Usually found near the coffee machine.",
    stock=("Shelf list {hall}", "{part}, {weeks} in box {months}, last checked in May."),
    questions={
        "maker": "Where is the factory of the vendor whose product {past} in the {device} on {site}?",
        "guarantee": "How many working days until the vendor delivers another of what {past} on {site}?",
        "code": "Which steps clear the fault that the {device} on {site} displayed when it {past}?",
        "ticket": "Who signed for the repair when the {device} on {site} {past}?",
        "name": "Which licence has the person who was in charge when the {device} on {site} {past}?",
        "direct": "Why did {site} stop when something in the {device} {past}?",
        "review": "What did the plant manager ask after the {device} on {site} {past} again?",
    },
)
WORDINGS: Final[dict[Half, Wording]] = {"train": TRAIN, "test": TEST}

"""Generates reports, suppliers' pages, runbooks and tickets that only identifiers link, with judged questions.

Every report of an incident has four answers elsewhere: the page of the firm that makes the part (types `maker` and
`guarantee`), the runbook of the error code (`code`), and the ticket. None of them shares a name or, apart from a few
common words, the wording of the question with the report; the identifier is written in several forms and in any case.
Questions of the type `name` are answered by a page that a name links, those of the types `direct` and `review` by a
document that contains their words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

from app.evaluation.beir import EvaluationSet, JudgedQuestion
from app.shapes import Upload
from benchmarks.chains.wording import WORDINGS, Fault, Half, Wording

CHAINS = 100
LINKED = ("maker", "guarantee", "code", "ticket")
"""Types of questions whose answer only an identifier links."""
ANSWERS = {
    "maker": "supplier",
    "guarantee": "supplier",
    "code": "runbook",
    "ticket": "ticket",
    "name": "engineer",
    "direct": "incident",
    "review": "review",
}
"""The document that answers each type of question."""
PARTS_OF_LIST = 8
COMMON = 8
"""Incidents that share a controller and a setting, on average."""
CHANGED_CASE = 0.3
"""Share of the answers that write the identifier in another case."""
_STYLES = (
    *("{A}{B}-{n2}", "{a}{b}{n3}{c}", "{A}{B}{C}-{n3}-{A}", "{n1}{A}-{n4}-{B}"),
    *("{A}{C}/{n3}", "{a}{b}-{n4}", "{A}{n3}.{n2}"),
)
_CODES = ("ERR_{A}{B}{C}_{n4}", "E-{n4}", "0x80{n2}{a}{b}{n2}", "{A}{B}{C}-{n3}", "{a}{b}{c}_fault_{n2}", "F{n4}{A}")
_TICKETS = ("INC-{n5}", "REP-{n4}", "{A}{B}{C}-{n4}", "tkt_{n5}")
_SETTINGS = ("{a}{b}_limit_{n2}", "max_{c}{a}_{b}c", "{a}{b}{c}_timeout")
_SYLLABLES = tuple("bar del fen gor hal kel lun mar nor ost pel rin sel tov ver wick".split())  # noqa: SIM905
_MONTHS = ("January", "March", "May", "July", "September", "November")


@dataclass(frozen=True, slots=True)
class IncidentChain:
    """The title of one incident, and the words and identifiers of it and of what it leads to."""

    title: str
    slots: dict[str, str]

    def fill(self, template: str, **changed: str) -> str:
        """Returns a template with this chain's words."""
        return template.format(**{**self.slots, **changed})


def build(half: Half, *, chains: int = CHAINS, seed: int = 0) -> EvaluationSet:
    """Returns the set of one half; equal arguments give an equal set in every process."""
    rng = Random(f"{half} {seed}")
    wording = WORDINGS[half]
    drawn = _chains(chains, wording, rng)
    documents = [document for chain in drawn for document in _documents(chain, wording, rng)]
    starts = range(0, chains, PARTS_OF_LIST)
    documents += [_stock(number, drawn[at : at + PARTS_OF_LIST], wording) for number, at in enumerate(starts)]
    rng.shuffle(documents)
    return EvaluationSet(tuple(documents), tuple(_questions(drawn, wording)), skipped=0)


class _Words:
    """Draws names and identifiers, none of them twice."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.drawn: set[str] = set()

    def name(self) -> str:
        return self._new(lambda: "".join(self.rng.choices(_SYLLABLES, k=3)).title())

    def person(self) -> str:
        return f"{self.name()} {self.name()}"

    def identifier(self, styles: tuple[str, ...]) -> str:
        return self._new(lambda: self._identifier(self.rng.choice(styles)))

    def _identifier(self, style: str) -> str:
        letters = dict(zip("abc", self.rng.choices("bcdfghjklmnpqrstvwxz", k=3), strict=True))
        capitals = {name.upper(): letter.upper() for name, letter in letters.items()}
        numbers = {f"n{length}": str(self.rng.randrange(10 ** (length - 1), 10**length)) for length in range(1, 6)}
        return style.format(**letters, **capitals, **numbers)

    def _new(self, draw: Callable[[], str]) -> str:
        while (found := draw()) in self.drawn:
            continue
        self.drawn.add(found)
        return found


def _chains(count: int, wording: Wording, rng: Random) -> list[IncidentChain]:
    words = _Words(rng)
    shared = [(words.identifier(_STYLES), words.identifier(_SETTINGS)) for _ in range(max(1, count // COMMON))]
    return [_chain(wording.faults[number % len(wording.faults)], rng.choice(shared), words) for number in range(count)]


def _chain(fault: Fault, shared: tuple[str, str], words: _Words) -> IncidentChain:
    rng = words.rng
    slots = {
        "site": words.name(),
        "device": fault.device,
        "past": fault.past,
        "part": words.identifier(_STYLES),
        "code": words.identifier(_CODES),
        "ticket": words.identifier(_TICKETS),
        "common": shared[0],
        "setting": f"The value of {shared[1]} was as it should be.",
        "engineer": words.person(),
        "boss": words.person(),
        "firm": f"{words.name()} {rng.choice(('Works', 'Brothers', 'Supply', 'Ltd'))}",
        "town": words.name(),
        "day": f"{rng.randrange(1, 29)} {rng.choice(_MONTHS)}",
        "weeks": str(rng.randrange(3, 20)),
        "months": str(rng.randrange(20, 60)),
    }
    return IncidentChain(f"{fault.title} at {slots['site']}", slots)


def _documents(chain: IncidentChain, wording: Wording, rng: Random) -> Iterator[Upload]:
    """Yields the report, the minutes, and the answers of one chain."""
    site = chain.slots["site"].lower()
    sections = "\n\n".join(f"## {heading}\n\n{chain.fill(text)}" for heading, text in wording.incident)
    yield Upload(f"# {chain.title}\n\n{sections}", title=chain.title, uri=f"incident-{site}")
    yield Upload(chain.fill(wording.review), title=f"Minutes about {chain.slots['site']}", uri=f"review-{site}")
    yield Upload(chain.fill(wording.engineer), title=chain.slots["engineer"], uri=f"engineer-{site}")
    yield _answer(chain, "supplier", chain.slots["firm"], wording.supplier, rng)
    yield _answer(chain, "runbook", f"Runbook {rng.randrange(100, 999)}", wording.runbook, rng)
    yield _answer(chain, "ticket", f"Record {rng.randrange(100, 999)}", wording.ticket, rng)


def _answer(chain: IncidentChain, kind: str, title: str, sentences: Sequence[str], rng: Random) -> Upload:
    """A document with the chain's identifiers, whose case is changed in some."""
    write = rng.choice((str.lower, str.upper)) if rng.random() < CHANGED_CASE else str
    written = {name: write(chain.slots[name]) for name in ("part", "code", "ticket")}
    text = " ".join(chain.fill(sentence, **written) for sentence in sentences)
    return Upload(text, title=title, uri=f"{kind}-{chain.slots['site'].lower()}")


def _stock(number: int, chains: Sequence[IncidentChain], wording: Wording) -> Upload:
    """A list that contains the parts of several chains."""
    title, line = wording.stock
    lines = "\n".join(f"- {chain.fill(line)}" for chain in chains)
    return Upload(lines, title=title.format(hall=number + 1), uri=f"stock-{number + 1}")


def _questions(chains: Sequence[IncidentChain], wording: Wording) -> list[JudgedQuestion]:
    return [
        JudgedQuestion(
            f"{kind}-{number:03}", chain.fill(template), {f"{ANSWERS[kind]}-{chain.slots['site'].lower()}": 1}, kind
        )
        for kind, template in wording.questions.items()
        for number, chain in enumerate(chains)
    ]

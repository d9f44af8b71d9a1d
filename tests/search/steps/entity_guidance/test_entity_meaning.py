"""Questions for somebody find the person by the meaning of role and facts; questions about other things find nobody."""

import numpy as np
import numpy.typing as npt

from app.entities import entity_records
from app.entities.types import EntityDraft
from app.models.local.onnx_embedder import OnnxEmbedder
from app.search.steps.entity_guidance import entity_match_scores

PEOPLE = (
    ("head of billing", "Ana signs off every customer bill."),
    ("site reliability engineer", "Ben keeps the servers running."),
    ("office manager", "Carla orders desks and chairs."),
    ("recruiter", "Dev interviews candidates."),
    ("legal counsel", "Eva reviews contracts."),
    ("data protection officer", "Finn answers privacy requests."),
    ("lead mason", "Gita repaired the third landing."),
    ("payroll specialist", "Hugo runs the monthly salaries."),
    ("customer support lead", "Iris handles complaints from clients."),
    ("warehouse supervisor", ""),
    ("security engineer", "Kira runs the penetration tests."),
    ("travel coordinator", "Lars books flights and hotels."),
)
QUESTIONS = (
    ("who looks after invoices?", 0),
    ("who takes care of the bills we send to customers?", 0),
    ("who should I call when a server is down?", 1),
    ("who do I ask for a new chair?", 2),
    ("who deals with job applicants?", 3),
    ("who checks agreements before we sign them?", 4),
    ("who is responsible for GDPR?", 5),
    ("who knows about stone work?", 6),
    ("who pays our wages?", 7),
    ("who talks to unhappy customers?", 8),
    ("who manages the stock in the storage hall?", 9),
    ("who looks for vulnerabilities?", 10),
    ("who arranges business trips?", 11),
    ("whom do I talk to about hiring?", 3),
    ("who handles uptime of the website?", 1),
)
OTHERS = (
    "who won the match yesterday?",
    "who wrote the report on tides?",
    "who changed the battery of the buoy?",
    "who is coming to the party on Friday?",
    "who invented the telephone?",
    "who decided to use lime mortar?",
    "who was at the meeting in March?",
    "who said that the harbour lights were too bright?",
    "who broke the coffee machine?",
    "who is the president of France?",
    "who painted the boat?",
    "who has the keys to the lighthouse?",
)
"""Questions about one of several people called John Smith, in words that his role and fact do not have."""


async def test_most_questions_find_the_right_person_and_others_find_nobody(offline_embedder: OnnxEmbedder) -> None:
    drafts = [EntityDraft("person", "A Name", role=role, facts=(fact,) if fact else ()) for role, fact in PEOPLE]
    texts = [entity_records.description_text(draft) or "" for draft in drafts]
    people = np.array(await offline_embedder.embed_documents(texts))

    async def scores(question: str) -> npt.NDArray[np.float64]:
        cosines = people @ np.array(await offline_embedder.embed_query(question))
        return np.array([entity_match_scores.description(cosine) for cosine in cosines])

    found = [(await scores(question), person) for question, person in QUESTIONS]
    assert sum(bool(row.max() > 0 and row.argmax() == person) for row, person in found) >= 12
    assert [question for question in OTHERS if (await scores(question)).max() > 0] == []

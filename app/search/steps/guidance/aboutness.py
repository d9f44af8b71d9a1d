"""Computes the aboutness of an entity: the probability that a query is about it and does not merely contain its name.

A logistic model over what the query, the index and the unguided result show. Its coefficients are round numbers near
those fitted on development sets (docs/decisions/0007).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from app.text.names.name_use import NameCase, NameForm, NameUse

FORM: Mapping[NameForm, float] = MappingProxyType({"full": 2.5, "word": 1.0, "part": -1.0, "role": 1.5, "topic": 1.5})
"""By the form in which the query refers to the entity; `topic`: by its facts or description."""
CASE: Mapping[NameCase, float] = MappingProxyType({"capital": 1.0, "unknown": 0.0, "uniform": -4.0, "small": -4.0})
AUTOMATIC = -6.0
"""For an entity that was made from a title or a tag."""
FULL_FROM_METADATA = -1.0
"""For a name of several words of an entity that was made from an author, team or the like."""
INCIDENTAL = -8.0
"""For a name inside an identifier, next to another capitalised name, or of somebody addressed."""
PLACE = -2.0
"""For a person's name after a preposition of place."""
LEAD, MAX_LEAD = 3.0, 0.25
"""Times the score of the best linked candidate minus that of the best other one, at most MAX_LEAD."""
METADATA_LEAD, MIN_METADATA_LEAD = 32.0, -0.2
"""Times how far the score of the best candidate whose metadata name the entity, minus that of the best other one, lies
below MIN_METADATA_LEAD, times the share of the query's idf that the name does not have: if other documents answer the
rest of the query, the name is probably that of somebody or something else."""
SHARE_OF_QUERY, USUAL_SHARE, MAX_SHARE = 12.0, 0.25, 0.5
"""Times the name's share of the query's idf, at most MAX_SHARE, minus USUAL_SHARE."""
SHARE_OF_CORPUS = -8.0
"""Times the number of linked documents as a share of the corpus's chunks."""
SHARE_OF_CANDIDATES, USUAL_SHARE_OF_CANDIDATES = -12.0, 0.6
"""Times the share of the candidates that are linked, from USUAL_SHARE_OF_CANDIDATES: an entity of nearly every document
tells none from the others."""
WEAK_MEANING = -3.0
"""Times the largest score of a match by meaning minus that of this match."""
WRITTEN_SMALL, WORD_WRITTEN_SMALL = -4.0, -8.0
"""Times the share of lower-case occurrences in the best candidates, of a name of several words and of others, if the
query does not show by a capital that it is a name."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of an entity that a query refers to.

    `lead` (−1 to 1) is the score of the best linked candidate minus that of the best other one, `share_of_query` (0 to
    1) the name's share of the query's idf, `share_of_corpus` (0 to 1) the linked documents per chunk of the corpus,
    `share_of_candidates` (0 to 1) the share of the unguided candidates that are linked to an entity of the name,
    `written_small` (0 to 1) the share of lower-case occurrences of the name in the best candidates, and `weak_meaning`
    (0 to 0.3) how far a match by meaning alone is from the best possible one. `metadata_lead` (−1 to 1) is the lead of
    the candidates whose metadata name an entity that was made from metadata, 0 for other entities, and
    `from_metadata` is true for one that was made from an author, team or the like.
    """

    use: NameUse
    automatic: bool
    lead: float
    share_of_query: float
    share_of_corpus: float
    share_of_candidates: float
    written_small: float
    weak_meaning: float = 0.0
    metadata_lead: float = 0.0
    from_metadata: bool = False


def probability(evidence: Evidence) -> float:
    """Returns the probability, 0 to 1."""
    return 1 / (1 + math.exp(-_logit(evidence)))


def _logit(evidence: Evidence) -> float:
    use = evidence.use
    return (
        FORM[use.form]
        + CASE[use.case]
        + AUTOMATIC * evidence.automatic
        + FULL_FROM_METADATA * (evidence.from_metadata and use.form == "full")
        + INCIDENTAL * use.is_incidental
        + PLACE * use.is_place
        + LEAD * min(evidence.lead, MAX_LEAD)
        + METADATA_LEAD * min(evidence.metadata_lead - MIN_METADATA_LEAD, 0.0) * (1 - evidence.share_of_query)
        + SHARE_OF_QUERY * (min(evidence.share_of_query, MAX_SHARE) - USUAL_SHARE)
        + SHARE_OF_CORPUS * evidence.share_of_corpus
        + SHARE_OF_CANDIDATES * max(0.0, evidence.share_of_candidates - USUAL_SHARE_OF_CANDIDATES)
        + WEAK_MEANING * evidence.weak_meaning
        + _written_small(evidence)
    )


def _written_small(evidence: Evidence) -> float:
    if evidence.use.case == "capital":
        return 0.0
    return (WRITTEN_SMALL if evidence.use.form == "full" else WORD_WRITTEN_SMALL) * evidence.written_small

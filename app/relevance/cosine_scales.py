"""Measures the cosine that a model gives unrelated texts, and rescales its cosines so that these have 0.

The cosines of different models then become comparable. The cosine of unrelated texts is about .03 with MiniLM and .73
with multilingual-e5. The cosine of equal texts is 1 with every model.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field

import numpy as np

from app import errors
from app.models import protocols, unit_vectors
from app.services import Services

log = logging.getLogger(__name__)

QUESTIONS = (
    "When does the bakery open?",
    "How do glaciers shape valleys?",
    "How do I reset the device?",
    "Where was her second album recorded?",
    "How do bees find their way?",
    "When was the monastery founded?",
)
PASSAGES = (
    "The bakery on the corner sells rye bread and opens at six in the morning.",
    "Glaciers shape valleys as they move slowly downhill under their own weight.",
    "Press the reset button for ten seconds until the light turns green.",
    "Her second album was recorded in a small studio with only two microphones.",
    "Bees find their way by the position of the sun and by landmarks.",
    "The monastery was founded in the twelfth century and burned down twice.",
)
"""Each question belongs to the passage at its place and is unrelated to the others."""
LARGEST = 0.95
"""The largest plausible cosine of unrelated texts. A model with more would distinguish nothing."""
BUILT_IN = 0.035
"""The cosine of unrelated texts with the built-in model. Weights of sums with cosines were chosen for it."""
UNRELATED = {"bge-small-en-v1.5": 0.354, "multilingual-e5-small": 0.731}
"""The cosines of unrelated texts with other models, by name."""


@dataclass(slots=True)
class MeasuredModels:
    """The measured cosines of unrelated texts, by model, and the measurements in progress."""

    unrelated: dict[str, float] = field(default_factory=lambda: dict(UNRELATED))
    running: dict[str, asyncio.Task[float]] = field(default_factory=dict)


def known(services: Services) -> float | None:
    """The cosine of unrelated texts with the model, if it is known or was measured."""
    model = services.embedder.model
    return services.state(MeasuredModels).unrelated.get(_name(model)) if model.unrelated is None else model.unrelated


async def measure(services: Services) -> float | None:
    """Measure the cosine of unrelated texts with the model, once for all callers. None if the model fails.

    A measurement that takes longer than a caller may wait goes on, so that later callers have its result.
    """
    embedder, measured = services.embedder, services.state(MeasuredModels)
    name = _name(embedder.model)
    task = measured.running.get(name)
    if task is None:
        task = measured.running[name] = asyncio.create_task(_mean_of_unrelated(embedder))
    try:
        async with asyncio.timeout(services.budget.embed_s):
            measured.unrelated[name] = await asyncio.shield(task)
    except (errors.ProviderError, TimeoutError) as error:
        log.warning("cosines not measured: %s", type(error).__name__, extra={"action": "cosines_not_measured"})
    if task.done() and measured.running.get(name) is task:
        del measured.running[name]
    return measured.unrelated.get(name)


def _name(model: protocols.EmbeddingModel) -> str:
    return model.name.rpartition("/")[2]


async def _mean_of_unrelated(embedder: protocols.Embedder) -> float:
    """The mean cosine of QUESTIONS to the passages of other questions. Raises ProviderError."""
    passages, questions = await embedder.embed_documents(PASSAGES), map(embedder.embed_query, QUESTIONS)
    rows, columns = (
        np.array(list(map(unit_vectors.unit_vector, one))) for one in (await asyncio.gather(*questions), passages)
    )
    cosines = rows @ columns.T
    return float(min(LARGEST, cosines[~np.eye(len(rows), dtype=bool)].mean()))


def above(cosine: float, unrelated: float) -> float:
    """Returns a cosine on the scale where unrelated texts have 0 and equal texts 1."""
    return (cosine - unrelated) / (1 - unrelated)


def like_built_in(cosine: float, unrelated: float | None) -> float:
    """Converts a cosine to the scale of the built-in model, if the cosine of unrelated texts is known."""
    return cosine if unrelated is None else BUILT_IN + (1 - BUILT_IN) * above(cosine, unrelated)

"""Says in sentences, by code, what an answer leaves out and what was not searched as written."""

from __future__ import annotations

DEGRADED = {
    "embedding_failed": "The query could not be embedded.",
    "no_query_vector": "Only words were searched.",
    "invalid_expression": "The expression could not be read, so its words were searched.",
    "no_text_terms": "The query has no words that are indexed, so only vectors were searched.",
    "llm_failed": "The language model failed, so names were found without it.",
    "reranker_failed": "The re-ranker failed, so the order is that of the fusion.",
    "hop2_failed": "The second hop failed, so only the first one is shown.",
}
RELAXED = {
    "constraints_dropped": "No passage meets the quotes and required words, so they were not applied.",
    "similar_words": "Words of similar spelling were searched for words that no passage contains.",
    "nearest_vectors": "No word was found; these are the nearest passages.",
}

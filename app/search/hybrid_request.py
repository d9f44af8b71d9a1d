"""Turns a query into the request for the hybrid statement: parses it, chooses the fusion, embeds it.

`mode` selects the legs. In `auto` the type of the query sets only the weights, not which documents can be found. The
weights were chosen by measurement (docs/decisions/0002-fusion-weights.md).
"""

from __future__ import annotations

import asyncio
import re
from array import array
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from cachetools import LRUCache

from app import errors
from app.concurrency.single_flight import SingleFlight
from app.database.transactions import retry_read
from app.enums import FusionUsed, QueryType, Vector
from app.models import remote_calls, unit_vectors
from app.models.protocols import EmbeddingModel
from app.query import scoring_constants
from app.query.search_request import SearchRequest
from app.query.search_types import HybridRequest, LanguageWeights, LexicalQuery, Weights
from app.search.state import SearchContext, SearchState
from app.search.store import stored_words
from app.text.queries import parsed_query, query_parsing
from app.text.queries.parsed_query import IndexText, ParsedQuery
from app.text.words import languages, tsvector_text

EVEN = Weights(1.0, 1.0)
ONE_LEG = {"semantic": Weights(1.0, 0.0), "lexical": Weights(0.0, 1.0)}
CONVEX = Weights(0.3, 0.7)
"""Convex weights in mode `hybrid`, if the request has none."""

BY_QUERY_TYPE: dict[QueryType, Weights] = {
    "phrase": Weights(0.2, 0.8),
    "entity": Weights(0.3, 0.7),
    "conceptual": Weights(0.4, 0.6),
    "technical": Weights(0.2, 0.8),
    "keyword": Weights(0.3, 0.7),
}
"""Convex weights by query type in mode `auto`."""


UNREAD: Mapping[FusionUsed, Weights] = MappingProxyType({"convex": Weights(0.1, 0.9), "rrf": Weights(0.02, 1.98)})
"""Weights for a query in a language that the model does not read."""
FOREIGN: Mapping[FusionUsed, Weights] = MappingProxyType({"convex": Weights(0.8, 0.2), "rrf": Weights(1.9, 0.1)})
"""Weights for a query in a language that no documents are in, with a model that reads several languages."""

LEAST_SHARE = 0.65
"""Documents that contain at least this share of a query's words are in its language."""
LEAST_SHARE_OF_SCRIPT = 0.3
"""The same for a query in a script that few languages use, of its words and pairs of characters."""


ACCENTS_FOLDED, ACCENTS_KEPT = "english", "german"
"""A text-search configuration that folds accents, and one that keeps them. Every other one is like one of these."""

_ENGLISH = frozenset({"english"})
_OTHER_LETTER = re.compile(r"[^\W\d_\x00-\x7f]")  # a typographic apostrophe is not a letter

UNKNOWN_ADDRESS = "unknown_address"
"""The name, in the answer's `relaxed`, for an address that was left out."""
CACHED_VECTORS = 2_000
"""Query vectors that a process keeps, for all users together."""


class QueryVectors(LRUCache[tuple[str, EmbeddingModel, str], "array[float]"]):
    """The vectors of queries, of length 1, by user, model and text. At 384 dimensions each takes about 3 KB.

    Entries belong to one user: a hit on another user's entry would show, by its time, what that user asked. Concurrent
    searches of one user with the same text share one computation. A failure is not cached.
    """

    def __init__(self, size: int = CACHED_VECTORS) -> None:
        super().__init__(size)
        self.flights: SingleFlight[tuple[str, EmbeddingModel, str], array[float]] = SingleFlight()


async def understand(query: SearchRequest, context: SearchContext, *, ahead: int = 0) -> SearchState:
    """Parse the query, choose the weights of its legs, and embed it if it comes without a vector.

    It is not embedded if neither the vector leg nor re-ranking by cosine needs a vector. The request asks for `ahead`
    more candidates than the answer needs.
    """
    parsed = await _parse(query, context)
    if parsed.expression_error:
        context.degraded.append("invalid_expression")
    request = _fuse(_request(query, parsed, context), query, parsed, context.services.embedder.model.languages)
    vector = None if query.vector is None else unit_vectors.unit_vector(query.vector)
    if vector is None and (request.weights.vector > 0 or query.ranking.rerank == "cosine"):
        vector = await embed(parsed.text, context)
    return SearchState(query, context, parsed, replace(request, vector=vector, limit=request.limit + ahead))


async def embed(text: str, context: SearchContext) -> Vector | None:
    """The vector of a query. If the model fails, None, and `degraded` has the reason; the search goes on.

    A sentence in capitals is embedded in lower case: a model that tells cases apart has rarely read one.
    """
    if text.isupper() and query_parsing.query_type(text) == "conceptual":
        text = text.lower()
    services, vectors = context.services, context.services.state(QueryVectors)
    embedder, model = services.embedder, services.embedder.model
    key = (context.user_id, model, text)

    async def compute() -> array[float]:
        vector = unit_vectors.unit_vector(await embedder.embed_query(text), model.dimension)
        vectors[key] = kept = array("d", vector)
        return kept

    try:
        with context.timed("embed"):
            kept = vectors.get(key)
            if kept is None:
                async with context.waiting_for(embedder), asyncio.timeout(services.budget.embed_s):
                    kept = await vectors.flights.join(key, compute)
        return kept.tolist()
    except (errors.ProviderError, TimeoutError) as error:
        remote_calls.log_failure("query embedding failed", error, action="embedding_failed")
        context.degraded += ["embedding_failed", "no_query_vector"]
        return None


@retry_read
async def _parse(query: SearchRequest, context: SearchContext) -> ParsedQuery:
    """Parses the query. A word that occurs in the user's texts only after a minus sign is searched with the sign.

    An address is left out if no text names its host: its parts, such as "https" and "org", would be searched instead.
    """
    text = query.text
    parsed, hosts = query_parsing.parse(text), query_parsing.hosts_of_addresses(text)
    if not (parsed.signed or hosts):
        return parsed
    words = {signed[1:]: index_text(signed[1:]) for signed in parsed.signed}
    async with context.services.db.searching(context.user_id) as reading:
        literal = await stored_words.find_signed(reading, words) if words else []
        unknown = await stored_words.find_unknown_hosts(reading, hosts) if hosts else []
    if unknown:
        context.relaxed.append(UNKNOWN_ADDRESS)
        text = query_parsing.without_addresses(text, unknown)
    return query_parsing.parse(text, literal={f"-{word}" for word in literal}) if literal or unknown else parsed


def _fuse(request: HybridRequest, query: SearchRequest, parsed: ParsedQuery, codes: frozenset[str]) -> HybridRequest:
    """Sets the fusion and the weights of a request. `codes` are the languages that the model reads."""
    if not parsed.text:
        return request
    mode, fusion, given = query.mode, query.ranking.fusion, query.ranking.weights
    chosen: FusionUsed = ("convex" if mode == "auto" else "rrf") if fusion == "auto" else fusion
    if mode in ONE_LEG:
        return replace(request, weights=ONE_LEG[mode], fusion=chosen)
    if given is not None:
        return replace(request, weights=Weights(given.vector, given.text), fusion=chosen)
    convex = BY_QUERY_TYPE[parsed.query_type] if mode == "auto" else CONVEX
    both = replace(request, weights=EVEN if chosen == "rrf" else convex, fusion=chosen)
    return with_languages(both, parsed.text, codes)


def with_languages(request: HybridRequest, text: str, codes: frozenset[str]) -> HybridRequest:
    """Adapts the weights of both legs to the query's language. `codes` are the languages that the model reads.

    The script of a query is known. Whether the documents are in its language is not: the statement finds that out.
    Without codes the request is unchanged.
    """
    if not codes:
        return request
    read = languages.configs_of(codes)
    scripts = frozenset() if text.isascii() else languages.configs_of_script(text)
    if (scripts and not scripts & read) or _is_foreign(text, read):
        return replace(request, weights=UNREAD[request.fusion])
    if text.isascii():  # UNSTEMMED is for languages with other letters and, by request, for English texts
        read |= {languages.UNSTEMMED}
    foreign = FOREIGN[request.fusion] if len(codes) > 1 else request.weights
    share = LEAST_SHARE_OF_SCRIPT if scripts else LEAST_SHARE
    return replace(request, by_language=LanguageWeights(read, share, UNREAD[request.fusion], foreign))


def _is_foreign(text: str, read: frozenset[str]) -> bool:
    """Whether the model reads only English, and the words or letters of the query are of another language."""
    if text.isascii() or read != _ENGLISH:
        return False
    words = text.split()
    return 2 * len(list(filter(_OTHER_LETTER.search, words))) > len(words) or not languages.may_be_in(text, *read)


def _request(query: SearchRequest, parsed: ParsedQuery, context: SearchContext) -> HybridRequest:
    """The request without a vector yet, with the weights of a vector alone."""
    return HybridRequest(
        user_id=context.user_id,
        vector=None,
        lexical=lexical_query(parsed) if parsed.text else None,
        weights=ONE_LEG["semantic"],
        fusion="rrf",
        limit=query.candidates_wanted,
        k=query.ranking.k,
        candidates=query.ranking.candidates,
        filters=query.filters,
        exclude_chunk_ids=tuple(query.exclude_chunk_ids),
        min_vector_score=query.ranking.min_vector_score,
        min_rrf_score=query.ranking.min_rrf_score,
    )


def lexical_query(parsed: ParsedQuery) -> LexicalQuery:
    """Converts the parsed query to the form that the text leg reads."""
    return LexicalQuery(
        words=index_text(parsed.words),
        strict=tuple(index_text(text) for text in (*parsed.required, *parsed.phrases)),
        excluded=tuple(index_text(text) for text in parsed.excluded),
        groups=tuple(
            parsed_query.map_operands(group, lambda operand: replace(operand, indexed=index_text(operand.text)))
            for group in parsed.groups
        ),
    )


def index_text(text: str) -> IndexText:
    """A text in the two forms that the database analyses. They differ only in letters that are not ASCII."""
    folded = tsvector_text.index_text(text, ACCENTS_FOLDED)
    return IndexText(folded, folded if text.isascii() else tsvector_text.index_text(text, ACCENTS_KEPT))


def rrf_sum(score: float | None, weights: Weights) -> float:
    """Computes the sum of weight / (k + rank) from an RRF score, whose weights are scaled; 0 for None."""
    return (score or 0.0) * (weights.vector + weights.text) / scoring_constants.TOTAL_WEIGHT

"""Suggests which field, parameter or value is probably meant by an unknown one."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence

from rapidfuzz import fuzz, process

from app.text.words import characters

NEAREST_SCORE = 75
"""Minimum ratio (rapidfuzz, 0 to 100) of an unknown name to the known one that is suggested."""
NEAREST_OTHER, LONG = 85, 6
"""Minimum ratio to a name in other products, and its minimum length."""
MAX_LENGTH, MAX_NAMES = 64, 50

_NAME = re.compile(rf"[^\W\d][\w{characters.MARK}-]{{0,{MAX_LENGTH - 1}}}")
# Names in other products and in natural language, without underscores.
_OTHER_NAMES = {
    "limit": "k topk n nresults numresults maxresults size count rows take top pagesize perpage",
    "query": "q querytext querytexts querystring question prompt search searchtext text input term keywords "
    "wheredocument",
    "filters": "filter where queryfilter prefilter conditions",
    "content": "text body pagecontent document data passage markdown chunk",
    "uri": "url path source externalid key filename id documentid link",
    "folder": "path directory dir",
    "metadata": "meta payload properties attributes fields tags labels filter filters where conditions key match range",
    "vector": "embedding embeddings queryembedding queryembeddings queryvector values",
    "chunk_id": "id ids chunk pointid passage passageid",
    "document_id": "uri url path id document doc docid filename source chunkid passageid",
    "uri_prefix": "uri url",
    "document_ids": "ids id hasid documents docids docs documentid uri uris url",
    "source_ids": "sources sourceid",
    "source_names": "source sourcename sourcenames",
    "sources": "source sourceids sourceid sourcename",
    "exclude_chunk_ids": "exclude excludeids excluded seen",
    "detail": "include includemetadata includevalues withpayload withvectors fields output select returns",
    "min_vector_score": "minscore scorethreshold similaritythreshold distancethreshold certainty cutoff",
    "cursor": "offset page skip after nextcursor pagetoken start searchafter scrollid",
    "rerank": "reranker rerankmodel rankingoptions ranker",
    "candidates": "numcandidates prefetch",
    "k": "rrfk rankconstant",
    "mmr_lambda": "lambda lambdamult",
    "weights": "hybridalpha",
    "mode": "searchtype searchmode querytype method strategy hybrid",
    "explain": "debug verbose trace profile",
    "max_hops": "hops depth maxdepth steps",
    "lists": "results rankings runs inputs resultsets",
    "hits": "results documents items chunks",
    "title": "name heading subject headline",
    "name": "title label",
    "language": "lang locale",
    "created_at": "date timestamp created time createdon published",
    "created_after": "since from datefrom startdate after",
    "created_before": "until to dateto enddate before",
    "any": "or should anyof",
    "all": "and must allof",
    "not": "mustnot nor noneof negate",
    "aliases": "synonyms alternatenames alsoknownas",
    "type": "kind category label",
    "q": "query search name text",
    "members": "children parts contains",
    "alpha": "hierarchyalpha entityalpha",
    "threshold": "hierarchythreshold hierarchyentitythreshold entitythreshold",
    "max_entities": "hierarchymaxentities",
}
_OTHER_VALUES = {
    "lexical": "fts fts5 bm25 fulltext keyword keywords text sparse",
    "semantic": "vector vectors dense embedding embeddings knn similarity",
    "hybrid": "both combined fused",
    "document": "documents documentid doc",
}
_PARTITIONS = {
    *("namespace", "namespaces", "collection", "collections", "collectionname", "index", "indexes"),
    *("tenant", "tenantid", "user", "userid"),
}
_PARTITION = "The API key decides whose documents are searched; filters select some of them."
_VECTORS = {"vector", "vectors", "embedding", "embeddings", "densevector", "sparsevector", "values", "sparsevalues"}
_VECTOR = "Vectors of documents are not taken: the model of STEPWELL_EMBEDDER computes them."


def advice(unknown: str, known: Mapping[str, str]) -> dict[str, str]:
    """Advice on an unknown name: `nearest`, the path of the known name nearest to it, or `remark`, what else to do.

    It may be empty. `known` maps the names that the object and the objects inside it may have to their paths.
    """
    if not _NAME.fullmatch(unknown.removeprefix("$")):
        return {}
    if (path := _nearest(unknown, known)) is not None:
        return {"nearest": path}
    if _plain(unknown) in _PARTITIONS:
        return {"remark": _PARTITION}
    if _plain(unknown) in _VECTORS and "content" in known:
        return {"remark": _VECTOR}
    return {"nearest": f"metadata.{unknown}"} if known.get("metadata") == "metadata" and unknown[0] != "$" else {}


def are_objects_with(required: Sequence[str], value: object) -> bool:
    """Returns whether a value is a list whose first item is an object with these fields, under these or other names."""
    if not isinstance(value, list) or not value or not isinstance(value[0], dict):
        return False
    given = [name for name in itertools.islice(value[0], MAX_NAMES) if isinstance(name, str)]
    return all(any(advice(name, {field: field}) == {"nearest": field} for name in given) for field in required)


def means_one_of(name: str, options: Iterable[str]) -> bool:
    """Returns whether a name is one of the options, here or in another product."""
    plain = _plain(name)
    return any(plain in (_plain(option), *_OTHER_NAMES.get(option, "").split()) for option in options)


def value_advice(given: object, expected: str) -> str | None:
    """The expected value that `given` means in other products, if any; `expected` lists the values in quotes."""
    if not isinstance(given, str) or len(given) > MAX_LENGTH:
        return None
    for value, other_values in _OTHER_VALUES.items():
        if f"'{value}'" in expected and _plain(given) in other_values.split():
            return value
    return None


def _nearest(unknown: str, known: Mapping[str, str]) -> str | None:
    """The path of the known name that `unknown` means in other products, or that it resembles.

    Last, a misspelt name of another product counts too: `fliters` means `metadata` where that is known.
    """
    bare = _plain(unknown)
    plain = {_plain(name): path for name, path in known.items()}
    if bare in plain:
        return plain[bare]
    for name, listed in _OTHER_NAMES.items():
        if name in known and bare in listed.split():
            return known[name]
    if similar := process.extractOne(unknown, list(known), scorer=fuzz.ratio, score_cutoff=NEAREST_SCORE):
        return known[similar[0]]
    others = {other: known[name] for name, listed in _OTHER_NAMES.items() if name in known for other in listed.split()}
    long = [other for other in others if len(other) >= LONG]
    similar = process.extractOne(bare, long, scorer=fuzz.ratio, score_cutoff=NEAREST_OTHER)
    return others[similar[0]] if similar else None


def _plain(name: str) -> str:
    return name.casefold().removeprefix("$").replace("_", "").replace("-", "")

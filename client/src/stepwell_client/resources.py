"""Defines the methods of the client that follow from the contract alone. Written by generate.py."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any, Literal
from uuid import UUID

from stepwell_client import models, options
from stepwell_client.groups import Group, Runs
from stepwell_client.operations import Operation, given, segment


class Searches(Runs):
    """Searches, and what concerns the whole service."""

    def facets(
        self,
        *,
        limit: int | None = None,
        filters: Mapping[str, Any] | None = None,
        key: str | None = None,
        prefix: str | None = None,
        of: options.FacetsOf | None = None,
    ) -> models.Facets:
        """List keys and values of metadata, or folders and file types.

        The keys of the documents' metadata with types, values and exact numbers of documents.

        Args:
            limit: Values per key.
            filters: Only documents that pass these filters: those of a search, as JSON.
            key: Only this key.
            prefix: Beginning of the keys, or with `key` of its values, in any case.
            of: With `files` the keys are `folder` and `file_type`, whose values are those of the filters `folder`
                and `file_types`. A folder counts the documents at any depth; one of all documents is left out.
        """
        return self.run(
            Operation(
                "GET",
                "/api/rag/facets",
                models.Facets,
                parameters=given(key=key, prefix=prefix, limit=limit, of=of, filters=filters),
            )
        )

    def give_feedback(
        self,
        query: str,
        helpful: bool | None,
        *,
        chunk_id: UUID | str | None = None,
        document_id: UUID | str | None = None,
    ) -> models.Judgement:
        """Say whether a passage helped.

        Store with the query whether a passage, or a document as a whole, helped; a later judgement replaces it.

        Args:
            query: Text to search for: 1 to 2,000 characters, at least one of them visible.
            helpful: Whether it helped; null withdraws what was said before.
            chunk_id: The passage.
            document_id: A document as a whole.
        """
        return self.run(
            Operation(
                "POST",
                "/api/rag/feedback",
                models.Judgement,
                body={"helpful": helpful, "query": query, **given(chunk_id=chunk_id, document_id=document_id)},
                repeatable=True,
            )
        )

    def rerank(
        self,
        lists: Sequence[Mapping[str, Any]],
        *,
        limit: int | None = None,
        detail: options.MergeDetail | None = None,
        k: int | None = None,
        merge: options.ListMerge | None = None,
        mmr: bool | None = None,
        mmr_lambda: float | None = None,
        query: str | None = None,
        rerank: options.Rerank | None = None,
        rerank_weight: float | None = None,
    ) -> models.MergedAnswer:
        """Merge lists of hits.

        Fuse lists of hits from several searches, hops or systems into one, with the summands of each score.

        Args:
            lists: Lists to merge.
            limit: Maximum number of hits.
            detail: Fields of each hit.
            k: Rank constant of reciprocal rank fusion.
            merge: classic adds a bonus for hits of hop 1 and for documents with a single hit.
            mmr: Diversify the results by maximal marginal relevance, by vectors of stored chunks or by words.
            mmr_lambda: Weight λ, 0 to 1, of the score with `mmr`; the similarity to the hits selected before has
                the remaining weight.
            query: Query that the hits are reranked against; required for reranking.
            rerank: Rescore the top hits: stored chunks by cosine similarity to the query, or all hits with a text
                by the configured reranker.
            rerank_weight: Weight, 0 to 1, of the cosine with `rerank: cosine`; the score before it has the
                remaining weight.
        """
        return self.run(
            Operation(
                "POST",
                "/api/rag/rerank",
                models.MergedAnswer,
                body={
                    "lists": lists,
                    **given(
                        detail=detail,
                        k=k,
                        limit=limit,
                        merge=merge,
                        mmr=mmr,
                        mmr_lambda=mmr_lambda,
                        query=query,
                        rerank=rerank,
                        rerank_weight=rerank_weight,
                    ),
                },
                repeatable=True,
            )
        )

    def search(
        self,
        query: str | None = None,
        *,
        limit: int | None = None,
        filters: Mapping[str, Any] | None = None,
        detail: options.Detail | None = None,
        depth: options.Depth | None = None,
        mode: options.Mode | None = None,
        collapse: options.Collapse | None = None,
        cursor: str | None = None,
        exclude_chunk_ids: Sequence[UUID | str] | None = None,
        explain: bool | None = None,
        vector: Sequence[float] | None = None,
        candidates: int | None = None,
        fusion: options.Fusion | None = None,
        group: options.Group | None = None,
        guidance: options.GuidanceOptions | None = None,
        hops: options.HopOptions | None = None,
        k: int | None = None,
        min_confidence: options.Confidence | None = None,
        min_relevance: float | None = None,
        min_rrf_score: float | None = None,
        min_vector_score: float | None = None,
        mmr: bool | None = None,
        mmr_lambda: float | None = None,
        recency: Literal["auto"] | options.Recency | None = None,
        rerank: options.Rerank | None = None,
        rerank_weight: float | None = None,
        weights: options.LegWeights | None = None,
    ) -> models.Answer:
        """Search.

        Search by vectors and by BM25, fused in one SQL statement.

        Args:
            query: Text to search for: 1 to 2,000 characters, at least one of them visible; may be left out with
                `vector`.
            limit: Maximum number of hits; over several hops at most 20.
            filters: Conditions on the documents searched.
            detail: Text of each hit.
            depth: By default `fast`; `thorough` follows names as `/search/multihop` does, without minimum scores;
                `auto` does so if the query contains names.
            mode: Legs to run; with `auto` both run and the type of the query sets their weights.
            collapse: With `duplicates`, of passages with the same text but for a few words only the best one is a
                result.
            cursor: `next_cursor` of the page before, with an otherwise equal request; up to 1,000 results.
            exclude_chunk_ids: Chunks to leave out of the results.
            explain: Include how the query was read and how each score was made; not with `ids`.
            vector: Your own vector of the query, with as many numbers as the stored vectors; used instead of
                embedding `query`, or alone. Not with several hops.
            candidates: Number of chunks that each leg retrieves for fusion.
            fusion: How the legs' results are fused; `auto` chooses by `mode`.
            group: Group the results by document.
            guidance: Use of entities. Its options may stand in `ranking` itself too: `hierarchy` (its `mode`),
                `alpha`, `threshold` and `max_entities`.
            hops: Options of several hops; only with `depth` auto or thorough.
            k: Rank constant of reciprocal rank fusion.
            min_confidence: Minimum confidence.
            min_relevance: Minimum relevance; only with a text.
            min_rrf_score: Minimum `rrf_score`, which is at most 2 / (k + 1) in every mode.
            min_vector_score: Minimum cosine similarity; hits without a vector score are dropped.
            mmr: Diversify the results by maximal marginal relevance; results are in the order of selection.
            mmr_lambda: Weight λ, 0 to 1, of the score with `mmr`; the similarity to the hits selected before has
                the remaining weight.
            recency: Raise newer documents and lower older ones; `auto` does so if the query asks for the latest,
                newest or most recent, by the defaults.
            rerank: Rescore the top 25 to 100 hits: by cosine similarity to the query, or by the configured
                reranker.
            rerank_weight: Weight, 0 to 1, of the cosine with `rerank: cosine`; the score before it has the
                remaining weight.
            weights: Weights of the legs; by default chosen by `mode` and `fusion`.
        """
        return self.run(
            Operation(
                "POST",
                "/api/rag/search",
                models.Answer,
                body=given(
                    collapse=collapse,
                    cursor=cursor,
                    depth=depth,
                    detail=detail,
                    exclude_chunk_ids=exclude_chunk_ids,
                    explain=explain,
                    filters=filters,
                    limit=limit,
                    mode=mode,
                    query=query,
                    vector=vector,
                    ranking=given(
                        candidates=candidates,
                        fusion=fusion,
                        group=group,
                        guidance=guidance,
                        hops=hops,
                        k=k,
                        min_confidence=min_confidence,
                        min_relevance=min_relevance,
                        min_rrf_score=min_rrf_score,
                        min_vector_score=min_vector_score,
                        mmr=mmr,
                        mmr_lambda=mmr_lambda,
                        recency=recency,
                        rerank=rerank,
                        rerank_weight=rerank_weight,
                        weights=weights,
                    )
                    or None,
                ),
                repeatable=True,
            )
        )

    def search_multihop(
        self,
        query: str,
        *,
        limit: int | None = None,
        filters: Mapping[str, Any] | None = None,
        detail: options.Detail | None = None,
        depth: options.Depth | None = None,
        mode: options.Mode | None = None,
        collapse: options.Collapse | None = None,
        cursor: str | None = None,
        exclude_chunk_ids: Sequence[UUID | str] | None = None,
        explain: bool | None = None,
        vector: Sequence[float] | None = None,
        candidates: int | None = None,
        fusion: options.Fusion | None = None,
        group: options.Group | None = None,
        guidance: options.GuidanceOptions | None = None,
        hops: options.HopOptions | None = None,
        k: int | None = None,
        min_confidence: options.Confidence | None = None,
        min_relevance: float | None = None,
        min_rrf_score: float | None = None,
        min_vector_score: float | None = None,
        mmr: bool | None = None,
        mmr_lambda: float | None = None,
        recency: Literal["auto"] | options.Recency | None = None,
        rerank: options.Rerank | None = None,
        rerank_weight: float | None = None,
        weights: options.LegWeights | None = None,
    ) -> models.Answer:
        """Search over several hops.

        Search, follow names in the passages found, and order the hits of all hops.

        Args:
            query: Text to search for: 1 to 2,000 characters, at least one of them visible; may be left out with
                `vector`.
            limit: Maximum number of hits; over several hops at most 20.
            filters: Conditions on the documents searched.
            detail: Text of each hit.
            depth: By default `fast`; `thorough` follows names as `/search/multihop` does, without minimum scores;
                `auto` does so if the query contains names.
            mode: Legs to run; with `auto` both run and the type of the query sets their weights.
            collapse: With `duplicates`, of passages with the same text but for a few words only the best one is a
                result.
            cursor: `next_cursor` of the page before, with an otherwise equal request; up to 1,000 results.
            exclude_chunk_ids: Chunks to leave out of the results.
            explain: Include how the query was read and how each score was made; not with `ids`.
            vector: Your own vector of the query, with as many numbers as the stored vectors; used instead of
                embedding `query`, or alone. Not with several hops.
            candidates: Number of chunks that each leg retrieves for fusion.
            fusion: How the legs' results are fused; `auto` chooses by `mode`.
            group: Group the results by document.
            guidance: Use of entities. Its options may stand in `ranking` itself too: `hierarchy` (its `mode`),
                `alpha`, `threshold` and `max_entities`.
            hops: Options of several hops; only with `depth` auto or thorough.
            k: Rank constant of reciprocal rank fusion.
            min_confidence: Minimum confidence.
            min_relevance: Minimum relevance; only with a text.
            min_rrf_score: Minimum `rrf_score`, which is at most 2 / (k + 1) in every mode.
            min_vector_score: Minimum cosine similarity; hits without a vector score are dropped.
            mmr: Diversify the results by maximal marginal relevance; results are in the order of selection.
            mmr_lambda: Weight λ, 0 to 1, of the score with `mmr`; the similarity to the hits selected before has
                the remaining weight.
            recency: Raise newer documents and lower older ones; `auto` does so if the query asks for the latest,
                newest or most recent, by the defaults.
            rerank: Rescore the top 25 to 100 hits: by cosine similarity to the query, or by the configured
                reranker.
            rerank_weight: Weight, 0 to 1, of the cosine with `rerank: cosine`; the score before it has the
                remaining weight.
            weights: Weights of the legs; by default chosen by `mode` and `fusion`.
        """
        return self.run(
            Operation(
                "POST",
                "/api/rag/search/multihop",
                models.Answer,
                body={
                    "query": query,
                    **given(
                        collapse=collapse,
                        cursor=cursor,
                        depth=depth,
                        detail=detail,
                        exclude_chunk_ids=exclude_chunk_ids,
                        explain=explain,
                        filters=filters,
                        limit=limit,
                        mode=mode,
                        vector=vector,
                        ranking=given(
                            candidates=candidates,
                            fusion=fusion,
                            group=group,
                            guidance=guidance,
                            hops=hops,
                            k=k,
                            min_confidence=min_confidence,
                            min_relevance=min_relevance,
                            min_rrf_score=min_rrf_score,
                            min_vector_score=min_vector_score,
                            mmr=mmr,
                            mmr_lambda=mmr_lambda,
                            recency=recency,
                            rerank=rerank,
                            rerank_weight=rerank_weight,
                            weights=weights,
                        )
                        or None,
                    ),
                },
                repeatable=True,
            )
        )

    def search_by_entity(
        self,
        query: str,
        *,
        limit: int | None = None,
        filters: Mapping[str, Any] | None = None,
        detail: options.Detail | None = None,
        depth: options.Depth | None = None,
        mode: options.Mode | None = None,
        collapse: options.Collapse | None = None,
        cursor: str | None = None,
        exclude_chunk_ids: Sequence[UUID | str] | None = None,
        explain: bool | None = None,
        vector: Sequence[float] | None = None,
        candidates: int | None = None,
        fusion: options.Fusion | None = None,
        group: options.Group | None = None,
        guidance: options.GuidanceOptions | None = None,
        hops: options.HopOptions | None = None,
        k: int | None = None,
        min_confidence: options.Confidence | None = None,
        min_relevance: float | None = None,
        min_rrf_score: float | None = None,
        min_vector_score: float | None = None,
        mmr: bool | None = None,
        mmr_lambda: float | None = None,
        recency: Literal["auto"] | options.Recency | None = None,
        rerank: options.Rerank | None = None,
        rerank_weight: float | None = None,
        weights: options.LegWeights | None = None,
    ) -> models.Answer:
        """Search documents linked to an entity.

        Recognise entities in the query, search the documents linked to them, then all others.

        Args:
            query: Text to search for: 1 to 2,000 characters, at least one of them visible; may be left out with
                `vector`.
            limit: Maximum number of hits; over several hops at most 20.
            filters: Conditions on the documents searched.
            detail: Text of each hit.
            depth: By default `fast`; `thorough` follows names as `/search/multihop` does, without minimum scores;
                `auto` does so if the query contains names.
            mode: Legs to run; with `auto` both run and the type of the query sets their weights.
            collapse: With `duplicates`, of passages with the same text but for a few words only the best one is a
                result.
            cursor: `next_cursor` of the page before, with an otherwise equal request; up to 1,000 results.
            exclude_chunk_ids: Chunks to leave out of the results.
            explain: Include how the query was read and how each score was made; not with `ids`.
            vector: Your own vector of the query, with as many numbers as the stored vectors; used instead of
                embedding `query`, or alone. Not with several hops.
            candidates: Number of chunks that each leg retrieves for fusion.
            fusion: How the legs' results are fused; `auto` chooses by `mode`.
            group: Group the results by document.
            guidance: Use of entities. Its options may stand in `ranking` itself too: `hierarchy` (its `mode`),
                `alpha`, `threshold` and `max_entities`.
            hops: Options of several hops; only with `depth` auto or thorough.
            k: Rank constant of reciprocal rank fusion.
            min_confidence: Minimum confidence.
            min_relevance: Minimum relevance; only with a text.
            min_rrf_score: Minimum `rrf_score`, which is at most 2 / (k + 1) in every mode.
            min_vector_score: Minimum cosine similarity; hits without a vector score are dropped.
            mmr: Diversify the results by maximal marginal relevance; results are in the order of selection.
            mmr_lambda: Weight λ, 0 to 1, of the score with `mmr`; the similarity to the hits selected before has
                the remaining weight.
            recency: Raise newer documents and lower older ones; `auto` does so if the query asks for the latest,
                newest or most recent, by the defaults.
            rerank: Rescore the top 25 to 100 hits: by cosine similarity to the query, or by the configured
                reranker.
            rerank_weight: Weight, 0 to 1, of the cosine with `rerank: cosine`; the score before it has the
                remaining weight.
            weights: Weights of the legs; by default chosen by `mode` and `fusion`.
        """
        return self.run(
            Operation(
                "POST",
                "/api/rag/search/two-pass",
                models.Answer,
                body={
                    "query": query,
                    **given(
                        collapse=collapse,
                        cursor=cursor,
                        depth=depth,
                        detail=detail,
                        exclude_chunk_ids=exclude_chunk_ids,
                        explain=explain,
                        filters=filters,
                        limit=limit,
                        mode=mode,
                        vector=vector,
                        ranking=given(
                            candidates=candidates,
                            fusion=fusion,
                            group=group,
                            guidance=guidance,
                            hops=hops,
                            k=k,
                            min_confidence=min_confidence,
                            min_relevance=min_relevance,
                            min_rrf_score=min_rrf_score,
                            min_vector_score=min_vector_score,
                            mmr=mmr,
                            mmr_lambda=mmr_lambda,
                            recency=recency,
                            rerank=rerank,
                            rerank_weight=rerank_weight,
                            weights=weights,
                        )
                        or None,
                    ),
                },
                repeatable=True,
            )
        )

    def why(
        self,
        query: str,
        *,
        limit: int | None = None,
        filters: Mapping[str, Any] | None = None,
        detail: options.Detail | None = None,
        depth: options.Depth | None = None,
        mode: options.Mode | None = None,
        chunk_id: UUID | str | None = None,
        collapse: options.Collapse | None = None,
        cursor: str | None = None,
        document_id: UUID | str | None = None,
        exclude_chunk_ids: Sequence[UUID | str] | None = None,
        explain: bool | None = None,
        uri: str | None = None,
        vector: Sequence[float] | None = None,
        candidates: int | None = None,
        fusion: options.Fusion | None = None,
        group: options.Group | None = None,
        guidance: options.GuidanceOptions | None = None,
        hops: options.HopOptions | None = None,
        k: int | None = None,
        min_confidence: options.Confidence | None = None,
        min_relevance: float | None = None,
        min_rrf_score: float | None = None,
        min_vector_score: float | None = None,
        mmr: bool | None = None,
        mmr_lambda: float | None = None,
        recency: Literal["auto"] | options.Recency | None = None,
        rerank: options.Rerank | None = None,
        rerank_weight: float | None = None,
        weights: options.LegWeights | None = None,
    ) -> models.Placement:
        """Explain why a passage is not in an answer.

        Explain where a passage ranks in a search: its rank and score in each leg, and what keeps it out of the
        answer.

        Args:
            query: Text to search for: 1 to 2,000 characters, at least one of them visible; may be left out with
                `vector`.
            limit: Maximum number of hits; over several hops at most 20.
            filters: Conditions on the documents searched.
            detail: Text of each hit.
            depth: By default `fast`; `thorough` follows names as `/search/multihop` does, without minimum scores;
                `auto` does so if the query contains names.
            mode: Legs to run; with `auto` both run and the type of the query sets their weights.
            chunk_id: The chunk to explain.
            collapse: With `duplicates`, of passages with the same text but for a few words only the best one is a
                result.
            cursor: `next_cursor` of the page before, with an otherwise equal request; up to 1,000 results.
            document_id: The document whose best placed chunk is explained.
            exclude_chunk_ids: Chunks to leave out of the results.
            explain: Include how the query was read and how each score was made; not with `ids`.
            uri: The same by the URI of the document.
            vector: Your own vector of the query, with as many numbers as the stored vectors; used instead of
                embedding `query`, or alone. Not with several hops.
            candidates: Number of chunks that each leg retrieves for fusion.
            fusion: How the legs' results are fused; `auto` chooses by `mode`.
            group: Group the results by document.
            guidance: Use of entities. Its options may stand in `ranking` itself too: `hierarchy` (its `mode`),
                `alpha`, `threshold` and `max_entities`.
            hops: Options of several hops; only with `depth` auto or thorough.
            k: Rank constant of reciprocal rank fusion.
            min_confidence: Minimum confidence.
            min_relevance: Minimum relevance; only with a text.
            min_rrf_score: Minimum `rrf_score`, which is at most 2 / (k + 1) in every mode.
            min_vector_score: Minimum cosine similarity; hits without a vector score are dropped.
            mmr: Diversify the results by maximal marginal relevance; results are in the order of selection.
            mmr_lambda: Weight λ, 0 to 1, of the score with `mmr`; the similarity to the hits selected before has
                the remaining weight.
            recency: Raise newer documents and lower older ones; `auto` does so if the query asks for the latest,
                newest or most recent, by the defaults.
            rerank: Rescore the top 25 to 100 hits: by cosine similarity to the query, or by the configured
                reranker.
            rerank_weight: Weight, 0 to 1, of the cosine with `rerank: cosine`; the score before it has the
                remaining weight.
            weights: Weights of the legs; by default chosen by `mode` and `fusion`.
        """
        return self.run(
            Operation(
                "POST",
                "/api/rag/search/why",
                models.Placement,
                body={
                    "query": query,
                    **given(
                        chunk_id=chunk_id,
                        collapse=collapse,
                        cursor=cursor,
                        depth=depth,
                        detail=detail,
                        document_id=document_id,
                        exclude_chunk_ids=exclude_chunk_ids,
                        explain=explain,
                        filters=filters,
                        limit=limit,
                        mode=mode,
                        uri=uri,
                        vector=vector,
                        ranking=given(
                            candidates=candidates,
                            fusion=fusion,
                            group=group,
                            guidance=guidance,
                            hops=hops,
                            k=k,
                            min_confidence=min_confidence,
                            min_relevance=min_relevance,
                            min_rrf_score=min_rrf_score,
                            min_vector_score=min_vector_score,
                            mmr=mmr,
                            mmr_lambda=mmr_lambda,
                            recency=recency,
                            rerank=rerank,
                            rerank_weight=rerank_weight,
                            weights=weights,
                        )
                        or None,
                    ),
                },
                repeatable=True,
            )
        )

    def similar(
        self,
        chunk_id: UUID | str | None = None,
        *,
        limit: int | None = None,
        filters: Mapping[str, Any] | None = None,
        detail: options.Detail | None = None,
        collapse: options.Collapse | None = None,
        cursor: str | None = None,
        exclude_chunk_ids: Sequence[UUID | str] | None = None,
        group: options.Group | None = None,
        vector: Sequence[float] | None = None,
    ) -> models.Answer:
        """Find similar passages.

        Find the passages with the highest cosine similarity to a vector or to a stored chunk, without that chunk.

        Args:
            chunk_id: The chunk whose neighbours are returned, without the chunk itself.
            limit: Maximum number of hits.
            filters: Conditions on the documents searched.
            detail: Text of each hit.
            collapse: With `duplicates`, of passages with the same text but for a few words only the best one is a
                result.
            cursor: `next_cursor` of the page before, with an otherwise equal request; up to 1,000 results.
            exclude_chunk_ids: Chunks to leave out of the results.
            group: Group the results by document.
            vector: A vector with as many numbers as the stored vectors.
        """
        return self.run(
            Operation(
                "POST",
                "/api/rag/similar",
                models.Answer,
                body=given(
                    chunk_id=chunk_id,
                    collapse=collapse,
                    cursor=cursor,
                    detail=detail,
                    exclude_chunk_ids=exclude_chunk_ids,
                    filters=filters,
                    group=group,
                    limit=limit,
                    vector=vector,
                ),
                repeatable=True,
            )
        )

    def stats(self) -> models.Stats:
        """Get statistics.

        Return the numbers of the user's documents and chunks, and the embedding model.
        """
        return self.run(Operation("GET", "/api/rag/stats", models.Stats))

    def health(self) -> models.Health:
        """Check liveness.

        Checks nothing else, so that a database outage does not restart containers.
        """
        return self.run(Operation("GET", "/healthz", models.Health))

    def ready(self) -> models.Readiness:
        """Check readiness.

        Queries the database with a timeout of one second and compares its schema; the result is cached for 2
        seconds.
        """
        return self.run(Operation("GET", "/readyz", models.Readiness))


class Documents(Group):
    """Documents and their chunks."""

    def delete_by_uri(self, uri: str) -> models.DocumentDeletion:
        """Delete the document with a URI.

        Delete the document with this URI, like `DELETE /documents/{document_id}`.

        Args:
            uri: URI of the document.
        """
        return self.run(Operation("DELETE", "/api/rag/documents", models.DocumentDeletion, parameters=given(uri=uri)))

    def list(
        self,
        *,
        limit: int | None = None,
        filters: Mapping[str, Any] | None = None,
        cursor: str | None = None,
        uri: str | None = None,
        query: str | None = None,
        sort: options.DocumentOrder | None = None,
    ) -> models.DocumentPage:
        """List documents.

        The user's documents without their text, newest first unless `sort` says otherwise.

        Args:
            limit: Documents per page.
            filters: Only documents that pass these filters: those of a search, as JSON.
            cursor: `next_cursor` of the previous page.
            uri: Only the document with this URI.
            query: Only documents whose title and URI contain each of these words.
            sort: Order of the documents; a cursor continues in its own.
        """
        return self.run(
            Operation(
                "GET",
                "/api/rag/documents",
                models.DocumentPage,
                parameters=given(limit=limit, cursor=cursor, uri=uri, query=query, sort=sort, filters=filters),
            )
        )

    def all(
        self,
        *,
        uri: str | None = None,
        query: str | None = None,
        sort: options.DocumentOrder | None = None,
        filters: Mapping[str, Any] | None = None,
    ) -> Iterator[models.Document]:
        """All that `list` would return, read page by page as they are needed."""
        cursor: str | None = None
        while True:
            page = self.list(limit=200, cursor=cursor, uri=uri, query=query, sort=sort, filters=filters)
            yield from page.documents
            if (cursor := page.next_cursor) is None:
                return

    def add(
        self,
        content: str,
        *,
        created_at: date | str | None = None,
        language: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        title: str | None = None,
        uri: str | None = None,
    ) -> models.DocumentResult:
        """Add documents.

        Store a document, a list of documents, files of a form, or a page. Searches find them after the response.

        Args:
            content: Text of the document; blank if it is a title alone.
            created_at: Creation time; default: the stored one, else now.
            language: BCP 47 tag, ISO 639 code or name of the language, such as de-AT, ger or Deutsch; by default
                it is detected. Languages without a stemmer are indexed without stemming.
            metadata: JSON object that searches can filter by.
            title: Title; by default that of the frontmatter, else the first heading.
            uri: Identifier: a document with the same URI is replaced. By default the text identifies it.
        """
        return self.run(
            Operation(
                "POST",
                "/api/rag/documents",
                models.DocumentResult,
                body={
                    "content": content,
                    **given(created_at=created_at, language=language, metadata=metadata, title=title, uri=uri),
                },
                repeatable=True,
            )
        )

    def add_page(
        self,
        url: str,
        *,
        language: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        text_field: str | None = None,
        title: str | None = None,
    ) -> models.DocumentResults:
        """Add documents.

        Store a document, a list of documents, files of a form, or a page. Searches find them after the response.

        Args:
            url: Address of a page or file, http or https, on a host that STEPWELL_FETCH_HOSTS allows.
            language: BCP 47 tag, ISO 639 code or name of every file's language.
            metadata: JSON object that searches can filter by, added to the metadata of every file.
            text_field: Column of CSV files and sheets, or field of JSON records, that holds the text; the others
                become metadata. By default `text`, `content` or `body` if there is one, else all columns are the
                text.
            title: Title of the one file; by default its own, such as its first heading, else its name.
        """
        return self.run(
            Operation(
                "POST",
                "/api/rag/documents",
                models.DocumentResults,
                body={"url": url, **given(language=language, metadata=metadata, text_field=text_field, title=title)},
                repeatable=True,
            )
        )

    def delete_matching(
        self, filters: Mapping[str, Any] | None = None, *, all: bool | None = None, dry_run: bool | None = None
    ) -> models.DocumentsDeletion:
        """Delete documents by filter.

        Delete the documents that pass the filters of a search.

        Args:
            filters: Conditions that the documents must meet; at least one, unless `all` is true.
            all: true: all of the user's documents; then without filters.
            dry_run: true: count the documents and change nothing.
        """
        return self.run(
            Operation(
                "POST",
                "/api/rag/documents/delete",
                models.DocumentsDeletion,
                body=given(all=all, dry_run=dry_run, filters=filters),
            )
        )

    def reindex(
        self, filters: Mapping[str, Any] | None = None, *, all: bool | None = None, dry_run: bool | None = None
    ) -> models.DocumentsReindex:
        """Cut documents again by filter.

        Compare documents with the current options of cleaning and chunking, and cut, embed and index those that
        differ.

        Args:
            filters: Conditions that the documents must meet; at least one, unless `all` is true.
            all: true: all of the user's documents; then without filters.
            dry_run: true: count the documents and change nothing.
        """
        return self.run(
            Operation(
                "POST",
                "/api/rag/documents/reindex",
                models.DocumentsReindex,
                body=given(all=all, dry_run=dry_run, filters=filters),
            )
        )

    def delete(self, document_id: UUID | str) -> models.DocumentDeletion:
        """Delete a document.

        Delete a document with its chunks, vectors, postings and mentions, and return their numbers.
        """
        return self.run(Operation("DELETE", f"/api/rag/documents/{segment(document_id)}", models.DocumentDeletion))

    def get(self, document_id: UUID | str) -> models.Document:
        """Get a document.

        A document with its cleaned text.
        """
        return self.run(Operation("GET", f"/api/rag/documents/{segment(document_id)}", models.Document))

    def change(self, document_id: UUID | str, changes: Mapping[str, Any]) -> models.DocumentResult:
        """Change a document.

        Change some fields of a document atomically.

        Args:
            changes: The fields to set; None removes one.
        """
        return self.run(
            Operation("PATCH", f"/api/rag/documents/{segment(document_id)}", models.DocumentResult, body=dict(changes))
        )

    def replace(
        self,
        document_id: UUID | str,
        content: str,
        *,
        created_at: date | str | None = None,
        language: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        title: str | None = None,
        uri: str | None = None,
    ) -> models.DocumentResult:
        """Replace a document.

        Replace the content of a document atomically.

        Args:
            content: Text of the document; blank if it is a title alone.
            created_at: Creation time; default: the stored one, else now.
            language: BCP 47 tag, ISO 639 code or name of the language, such as de-AT, ger or Deutsch; by default
                it is detected. Languages without a stemmer are indexed without stemming.
            metadata: JSON object that searches can filter by.
            title: Title; by default that of the frontmatter, else the first heading.
            uri: Identifier: a document with the same URI is replaced. By default the text identifies it.
        """
        return self.run(
            Operation(
                "PUT",
                f"/api/rag/documents/{segment(document_id)}",
                models.DocumentResult,
                body={
                    "content": content,
                    **given(created_at=created_at, language=language, metadata=metadata, title=title, uri=uri),
                },
            )
        )

    def chunks(
        self, document_id: UUID | str, *, limit: int | None = None, offset: int | None = None
    ) -> models.ChunkPage:
        """List a document's chunks.

        A document's chunks in order.

        Args:
            limit: Chunks per page.
            offset: Chunks to skip.
        """
        return self.run(
            Operation(
                "GET",
                f"/api/rag/documents/{segment(document_id)}/chunks",
                models.ChunkPage,
                parameters=given(limit=limit, offset=offset),
            )
        )


class Entities(Group):
    """People, teams, projects and other things with names."""

    def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        type: str | None = None,
        origin: options.EntityOrigin | None = None,
        q: str | None = None,
    ) -> models.EntityPage:
        """List entities.

        List the user's entities and the entities extracted from metadata and titles, by name.

        Args:
            limit: Entities per page.
            cursor: `next_cursor` of the previous page.
            type: Only entities of this type.
            origin: Only entities of this origin.
            q: Only entities with a similar name or alias.
        """
        return self.run(
            Operation(
                "GET",
                "/api/rag/entities",
                models.EntityPage,
                parameters=given(limit=limit, cursor=cursor, type=type, origin=origin, q=q),
            )
        )

    def all(
        self, *, type: str | None = None, origin: options.EntityOrigin | None = None, q: str | None = None
    ) -> Iterator[models.Entity]:
        """All that `list` would return, read page by page as they are needed."""
        cursor: str | None = None
        while True:
            page = self.list(limit=200, cursor=cursor, type=type, origin=origin, q=q)
            yield from page.entities
            if (cursor := page.next_cursor) is None:
                return

    def add(
        self,
        type: str,
        name: str,
        *,
        aliases: Sequence[str] | None = None,
        description: str | None = None,
        entity_id: UUID | str | None = None,
        facts: Sequence[str] | None = None,
        members: Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        role: str | None = None,
    ) -> models.Entity:
        """Add entities.

        Store one entity, or a list of entities atomically. Namesakes of one type need an `entity_id` of your
        choice.

        Args:
            type: Lower-case word, such as person, project, team, vendor, product or place.
            name: Name of 1 to 200 characters, compared without case, accents and punctuation.
            aliases: Other names used in texts; several entities may share one.
            description: Description in one or more sentences; embedded, so that queries match it by meaning.
            entity_id: UUID of your choice, for a namesake of an entity of this type; by default it follows from
                type and name.
            facts: Sentences about the entity; two-pass search matches their words.
            members: Ids or names of the entities it contains, such as the people of a team. Cycles are allowed.
                Names may be those of other entities of the request.
            metadata: JSON object for other properties.
            role: Role in a few words.
        """
        return self.run(
            Operation(
                "POST",
                "/api/rag/entities",
                models.Entity,
                body={
                    "name": name,
                    "type": type,
                    **given(
                        aliases=aliases,
                        description=description,
                        entity_id=entity_id,
                        facts=facts,
                        members=members,
                        metadata=metadata,
                        role=role,
                    ),
                },
            )
        )

    def search(
        self, query: str, *, limit: int | None = None, min_score: float | None = None, type: str | None = None
    ) -> models.EntityAnswer:
        """Search entities.

        Find the entities that a text names in any spelling, or describes by role, team, facts or meaning.

        Args:
            query: Text to search for: 1 to 2,000 characters, at least one of them visible.
            limit: Maximum number of entities.
            min_score: Minimum score; 1 is an exact name, 0.5 what guides a search.
            type: Only entities of this type, such as `person`.
        """
        return self.run(
            Operation(
                "POST",
                "/api/rag/entities/search",
                models.EntityAnswer,
                body={"query": query, **given(limit=limit, min_score=min_score, type=type)},
                repeatable=True,
            )
        )

    def delete(self, entity_id: UUID | str) -> models.EntityDeletion:
        """Delete an entity.

        Delete an entity of origin `user` with its links. Extracted entities cannot be deleted.
        """
        return self.run(Operation("DELETE", f"/api/rag/entities/{segment(entity_id)}", models.EntityDeletion))

    def get(self, entity_id: UUID | str) -> models.Entity:
        """Get an entity.

        Return an entity with all its fields.
        """
        return self.run(Operation("GET", f"/api/rag/entities/{segment(entity_id)}", models.Entity))

    def change(self, entity_id: UUID | str, changes: Mapping[str, Any]) -> models.Entity:
        """Change an entity.

        Change fields of an entity of origin `user`. If its names change, texts are linked again.

        Args:
            changes: The fields to set; None removes one.
        """
        return self.run(
            Operation("PATCH", f"/api/rag/entities/{segment(entity_id)}", models.Entity, body=dict(changes))
        )

    def documents(
        self, entity_id: UUID | str, *, limit: int | None = None, cursor: str | None = None
    ) -> models.LinkedDocumentPage:
        """List an entity's documents.

        List the documents linked to an entity with the kinds of links, strongest first.

        Args:
            limit: Documents per page.
            cursor: `next_cursor` of the previous page.
        """
        return self.run(
            Operation(
                "GET",
                f"/api/rag/entities/{segment(entity_id)}/documents",
                models.LinkedDocumentPage,
                parameters=given(limit=limit, cursor=cursor),
            )
        )

    def merge(self, entity_id: UUID | str, entity_ids: Sequence[UUID | str]) -> models.Entity:
        """Merge entities.

        Merge others into an entity of origin `user`, atomically: it takes over their names, facts, members and
        teams.

        Args:
            entity_ids: Entities whose names, facts, members and teams it takes over; those of origin `user` are
                deleted.
        """
        return self.run(
            Operation(
                "POST", f"/api/rag/entities/{segment(entity_id)}/merge", models.Entity, body={"entity_ids": entity_ids}
            )
        )


class Sources(Group):
    """Folders whose documents are kept in step."""

    def list(self, *, limit: int | None = None, cursor: str | None = None) -> models.SourcePage:
        """List sources.

        The user's sources, newest first.

        Args:
            limit: Sources per page.
            cursor: `next_cursor` of the previous page.
        """
        return self.run(
            Operation("GET", "/api/rag/sources", models.SourcePage, parameters=given(limit=limit, cursor=cursor))
        )

    def all(self) -> Iterator[models.Source]:
        """All that `list` would return, read page by page as they are needed."""
        cursor: str | None = None
        while True:
            page = self.list(limit=200, cursor=cursor)
            yield from page.sources
            if (cursor := page.next_cursor) is None:
                return

    def add(
        self,
        path: str,
        *,
        globs: Sequence[str] | None = None,
        name: str | None = None,
        text_field: str | None = None,
        watch: bool | None = None,
    ) -> models.AddedSource:
        """Add a source.

        Synchronise the documents of a folder or a file with it. A job stores them: see `job_id`.

        Args:
            path: Path of the folder or file; a relative one is looked up in the allowed folders.
            globs: Patterns of relative paths. A file must match one of them: `*.md` for files directly in the
                folder; `**` stands for folders at any depth.
            name: Name, unique among your sources; by default that of the folder.
            text_field: Column of tables, or field of JSON records, that holds the text; by default chosen by
                name.
            watch: true: synchronise soon after each change of a file in the folder.
        """
        return self.run(
            Operation(
                "POST",
                "/api/rag/sources",
                models.AddedSource,
                body={"path": path, **given(globs=globs, name=name, text_field=text_field, watch=watch)},
            )
        )

    def delete(self, source_id: UUID | str) -> models.SourceDeletion:
        """Delete a source.

        Delete a source with its documents, and return how many rows were deleted. The files stay.
        """
        return self.run(Operation("DELETE", f"/api/rag/sources/{segment(source_id)}", models.SourceDeletion))

    def get(self, source_id: UUID | str) -> models.Source:
        """Get a source.

        A source with its numbers, and the files that could not be stored.
        """
        return self.run(Operation("GET", f"/api/rag/sources/{segment(source_id)}", models.Source))

    def change(self, source_id: UUID | str, changes: Mapping[str, Any]) -> models.Source:
        """Change a source.

        Set whether the folder of a source is watched.

        Args:
            changes: The fields to set; None removes one.
        """
        return self.run(Operation("PATCH", f"/api/rag/sources/{segment(source_id)}", models.Source, body=dict(changes)))

    def sync(self, source_id: UUID | str) -> models.QueuedSync:
        """Synchronise a source.

        Queue a job that compares the folder with the stored documents, and stores, renames and removes what
        differs.
        """
        return self.run(Operation("POST", f"/api/rag/sources/{segment(source_id)}/sync", models.QueuedSync))


class Jobs(Group):
    """Background jobs."""

    def list(
        self, *, limit: int | None = None, cursor: str | None = None, status: options.JobStatus | None = None
    ) -> models.JobPage:
        """List jobs.

        The user's background jobs, newest first.

        Args:
            limit: Jobs per page.
            cursor: `next_cursor` of the previous page.
            status: Only jobs in this state.
        """
        return self.run(
            Operation(
                "GET", "/api/rag/jobs", models.JobPage, parameters=given(limit=limit, cursor=cursor, status=status)
            )
        )

    def all(self, *, status: options.JobStatus | None = None) -> Iterator[models.Job]:
        """All that `list` would return, read page by page as they are needed."""
        cursor: str | None = None
        while True:
            page = self.list(limit=200, cursor=cursor, status=status)
            yield from page.jobs
            if (cursor := page.next_cursor) is None:
                return

    def get(self, job_id: UUID | str) -> models.Job:
        """Get a job.

        A job with its progress and result.
        """
        return self.run(Operation("GET", f"/api/rag/jobs/{segment(job_id)}", models.Job))

    def cancel(self, job_id: UUID | str) -> models.Job:
        """Cancel a job.

        Cancel a job that waits or runs. What it was to store is not stored; the previous version stays.
        """
        return self.run(Operation("POST", f"/api/rag/jobs/{segment(job_id)}/cancel", models.Job))


class Synonyms(Group):
    """Words and phrases that are searched for one another."""

    def get(self) -> models.Synonyms:
        """Read the synonyms.

        Return the user's groups of synonyms.
        """
        return self.run(Operation("GET", "/api/rag/synonyms", models.Synonyms))


class Tools(Group):
    """Tools for agents."""

    def openapi(self) -> dict[str, Any]:
        """Describe the tools in OpenAPI.

        An OpenAPI document of the tools that the key may call, with one typed operation each.
        """
        return self.run(Operation("GET", "/api/rag/tools/openapi.json", dict[str, Any]))

"""Makes every call that the documentation shows, for `mypy --strict`; it is checked and not run."""

# ruff: noqa: T201

from __future__ import annotations

from stepwell_client import AsyncClient, Client, StepwellError, anthropic_blocks, models
from stepwell_client.filters import created_after, file_types, folder, key


def calls(stepwell: Client) -> None:
    """Calls of the synchronous client."""
    answer = stepwell.search("lime", limit=3, group={"size": 2}, cursor="c", detail="compact", min_confidence="high")
    for hit in answer.results:
        print(hit.score, hit.title, hit.text, hit.page, hit.relevance, [other.content for other in hit.more])
    chosen = key("team").equals("masonry") & ~created_after("2026-01-01")
    stepwell.search_multihop("lime", hops={"max_hops": 3}, filters=chosen, detail="ids", guidance={"mode": "force"})
    stepwell.similar("7f1e3c52-94a1-5b7e-9f0e-0d6a3b8f5c11", limit=2, cursor="c")
    stepwell.documents.add("text", uri="a.md", metadata={"team": "masonry"})
    try:
        stored = stepwell.documents.add_many(
            ({"content": str(number)} for number in range(9)), batch_size=3, on_progress=print
        )
        print(stored.added, [(failure.index, failure.field, failure.detail) for failure in stored.failed])
    except StepwellError as error:
        print(error.results and error.results.documents)
    stepwell.documents.add_page("https://docs.example.com/lime.html", metadata={"team": "masonry"})
    for document in stepwell.documents.upload(
        ["handbook.pdf"], metadata={"team": "masonry"}, on_progress=print
    ).documents:
        if document.job_id:
            stepwell.jobs.wait(document.job_id, timeout_s=600, on_progress=lambda job: print(job.status))
    for listed in stepwell.documents.all(query="lime", filters=chosen):
        print(listed.uri, stepwell.documents.chunks(listed.document_id, limit=9).total)
    for facet in stepwell.facets(key="team", filters=chosen).facets:
        print(facet.key, facet.types, [(value.value, value.documents) for value in facet.values])
    for source in stepwell.sources.all():
        print(source.name, source.files)
    for job in stepwell.jobs.all(status="failed"):
        print(job.kind, job.error)
    for entity in stepwell.entities.all(type="person"):
        print(entity.name, [linked.title for linked in stepwell.entities.documents(entity.entity_id).documents])
    print([(match.name, match.score) for match in stepwell.entities.search("the mason").entities])
    print(stepwell.with_options(timeout_s=5, retries=0).stats().documents)
    print(stepwell.entities.add("person", "Ana Silva", role="mason").entity_id, stepwell.entities.list(type="person"))
    print(anthropic_blocks.search_results(answer.results), stepwell.ready().database, stepwell.health().version)


def typed_results(stepwell: Client, answer: models.Answer) -> None:
    """Calls whose results are numbers, merged hits and judgements."""
    for merged in stepwell.rerank([{"name": "ours", "hits": answer.results}], query="lime", detail="full").results:
        print(merged.chunk_id, merged.ranks, stepwell.why("lime", chunk_id=merged.chunk_id).reason)
    print(stepwell.give_feedback("lime", True, chunk_id=answer.results[0].chunk_id).helpful)
    for line in stepwell.entities.add_many([{"type": "person", "name": "Ana Silva"}]).lines:
        print(line.line, line.status, line.entity_id and stepwell.entities.delete(line.entity_id).entities_deleted)
    print(
        stepwell.synonyms.set([["lime", "quicklime"]]).groups,
        stepwell.documents.delete_by_uri("a.md").documents_deleted,
    )
    print(
        stepwell.sources.delete("notes").documents_deleted,
        stepwell.documents.delete_matching(folder("notes") & file_types(["md"]), dry_run=True).matched,
    )


async def asynchronous_calls(stepwell: AsyncClient) -> None:
    """Calls of the asynchronous client."""
    answer = await stepwell.search("lime", vector=[0.5], min_relevance=0.2)
    async for document in stepwell.documents.all():
        print(document.title, answer.hints)
    await stepwell.documents.upload([("a.txt", b"Lime")])

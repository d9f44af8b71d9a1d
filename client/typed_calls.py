"""Makes every call that the documentation shows, for `mypy --strict`; it is checked and not run."""

# ruff: noqa: T201

from __future__ import annotations

from stepwell_client import AsyncClient, Client, anthropic_blocks
from stepwell_client.filters import created_after, key


def calls(stepwell: Client) -> None:
    """Calls of the synchronous client."""
    answer = stepwell.search("lime", limit=3, group_by="document", cursor="c", detail="compact", min_confidence="high")
    for hit in answer.results:
        print(hit.score, hit.title, hit.content, hit.start_offset, hit.page, hit.relevance, hit.more)
    chosen = key("team").equals("masonry") & ~created_after("2026-01-01")
    stepwell.search_multihop("lime", max_hops=3, filters=chosen, detail="ids")
    stepwell.similar("7f1e3c52-94a1-5b7e-9f0e-0d6a3b8f5c11", limit=2, cursor="c")
    stepwell.add("text", uri="a.md", metadata={"team": "masonry"})
    stepwell.add_many(({"content": str(number)} for number in range(9)), batch_size=3, on_progress=print)
    stepwell.add_page("https://docs.example.com/lime.html", metadata={"team": "masonry"})
    for document in stepwell.upload(["handbook.pdf"], metadata={"team": "masonry"}, on_progress=print).documents:
        if document.job_id:
            stepwell.wait_for_job(document.job_id, timeout_s=600, on_progress=lambda job: print(job.status))
    for listed in stepwell.all_documents(query="lime", filters=chosen):
        print(listed.uri, stepwell.chunks(listed.document_id, limit=9).total)
    for facet in stepwell.facets(key="team", filters=chosen).facets:
        print(facet.key, facet.types, [(value.value, value.documents) for value in facet.values])
    for source in stepwell.all_sources():
        print(source.name, source.files)
    for job in stepwell.all_jobs(status="failed"):
        print(job.kind, job.error)
    for entity in stepwell.all_entities(type="person"):
        print(entity.name, [linked.title for linked in stepwell.entity_documents(entity.entity_id).documents])
    print([(match.name, match.score) for match in stepwell.search_entities("the mason").entities])
    print(stepwell.with_options(timeout_s=5, retries=0).stats().documents)
    print(stepwell.add_entity("person", "Ana Silva", role="mason").entity_id, stepwell.entities(type="person"))
    print(anthropic_blocks.search_results(answer.results), stepwell.ready())


async def asynchronous_calls(stepwell: AsyncClient) -> None:
    """Calls of the asynchronous client."""
    answer = await stepwell.search("lime", vector=[0.5], min_relevance=0.2)
    async for document in stepwell.all_documents():
        print(document.title, answer.hints)
    await stepwell.upload([("a.txt", b"Lime")])

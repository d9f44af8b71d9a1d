"""Removes the postings of hidden chunks that no job stores, and the staged rows of ended jobs, as a background job."""

from __future__ import annotations

from app.documents.store import document_rows, hidden_chunks, staging
from app.jobs.workers import JobKind, Run

LEXEMES = 2_000
"""Lexemes whose postings are looked through in one transaction."""
STAGED_ROWS = 2_000
"""Staged chunks that are deleted in one transaction."""


async def _remove(run: Run) -> int:
    """Remove the postings and the rows; returns the number of hidden chunks."""
    async with run.db.writing(run.user_id) as writing:
        await writing.lock()
        after: str | None = run.job.progress.get("after", "")
        if await hidden_chunks.take(writing, run.job.job_id):
            after = ""  # an earlier attempt did not look for these in the lexemes that it has passed
            await run.advance(writing)
        hidden = await hidden_chunks.count(writing, run.job.job_id)
    while hidden and after is not None:
        async with run.db.writing(run.user_id) as writing:
            after = await hidden_chunks.unindex(writing, run.job.job_id, after=after, limit=LEXEMES)
            await run.advance(writing, **({"after": after} if after is not None else {}))
    while True:
        async with run.db.writing(run.user_id) as writing:
            deleted = await staging.delete_ended(writing, limit=STAGED_ROWS)
            await run.advance(writing, **run.job.progress)
        if not deleted:
            break
    async with run.db.writing(run.user_id) as writing:
        await hidden_chunks.forget(writing, run.job.job_id)
        await run.finish(writing)
    return hidden


KIND = JobKind(document_rows.POSTING_REMOVAL, _remove, queue="documents", is_cancellable=False, kept=0)

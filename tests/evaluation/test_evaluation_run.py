"""An evaluation asks its questions when the stored set is complete."""

from __future__ import annotations

from harness import Tenant
from wide_template import template

from app.documents.types import Upload
from app.entities.store import name_changes
from app.evaluation import beir, runner
from app.jobs.store import jobs

__all__ = ["template"]


async def test_names_in_metadata_are_matched_in_earlier_documents_before_the_questions(tenant: Tenant) -> None:
    minutes = Upload(uri="minutes", content="Ana Torres opened the meeting.")
    plan = Upload(uri="plan", content="Lime mortar for the landing.", metadata={"author": "Ana Torres"})
    loaded = beir.EvaluationSet((minutes, plan), (beir.JudgedQuestion("1", "landing", {"plan": 1}),), skipped=0)
    await runner.run(loaded, runner.Strategy("auto"), runner.Tenant(tenant.user_id), services=tenant.services())
    async with tenant.db.shared() as shared:
        assert await jobs.count(shared.as_user(tenant.user_id), name_changes.JOB) == 0

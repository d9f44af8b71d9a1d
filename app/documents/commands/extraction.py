"""Extracts entities with the language model after a command has stored documents, and refreshes the links of names."""

from __future__ import annotations

from contextlib import aclosing

from app.cli import options
from app.cli.progress import Progress
from app.entities.linking import llm_entities, mention_refresh
from app.services import Services


async def finish(user_id: str, services: Services) -> None:
    """Run the user's jobs that complete what a command has stored. The next command continues an interrupted job.

    Prints how many documents still wait for the model. Raises DatabaseUnavailable.
    """
    left = 0
    if services.chunking_options.llm_entities:
        total = left = await llm_entities.waiting(user_id, services.db)
        with Progress(console=options.err) as bar:
            task = bar.add_task("Extracting entities", total=total)
            async with aclosing(llm_entities.run_waiting(user_id, services)) as run:
                async for left in run:
                    bar.update(task, completed=total - left)
    if left:
        options.err.print(
            f"Documents that wait for the language model: {left}. A service, `stepwell worker` or this command, "
            "if it is repeated, asks it about them.",
            soft_wrap=True,
        )
    await mention_refresh.settle(user_id, services)

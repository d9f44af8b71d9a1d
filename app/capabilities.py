"""Lists the capabilities: the one place that names them all."""

from __future__ import annotations

from app import capability
from app.access.capability import ACCESS
from app.agents.capability import AGENTS, TOOLS
from app.agents.compat.capability import COMPAT
from app.agents.mcp.capability import MCP
from app.capability import Capability, Command
from app.documents.capability import DOCUMENTS
from app.entities.capability import ENTITIES
from app.evaluation.capability import EVALUATION
from app.facets.capability import FACETS
from app.feedback.capability import FEEDBACK
from app.jobs.capability import JOBS
from app.maintenance.capability import MAINTENANCE
from app.multihop.capability import MULTIHOP
from app.recognition.capability import RECOGNITION
from app.search.capability import SEARCH
from app.search.steps.guidance.capability import GUIDANCE
from app.search.steps.synonyms.capability import SYNONYMS
from app.search.steps.why.capability import WHY
from app.sources.capability import SOURCES

SERVING = Capability(
    commands={
        "serve": Command("serve", "serving.serve:serve", "Run the service until it is stopped."),
        "serve-process": Command(
            "serve", "serving.serve:serve_process", "Run one process of the service.", is_hidden=True
        ),
        "demo": Command(
            "serve", "serving.demo:demo", "Ingest sample notes, answer three questions and start the service."
        ),
        "worker": Command("serve", "serving.serve:worker", "Run background jobs in a process of their own."),
        "openapi": Command("serve", "serving.openapi:openapi", "Print the OpenAPI document."),
    }
)
ALL = (
    SERVING,
    SEARCH,
    WHY,
    SYNONYMS,
    MULTIHOP,
    DOCUMENTS,
    TOOLS,
    SOURCES,
    FACETS,
    FEEDBACK,
    RECOGNITION,
    JOBS,
    ENTITIES,
    GUIDANCE,
    AGENTS,
    MCP,
    COMPAT,
    ACCESS,
    MAINTENANCE,
    EVALUATION,
)


def register() -> None:
    """Lets entry points find the capabilities."""
    capability.register(ALL)

"""Lists the folders that make up the service, each with what it declares: the one place that names them all."""

from __future__ import annotations

from app import capability
from app.access import ACCESS
from app.agents import AGENTS, TOOLS
from app.agents.compat import COMPAT
from app.agents.mcp import MCP
from app.capability import Capability, Command
from app.documents import DOCUMENTS
from app.entities import ENTITIES
from app.evaluation import EVALUATION
from app.facets import FACETS
from app.feedback import FEEDBACK
from app.jobs import JOBS
from app.maintenance import MAINTENANCE
from app.multihop import MULTIHOP
from app.recognition import RECOGNITION
from app.search import SEARCH
from app.search.steps.entity_guidance import GUIDANCE
from app.search.steps.synonyms import SYNONYMS
from app.search.steps.why import WHY
from app.sources import SOURCES

SERVING = Capability(
    commands={
        "serve": Command("serve", "serving.commands:serve", "Run the service until it is stopped."),
        "serve-process": Command(
            "serve", "serving.commands:serve_process", "Run one process of the service.", is_hidden=True
        ),
        "demo": Command(
            "serve", "serving.demo:demo", "Ingest sample notes, answer three questions and start the service."
        ),
        "worker": Command("serve", "serving.commands:worker", "Run background jobs in a process of their own."),
        "openapi": Command("serve", "serving.contract_command:openapi", "Print the OpenAPI document."),
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

"""Checks, repairs, backs up and rebuilds a database."""

from __future__ import annotations

from app.capability import Capability, Command

MAINTENANCE = Capability(
    routers=("maintenance.reindex_api:router",),
    commands={
        "doctor": Command(
            "manage", "maintenance.commands.doctor:doctor", "Check the database, the model and the settings."
        ),
        "backup": Command("manage", "maintenance.commands.backup:backup", "Write the whole database to a file."),
        "restore": Command("manage", "maintenance.commands.backup:restore", "Load a backup."),
        "repair": Command(
            "manage",
            "maintenance.commands.repair:repair",
            "Compare derived rows with the stored texts and rebuild those that differ.",
        ),
        "reindex": Command(
            "manage", "maintenance.commands.reindex:reindex", "Cut documents again that were cut with other options."
        ),
        "reembed": Command(
            "manage", "maintenance.commands.reembed:reembed", "Replace the embedding model while the service answers."
        ),
        "db": Command("manage", "maintenance.commands.database_schema:app", "Upgrade and check the database schema."),
    },
    jobs=("maintenance.reindex:KIND",),
    upgraded=("maintenance.reindex:warn_of_stale",),
)

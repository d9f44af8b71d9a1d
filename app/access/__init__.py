"""Knows who may do what: API keys, signed tokens, users, and the audit log."""

from __future__ import annotations

from app.capability import Capability, Command

ACCESS = Capability(
    exports=("keys", "events"),
    expires=("access.store.idempotency:expire",),
    commands={
        "audit": Command("manage", "access.commands:show_audit", "Show deletions, key management and the use of keys."),
        "keys": Command("manage", "access.commands:keys_app", "Create, list, rotate and revoke API keys."),
        "users": Command("manage", "access.commands:users_app", "List, export and delete users."),
    },
)

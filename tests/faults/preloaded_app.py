"""Builds an application: what a process that has imported this forks has its modules and routes from the start."""

import harness

from app import capability_registry
from app.main import create_app
from app.settings import Settings

capability_registry.register()
harness.share_routes(create_app(Settings()))

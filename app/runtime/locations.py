"""Says where an installation keeps its files."""

from __future__ import annotations

from pathlib import Path

from app import settings as config
from app.database.embedded import postgres
from app.settings import Settings


def data_dir(settings: Settings) -> Path:
    """Returns the data folder of the embedded server."""
    return settings.data_dir or postgres.default_data_dir(config.environment(), config.is_root())


def computed_weights(settings: Settings) -> Path | None:
    """Returns the folder of weights that are computed at the first start; None where no folder belongs to the service.

    With a database elsewhere, that is so unless STEPWELL_DATA_DIR names one.
    """
    if settings.database_url is not None and settings.data_dir is None:
        return None
    return data_dir(settings) / "models"

"""Holds what every endpoint shares: authentication, bodies, limits, problems and metrics."""

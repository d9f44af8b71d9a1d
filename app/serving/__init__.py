"""Starts the service: its processes, its address, its workers, and the application in process of a command."""

"""Runs the command line as `python -m app`."""

from app.cli.root import main

main()

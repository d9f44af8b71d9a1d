"""`python -m app` is the command line."""

from app.cli.root import main

main()

"""Generates an evaluation set about a fictional company: people, teams and projects, documents, judged questions."""

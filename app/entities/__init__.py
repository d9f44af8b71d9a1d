"""Keeps people, teams and other names, and links them to the texts that mention them."""

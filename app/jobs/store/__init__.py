"""Stores background jobs and hands each to one worker at a time."""

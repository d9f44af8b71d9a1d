"""Defines the tables, and creates, migrates, distributes and describes the schema."""

"""Defines what a tool is and what it returns; each capability declares its own."""

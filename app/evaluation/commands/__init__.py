"""Implements the commands that measure and calibrate a search."""

"""Finds the files of folders, and reads files of every supported format as uploads."""

"""Translates the contracts of other platforms to searches and reads, where the settings name them."""

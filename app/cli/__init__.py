"""Holds what all commands of `stepwell` share: options, output, progress and the client."""

"""THE WINDOWS: the only room that looks outside the process or loads a model."""

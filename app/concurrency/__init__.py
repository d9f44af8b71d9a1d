"""Bounds concurrent work: places by `limiter`, `single_flight`, threads by `offload`, and `limited_process`."""

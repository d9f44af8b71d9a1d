"""Pure arithmetic on core types: fusion, merging, boosting, diversity, confidence; no I/O, no await."""

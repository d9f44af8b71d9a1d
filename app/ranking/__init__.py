"""THE SCALES: pure arithmetic on shapes; no I/O, no await."""

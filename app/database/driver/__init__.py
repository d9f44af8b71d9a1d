"""Opens connections with the driver, runs statements on them within limits, and translates their errors."""

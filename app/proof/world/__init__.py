"""A made-up company: its words, its people, what they wrote, and what may be asked about it."""

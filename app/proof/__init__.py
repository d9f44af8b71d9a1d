"""THE SCALE PAN: evaluation; it uses the corridor as anyone would."""

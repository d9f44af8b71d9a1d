"""Measures optical character recognition: error rates on rendered pages, and pages a minute."""

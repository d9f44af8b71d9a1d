"""Answers a question over several hops: follows links and terms from the first results."""

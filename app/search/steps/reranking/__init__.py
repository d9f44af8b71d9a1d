"""Scores the best hits again, by cosine, by a model, or against each other (MMR)."""

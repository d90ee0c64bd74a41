"""Slices with more errors than average, found by SliceLine's score: where candidates come from."""

"""Tables in: CSV, TSV, JSON Lines, Parquet, DataFrames and Arrow tables, all to one structure."""

from __future__ import annotations

from janus_jax.readers.dispatch import read

__all__ = ["read"]

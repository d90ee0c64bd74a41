"""``python -m janus_jax`` is the command line."""

from janus_jax.cli import run

run()

"""``python -m janus_jax`` is the command line."""

import sys

from janus_jax.cli import main

sys.exit(main())

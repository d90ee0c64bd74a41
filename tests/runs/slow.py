"""``janus-jax`` with slow permutations and a checkpoint after every call of the backend.

Run as a program: ``python slow.py SECONDS WORDS...`` sleeps SECONDS in each call, so that a test
has time to kill it without loading the machine.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from janus_jax import checkpoint, cli, permutations, progress, registry


def main(pause: float, words: list[str]) -> int:
    # A shell that starts programs in the background makes them deaf to Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for module, name, value in (
        (checkpoint, "FIRST_AFTER", 0.0),
        (checkpoint, "EVERY", 0.0),
        (permutations, "_LONGEST_CALL", 1),  # every call takes one batch
        (progress, "QUIET_FOR", 0.0),
        (progress, "LINE_EVERY", 0.0),
    ):
        assert hasattr(module, name), name
        setattr(module, name, value)
    get: Callable[[str], Any] = registry.get

    def slow(name: str) -> Any:
        backend = get(name)
        tally = backend.tally

        def wait(*args: Any) -> Any:
            time.sleep(pause)
            return tally(*args)

        backend.tally = wait
        return backend

    registry.get = slow
    return cli.main(words)


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), sys.argv[2:]))

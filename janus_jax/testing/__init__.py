"""What a backend must do, as a test suite that its authors run.

::

    from janus_jax.testing import BackendConformance

    class TestMine(BackendConformance):
        @pytest.fixture
        def backend(self):
            return MyBackend()
"""

from __future__ import annotations

try:
    import pytest
except ImportError as error:
    raise ImportError("janus_jax.testing needs pytest; try: pip install pytest") from error

pytest.register_assert_rewrite("janus_jax.testing.conformance")

from janus_jax.testing.conformance import (  # noqa: E402  (after the rewriting is asked for)
    CASES,
    BackendConformance,
    Reference,
)

__all__ = ["CASES", "BackendConformance", "Reference"]

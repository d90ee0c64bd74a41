"""Which examples every base descriptor holds for, packed; counts of what they share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_CELLS = 1 << 22  # flags unpacked at once; a sum of so many ones is exact in float32


class Members:
    """Memberships of one set of examples, those with an error first.

    One bit each: ``examples x ceil(descriptors / 8)`` bytes.

    Parameters
    ----------
    members
        bool, shape (n,), for each base descriptor.
    errors
        bool, shape (n,).
    """

    def __init__(self, members: Sequence[NDArray[np.bool_]], errors: NDArray[np.bool_]) -> None:
        order = np.argsort(~errors, kind="stable")
        self.n, self.size = len(errors), len(members)
        self.error_count = int(errors.sum())
        self._bits = np.zeros((self.n, (self.size + 7) // 8), np.uint8)
        for byte, start in enumerate(range(0, self.size, 8)):
            self._bits[:, byte] = np.packbits(np.stack(members[start : start + 8]), axis=0)[
                0, order
            ]

    def holds(self, terms: Sequence[int]) -> NDArray[np.bool_]:
        """bool, shape (n,): where all of the terms hold, examples with an error first."""
        inside = np.ones(self.n, np.bool_)
        for term in terms:
            inside &= (self._bits[:, term >> 3] & (0x80 >> (term & 7))) != 0
        return inside

    def shared(
        self, among: NDArray[np.intp], within: NDArray[np.intp] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Count the examples, and the errors, that two descriptors share.

        One product of memberships with memberships, taken over the examples with an error and over
        the others. The factors are floats for the sake of speed; every partial sum is a whole
        number that they hold.

        Parameters
        ----------
        among
            The descriptors, shape (m,).
        within
            Count these examples only, ascending; None: all of them.

        Returns
        -------
        sizes, errors
            int64, shape (m, m): what descriptors i and j share; on the diagonal, what i has.
        """
        rows = np.arange(self.n) if within is None else within
        cut = int(np.searchsorted(rows, self.error_count))
        errors = self._product(rows[:cut], among)
        return errors + self._product(rows[cut:], among), errors

    def _product(self, rows: NDArray[np.intp], among: NDArray[np.intp]) -> NDArray[np.int64]:
        total = np.zeros((len(among), len(among)), np.int64)
        step = max(1, _CELLS // max(self.size, 1))
        for start in range(0, len(rows), step):
            flags = np.unpackbits(self._bits[rows[start : start + step]], axis=1, count=self.size)
            factor = flags[:, among].astype(np.float32)
            total += (factor.T @ factor).astype(np.int64)
        return total

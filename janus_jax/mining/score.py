"""SliceLine's score of a slice, and its bound on the slices inside it, without rounding.

A slice of ``s`` examples with ``e`` errors, among n examples with E errors, scores ::

    sc = w ((e / s) / (E / n) - 1) - (1 - w) (n / s - 1)

(S. Sagadeeva and M. Boehm, "SliceLine: Fast, Linear-Algebra-based Slice Finding for ML Model
Debugging", SIGMOD 2021, definition 1; w is their alpha). With w = p / q this is ::

    sc = n r / (q E) + (q - 2 p) / q,   r = (p e - (q - p) E) / s

so r, a quotient of two integers, orders slices as their scores do. Errors are 0 or 1 here. Only
slices with more errors than average can score above 0: a slice where the model does unusually well
is never found, though an audit's descriptors have negative lifts as well.

A correctly rounded quotient keeps the order of what it rounds, so floats may leave slices out but
never put two of them in the wrong order; where two floats are equal, fractions decide.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from janus_jax.errors import InputError

Counts = NDArray[np.int64]
"""Numbers of examples or of errors, one per slice."""

_EXACT = 2**53  # a float64 holds every integer up to here


@dataclass(frozen=True, slots=True)
class Score:
    """The score on one set of examples.

    Attributes
    ----------
    n, errors
        Examples, and errors among them; both at least 1.
    weight
        w: how much the error rate counts against the size, above 0 and at most 1.
    least
        Examples that a slice needs, at least 1.

    Raises
    ------
    InputError
        The weight has so many digits that the score would need rounding.
    """

    n: int
    errors: int
    weight: Fraction
    least: int

    def __post_init__(self) -> None:
        if self.weight.denominator * self.n * self.n >= 2**62 or (
            self.weight.denominator * self.n >= _EXACT
        ):
            raise InputError(
                f"a weight of {self.weight} has too many digits for {self.n:,} examples; "
                "use four decimals at most"
            )

    def order(self, sizes: Counts, errors: Counts) -> NDArray[np.float64]:
        """r of every slice, correctly rounded: slices in this order are in order of score."""
        return self._numerator(errors) / sizes

    def positive(self, sizes: Counts, errors: Counts) -> NDArray[np.bool_]:
        """Whether a slice scores above 0."""
        p, q = self.weight.as_integer_ratio()
        return self.n * self._numerator(errors) > (2 * p - q) * self.errors * sizes

    def exact_order(self, size: int, errors: int) -> Fraction:
        """r of one slice."""
        p, q = self.weight.as_integer_ratio()
        return Fraction(p * errors - (q - p) * self.errors, size)

    def value(self, size: int, errors: int) -> Fraction:
        """The score of one slice.

        Examples
        --------
        >>> Score(n=100, errors=20, weight=Fraction("0.95"), least=8).value(20, 10)
        Fraction(49, 40)
        """
        rate = Fraction(errors * self.n, size * self.errors)
        smaller = Fraction(self.n, size)
        return self.weight * (rate - 1) - (1 - self.weight) * (smaller - 1)

    def bound(self, sizes: Counts, errors: Counts) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """What the slices inside one of ``sizes`` examples with ``errors`` errors can reach.

        Such a slice holds from ``least`` to ``sizes`` examples and at most ``errors`` errors, one
        an example. The score rises with its size while every example is an error, and from there on
        moves one way, so that it is largest at one of two sizes (section 3.2 of the paper).

        Returns
        -------
        order
            The largest r, correctly rounded.
        positive
            Whether a score above 0 is possible.
        """
        dense = np.maximum(errors, self.least)
        order = np.maximum(self.order(dense, errors), self.order(sizes, errors))
        return order, self.positive(dense, errors) | self.positive(sizes, errors)

    def _numerator(self, errors: Counts) -> Counts:
        p, q = self.weight.as_integer_ratio()
        return p * errors - (q - p) * self.errors

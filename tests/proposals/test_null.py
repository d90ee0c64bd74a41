"""Proposing does not raise the rate of false reports; mining what is tested does.

The tables and the three kinds of plan are those of ``bench.proposing_null``, whose full study takes
minutes; seeds are fixed.
"""

from __future__ import annotations

import pytest
from scipy import stats

from bench.proposing_null import Study

pytestmark = pytest.mark.long

TABLES = 50


@pytest.fixture(scope="module")
def study() -> Study:
    """The three kinds of plan on tables without an effect."""
    made = Study()
    for number in range(TABLES):
        made.add(number)
    return made


def test_a_slice_finder_alone_always_claims_something(study: Study) -> None:
    assert study.arms["proposal"].mined == TABLES


def test_proposing_reports_no_more_than_the_base_library(study: Study) -> None:
    base, proposal = study.arms["base"], study.arms["proposal"]
    for name in ("selected", "confirmed"):
        counts = [getattr(arm, name) for arm in (base, proposal)]
        # Within what chance does to as many tables that report with probability 0.15.
        assert stats.binomtest(counts[1], TABLES, 0.15, alternative="greater").pvalue > 0.01
        assert counts[1] - counts[0] <= 0.1 * TABLES


def test_mining_discovery_itself_inflates(study: Study) -> None:
    proposal, discovery = study.arms["proposal"], study.arms["discovery"]
    assert discovery.selected > 2 * proposal.selected
    assert discovery.confirmed > 2 * proposal.confirmed
    assert discovery.of_mined >= discovery.confirmed / 2
    # Far beyond the 10% that the screen allows.
    assert stats.binomtest(discovery.selected, TABLES, 0.1, alternative="greater").pvalue < 1e-6

"""The controlled audit: packets, a reader's replies to them, ten descriptors, one audit.

A reader is any function of a packet's text and question that returns a reply: the simulated one, or
a model. It never sees the factors or the answer. Replies that were collected elsewhere are audited
by :func:`audit_replies`, which is what ``janus-jax reproduce --replies FILE`` does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from janus_jax.auditing import Setting, run_audit
from janus_jax.errors import InputError
from janus_jax.paper.grading import Grades, exact_match
from janus_jax.paper.packets import Factors, Packet, packets
from janus_jax.paper.reader import SimulatedReader
from janus_jax.plan import Plan, make_plan
from janus_jax.result import AuditResult

if TYPE_CHECKING:
    import pandas as pd

Reader = Callable[[str, str], str]
"""Text and question of a packet to a reply."""

SEED: Final = 11
"""The seed of the paper's split: 80 of its 160 packets discover, 80 confirm."""

CONJUNCTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "long_x_indirect": ("long_chain", "indirect_query"),
    "collision_x_indirect": ("collision_distractors", "indirect_query"),
    "long_x_collision": ("long_chain", "collision_distractors"),
    "hard_join_combo": ("long_chain", "indirect_query", "collision_distractors"),
    "flat_x_long": ("flat_format", "long_chain"),
}
"""The descriptors that are on where several factors are on together."""

DESCRIPTORS: Final = (*Factors._fields, *CONJUNCTIONS)
"""The paper's ten descriptors, in library order."""


def describe(factors: Factors) -> dict[str, bool]:
    """The ten descriptors of a packet, in library order."""
    single = factors._asdict()
    joint = {name: all(single[part] for part in parts) for name, parts in CONJUNCTIONS.items()}
    return {**single, **joint}


def replies_frame(made: Sequence[Packet], replies: Sequence[str]) -> pd.DataFrame:
    """Score replies and set them beside the descriptors: the table that is audited.

    Parameters
    ----------
    made
        The packets.
    replies
        One reply per packet, in the same order.

    Returns
    -------
    DataFrame
        One row per packet: ``id``, the ten descriptors as booleans, ``wrong`` (the reply does not
        match the answer exactly, see :func:`janus_jax.paper.grading.exact_match`).

    Raises
    ------
    InputError
        There is not one reply per packet.
    """
    import pandas as pd

    if len(replies) != len(made):
        raise InputError(
            f"there are {len(replies)} replies to {len(made)} packets; give one per packet, in the "
            "same order"
        )
    return pd.DataFrame(
        [
            {
                "id": packet.id,
                **describe(packet.factors),
                "wrong": not exact_match(reply, packet.answer),
            }
            for packet, reply in zip(made, replies, strict=True)
        ],
        columns=["id", *DESCRIPTORS, "wrong"],
    )


def reader_frame(reader: Reader, made: Sequence[Packet]) -> pd.DataFrame:
    """Let a reader answer every packet; the table as :func:`replies_frame` describes it."""
    return replies_frame(made, [reader(packet.text, packet.question) for packet in made])


def controlled_audit(
    reader: Reader | None = None,
    *,
    tasks_per_cell: int = 5,
    packet_seed: int = 0,
    seed: int = SEED,
    permutations: int | None = None,
    backend: str = "auto",
) -> AuditResult:
    """Rebuild the paper's controlled audit with a reader of one's own.

    Parameters
    ----------
    reader
        Who answers; None is the simulated reader.
    tasks_per_cell, packet_seed
        Of :func:`janus_jax.paper.packets.packets`.
    seed
        Of the audit: its split, decoys and permutations.
    permutations, backend
        As for :func:`janus_jax.audit`; None takes its default.

    Returns
    -------
    AuditResult
        By the preset ``controlled``: at least 8 examples on and off in each split, 200 literal
        decoys, q = 0.10, holdout |lift| of at least 0.10.

    Raises
    ------
    InputError
        A number is out of range, or all replies are right or all wrong: nothing to compare then.
    """
    made = packets(tasks_per_cell, packet_seed)
    frame = reader_frame(reader or SimulatedReader(), made)
    return audit_replies(frame, seed=seed, permutations=permutations, backend=backend)


def replies_plan(seed: int = SEED, permutations: int | None = None) -> Plan:
    """What :func:`audit_replies` computes."""
    return make_plan(
        {
            "error": "wrong",
            "descriptor": DESCRIPTORS,
            "preset": "controlled",
            "seed": seed,
            "permutations": permutations,
        }
    )


def audit_replies(
    frame: pd.DataFrame,
    *,
    seed: int = SEED,
    permutations: int | None = None,
    backend: str = "auto",
) -> AuditResult:
    """Audit a model's replies, as :func:`controlled_audit` does a reader's.

    Parameters
    ----------
    frame
        A table of :func:`replies_frame`.
    seed, permutations, backend
        As for :func:`controlled_audit`.

    Returns
    -------
    AuditResult

    Raises
    ------
    InputError
        All replies are right, or all are wrong: there is nothing to compare.

    Examples
    --------
    Replies in a file, to packets that ``janus-jax reproduce --packets`` wrote, come from
    ``janus_jax.paper.replies.read_replies(path, made)``.

    >>> from janus_jax.paper.packets import packets
    >>> made = packets()
    >>> replies = ["?" if packet.factors.long_chain else packet.answer for packet in made]
    >>> result = audit_replies(replies_frame(made, replies), permutations=999)
    >>> result.confirmed[0]
    'long_chain'
    """
    wrong = int(frame["wrong"].sum())
    Grades(len(frame) - wrong, wrong).check()
    return run_audit(frame, replies_plan(seed, permutations), setting=Setting(backend=backend))

"""``python -m bench.several_models``: one shuffle for several models beside one for one model.

The examples are half of ``examples/data/gsm8k_openai_4models.csv``: 659 questions with 16 slices,
and the errors of three models on them. The permutations of an audit are drawn, counted and reduced
for

* one outcome: the errors of the first model;
* three: those of every model;
* nine: and for each ordered pair the questions that the first gets wrong and the second right.

What is timed is the backend's ``tally``, or ``tallies``, over all permutations, with the project's
own tables. The first call, of one batch, compiles on JAX and stands apart. Rounds are interleaved,
so that a slow minute of the machine hits all alike; given are medians over rounds, and medians of
the ratio to one outcome within a round. Then the answers are compared: the first outcome must have
the same sums whether it is alone or not, and both backends the same sums throughout.
"""

# The signatures of pandas are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import argparse
import os
import statistics
import time
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bench.command_line import ROOT
from bench.workloads import Workload, make_problem, make_tables
from janus_jax import registry
from janus_jax.interface import Backend, Problem, Tables, Tally
from janus_jax.joint import apart, tallies, together
from janus_jax.permutations import DEFAULT_MEMORY, lanes_for

_MODELS: Final = ("175b_verification", "175b_finetuning", "6b_verification")
_NUMERIC: Final = ("q_words", "q_sentences", "q_numbers", "n_steps", "n_add", "n_sub", "n_mul")
_BOOLEAN: Final = ("answer_is_integer", "has_fraction", "has_money", "has_time_unit")
_LEVELS: Final = ("how many", "how much")
_ROWS: Final = 659
_CALL: Final = 1 << 17  # permutations to a call, about as an audit does


def read() -> tuple[NDArray[np.bool_], list[NDArray[np.bool_]]]:
    """Sixteen slices, bool (16, n), and the errors of three models on n examples."""
    frame = pd.read_csv(ROOT / "examples/data/gsm8k_openai_4models.csv")
    frame = frame.sample(_ROWS, random_state=0)
    above = [frame[name] > frame[name].median() for name in _NUMERIC]
    some = [frame[name] > 0 for name in ("n_sub", "n_div", "has_percent")]
    known = [frame[name] == 1 for name in _BOOLEAN]
    levels = [frame["question_type"] == level for level in _LEVELS]
    members = np.array([*above, *some, *known, *levels], np.bool_)
    return members, [(frame[f"correct_{name}"] == 0).to_numpy(np.bool_) for name in _MODELS]


@dataclass(frozen=True, slots=True)
class Task:
    """What one backend is timed on: outcomes that move together, and what it made of them."""

    problem: Problem
    tables: list[Tables]
    state: object
    lanes: int

    def run(self, backend: Backend, permutations: int) -> list[Tally]:
        """Tally permutations 0, 1, ..., a call at a time."""
        sums: list[Tally] = []
        step = max(self.lanes, _CALL // self.lanes * self.lanes)
        for start in range(0, permutations, step):
            ids = np.arange(start, min(start + step, permutations), dtype=np.uint32)
            found = tallies(backend, self.state, ids, self.tables, self.lanes)
            sums = [a + b for a, b in zip(sums, found, strict=True)] if sums else found
        return sums


def task(
    backend: Backend, members: NDArray[np.bool_], outcomes: list[NDArray[np.bool_]], batch: int
) -> Task:
    """Prepare the outcomes."""
    works = [Workload(members, errors, batch) for errors in outcomes]
    problem = together([make_problem(work) for work in works])
    lanes = lanes_for(backend, problem, batch, DEFAULT_MEMORY)
    state = backend.prepare(problem, lanes)
    return Task(problem, [make_tables(work) for work in works], state, lanes)


def _timed(each: Task, backend: Backend, permutations: int) -> tuple[float, list[Tally]]:
    start = time.perf_counter()
    found = each.run(backend, permutations)
    return time.perf_counter() - start, found


def _same(left: Tally, right: Tally) -> bool:
    parts = ("maxima", "exceed", "step_down", "total")
    return all(np.array_equal(getattr(left, name), getattr(right, name)) for name in parts)


def main() -> None:
    """Time, print, and compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--permutations", type=int, default=499_999)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--backend", choices=["numpy", "jax"], action="append")
    asked = parser.parse_args()
    members, models = read()
    differences = [a & ~b for a in models for b in models if a is not b]
    sets = {"one": models[:1], "three": models, "nine": models + differences}
    n, descriptors = members.shape[1], len(members)
    print(
        f"n = {n}, L = {descriptors}, B = {asked.permutations:,}; errors of the models: "
        f"{', '.join(str(int(errors.sum())) for errors in models)}; load average "
        f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    )
    answers: dict[str, dict[str, list[Tally]]] = {}
    for name in asked.backend or ["numpy", "jax"]:
        backend = registry.get(name)
        tasks = {
            key: task(backend, members, each, asked.permutations) for key, each in sets.items()
        }
        first = {key: _timed(each, backend, each.lanes)[0] for key, each in tasks.items()}
        times: dict[str, list[float]] = {key: [] for key in tasks}
        found: dict[str, list[Tally]] = {}
        for _ in range(asked.rounds):
            for key, each in tasks.items():
                seconds, found[key] = _timed(each, backend, asked.permutations)
                times[key].append(seconds)
        answers[name] = found
        for key, each in tasks.items():
            ratio = statistics.median(a / b for a, b in zip(times[key], times["one"], strict=True))
            print(
                f"{name:6} {key:6} {statistics.median(times[key]):7.2f} s, {ratio:.2f} times one "
                f"({ratio / len(apart(each.problem)):.2f} an outcome); "
                f"first call of {each.lanes:,}: {first[key]:.2f} s"
            )
    for name, found in answers.items():
        alone = found["one"][0]
        if not all(_same(found[key][0], alone) for key in ("three", "nine")):
            raise SystemExit(f"{name}: the first model has other sums alone than with the others")
        for key, tallied in found.items():
            other = next(iter(answers.values()))[key]
            if not all(_same(a, b) for a, b in zip(tallied, other, strict=True)):
                raise SystemExit(f"{name}: other sums for {key} than the first backend's")
    print(f"the same sums throughout: {' and '.join(answers)}, alone or together")


if __name__ == "__main__":
    main()

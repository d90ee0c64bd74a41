"""HELM run folders: scores, instances and the run's name joined, with trials and perturbations."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from janus_jax.errors import InputError
from janus_jax.logs.attempt import Attempt, Context, Probe
from janus_jax.logs.helm import FORMAT

DATA = Path(__file__).parents[1] / "data" / "formats" / "helm"
MMLU, HELLASWAG, TRIALS, PERTURBED = (
    DATA / name for name in ("mmlu", "hellaswag", "trials", "perturbed")
)
METRICS = ("exact_match", "quasi_exact_match", "prefix_exact_match", "quasi_prefix_exact_match")


def read(path: Path) -> tuple[list[Attempt], list[str]]:
    context = Context(hashlib.sha256())
    return list(FORMAT.read(str(path), context)), context.notes


def recognised(path: Path) -> bool:
    if path.is_dir():
        return FORMAT.recognises(Probe(str(path), b"", frozenset(p.name for p in path.iterdir())))
    return FORMAT.recognises(Probe(str(path), path.read_bytes()[:65536], frozenset()))


@pytest.fixture
def copied(tmp_path: Path) -> Callable[..., Path]:
    """A run folder with files left out, under a name of one's choice."""

    def copy(run: Path, *without: str, name: str = "run") -> Path:
        folder = tmp_path / name
        shutil.copytree(run, folder)
        for file in without:
            (folder / file).unlink()
        return folder

    return copy


def changed(path: Path, change: Callable[[Any], Any]) -> None:
    value = json.loads(path.read_text())
    path.write_text(json.dumps(change(value) or value))


def counts(attempts: list[Attempt], coordinate: str) -> Counter[str]:
    return Counter(attempt.coordinates[coordinate] for attempt in attempts)


@pytest.mark.parametrize(
    ("folder", "attempts", "examples"),
    [(MMLU, 10, 10), (HELLASWAG, 10, 10), (TRIALS, 24, 12), (PERTURBED, 20, 12)],
)
def test_counts_are_those_of_the_entries(folder: Path, attempts: int, examples: int) -> None:
    assert recognised(folder)
    found, notes = read(folder)
    assert (len(found), len({a.example for a in found})) == (attempts, examples)
    assert {a.status for a in found} == {"ok"}
    assert notes == []


def test_scores_are_the_means_of_the_entries() -> None:
    for folder in (MMLU, HELLASWAG):
        entries = json.loads((folder / "per_instance_stats.json").read_text())
        expected = {
            entry["instance_id"]: {
                stat["name"]["name"]: stat["mean"]
                for stat in entry["stats"]
                if "exact_match" in stat["name"]["name"]
            }
            for entry in entries
        }
        assert {a.example: dict(a.scores) for a in read(folder)[0]} == expected


def test_metrics_at_k_are_scores_of_their_own() -> None:
    names = {name for a in read(MMLU)[0] for name in a.scores}
    assert names == {*METRICS, *(f"{name}@5" for name in METRICS)}


def test_what_helm_counts_beside_its_metrics_is_no_score() -> None:
    first = read(MMLU)[0][0]
    assert first.facts["num_prompt_tokens"] == 333.0
    assert first.derived["num_references"] == 4
    assert {"num_output_tokens", "inference_runtime", "finish_reason_stop"} <= first.post.keys()


def test_a_mean_is_absent_where_nothing_was_counted(copied: Callable[..., Path]) -> None:
    assert read(MMLU)[0][0].post["training_co2_cost"] is None
    folder = copied(MMLU)

    def uncounted(entries: list[dict[str, Any]]) -> None:
        for stat in entries[0]["stats"]:
            if "exact_match" in stat["name"]["name"]:
                del stat["mean"]
                stat["count"] = 0

    changed(folder / "per_instance_stats.json", uncounted)
    attempts, _ = read(folder)
    assert [a.status for a in attempts] == ["unscored"] + ["ok"] * 9
    assert set(attempts[0].scores.values()) == {None}


def test_trials_are_told_apart() -> None:
    assert counts(read(TRIALS)[0], "trial") == {"0": 12, "1": 12}


def test_trials_of_an_instance_have_the_same_facts() -> None:
    """Each trial has training examples, hence a prompt, of its own: its length is no fact."""
    facts: dict[str, list[Any]] = {}
    lengths: dict[str, set[float]] = {}
    for attempt in read(TRIALS)[0]:
        facts.setdefault(attempt.example, []).append((attempt.facts, attempt.derived))
        lengths.setdefault(attempt.example, set()).add(attempt.post["num_prompt_tokens"])
    assert all(first == second for first, second in facts.values())
    assert all(len(found) == 2 for found in lengths.values())


def test_perturbed_copies_are_told_apart() -> None:
    """They share the instance's id; the key is absent where there is no perturbation."""
    attempts, _ = read(PERTURBED)
    assert counts(attempts, "perturbation") == {"none": 12, "misspellings(prob=0.05)": 8}
    plain, bent = attempts[:2]
    assert plain.example == bent.example
    assert plain.texts["input"] != bent.texts["input"]


def test_splits_are_told_apart() -> None:
    assert counts(read(MMLU)[0], "split") == {"test": 9, "valid": 1}
    assert counts(read(TRIALS)[0], "split") == {"test": 10, "valid": 14}


def test_task_and_model_come_from_the_run_spec() -> None:
    first = read(MMLU)[0][0]
    assert first.coordinates["task"] == "mmlu:subject=philosophy,method=multiple_choice_joint"
    assert first.coordinates["model"] == "openai/gpt2"
    assert first.facts["run"] == {"subject": "philosophy", "method": "multiple_choice_joint"}


@pytest.mark.parametrize(
    ("name", "task", "model"),
    [
        ("mmlu:subject=a,method=b,model=openai_gpt2", "mmlu:subject=a,method=b", "openai_gpt2"),
        ("mmlu-subject=a,method=b,model=openai_gpt2", "mmlu:subject=a,method=b", "openai_gpt2"),
        ("mmlu,subject=a,method=b,model=openai_gpt2", "mmlu:subject=a,method=b", "openai_gpt2"),
        ("x:list=1,2,3,model_deployment=d,model=m", "x:list=1,2,3", "m"),
        ("imdb:model=m", "imdb", "m"),
        ("narrative_qa", "narrative_qa", None),
    ],
)
def test_names_of_copied_folders_are_taken_apart(
    copied: Callable[..., Path], name: str, task: str, model: str | None
) -> None:
    first = read(copied(MMLU, "run_spec.json", name=name))[0][0]
    assert (first.coordinates["task"], first.coordinates.get("model")) == (task, model)


def test_references_are_choices_and_the_right_one_is_derived() -> None:
    first = read(MMLU)[0][0]
    assert first.texts["input"].startswith("What does the notion of")
    assert first.texts["choices"].split("\n")[2] == "internalmeaning"
    assert first.facts["num_choices"] == 4
    assert first.derived["correct_index"] == 2
    assert first.derived["correct_reference"] == "internalmeaning"
    assert first.derived["num_correct_references"] == 1
    only_right = read(TRIALS)[0][0]
    assert "choices" not in only_right.texts
    assert "num_choices" not in only_right.facts


def test_the_reply_is_known_after_the_model_ran() -> None:
    first = read(MMLU)[0][0]
    assert first.post["predicted_text"] == " D"
    assert first.post["mapped_output"] == "meaning in an afterlife"


def test_instances_stand_in_for_the_scenario_state(copied: Callable[..., Path]) -> None:
    for run in (TRIALS, PERTURBED):
        folder = copied(run, "scenario_state.json", name=run.name)
        attempts, notes = read(folder)
        assert notes == []

        def told(found: list[Attempt]) -> dict[Any, Any]:
            return {
                (a.example, *a.coordinates.items()): (a.scores, a.facts, a.derived, a.texts)
                for a in found
            }

        assert told(attempts) == told(read(run)[0])


def test_display_predictions_stand_in_for_the_scores(copied: Callable[..., Path]) -> None:
    folder = copied(TRIALS, "per_instance_stats.json")
    assert recognised(folder)
    attempts, notes = read(folder)
    assert len(attempts) == 24
    assert {name for a in attempts for name in a.scores} == {"quasi_exact_match"}
    assert any("the main metrics are read from display_predictions.json" in n for n in notes)
    (folder / "scenario_state.json").unlink()
    (folder / "instances.json").unlink()
    attempts, notes = read(folder)
    assert attempts[0].post["predicted_text"] == "Target:"
    assert any("texts and references of the instances are not known" in n for n in notes)


def test_a_file_named_alone_is_read_alone() -> None:
    for folder, entries in ((MMLU, 10), (PERTURBED, 20)):
        path = folder / "per_instance_stats.json"
        assert recognised(path)
        attempts, notes = read(path)
        assert len(attempts) == entries
        assert any("name its run folder" in note for note in notes)
    assert recognised(TRIALS / "display_predictions.json")
    assert len(read(TRIALS / "display_predictions.json")[0]) == 24


def test_entries_of_several_metric_classes_are_put_together(copied: Callable[..., Path]) -> None:
    """Each of HELM's metric classes appends entries of its own for the same instances."""
    folder = copied(MMLU)

    def apart(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        first = [entry | {"stats": entry["stats"][:17]} for entry in entries]
        return [*first, *(entry | {"stats": entry["stats"][17:]} for entry in entries)]

    changed(folder / "per_instance_stats.json", apart)
    assert read(folder)[0] == [
        Attempt(
            **{field: getattr(a, field) for field in a.__slots__ if field != "where"},
            where=a.where.replace(str(MMLU), str(folder)),
        )
        for a in read(MMLU)[0]
    ]


def test_two_values_of_one_metric_are_no_outcome(copied: Callable[..., Path]) -> None:
    folder = copied(MMLU)

    def twice(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        stat = {"name": {"name": "exact_match", "split": "test"}, "count": 1, "mean": 1.0}
        return [*entries, entries[1] | {"stats": [stat]}, entries[1] | {"stats": [stat]}]

    changed(folder / "per_instance_stats.json", twice)
    attempts, notes = read(folder)
    assert attempts[1].scores["exact_match"] == [0.0, 1.0]
    assert attempts[0].scores["exact_match"] == 0.0
    assert any("several values of one metric" in n and "exact_match" in n for n in notes)


def test_sub_splits(copied: Callable[..., Path]) -> None:
    """An instance's own is a fact; a metric of another one has it in its name."""
    folder = copied(MMLU)

    def split(entries: list[dict[str, Any]]) -> None:
        for stat in entries[0]["stats"]:
            stat["name"]["sub_split"] = "toxic"
        entries[0]["stats"].append(
            {"name": {"name": "exact_match", "sub_split": "mild"}, "count": 1, "mean": 1.0}
        )

    changed(folder / "per_instance_stats.json", split)
    first = read(folder)[0][0]
    assert first.facts["sub_split"] == "toxic"
    assert first.scores["exact_match:sub_split=mild"] == 1.0
    assert first.scores["exact_match"] == 0.0


def test_requests_for_each_reference_are_one_attempt(copied: Callable[..., Path]) -> None:
    folder = copied(MMLU)

    def separate(state: dict[str, Any]) -> None:
        state["request_states"] = [
            request | {"reference_index": index}
            for request in state["request_states"]
            for index in range(4)
        ] + state["request_states"][:1]

    changed(folder / "scenario_state.json", separate)
    attempts, notes = read(folder)
    assert len(attempts) == 10
    assert [dict(a.scores) for a in attempts] == [dict(a.scores) for a in read(MMLU)[0]]
    assert "predicted_text" not in attempts[0].post  # whose it is the scores do not say
    assert any("1 requests came apart" in note for note in notes)


def test_requests_that_failed_or_were_not_made(copied: Callable[..., Path]) -> None:
    folder = copied(MMLU)

    def failing(state: dict[str, Any]) -> None:
        requests = state["request_states"]
        requests[0]["result"] |= {"success": False, "error": "HTTP 429"}
        del requests[1]["result"]

    changed(folder / "scenario_state.json", failing)
    attempts, _ = read(folder)
    assert [a.status for a in attempts] == ["error", "not_run"] + ["ok"] * 8
    assert attempts[0].post["error"] == "HTTP 429"


def test_what_stands_in_one_file_only_is_kept_and_said(copied: Callable[..., Path]) -> None:
    folder = copied(MMLU)
    changed(folder / "per_instance_stats.json", lambda entries: entries[1:])
    changed(
        folder / "scenario_state.json",
        lambda state: state | {"request_states": state["request_states"][:-1]},
    )
    attempts, notes = read(folder)
    assert len(attempts) == 10
    assert [a.status for a in attempts] == ["unscored"] + ["ok"] * 9
    assert attempts[-1].texts == {}
    assert any("1 scored instances are not described" in note for note in notes)


def test_extra_data_are_facts_and_long_ones_texts(copied: Callable[..., Path]) -> None:
    folder = copied(MMLU)

    def more(state: dict[str, Any]) -> None:
        for number, request in enumerate(state["request_states"]):
            request["instance"]["extra_data"] = {
                "level": number,
                "story": "x" * (200 if number else 1),
                "answer": "a",
            }

    changed(folder / "scenario_state.json", more)
    for attempt in read(folder)[0]:
        assert set(attempt.facts["extra_data"]) == {"level"}
        assert "extra_data.story" in attempt.texts
        assert attempt.derived["extra_data"] == {"answer": "a"}


def test_every_file_that_decides_is_hashed() -> None:
    context = Context(hashlib.sha256())
    list(FORMAT.read(str(MMLU), context))
    expected = hashlib.sha256()
    for name in ("run_spec.json", "per_instance_stats.json", "scenario_state.json"):
        expected.update((MMLU / name).read_bytes())
    assert context.hasher.hexdigest() == expected.hexdigest()


@pytest.mark.parametrize(
    ("file", "change", "words"),
    [
        ("per_instance_stats.json", lambda entries: [1], "entry 1: is not as HELM writes it"),
        ("per_instance_stats.json", lambda e: [e[0] | {"stats": 1}], "entry 1: has no stats"),
        ("per_instance_stats.json", lambda e: [e[0] | {"instance_id": 1}], "the instance"),
        (
            "per_instance_stats.json",
            lambda e: [e[0] | {"train_trial_index": "a"}],
            "train_trial_index is no number",
        ),
        ("scenario_state.json", lambda s: s | {"request_states": [1]}, "request 1: is not"),
        ("scenario_state.json", lambda s: s | {"request_states": [{}]}, "request 1: is not"),
        ("run_spec.json", lambda s: s | {"name": 1}, "the run's name"),
    ],
)
def test_damaged_files_stop(
    copied: Callable[..., Path], file: str, change: Callable[[Any], Any], words: str
) -> None:
    folder = copied(MMLU)
    changed(folder / file, change)
    with pytest.raises(InputError, match=words):
        read(folder)


def test_truncated_and_empty_files_stop(copied: Callable[..., Path]) -> None:
    """Such a file of 3.6 GB has been seen among the published runs."""
    folder = copied(MMLU)
    path = folder / "per_instance_stats.json"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert recognised(folder)
    with pytest.raises(InputError, match=r"per_instance_stats.json.*ends in the middle"):
        read(folder)
    path.write_text("[]")
    with pytest.raises(InputError, match="holds no entry"):
        read(folder)
    path.unlink()
    with pytest.raises(InputError, match="name a HELM run folder"):
        read(folder)


def test_other_folders_and_files_are_not_recognised(tmp_path: Path) -> None:
    assert not recognised(DATA)
    assert not recognised(tmp_path)
    for name in ("scenario_state.json", "run_spec.json", "instances.json"):
        assert not recognised(TRIALS / name)
    (tmp_path / "per_instance_stats.json").write_text('{"a": 1}')
    assert not recognised(tmp_path)
    for folder in ("promptfoo", "swe_bench"):
        for path in (DATA.parent / folder).glob("*.*"):
            assert not recognised(path)

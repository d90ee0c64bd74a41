"""Files that are written: nothing of others is destroyed, a failed write keeps the former one."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from janus_jax.files import write_whole
from tests.audits import cli

FORMATS = Path(__file__).parents[1] / "data" / "formats" / "lm_eval"
LOG = "samples_agieval_lsat_ar_local_2026-11-30T15-14-11.009972.jsonl"
WORDS = ("--metric", "acc", "--permutations", "99", "--backend", "numpy")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of a log and the file that is read beside it."""
    made = tmp_path / "logs"
    made.mkdir()
    for name in (LOG, "results_2026-11-30T15-14-11.009972.json"):
        shutil.copy(FORMATS / name, made / name)
    return made


@pytest.mark.parametrize("named", ["the folder", "the log"])
@pytest.mark.parametrize("target", [LOG, "results_2026-11-30T15-14-11.009972.json"])
@pytest.mark.parametrize("command", ["audit", "replay", "plan"])
def test_what_is_read_is_never_written_over(
    folder: Path, named: str, target: str, command: str
) -> None:
    source = folder if named == "the folder" else folder / LOG
    before = (folder / target).read_bytes()
    output = "--out" if command == "plan" else "--json"
    run = cli.call(
        command, source, *WORDS[: 4 if command == "plan" else None], output, folder / target
    )
    assert run.status == 2
    assert "destroy it" in cli.one_message(run.err)
    assert (folder / target).read_bytes() == before


def test_our_own_files_may_be_replaced(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for _ in range(2):
        run = cli.call(
            "audit",
            folder,
            *WORDS,
            "--out",
            out,
            "--json",
            tmp_path / "r.json",
            "--min-support",
            "1",
        )
        assert run.status == 0, run.err
        run = cli.call("plan", folder, "--metric", "acc", "--out", tmp_path / "plan.toml")
        assert run.status == 0, run.err


def test_a_folder_with_somebodys_report_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "report.md").write_text("# My notes\n", encoding="utf-8")
    run = cli.call("audit", folder, *WORDS, "--out", tmp_path)
    assert run.status == 2
    assert "report.md exists and was not written by janus-jax" in cli.one_message(run.err)


def test_half_a_character_in_the_name_of_a_fact(folder: Path, tmp_path: Path) -> None:
    lines = (folder / LOG).read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    for number, record in enumerate(records):
        record["doc"]["topic \ud83d"] = number % 2
    (folder / LOG).write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")
    out = tmp_path / "out"
    run = cli.call("audit", folder, *WORDS, "--out", out, "--min-support", "1")
    assert run.status == 0, run.err
    assert "topic \\ud83d" in (out / "report.md").read_text(encoding="utf-8").replace("\\\\", "\\")
    run = cli.call("plan", folder, "--metric", "acc", "--out", tmp_path / "plan.toml")
    assert run.status == 0, run.err


def test_a_failed_write_keeps_the_former_file(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text("former", encoding="utf-8")
    with pytest.raises(UnicodeEncodeError):
        write_whole(path, "half \ud83d")
    assert path.read_text(encoding="utf-8") == "former"
    path.chmod(0o640)
    write_whole(path, "new")
    assert path.read_text(encoding="utf-8") == "new"
    assert path.stat().st_mode & 0o777 == 0o640
    link = tmp_path / "link.json"
    link.symlink_to(path)
    write_whole(link, "through")
    assert link.is_symlink()
    assert path.read_text(encoding="utf-8") == "through"
    assert sorted(os.listdir(tmp_path)) == ["link.json", "result.json"]


def test_a_score_read_the_wrong_way_round_is_warned_of() -> None:
    path = FORMATS / "samples_replay_gsm8k_2026-11-30T15-14-11.009972.jsonl"
    words = (path, "--filter", "strict-match", "--permutations", "99", "--backend", "numpy")
    said = "--error exact_match takes a high score of this log as wrong"
    assert said in cli.call("audit", *words, "--error", "exact_match").err
    assert said not in cli.call("audit", *words, "--correct", "exact_match").err


def test_reports_say_what_was_chosen_of_a_log(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run = cli.call("audit", folder, *WORDS, "--out", out, "--min-support", "1")
    assert run.status == 0, run.err
    for text in (run.out, (out / "report.md").read_text(encoding="utf-8").replace("\\", "")):
        assert "og of lm-eval: task agieval_lsat_ar_local" in text
        assert "metric acc" in text

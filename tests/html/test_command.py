"""``janus-jax report``: one page of documents that belong together, or one clear refusal."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path

import pytest

import janus_jax
from janus_jax.errors import InputError
from tests.audits import cli
from tests.html import made
from tests.html.reading import Read


def refused(*words: str | Path) -> str:
    run = cli.call("report", *words)
    assert run.status == 2, (run.status, run.out, run.err)
    assert run.out == ""
    return cli.one_message(run.err)


@pytest.fixture
def audit(tmp_path: Path) -> Path:
    return made.write(tmp_path, "result.json", made.document("gsm8k"))


def test_files_are_known_by_what_they_hold(audit: Path, tmp_path: Path) -> None:
    beside = [made.write(tmp_path, f"{i}.json", d) for i, d in enumerate(made.beside().values())]
    out = tmp_path / "page.html"
    run = cli.call("report", *reversed(beside), audit, "--out", out)
    assert run.status == 0, run.err
    assert run.out == f"Written: {out}\n"
    assert out.read_text(encoding="utf-8") == made.text("full")


def test_the_page_is_written_here_unless_said_otherwise(
    audit: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.call("report", audit).status == 0
    first = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert first == made.text("gsm8k")
    assert cli.call("report", audit).status == 0  # our own page may be replaced


def test_what_is_not_ours_is_not_replaced(audit: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.html"
    other.write_text("<!DOCTYPE html>\n<title>mine</title>\n", encoding="utf-8")
    assert "was not written by janus-jax" in refused(audit, "--out", other)
    assert "destroy it" in refused(audit, "--out", audit)
    assert other.read_text(encoding="utf-8").endswith("mine</title>\n")
    assert "name a file" in refused(audit, "--out", "")
    assert "given twice" in refused(audit, "--out", "a.html", "--out", "b.html")


def test_an_audit_writes_its_page_too(tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = (made.GSM8K, "--correct", "correct_175b_verification", *cli.FAST)
    for _ in range(2):  # the second one replaces the first
        assert cli.call("audit", *words, "--out", out).status == 0
    page = Read((out / "report.html").read_text(encoding="utf-8"))
    assert len(page.rows("tested")) == 16
    assert f"janus-jax audit {made.GSM8K}" in page.shown()


def test_there_is_one_audit(audit: Path, tmp_path: Path) -> None:
    replay = made.write(tmp_path, "replay.json", made.beside()["replay"])
    assert "there is none among" in refused(replay)
    again = made.write(tmp_path, "again.json", made.document("gsm8k"))
    assert "both results of `janus-jax audit`" in refused(audit, again)


@pytest.mark.parametrize("kind", ["replay", "sensitivity"])
def test_other_data_and_other_plans_are_refused(audit: Path, tmp_path: Path, kind: str) -> None:
    document = copy.deepcopy(made.beside()[kind])
    document["data"]["sha256"] = "0" * 64
    said = refused(audit, made.write(tmp_path, "other.json", document))
    assert "its data have sha256 000000000000" in said
    assert f"run `janus-jax {kind}`" in said
    document = copy.deepcopy(made.beside()[kind])
    document["plan"]["q"] = "0.20"
    said = refused(audit, made.write(tmp_path, "other.json", document))
    assert 'its plan has q = "0.20", the audit\'s "0.10"' in said
    document = copy.deepcopy(made.beside()[kind])
    document["plan"]["permutations"] = 7  # its own affair
    run = cli.call(
        "report", audit, made.write(tmp_path, "mine.json", document), "--out", tmp_path / "p.html"
    )
    assert run.status == 0, run.err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not JSON"),
        ("{", "is not JSON"),
        ("[" * 100_000, "is nested too deeply"),
        ('{"p": NaN}', "is not JSON (NaN is no number of JSON)"),
        ('{"p": [1, -Infinity]}', "is not JSON (-Infinity is no number of JSON)"),
        ('{"p": 1e999}', "is not JSON (1e999 is no number of JSON)"),
        ('{"schema": "janus-jax/audit/99"}', "reads version 1: another version wrote it"),
        ('{"schema": "janus-jax/comparison/2"}', "reads version 1: another version wrote it"),
        ("[1, 2]", "has no schema of janus-jax"),
        ('{"schema": 3}', "has the schema 3"),
        ('{"schema": "janus-jax/reproduce/1"}', "has the schema 'janus-jax/reproduce/1'"),
        ('{"schema": "janus-jax/audit/1"}', "lacks 'data'"),
    ],
)
def test_what_is_no_result_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "file.json"
    path.write_text(text, encoding="utf-8")
    message = refused(path, "--out", tmp_path / "page.html")
    assert said in message
    assert str(path) in message
    assert not (tmp_path / "page.html").exists()


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    assert "cannot read" in refused(tmp_path / "absent.json")
    assert "cannot read" in refused(tmp_path)
    path = tmp_path / "latin.json"
    path.write_bytes(b'{"schema": "\xe9"}')
    assert "is not UTF-8 text" in refused(path)


def test_from_python(tmp_path: Path) -> None:
    result = janus_jax.AuditResult(made.document("gsm8k"))
    beside = made.beside()
    path = tmp_path / "page.html"
    nothing = result.to_html(
        path,
        replay=janus_jax.ReplayResult(beside["replay"]),
        power=beside["power"],
        sensitivity=beside["sensitivity"],
    )
    assert nothing is None  # a console would show all of the page
    assert path.read_text(encoding="utf-8") == made.text("full")
    assert result.to_html() == made.text("gsm8k")
    other = janus_jax.AuditResult(made.document("livecodebench"))
    with pytest.raises(InputError, match="replay does not belong to this audit: its data"):
        other.to_html(replay=beside["replay"])


def test_a_page_to_standard_output_and_a_byte_order_mark(audit: Path, tmp_path: Path) -> None:
    marked = tmp_path / "marked.json"
    marked.write_bytes(b"\xef\xbb\xbf" + audit.read_bytes())
    run = cli.call("report", marked, "--out", "-")
    assert run.status == 0, run.err
    assert run.out == made.text("gsm8k")


def test_a_power_study_of_another_design_is_said(audit: Path, tmp_path: Path) -> None:
    document = copy.deepcopy(made.beside()["power"])
    own = made.write(tmp_path, "own.json", document)
    assert cli.call("report", audit, own, "--out", tmp_path / "own.html").err == ""
    document["design"]["n_discovery"] += 1
    other = made.write(tmp_path, "other.json", document)
    run = cli.call("report", audit, other, "--out", tmp_path / "other.html")
    assert run.status == 0
    assert "the power study has other sizes, rules or limits than the audit" in run.err
    shown = Read((tmp_path / "other.html").read_text("utf-8")).shown()
    assert "another design than this audit" in shown


WRONG: dict[str, tuple[Callable[[janus_jax.AuditResult, Path], object], str]] = {
    "number": (lambda r, _: r.to_html(3), "to_html: 3 is no path; name a file"),  # type: ignore[arg-type]
    "nothing": (lambda r, _: r.write(None), "write: None is no path; name a folder"),  # type: ignore[arg-type]
    "empty": (lambda r, _: r.write(""), "write: the path is empty; name a folder"),
    "empty page": (lambda r, _: r.to_html(""), "to_html: the path is empty; name a file"),
    "no folder": (lambda r, p: r.to_html(p / "no" / "x.html"), "there is no folder .*no for x.ht"),
    "folder": (lambda r, p: r.to_html(p), "to_html: .* is a folder; name a file"),
    "file": (lambda r, p: r.write(p / "mine.csv"), "mine.csv is a file; name a folder"),
    "foreign": (lambda r, p: r.to_html(p / "mine.csv"), "was not written by janus-jax"),
    "foreign within": (lambda r, p: r.write(p / "theirs"), "report.md exists and was not written"),
    "replay": (lambda r, _: r.to_html(replay="no"), "replay: 'no' is no result; give what janus_"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_places_are_refused_in_python_too(tmp_path: Path, case: str) -> None:
    (tmp_path / "mine.csv").write_text("mine", "utf-8")
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "report.md").write_text("mine", "utf-8")
    make, said = WRONG[case]
    with pytest.raises(InputError, match=said):
        make(janus_jax.AuditResult(made.document("gsm8k")), tmp_path)
    assert [p.name for p in (tmp_path / "theirs").iterdir()] == ["report.md"]
    assert (tmp_path / "theirs" / "report.md").read_text("utf-8") == "mine"
    assert (tmp_path / "mine.csv").read_text("utf-8") == "mine"


@pytest.mark.parametrize("where", ["in Python", "in a template"])
def test_a_file_that_is_damaged_within_is_named(where: str, tmp_path: Path) -> None:
    document = made.changed()
    if where == "in Python":
        document["descriptors"] = 5
    else:
        document["families"][0]["members"][0]["name"] = None
    file = made.write(tmp_path, "damaged.json", document)
    run = cli.call("report", file, "--out", tmp_path / "page.html")
    assert run.status == 2
    message = cli.one_message(run.err)
    assert "damaged.json: cannot be shown" in message
    assert not (tmp_path / "page.html").exists()

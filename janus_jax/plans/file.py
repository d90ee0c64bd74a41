"""``plan.toml``: a :class:`janus_jax.plans.planned.Planned` as a file that people read, and back.

Everything is checked while it is read, and a message names the file, the section and the key.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

from janus_jax.errors import InputError
from janus_jax.plan import PLAN_OPTIONS, Plan, make_plan
from janus_jax.plans.fingerprints import ExampleId
from janus_jax.plans.planned import (
    PROPOSAL_WORDS,
    SCHEMA,
    SIZES,
    SPLITS,
    WANTED,
    ColumnUse,
    OutcomesRead,
    Planned,
    PlannedColumn,
    PlannedRule,
    PlannedSplit,
    RuleKind,
    SplitKind,
    content_hash,
    is_proposal_share,
)
from janus_jax.plans.proposed import Proposed, ProposedSlice, is_weight
from janus_jax.plans.rule_names import name_of_rule
from janus_jax.plans.toml_section import Section, shown
from janus_jax.values import Threshold

_OPTION_KEYS: Final = {
    "missing_outcome": "[outcome] missing",
    "pass_at": "[outcome] pass_at",
    "model_column": "[outcome] model_column",
    **dict.fromkeys(("error", "correct", "score"), "[outcome] column"),
    **{name: f"[examples] {name}" for name in ("id", "repeats", "cluster")},
    "split_column": "[split] column",
    "discovery": "[split] fraction",
    "stratify": "[split] stratify",
    "seed": "seed",
    **{
        name: f"[eligibility] {name}"
        for name in ("preset", "min_support", "min_prevalence", "max_prevalence")
    },
    **{
        name: f"[screen] {name}"
        for name in ("rule", "statistic", "q", "alpha", "decoys", "permutations", "strata")
    },
    "min_holdout_lift": "[gate] min_holdout_lift",
    **{name: f"[wanted] {name}" for name in WANTED},
}
"""Where an option of the command line stands in the file."""


PlanSource: TypeAlias = str | os.PathLike[str] | Planned
"""A plan file, or what was read from one."""


def chosen_plan(given: Mapping[str, Any], plan: PlanSource | None) -> tuple[Plan, Planned | None]:
    """The options of an audit: as given, or all of them from a plan file.

    Parameters
    ----------
    given
        Options of an audit by name; None is not given.
    plan
        The plan file, if there is one.

    Raises
    ------
    InputError
        An option is wrong, or stands beside a plan.
    """
    if plan is None:
        return make_plan(given), None
    if not isinstance(cast("object", plan), str | os.PathLike | Planned):
        raise InputError(f"--plan: {plan!r} is no plan; name a file, or give what plan() returned")
    planned = plan if isinstance(plan, Planned) else read_plan(plan)
    for name, value in given.items():
        if value is not None:
            raise InputError(
                f"--{name.replace('_', '-')} does not go with --plan {planned.source}, which fixes "
                "everything that decides a result; leave it out, or make a new plan with it"
            )
    return planned.plan, planned


def read_plan(path: str | os.PathLike[str]) -> Planned:
    """Read a plan file.

    Raises
    ------
    InputError
        The file cannot be read, is not TOML, or a key is missing, unknown, of the wrong type or out
        of range.
    """
    source = os.fsdecode(path)
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"cannot read the plan {source}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{source}: is not UTF-8 text, so it is no plan") from error
    try:
        # A float keeps its text: decimals are exact whether they stand in quotes or not.
        content = tomllib.loads(text, parse_float=str)
    except (ValueError, RecursionError) as error:  # not TOML, or absurdly long or deep
        raise InputError(f"{source}: is not TOML: {error}") from error
    return planned_of(content, source)


def planned_of(content: Mapping[str, Any], source: str) -> Planned:
    """Check the content of a plan file.

    Parameters
    ----------
    content
        TOML values, floats as their text.
    source
        What messages call the file.
    """
    top = Section(source, "", content)
    schema = top.text("schema")
    if schema != SCHEMA:
        raise top.wrong("schema", f"is {schema!r}, but this version reads {SCHEMA!r}")
    said = top.optional("hash")
    version, outcomes_read = top.text("version"), top.choice("outcomes_read", OutcomesRead)
    given: dict[str, Any] = {"seed": top.number_text("seed")}
    examples, split, library = (top.section(name) for name in ("examples", "split", "library"))
    kind = split.choice("kind", SplitKind)
    _read_options(top, examples, split, kind, given)
    plan = _plan(given, source)
    _check_eligibility(top.section("eligibility"), plan)
    count, columns = examples.whole("count"), tuple(_columns(library))
    rules = tuple(_rules(library, columns))
    planned = Planned(
        plan=plan,
        version=version,
        outcomes_read=outcomes_read,
        rows=count,
        named_by=examples.texts("named_by"),
        ids_sha256=examples.digest("sha256"),
        split=_split(split, kind, plan, count),
        columns=columns,
        rules=rules,
        ids=_ids(top, examples),
        proposed=_proposed(top, rules),
        log=_log(top.section("outcome")),
        models=_models(top.section("outcome"), plan),
        source=source,
    )
    if kind == "listed" and planned.ids is None:
        raise top.wrong("ids", "is missing, but [split] kind is 'listed'")
    top.finish()
    found = content_hash({key: value for key, value in content.items() if key != "hash"})
    return replace(planned, edited=said != found)


def _read_options(
    top: Section, examples: Section, split: Section, kind: SplitKind, given: dict[str, Any]
) -> None:
    """Gather the options of an audit from the sections."""
    outcome = top.section("outcome")
    how = outcome.text("kind")
    if how not in ("error", "correct", "score"):
        raise outcome.wrong("kind", f"is {how!r}, but it must be one of error, correct, score")
    given[how] = outcome.text("column")
    given["missing_outcome"] = outcome.text("missing")
    if "pass_at" in outcome.values:
        given["pass_at"] = outcome.number_text("pass_at")
    given["model_column"] = outcome.optional("model_column")
    given |= {
        "id": examples.texts("id"),
        "repeats": examples.text("repeats"),
        "cluster": examples.optional("cluster"),
    }
    if kind == "column":
        given["split_column"] = split.text("column")
    else:
        given["discovery"] = split.number_text("fraction")
        given["stratify"] = split.optional("stratify")
    eligibility, screen = top.section("eligibility"), top.section("screen")
    given["preset"] = eligibility.optional("preset")
    for name in ("min_support", "min_prevalence", "max_prevalence"):
        given[name] = eligibility.number_text(name)
    for name in ("rule", "statistic"):
        given[name] = screen.text(name)
    for name in ("q", "alpha", "decoys", "permutations"):
        given[name] = screen.number_text(name)
    given["strata"] = screen.optional("strata")
    given["min_holdout_lift"] = top.section("gate").number_text("min_holdout_lift")
    wanted = top.section("wanted")
    given |= {name: wanted.texts(name) for name in WANTED if name != "pairs"}
    given["pairs"] = wanted.flag("pairs")


def _log(outcome: Section) -> Mapping[str, str] | None:
    """What was chosen of evaluation logs."""
    if "log" not in outcome.values:
        return None
    log = outcome.section("log")
    return {name: log.text(name) for name in log.values}


def _models(outcome: Section, plan: Plan) -> tuple[str, ...]:
    """Whose outcomes the rows of a table hold."""
    if "models" not in outcome.values:
        outcome.asked.add("models")
        return ()
    models = outcome.texts("models")
    if len(models) < 2 or len(set(models)) < len(models):
        raise outcome.wrong("models", "must name two or more models, each once")
    if plan.model_column is None and "log" not in outcome.values:
        raise outcome.wrong("models", "goes with model_column, or with a log")
    return models


def _plan(given: Mapping[str, Any], source: str) -> Plan:
    try:
        return make_plan(given)
    except InputError as error:
        # The message speaks of options of the command line; here they are keys.
        def key(found: re.Match[str]) -> str:
            name = found.group(1).replace("-", "_")
            return _OPTION_KEYS[name] if name in PLAN_OPTIONS else found.group()

        said = re.sub(r"--([a-z]+(?:-[a-z]+)*)", key, str(error))
        raise InputError(f"{source}: {said}") from error


def _check_eligibility(section: Section, plan: Plan) -> None:
    """What follows from the preset is written out for people; it must be what follows."""
    for name, value in plan.eligibility.to_dict().items():
        if name in ("min_prevalence", "max_prevalence"):
            continue
        section.asked.add(name)
        said = section.values.get(name)
        if said != value or isinstance(said, bool) != isinstance(value, bool):
            preset = f"preset {plan.preset!r}" if plan.preset else "min_support"
            raise section.wrong(
                name, f"is {shown(said)}, but {preset} makes it {shown(value)}; change that key"
            )


def _split(section: Section, kind: SplitKind, plan: Plan, count: int) -> PlannedSplit:
    discovery, holdout, proposal = (section.whole(name) for name in SIZES)
    if discovery + holdout + proposal != count:
        raise section.wrong(
            SIZES[0],
            f"and the sizes after it add up to {discovery + holdout + proposal}, but "
            f"[examples] count is {count}",
        )
    share = None
    if "proposal" in section.values:
        share = section.number_text("proposal")
        if not is_proposal_share(share):
            raise section.wrong("proposal", f"is {share!r}, but it must be {PROPOSAL_WORDS}")
    expected = "random" if plan.has_holdout else "none"
    if kind not in ("column", "listed") and kind != expected:
        raise section.wrong("kind", f"is {kind!r}, but fraction = {plan.discovery} is {expected}")
    if share is not None and kind != "random":
        raise section.wrong("proposal", f"goes with kind 'random', not {kind!r}")
    return PlannedSplit(kind, (discovery, holdout, proposal), section.digest("sha256"), share)


def _columns(library: Section) -> Iterator[PlannedColumn]:
    seen: set[tuple[str, bool]] = set()
    for entry in library.tables("columns", "[library] column"):
        use = cast("ColumnUse", entry.choice("use", ColumnUse))
        levels = entry.texts("levels") if use == "categorical" else ()
        column = PlannedColumn(entry.text("name"), use, entry.digest("sha256"), levels)
        if (column.name, use == "groups") in seen:
            raise entry.wrong("name", f"{column.name!r} is listed twice")
        seen.add((column.name, use == "groups"))
        yield column


_FITS: Final[Mapping[str, str]] = {
    "boolean": "boolean",
    "numeric": "numeric",
    "level": "categorical",
}
"""The use of the column that a kind of rule looks at."""


def _rules(library: Section, columns: Sequence[PlannedColumn]) -> Iterator[PlannedRule]:
    use = {column.name: column.use for column in columns if column.use != "groups"}
    simple: set[str] = set()
    seen: set[str] = set()
    for entry in library.tables("rules", "[library] rule"):
        kind = cast("RuleKind", entry.choice("kind", RuleKind))
        name = entry.text("name")
        if name in seen:
            raise entry.wrong("name", f"{name!r} is used twice")
        seen.add(name)
        if kind == "conjunction":
            yield _conjunction(entry, name, simple)
            continue
        simple.add(name)
        rule = PlannedRule(
            name,
            kind,
            column=entry.text("column"),
            above=entry.number_text("above") if kind == "numeric" else None,
            level=entry.text("level") if kind == "level" else None,
        )
        if rule.column not in use:
            raise entry.wrong("column", f"{rule.column!r} is not one of [library] columns")
        if kind in _FITS and use[rule.column] != _FITS[kind]:
            raise entry.wrong(
                "kind", f"is {kind!r}, but column {rule.column!r} is {use[rule.column]}"
            )
        if rule.above is not None:
            _check_threshold(entry, rule.above)
        if name != name_of_rule(rule):
            raise entry.wrong(
                "name", f"is {name!r}, but such a rule is called {name_of_rule(rule)!r}"
            )
        yield rule


def _check_threshold(entry: Section, text: str) -> None:
    try:
        threshold = Threshold.parse(text)
    except ValueError as error:
        raise entry.wrong("above", f"is {text!r}, but it must be a number") from error
    if threshold.value is None or threshold.text != text:
        raise entry.wrong(
            "above", f"is {text!r}, but it must be a number in its shortest form: {threshold.text}"
        )


def _conjunction(entry: Section, name: str, simple: set[str]) -> PlannedRule:
    parts = entry.texts("parts")
    if len(parts) < 2:
        raise entry.wrong("parts", "must name two or more rules")
    for part in parts:
        if part not in simple:
            raise entry.wrong(
                "parts", f"names {part!r}, which is no rule of a single column above it"
            )
    return PlannedRule(name, "conjunction", parts=parts)


def _ids(top: Section, examples: Section) -> tuple[tuple[ExampleId, ...], ...] | None:
    if "ids" not in top.values:
        top.asked.add("ids")
        return None
    section = top.section("ids")
    width = len(examples.texts("named_by"))
    return tuple(
        tuple(_id(section, name, item, width) for item in section.items(name)) for name in SPLITS
    )


def _id(section: Section, key: str, item: Any, width: int) -> ExampleId:
    if isinstance(item, int) and not isinstance(item, bool):
        return item
    parts = cast("Sequence[Any]", [item] if isinstance(item, str) else item)
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise section.wrong(key, f"holds {shown(item)}, which is no id")
    if len(parts) != width:
        raise section.wrong(key, f"holds {shown(item)}, but ids are of {width} columns")
    return tuple(parts)


def _proposed(top: Section, rules: Sequence[PlannedRule]) -> Proposed | None:
    if "proposed" not in top.values:
        top.asked.add("proposed")
        return None
    section = top.section("proposed")
    weight, looked_at = section.number_text("weight"), section.items("looked_at")
    if not is_weight(weight):
        raise section.wrong("weight", f"is {weight!r}, but it must be above 0 and at most 1")
    if not all(isinstance(count, int) and not isinstance(count, bool) for count in looked_at):
        raise section.wrong("looked_at", "must be an array of whole numbers")
    n, errors = section.whole("n"), section.whole("errors")
    if not 0 < errors <= n:
        raise section.wrong("errors", f"is {errors}, but it must be from 1 to n = {n}")
    proposed = Proposed(
        n=n,
        errors=errors,
        weight=weight,
        level=section.whole("level"),
        top=section.whole("top"),
        min_slice=section.whole("min_slice"),
        looked_at=tuple(looked_at),
        passed_over=section.whole("passed_over"),
        slices=tuple(_mined(section, n, errors, {rule.name for rule in rules})),
    )
    for it, entry in zip(proposed.slices, section.items("slices"), strict=True):
        said, score = entry["score"], repr(proposed.score(it))
        if said != score:
            raise section.wrong(
                "slices", f"says that {it.name!r} scores {said}, but its counts make it {score}"
            )
    return proposed


def _mined(section: Section, n: int, errors: int, names: set[str]) -> Iterator[ProposedSlice]:
    for entry in section.tables("slices", "[proposed] slice"):
        it = ProposedSlice(
            name=entry.text("name"),
            new=entry.flag("new"),
            on=entry.whole("on"),
            errors_on=entry.whole("errors_on"),
            aliases=entry.texts("aliases"),
        )
        entry.text("score")
        if it.name not in names:
            raise entry.wrong("name", f"is {it.name!r}, which is no rule of [library]")
        if not 0 < it.on <= n:
            raise entry.wrong("on", f"is {it.on}, but it must be from 1 to n = {n}")
        if not it.on + errors - n <= it.errors_on <= min(it.on, errors):
            raise entry.wrong("errors_on", f"is {it.errors_on}, which on = {it.on} rules out")
        yield it

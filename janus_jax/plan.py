"""The options of an audit: one frozen record, checked before any data is read.

Names and defaults are the command line's; the Python function takes the same words.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, Literal, TypedDict, cast, get_args

from janus_jax.errors import InputError

StatisticName = Literal["lift", "z"]
Method = Literal[
    "decoys",
    "decoys_exact",
    "unadjusted",
    "bh_05",
    "bh_10",
    "max_t",
    "max_t_step_down",
    "mean_count",
    "mean_count_exact",
    "fixed_lift",
    "fixed_floor",
]
METHODS: tuple[Method, ...] = get_args(Method)

EXCHANGED_METHODS: tuple[Method, ...] = (
    "unadjusted",
    "bh_05",
    "bh_10",
    "max_t",
    "max_t_step_down",
    "mean_count",
    "fixed_lift",
)
"""The methods there are when whole clusters are exchanged: no closed form and no decoys then."""

MissingOutcome = Literal["refuse", "drop", "wrong"]
Repeats = Literal["refuse", "majority", "first", "any", "all"]
PrevalenceScope = Literal["each", "both", "discovery"]

FIXED_LIFT = Fraction("0.10")
"""The limit of the ``fixed_lift`` comparison: |lift| >= 0.10 with no decoys."""

MAX_SEED = 2**64 - 1
MAX_PERMUTATIONS = 2**32 - 1  # permutation numbers are 32-bit words
MAX_DECOYS = 10_000_000


Names = str | Sequence[str]
"""One name, or several."""
OutcomeNames = str | Sequence[str]
"""An outcome column; or those of several models, in a list or with commas between them."""
DecimalText = str | int | float
"""A decimal; text is taken exactly as written."""


class PlanOptions(TypedDict, total=False):
    """The options of an audit as keywords; :class:`Plan` describes them."""

    error: OutcomeNames | None
    correct: OutcomeNames | None
    score: OutcomeNames | None
    pass_at: DecimalText | None
    model_column: str | None
    missing_outcome: MissingOutcome | None
    id: Names | None
    repeats: Repeats | None
    cluster: str | None
    descriptor: Names | None
    include: Names | None
    exclude: Names | None
    categorical: Names | None
    numeric: Names | None
    na: Names | None
    conjunction: Names | None
    pairs: bool | None
    split_column: str | None
    discovery: DecimalText | None
    seed: int | None
    stratify: str | None
    min_support: int | None
    min_prevalence: DecimalText | None
    max_prevalence: DecimalText | None
    statistic: StatisticName | None
    rule: Method | None
    decoys: int | None
    q: DecimalText | None
    alpha: DecimalText | None
    min_holdout_lift: DecimalText | None
    permutations: int | None
    strata: str | None
    preset: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything that decides what an audit computes.

    Decimals (``q``, ``alpha``, ``discovery``, the prevalences, ``min_holdout_lift``, ``pass_at``)
    are kept as the text the user wrote and compared as that decimal, never as a binary float.

    Attributes
    ----------
    error, correct, score
        The outcome column: true = wrong, true = right, or a score that is right from ``pass_at``
        up. Exactly one of the three; it may name the columns of several models, with commas between
        them (:mod:`janus_jax.several`).
    pass_at
        The smallest score that counts as right.
    model_column
        Column that says whose answer a row is, where each model has rows of its own.
    missing_outcome
        What becomes of rows without an outcome: "refuse", "drop" (out of all counts), "wrong".
    id
        Columns that name the example; () means a column ``id`` if there is one, else row numbers.
    repeats
        What becomes of repeated ids: "refuse", "majority" (right as often as not is refused),
        "first", "any" (right if any repeat is), "all" (right if all are). Repeats whose outcome is
        missing and dropped do not count; but "first" means the first row, with one or without.
    cluster
        Column whose rows stay on one side of the split, and whose error patterns are exchanged
        whole. The primary rule is then ``mean_count`` unless another one is named.
    descriptor, include, exclude, categorical, numeric
        The only columns to use (() = every usable one), columns to use although they would be left
        out by default, to leave out, and to read as levels or as numbers.
    na
        Extra words that mean "missing" in outcome, boolean and numeric columns.
    conjunction
        ``"name = a & b"`` each.
    pairs
        Add every pairwise conjunction.
    split_column
        Column holding discovery / holdout (/ proposal); else a random split:
    discovery, seed, stratify
        Share of each stratum dealt to discovery, the seed of all randomness, the column of strata
        for dealing.
    min_support
        Examples on and off needed in each split (rows).
    min_prevalence, max_prevalence
        Share of examples on, in each split.
    statistic
        "lift" or "z": what is ranked.
    rule
        The primary rule; statuses follow it.
    decoys
        K of the literal decoys.
    q, alpha, min_holdout_lift
        FDP limit of the screens, level of the tests, smallest holdout |lift| the gate confirms.
    permutations
        B, the number of shared permutations.
    strata
        Column within which errors and decoy labels are shuffled.
    preset
        "controlled", "musique", "longbench-v2", "janus-lite" or None.
    """

    error: str | None = None
    correct: str | None = None
    score: str | None = None
    pass_at: str | None = None
    model_column: str | None = None
    missing_outcome: MissingOutcome = "refuse"
    id: tuple[str, ...] = ()
    repeats: Repeats = "refuse"
    cluster: str | None = None
    descriptor: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    na: tuple[str, ...] = ()
    conjunction: tuple[str, ...] = ()
    pairs: bool = False
    split_column: str | None = None
    discovery: str = "0.5"
    seed: int = 0
    stratify: str | None = None
    min_support: int = 8
    min_prevalence: str = "0.10"
    max_prevalence: str = "0.90"
    statistic: StatisticName = "lift"
    rule: Method = "decoys_exact"
    decoys: int = 1000
    q: str = "0.10"
    alpha: str = "0.05"
    min_holdout_lift: str = "0.10"
    permutations: int = 499_999
    strata: str | None = None
    preset: str | None = None

    @property
    def outcome_column(self) -> str:
        """The outcome column, whichever way it was named."""
        name = self.error or self.correct or self.score
        if name is None:
            raise InputError("no outcome column was named")
        return name

    @property
    def outcome_kind(self) -> Literal["error", "correct", "score"]:
        """How the outcome column is read."""
        return "error" if self.error else "correct" if self.correct else "score"

    @property
    def has_holdout(self) -> bool:
        """False when everything goes to discovery, so that nothing can be confirmed."""
        return self.split_column is not None or Fraction(self.discovery) != 1

    @property
    def eligibility(self) -> Eligibility:
        """The support and prevalence rules, after the preset."""
        shape = _PRESETS[self.preset].eligibility if self.preset else Eligibility()
        return replace(
            shape,
            min_on=self.min_support if shape.min_on is None else shape.min_on,
            min_off=self.min_support if shape.min_off is None else shape.min_off,
            min_prevalence=self.min_prevalence,
            max_prevalence=self.max_prevalence,
        )

    def hash(self) -> str:
        """SHA-256 of the plan as canonical JSON."""
        text = json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """The plan as JSON values, in the shape of ``result.json``."""
        plain = _plain(self)
        for name in ("error", "correct", "score", "pass_at", "split_column", "discovery"):
            del plain[name]
        if self.model_column is None:  # most audits have one model, and no word about it
            del plain["model_column"]
        plain["outcome"] = {"column": self.outcome_column, "kind": self.outcome_kind}
        if self.pass_at is not None:
            plain["outcome"]["pass_at"] = self.pass_at
        if self.split_column:
            plain["split"] = {"kind": "column", "column": self.split_column}
        else:
            plain["split"] = {
                "kind": "random" if self.has_holdout else "none",
                "fraction": self.discovery,
                "stratify": self.stratify,
            }
        del plain["stratify"]
        plain["eligibility"] = self.eligibility.to_dict()
        return plain


PLAN_OPTIONS = tuple(f.name for f in fields(Plan))
"""The options that decide what an audit computes."""


@dataclass(frozen=True, slots=True)
class Eligibility:
    """Support and prevalence a descriptor must have, counted without looking at errors.

    Attributes
    ----------
    min_on, min_off
        Examples on and off in each split; None takes ``min_support``.
    min_on_both
        Examples on in both splits together.
    scope
        Where prevalence is limited: in "each" split, over "both" together, in "discovery" only.
    min_prevalence, max_prevalence
        The limits, as decimals.
    discovery_only
        The screen looks at discovery alone, and holdout support is checked before confirmation.
    pool
        How decoy sources differ from the library: None (they are the library), or the prevalence
        limits in discovery that they must meet ...
    pool_of_all
        ... within all descriptors instead of within the library.
    full_medians
        Numeric columns are cut at the median of the whole table instead of discovery's.
    """

    min_on: int | None = None
    min_off: int | None = None
    min_on_both: int = 0
    scope: PrevalenceScope = "each"
    min_prevalence: str = "0"
    max_prevalence: str = "1"
    discovery_only: bool = False
    pool: tuple[str, str] | None = None
    pool_of_all: bool = False
    full_medians: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The rules as JSON values."""
        return _plain(self)


def _plain(record: Plan | Eligibility) -> dict[str, Any]:
    """A record as JSON values."""
    return json.loads(json.dumps({f.name: getattr(record, f.name) for f in fields(record)}))


@dataclass(frozen=True, slots=True)
class _Preset:
    options: Mapping[str, Any]
    eligibility: Eligibility


_PAPER = {"rule": "decoys"}
_PRESETS: dict[str, _Preset] = {
    "controlled": _Preset(
        {**_PAPER, "decoys": 200, "min_support": 8, "min_prevalence": "0", "max_prevalence": "1"},
        Eligibility(),
    ),
    "musique": _Preset(
        {**_PAPER, "decoys": 100, "min_support": 3},
        Eligibility(min_off=1, scope="both"),
    ),
    "longbench-v2": _Preset(
        {**_PAPER, "decoys": 100, "min_support": 3, "min_prevalence": "0", "max_prevalence": "1"},
        Eligibility(min_off=1, min_on_both=8, pool=("0.05", "0.95")),
    ),
    "janus-lite": _Preset(
        {"rule": "fixed_floor", "decoys": 200, "min_support": 8},
        Eligibility(
            scope="discovery",
            discovery_only=True,
            pool=("0.10", "0.90"),
            pool_of_all=True,
            full_medians=True,
        ),
    ),
}
PRESETS = tuple(_PRESETS)


def make_plan(options: Mapping[str, Any]) -> Plan:
    """Check options as a person gave them and return the plan.

    Parameters
    ----------
    options
        Names of :class:`Plan`'s attributes; None or a missing key means the preset's value, then
        the default. Decimals may be text or numbers; the repeatable ones a string or a list.

    Raises
    ------
    InputError
        An option is unknown, out of range or contradicts another; the message says what to write.
    """
    if unknown := sorted(set(options) - set(PLAN_OPTIONS)):
        raise InputError(
            f"unknown option {unknown[0]!r}; the options are {', '.join(PLAN_OPTIONS)}"
        )
    given = {name: value for name, value in options.items() if value is not None}
    preset = given.get("preset")
    if preset is not None:
        _choice("preset", preset, PRESETS)
        given = {**_PRESETS[preset].options, **given}
    for name, value in given.items():
        if name in _DECIMALS:
            given[name] = _decimal(name, value)
        elif name in _LISTS:
            given[name] = names_given(_flag(name), value)
        elif name in _RANGES:
            given[name] = _integer(name, value)
        elif name in _CHOICES:
            _choice(name, value, _CHOICES[name])
        elif name == "pairs":
            if not isinstance(value, bool):
                raise InputError(f"--pairs is {value!r}, but it must be True or False")
        elif name in _OUTCOME_OPTIONS and not isinstance(value, str):
            given[name] = joined_names(names_given(_flag(name), value))
        else:
            given[name] = str(value)
    if "cluster" in given:
        given.setdefault("rule", "mean_count")
    if "discovery" in given and "split_column" in given:
        raise InputError(
            "--discovery shares out a random split; it does not go with --split-column"
        )
    plan = Plan(**given)
    _check_together(plan)
    return plan


# name -> (least, most, whether the ends are allowed)
_DECIMALS: dict[str, tuple[str | None, str | None, bool]] = {
    "q": ("0", "1", False),
    "alpha": ("0", "1", False),
    "min_holdout_lift": ("0", "1", True),
    "min_prevalence": ("0", "1", True),
    "max_prevalence": ("0", "1", True),
    "discovery": ("0", "1", True),
    "pass_at": (None, None, True),
}
_RANGES: dict[str, tuple[int, int]] = {
    "seed": (0, MAX_SEED),
    "min_support": (1, 2**31),
    "decoys": (1, MAX_DECOYS),
    "permutations": (1, MAX_PERMUTATIONS),
}
_LISTS = frozenset(
    {"id", "descriptor", "include", "exclude", "categorical", "numeric", "na", "conjunction"}
)
_CHOICES: dict[str, tuple[str, ...]] = {
    "missing_outcome": get_args(MissingOutcome),
    "repeats": get_args(Repeats),
    "statistic": get_args(StatisticName),
    "rule": METHODS,
    "preset": PRESETS,
}


_OUTCOME_OPTIONS = ("error", "correct", "score")


def names_given(option: str, value: object) -> tuple[str, ...]:
    """One name or several, as a person gave them to Python."""
    if isinstance(value, str):
        return (value,)
    if isinstance(value, bytes | Mapping) or not isinstance(value, Iterable):
        raise InputError(f"{option}: {value!r} is neither a name nor a list of names")
    return tuple(str(name) for name in cast("Iterable[object]", value))


def joined_names(names: Sequence[str]) -> str:
    """Names of columns as one text, commas between them; a name that holds one is quoted."""
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(names)
    return out.getvalue()


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _decimal(name: str, value: object) -> str:
    text = str(value).strip()
    least, most, ends = _DECIMALS[name]
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise InputError(f"{_flag(name)} {text!r} is not a decimal number") from None
    inside = number.is_finite() and (
        math.isfinite(float(number))
        if least is None or most is None
        else Decimal(least) <= number <= Decimal(most)
        if ends
        else Decimal(least) < number < Decimal(most)
    )
    if not inside or (name == "discovery" and number == 0):
        span = "finite" if least is None else f"between {least} and {most}"
        if least is not None and (not ends or name == "discovery"):
            span = f"above {least} and " + ("at most 1" if ends else f"below {most}")
        raise InputError(f"{_flag(name)} is {text}, but it must be {span}")
    return text


def _integer(name: str, value: object) -> int:
    more = ""
    if name == "min_support":
        more = "; it counts rows (1 means one row): for a share of rows use --min-prevalence"
    return whole_number(_flag(name), value, *_RANGES[name], more)


def whole_number(option: str, value: object, least: int, most: int, more: str = "") -> int:
    """A whole number that a person gave, as text or number, within limits.

    ``more`` is what to say to someone who gave something else.
    """
    text = str(value).strip()
    if isinstance(value, bool) or not text.lstrip("+-").isdecimal():
        raise InputError(f"{option} {text!r} is not a whole number{more}")
    try:
        whole = int(text)
    except ValueError:  # two signs, or more digits than anyone means
        raise InputError(f"{option} {text!r} is not a whole number{more}") from None
    if not least <= whole <= most:
        raise InputError(f"{option} is {whole}, but it must be from {least} to {most}")
    return whole


def _choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InputError(f"{_flag(name)} {value!r} is not one of {', '.join(choices)}")


def _check_together(plan: Plan) -> None:
    outcomes = [name for name in _OUTCOME_OPTIONS if getattr(plan, name)]
    if len(outcomes) > 1:
        raise InputError(f"more than one outcome was named; give exactly one of {_OUTCOMES}")
    if plan.score and plan.pass_at is None:
        raise InputError(
            f"--score {plan.score} needs --pass-at X: a score of at least X counts as right"
        )
    if plan.pass_at is not None and outcomes and not plan.score:
        raise InputError("--pass-at goes with --score")
    if Decimal(plan.min_prevalence) > Decimal(plan.max_prevalence):
        raise InputError(
            f"--min-prevalence {plan.min_prevalence} is above --max-prevalence "
            f"{plan.max_prevalence}"
        )
    if plan.cluster and plan.rule not in EXCHANGED_METHODS:
        who = (
            f"--preset {plan.preset} makes {plan.rule} the primary rule, which"
            if (plan.preset and _PRESETS[plan.preset].options.get("rule") == plan.rule)
            else f"--rule {plan.rule}"
        )
        raise InputError(
            f"{who} needs rows that are exchangeable one by one; with --cluster whole clusters "
            f"are exchanged, and the rules are {', '.join(EXCHANGED_METHODS)}"
        )
    if outcomes:
        check_roles(plan)
    if plan.split_column and plan.stratify:
        raise InputError("--stratify deals a random split; it does not go with --split-column")
    twice = set(plan.categorical) & set(plan.numeric)
    if twice:
        raise InputError(f"column {sorted(twice)[0]!r} is named both --categorical and --numeric")


_OUTCOMES = "--error COL (true = wrong), --correct COL (true = right), --score COL --pass-at X"


def with_outcome(plan: Plan, logged: str | None) -> Plan:
    """The plan with an outcome: its own, or the score that was chosen of a log.

    Raises
    ------
    InputError
        It names no outcome, and the source is no log.
    """
    if plan.error or plan.correct or plan.score:
        return plan
    if logged is None:
        raise InputError(f"no outcome was named; give exactly one of {_OUTCOMES}")
    kind = "correct" if plan.pass_at is None else "score"
    found = replace(plan, **{kind: logged})
    _check_together(found)
    return found


def check_roles(plan: Plan) -> None:
    """Nothing that shapes the split or the shuffles may be, or follow from, the outcome.

    Raises
    ------
    InputError
        One column has two parts to play.
    """
    roles = {
        "--split-column": plan.split_column,
        "--stratify": plan.stratify,
        "--strata": plan.strata,
        "--cluster": plan.cluster,
    }
    for option, name in roles.items():
        if name is not None and name == plan.outcome_column:
            raise InputError(
                f"{option} {name}: that is the outcome; splits and shuffles are made without it"
            )
        if name is not None and plan.id == (name,) and option != "--cluster":
            raise InputError(f"{option} {name}: that is the id; every example would stand alone")
    if plan.outcome_column in plan.id:
        raise InputError(f"--id {plan.outcome_column}: that is the outcome, not an id")
    taken = {*plan.id, *roles.values(), plan.outcome_column} - {None}
    if plan.model_column in taken:
        raise InputError(
            f"--model-column {plan.model_column}: that column is the outcome, the id, or shapes "
            "the split or the shuffles; whose answer a row is must be a column of its own"
        )

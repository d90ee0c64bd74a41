"""``janus-jax report``: the page of an audit, made again from its JSON."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from janus_jax.commands.common import Commands, warn
from janus_jax.errors import InputError
from janus_jax.files import writing
from janus_jax.output import check_targets

DEFAULT = "report.html"

_EPILOG = """\
The audit's own page is written by `janus-jax audit --out DIR`; this makes it again, with what
`replay`, `power` and `sensitivity` found of the same audit. Files are recognised by what they hold.
"""


def add(commands: Commands) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "report",
        allow_abbrev=False,
        help="make report.html from the JSON of an audit, and of its replays, power and splits",
        description="Make one page, which asks nothing of any network, from results in JSON.",
        epilog=_EPILOG,
    )
    parser.set_defaults(handler=_report)
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE.json",
        help="one result of `audit`; and of `replay`, `power` and `sensitivity`, if any (beside "
        "the audit of several models, none)",
    )
    parser.add_argument(
        "--out", metavar="FILE", help=f"the page to write (default {DEFAULT}); - prints it"
    )


def _report(options: argparse.Namespace, arguments: Sequence[str]) -> int:
    target = DEFAULT if options.out is None else options.out
    if not target:
        raise InputError("--out is empty: name a file")
    documents = [(name, _read(name)) for name in options.files]

    from jinja2 import UndefinedError

    from janus_jax.html.comparison import comparison_page
    from janus_jax.html.page import page
    from janus_jax.html.together import is_comparison, same_design, together

    several = is_comparison(documents)
    found = {} if several else together(documents)
    if target != "-":
        check_targets(options.files, None, target)

    from janus_jax.files import write_whole

    try:
        text = comparison_page(documents[0][1]) if several else page(**found)
        other = "power" in found and not same_design(found["audit"], found["power"])
    except (
        *(LookupError, TypeError, ValueError, AttributeError, ArithmeticError),
        UndefinedError,
    ) as error:
        # What these hold was checked at the top only; a file damaged deeper is no fault of ours.
        raise InputError(
            f"{', '.join(options.files)}: cannot be shown ({type(error).__name__}: {error}), so "
            "one of them is damaged or of another version; make it again with --json"
        ) from error
    if other:
        warn(
            "the power study has other sizes, rules or limits than the audit; the page says so "
            "(`janus-jax power` on the audit's data, with its options, has the same)"
        )
    if target == "-":
        with writing("standard output"):
            sys.stdout.write(text)
            sys.stdout.flush()
        return 0
    with writing(target):
        write_whole(target, text)
    with writing("standard output"):
        print(f"Written: {target}", flush=True)
    return 0


def _read(name: str) -> Any:
    """What a JSON file holds, by the strict grammar: no NaN, no number beyond a float."""
    try:
        text = Path(name).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"cannot read {name}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"{name} is not UTF-8 text; name the result.json of an audit, or what --json wrote"
        ) from error
    try:
        return json.loads(text, parse_constant=_no_number, parse_float=_finite)
    except RecursionError as error:
        raise InputError(f"{name} is nested too deeply: no result of janus-jax is") from error
    except ValueError as error:
        raise InputError(
            f"{name} is not JSON ({error}); name the result.json of an audit, or what --json wrote"
        ) from error


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number of JSON")


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _no_number(text)

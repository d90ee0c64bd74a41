"""The tables of `result.json` in the reference hold every field of the schema."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.docs.markdown import ROOT

pytest.importorskip("sphinx", reason="the pages are built with Sphinx")
SOURCE = ROOT / "docs" / "_ext" / "schema_tables.py"
pytestmark = pytest.mark.skipif(not SOURCE.exists(), reason="the pages stay with the sources")


@pytest.fixture(scope="module")
def tables() -> Any:
    spec = importlib.util.spec_from_file_location("schema_tables", SOURCE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_small_schema(tables: Any) -> None:
    text = {"type": "string"}
    schema = {
        "properties": {
            "who": {
                "description": "Whose.",
                "anyOf": [
                    {"type": "null"},
                    {"type": "object", "properties": {"name": {**text, "description": "A | B."}}},
                ],
            },
            "rows": {
                "type": "array",
                "items": {"type": "object", "properties": {"n": {"type": ["integer", "null"]}}},
            },
            "by": {"type": "object", "additionalProperties": {"enum": ["a", None]}},
        }
    }
    assert tables.page(schema) == [
        *("### `who`", "", "Whose.", ""),
        *("| field | type | meaning |", "| --- | --- | --- |"),
        *("| `who` | null or object |  |", "| `who.name` | string | A \\| B. |", ""),
        *("### `rows`", "", "", "", "| field | type |", "| --- | --- |"),
        *("| `rows` | array of object |", "| `rows[].n` | integer or null |", ""),
        *("### `by`", "", "", "", "| field | type |", "| --- | --- |"),
        *("| `by` | object |", '| `by.*` | `"a"`, `null` |', ""),
    ]


def names(schema: Any) -> Iterator[str]:
    """The names of all properties at any depth."""
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
        for value in schema.values():
            yield from names(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from names(value)


def test_no_field_of_the_result_is_left_out(tables: Any) -> None:
    schema = json.loads((ROOT / "janus_jax/schema/audit-1.json").read_text(encoding="utf-8"))
    shown = "\n".join(tables.page(schema))
    wanted = set(names({"properties": schema["properties"]}))
    assert len(wanted) > 80
    for name in wanted:
        assert f"{name}` |" in shown, name

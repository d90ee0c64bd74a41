"""Tables of a JSON Schema's fields, made when the pages are built.

``{schema-tables} PATH`` gives a heading and a table for each top-level property: the path of every
field below it, its type, and the description that the schema has. The generators that are on offer
link patterns to web sites and give anonymous objects names of their own; this needs neither.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

Schema = Mapping[str, Any]


def fields(schema: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    """Every field below a schema with its path: ``a.b`` in an object, ``a[]`` in an array."""
    for name, child in schema.get("properties", {}).items():
        here = f"{path}.{name}" if path else name
        yield here, child
        yield from inside(child, here)
    if more := _below(schema, "additionalProperties"):
        yield f"{path}.*", more
        yield from inside(more, f"{path}.*")


def inside(schema: Schema, path: str) -> Iterator[tuple[str, Schema]]:
    """The fields of what stands at a path."""
    yield from fields(schema, path)
    if items := _below(schema, "items"):
        yield from inside(items, f"{path}[]")
    for choice in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from inside(choice, path)


def kind(schema: Schema) -> str:
    """The type of a field, in words."""
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return ", ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
    if choices := (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        return " or ".join(dict.fromkeys(kind(choice) for choice in choices))
    types: str | list[str] = schema.get("type", "anything")
    named = " or ".join(types) if isinstance(types, list) else types
    items = _below(schema, "items")
    return f"{named} of {kind(items)}" if items else named


def _below(schema: Schema, key: str) -> Schema | None:
    """The schema at a key where there may be a plain true or false, or nothing."""
    value = schema.get(key)
    return cast(Schema, value) if isinstance(value, Mapping) else None


def page(schema: Schema) -> list[str]:
    """The tables as lines of Markdown."""
    lines: list[str] = []
    for name, child in schema["properties"].items():
        lines += [f"### `{name}`", "", child.get("description", ""), ""]
        rows = [(name, child), *inside(child, name)]
        said = any("description" in field for _, field in rows[1:])
        lines += _row("field", "type", "meaning") if said else _row("field", "type")
        lines += _row("---", "---", "---") if said else _row("---", "---")
        for path, field in rows:
            meaning = "" if path == name else field.get("description", "")
            lines += _row(f"`{path}`", kind(field), *([meaning] if said else []))
        lines.append("")
    return lines


def _row(*cells: str) -> list[str]:
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"]


class SchemaTables(SphinxDirective):
    """The directive; its argument is the schema's path from the page's folder."""

    required_arguments = 1

    def run(self) -> list[Any]:
        path = Path(self.env.doc2path(self.env.docname)).parent / self.arguments[0]
        self.env.note_dependency(str(path.resolve()))
        schema = json.loads(path.read_text(encoding="utf-8"))
        return self.parse_text_to_nodes("\n".join(page(schema)), allow_section_headings=True)


def setup(app: Sphinx) -> dict[str, bool]:
    """Make the directive known."""
    app.add_directive("schema-tables", SchemaTables)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

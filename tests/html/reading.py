"""A page as a parser that browsers agree with sees it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from typing import Any, cast
from xml.etree.ElementTree import Element

import html5lib

Document = dict[str, Any]


class Read:
    """The elements of a page."""

    def __init__(self, text: str) -> None:
        self.root: Element = html5lib.parse(text, treebuilder="etree", namespaceHTMLElements=False)

    def all(self, name: str) -> list[Element]:
        """Elements of this name, in order."""
        return [e for e in self.root.iter() if plain(e) == name]

    def with_id(self, key: str) -> Element:
        """The one element of this id."""
        (found,) = [e for e in self.root.iter() if e.get("id") == key]
        return found

    def has(self, key: str) -> bool:
        """Whether there is an element of this id."""
        return any(e.get("id") == key for e in self.root.iter())

    def names(self) -> set[str]:
        """Names of the elements that there are."""
        return {plain(e) for e in self.root.iter()}

    def shown(self) -> str:
        """All text but that of scripts and styles."""
        return "".join(_texts(self.root))

    def scripts(self) -> list[str]:
        """What is run."""
        return [e.text or "" for e in self.all("script") if e.get("type") is None]

    def specs(self) -> list[Document]:
        """The charts that are embedded as JSON."""
        return [json.loads(e.text or "") for e in self.all("script") if e.get("type")]

    def policy(self) -> str:
        """The page's Content-Security-Policy."""
        (meta,) = [e for e in self.all("meta") if e.get("http-equiv")]
        assert meta.get("http-equiv") == "Content-Security-Policy"
        return meta.get("content") or ""

    def rows(self, key: str) -> list[list[str]]:
        """The body of the first table inside the element of this id, as text."""
        table = next(e for e in self.with_id(key).iter() if plain(e) == "table")
        body = next(e for e in table.iter() if plain(e) == "tbody")
        return [["".join(_texts(cell)).strip() for cell in row] for row in body]


def plain(element: Element) -> str:
    """The name of an element without its namespace; "" for a comment."""
    tag = cast("object", element.tag)  # of a comment it is a function
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def _texts(element: Element) -> list[str]:
    if plain(element) in ("script", "style", ""):
        return []
    texts = [element.text or ""]
    for child in element:
        texts += [*_texts(child), child.tail or ""]
    return texts


def digest(script: str) -> str:
    """What a policy calls a script."""
    hashed = hashlib.sha256(script.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(hashed).decode('ascii')}'"


def json_blocks(text: str) -> list[str]:
    """The raw text of what is embedded as JSON."""
    return re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', text, re.DOTALL)

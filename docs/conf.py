"""How Sphinx builds these pages: `make docs`. Nothing is fetched, and a warning is an error."""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from docutils.nodes import Element
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.nodes import make_refnode

from janus_jax import __version__

project = "janus-jax"
author = "the janus-jax authors"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "numpydoc",
    "sphinx_argparse_cli",
    "sphinx_copybutton",
    "schema_tables",
]
exclude_patterns = ["_ext"]

smartquotes = False  # --option stays --option
# Headings get the anchors that a code host gives them, so that links work in both places.
myst_enable_extensions = ["deflist", "colon_fence"]
myst_heading_anchors = 4

# Reference from docstrings: every parameter on a line of its own, types where they are.
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # autodoc lists them
numpydoc_class_members_toctree = False
maximum_signature_line_length = 60
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"

# In docstrings |lift| is an absolute value, not a name for something else.
rst_prolog = r"""
.. |lift| replace:: \|lift\|
.. |z| replace:: \|z\|
"""

# Every reference must lead somewhere. Other projects are not looked up, since that needs a network.
nitpicky = True
nitpick_ignore_regex = [
    (
        "py:.*",
        r"(numpy|np|pandas|pd|collections|pathlib|os|fractions|typing|pytest|altair|alt)\..*",
    ),
    ("py:.*", r"(NDArray|Any|Path|Fraction|Mapping|Sequence|Callable|int|float|bool|str|None)"),
    # Our own that a docstring names and that have no page, since nobody calls them.
    ("py:.*", r"janus_jax\.(split|values|several|joint|plans\.fingerprints)\b.*"),
    ("py:.*", r"janus_jax\.paper\.(grading|packets)\b.*"),
    ("py:.*", r"(CELL_FIELDS|SPLITS|Packet)"),
]


def by_last_part(
    app: Sphinx, env: BuildEnvironment, node: Element, text: Element
) -> Element | None:
    """Find what a docstring calls by its short name.

    Functions are documented where a user imports them from, and a docstring speaks of its
    neighbours in the module that they live in.
    """
    if node.get("refdomain") != "py":
        return None
    last = str(node["reftarget"]).rpartition(".")[2]
    domain = env.domains.python_domain
    found = [name for name in domain.objects if name.rpartition(".")[2] == last]
    if len(found) != 1:
        return None
    place = domain.objects[found[0]]
    return make_refnode(app.builder, node["refdoc"], place.docname, place.node_id, text)


def short_arrays(
    _app: Sphinx,
    _what: str,
    _name: str,
    _object: object,
    _options: object,
    signature: str | None,
    returns: str | None,
) -> tuple[str | None, str | None]:
    """Show ``NDArray[...]`` as it was written, not what it stands for."""
    return _short(signature), _short(returns)


def _short(text: str | None) -> str | None:
    whole = r"~?numpy\.ndarray\[~?tuple\[~?(?:typing\.)?Any, \.\.\.\], ~?numpy\.dtype\[([^\]]+)\]\]"
    return text and re.sub(whole, r"NDArray[\1]", text)


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("autodoc-process-signature", short_arrays)
    app.connect("missing-reference", by_last_part)


html_theme = "furo"
html_title = f"janus-jax {version}"
html_copy_source = False
html_show_copyright = False
html_show_sourcelink = False
# A session is copied without its prompt and its output.
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True

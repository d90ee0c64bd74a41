"""JSON of logs: strict and exact, line by line and element by element, in bounded memory."""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import os
import tracemalloc
import zlib
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from janus_jax.errors import InputError
from janus_jax.logs import json_text
from janus_jax.logs.attempt import Context
from janus_jax.readers import opening


@pytest.fixture
def write(tmp_path):
    def make(data: bytes | str, name: str = "log.json") -> str:
        path = tmp_path / name
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return str(path)

    return make


def context() -> Context:
    return Context(hashlib.sha256())


def read_lines(path: str) -> list[tuple[int, Any]]:
    return list(json_text.lines(path, context()))


def read_document(path: str, items: str = "samples") -> tuple[dict[str, Any], list[Any]]:
    fields, elements = json_text.document(path, context(), items)
    return fields, list(elements)


def everywhere(text: str):
    """The same value through each of the three doors."""

    def parse(write):
        return json_text.parse(text, "x")

    def line(write):
        return read_lines(write(text + "\n"))[0][1]

    def element(write):
        return read_document(write(f'{{"samples": [{text}]}}'))[1][0]

    def field(write):
        return read_document(write(f'{{"a": {text}, "samples": []}}'))[0]["a"]

    return [parse, line, element, field]


# ---------------------------------------------------------------------------- the same everywhere


@pytest.mark.parametrize("door", everywhere("[NaN, Infinity, -Infinity, 1e400]"))
def test_not_a_number_and_infinity_are_floats(door, write):
    value = door(write)
    assert math.isnan(value[0])
    assert value[1:] == [math.inf, -math.inf, math.inf]


@pytest.mark.parametrize("door", everywhere("[123456789012345678901234567890, 0.1, 1.0, -0]"))
def test_big_integers_are_exact(door, write):
    value = door(write)
    assert value == [123456789012345678901234567890, 0.1, 1.0, 0]
    assert [type(v) for v in value] == [int, float, float, int]


@pytest.mark.parametrize("door", everywhere('{"b": {"a": 1, "c": 2, "a": 1}}'))
def test_a_repeated_key_is_refused(door, write):
    with pytest.raises(InputError, match="key 'a' occurs 2 times in one object; keep one"):
        door(write)


@pytest.mark.parametrize("door", everywhere("9" * 5000))
def test_an_integer_of_thousands_of_digits_is_refused(door, write):
    with pytest.raises(InputError, match=r"cannot be read as JSON .*digits"):
        door(write)


@pytest.mark.parametrize("depth", [201, 900, 100_000])
@pytest.mark.parametrize(("opens", "closes"), [("[", "]"), ('{"a":', "}")])
def test_deep_nesting_is_refused(depth, opens, closes, write):
    for door in everywhere(opens * depth + "1" + closes * depth):
        with pytest.raises(InputError, match="nested more than 200 deep"):
            door(write)


def test_nesting_up_to_the_limit_is_read(write):
    for door in everywhere("[" * 200 + "]" * 200):
        assert door(write)
    wide = json.dumps([[[1]] * 300] * 3)
    for door in everywhere(wide):
        assert door(write) == json.loads(wide)


def test_only_a_line_feed_ends_a_line(write):
    for door in everywhere('"a\u2028b\u2029c\u0085d"'):
        assert door(write) == "a\u2028b\u2029c\u0085d"


def test_escaped_surrogates_and_text_survive(write):
    text = '["\\ud83d\\ude00", "\\ud800", "\u00e9\U0001f600"]'
    for door in everywhere(text):
        assert door(write) == ["\U0001f600", "\ud800", "\u00e9\U0001f600"]


# ------------------------------------------------------------------------------------- parse


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "x: not complete JSON .*line 1 column 1"),
        ('{"a": 1', "x: not complete JSON"),
        ('{"a": 1} {"b": 2}', "x: not complete JSON .Extra data"),
        ("{'a': 1}", "x: not complete JSON"),
        (b'{"a": "\xff"}', "x: byte 0xff is not UTF-8"),
    ],
)
def test_parse_names_what_is_wrong(text, words):
    with pytest.raises(InputError, match=words):
        json_text.parse(text, "x")


def test_parse_takes_bytes_with_a_byte_order_mark():
    assert json_text.parse(b'\xef\xbb\xbf {"a": 1}\n', "x") == {"a": 1}


# ------------------------------------------------------------------------------------- lines


def test_lines_with_a_mark_blanks_carriage_returns_and_no_last_line_feed(write):
    data = b'\xef\xbb\xbf\r\n {"a": 1} \r\n\r\n\t\n{"a": 2}'
    hasher = hashlib.sha256()
    path = write(data)
    assert list(json_text.lines(path, Context(hasher))) == [(2, {"a": 1}), (5, {"a": 2})]
    assert hasher.hexdigest() == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize(
    "tail", ['{"a": 2, "b": [1,', '{"a": "unfinis', '{"a": tr', '{"a": "\\ud8', '{"a"']
)
def test_a_last_line_that_was_cut_off(tail, write):
    with pytest.raises(
        InputError, match=r"log.json line 4: the file ends in the middle of this line"
    ):
        read_lines(write('{"a": 1}\n\n{"a": 1}\n' + tail))
    with pytest.raises(InputError, match=r"log.json line 4: not complete JSON"):
        read_lines(write('{"a": 1}\n\n{"a": 1}\n' + tail + "\n"))


def test_a_bad_line_inside_is_not_called_cut_off(write):
    path = write('{"a": 1}\n{"a": \n{"a": 3}\n')
    with pytest.raises(InputError, match=r"line 2: not complete JSON .*character 6.*whole record"):
        read_lines(path)
    path = write('{"a": 1}\n{"a" 1, "b": [1, 2, 3, 4, 5, 6, 7, 8, 9]}')
    with pytest.raises(InputError, match="line 2: not complete JSON"):
        read_lines(path)


def test_a_document_over_several_lines_is_no_json_lines(write):
    with pytest.raises(InputError, match="line 1: is a JSON document spread over several lines"):
        read_lines(write('{\n "a": 1\n}\n'))


def test_lines_of_one_file_are_many(write):
    path = write("".join(f'{{"i":{i}}}\n' for i in range(100_000)))
    total = 0
    for number, value in json_text.lines(path, context()):
        assert value["i"] == number - 1
        total += 1
    assert total == 100_000


def test_a_line_longer_than_64_mib(tmp_path):
    assert opening.MAX_LINE_BYTES == 64 * 2**20
    path = tmp_path / "long.jsonl"
    with open(path, "wb") as file:
        file.write(b'{"a": 1}\n{"a": "')
        file.seek(65 * 2**20, os.SEEK_CUR)  # a hole reads as NUL bytes, so write over it
    with open(path, "r+b") as file:
        file.seek(16)
        for _ in range(65):
            file.write(b"x" * 2**20)
        file.write(b'"}\n')
    with pytest.raises(InputError, match="line 2: a line longer than 64 MiB"):
        read_lines(str(path))


def test_bytes_that_are_no_text(write):
    with pytest.raises(InputError, match="line 2: holds a NUL byte"):
        read_lines(write(b'{"a": 1}\n{"a": "\0"}\n'))
    with pytest.raises(InputError, match=r"line 2: byte 0xe9 is not UTF-8.*iconv"):
        read_lines(write(b'{"a": 1}\n{"a": "\xe9"}\n'))


@pytest.mark.parametrize("read", [read_lines, read_document])
def test_files_that_are_no_json(read, write, tmp_path):
    cases = [
        (b"", "the file is empty"),
        (gzip.compress(b'{"samples": []}'), "is gzip-compressed; decompress it first"),
        (b"PK\x03\x04", "is a zip archive"),
        (b"\x28\xb5\x2f\xfd", "is zstd-compressed"),
        ('{"samples": []}'.encode("utf-16"), "is encoded as UTF-16 or UTF-32.*iconv"),
    ]
    for data, words in cases:
        with pytest.raises(InputError, match=words):
            read(write(data))
    with pytest.raises(InputError, match="no such file"):
        read(str(tmp_path / "absent"))
    with pytest.raises(InputError, match="is a directory"):
        read(str(tmp_path))


# ---------------------------------------------------------------------------------- documents


def test_fields_before_and_after_the_array(write):
    data = b'\xef\xbb\xbf{"a": {"b": [1]}, "samples": [1, "]", {"c": "}"}, []], "z": null}\n'
    hasher = hashlib.sha256()
    fields, elements = json_text.document(write(data), Context(hasher), "samples")
    assert fields == {"a": {"b": [1]}, "z": None}
    assert hasher.hexdigest() == hashlib.sha256(data).hexdigest()  # before any element is asked for
    assert list(elements) == [1, "]", {"c": "}"}, []]


def test_an_array_within_objects(write):
    text = (
        '{"results": {"v": 3, "results": [1, 2], "stats": {"n": 2}}, "results2": {"results": [9]}}'
    )
    fields, elements = read_document(write(text), "results.results")
    assert fields == {"results": {"v": 3, "stats": {"n": 2}}, "results2": {"results": [9]}}
    assert elements == [1, 2]


def test_a_document_that_is_an_array(write):
    assert read_document(write(' [ {"a": 1} , 2 ] '), "") == ({}, [{"a": 1}, 2])
    assert read_document(write("[]"), "") == ({}, [])


@pytest.mark.parametrize("value", ["null", "{}", '{"x": [1]}', '"text"', "12"])
def test_what_is_no_array_stays_a_field(value, write):
    fields, elements = read_document(write(f'{{"samples": {value}}}'))
    assert fields == {"samples": json.loads(value)}
    assert elements == []
    assert read_document(write(f'{{"r": {value}}}'), "r.samples") == ({"r": json.loads(value)}, [])


def test_no_array_at_all(write):
    assert read_document(write('{"a": 1}')) == ({"a": 1}, [])
    assert read_document(write("{}")) == ({}, [])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": 1,\n "samples": [1, 2', r"line 2 \(character 27\): .*ends in the middle"),
        ('{"a": 1,\n "samples": [1, {"x": "unfin', "line 2 .*ends in the middle"),
        ('{"a": 1,\n "status":', "line 2 .*ends in the middle"),
        (
            '{"samples": [1,\n\n 2 3]}',
            r"line 3 \(character 21\): not complete JSON .expected , or ]",
        ),
        ('{"samples": [1, 2,]}', "not complete JSON .Expecting value"),
        ('{"samples": [1, {"a": 01, "b": "something after it"}]}', "Expecting ',' delimiter"),
        ('{"a": 1, "a": 2, "samples": []}', r"line 1 .*key 'a' occurs twice"),
        ('{"samples": [], "samples": [1]}', "key 'samples' occurs twice"),
        ('{"samples": []} {"samples": []}', "more text after the document"),
        ('{"samples": []}\n{"samples": []}\n', "line 2 .*more text after the document"),
        ("{'samples': []}", "expected a key in double quotes"),
        ("[1]", "expected {, an object with 'samples', found a list"),
        ("nonsense", "expected {, an object with 'samples', found no object"),
        ('{"samples": [nonsense, and more of it]}', "Expecting value"),
        (b'{"samples": ["\0"]}', "line 1: holds a NUL byte"),
        (b'{"a": 1,\n\n"samples": ["\xe9", 1]}', "line 3: byte 0xe9 is not UTF-8"),
        (b'{"a": 1,\n"samples": ["\xc3', "line 2: byte 0xc3 is not UTF-8"),
    ],
)
def test_bad_documents_name_the_place(text, words, write):
    with pytest.raises(InputError, match=words):
        read_document(write(text))


def test_any_cut_of_a_document_is_refused(write):
    text = '{"a": [1.5e3, true], "samples": [{"b": "\\u00e9\\ud83d\\ude00"}, -12, null], "c": "d"}'
    for end in range(1, len(text)):
        with pytest.raises(InputError, match="not complete JSON"):
            read_document(write(text[:end]))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 16, 17, 64])
def test_pieces_of_any_size_mean_the_same(size, write, monkeypatch):
    text = json.dumps(
        {"a": 12345, "samples": [1.5e10, -12, "é😀" * 9, {"x": [True, None]}, 0, '\\"'], "z": 7.25},
        ensure_ascii=False,
        indent=1,
    )
    monkeypatch.setattr(json_text, "_PIECE", size)
    monkeypatch.setattr(opening, "HEAD_BYTES", size)
    fields, elements = read_document(write(text))
    document = json.loads(text)
    assert elements == document.pop("samples")
    assert fields == document
    broken = write(text.replace("true", "trve"))
    with pytest.raises(InputError, match=r"line 9 \(character 96\): .*Expecting value"):
        read_document(broken)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    document=st.dictionaries(st.sampled_from(["a", "samples", "z"]), _VALUES),
    samples=st.lists(_VALUES, max_size=4),
    damage=st.none() | st.tuples(st.integers(0, 200), st.sampled_from([*'{}[],:"09.e-\\tn '])),
    size=st.sampled_from([1, 3, 8, 50, 1000]),
    indent=st.sampled_from([None, 1]),
)
def test_a_document_says_what_the_decoder_says(
    tmp_path_factory, document, samples, damage, size, indent
):
    text = json.dumps({**document, "samples": samples}, indent=indent, ensure_ascii=False)
    if damage is not None:
        at = damage[0] % len(text)
        text = text[:at] + damage[1] + text[at + 1 :]
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    try:
        wanted = json_text.parse(text.strip(" \t\r\n"), "x")
    except InputError:
        wanted = None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_text, "_PIECE", size)
        patch.setattr(opening, "HEAD_BYTES", size)
        if not isinstance(wanted, dict):
            with pytest.raises(InputError):
                read_document(str(path))
            return
        fields, elements = read_document(str(path))
    if isinstance(wanted.get("samples"), list):
        assert elements == wanted.pop("samples")
    assert fields == wanted


def test_a_value_without_end_is_bounded(write, monkeypatch):
    monkeypatch.setattr(json_text, "_PIECE", 100)
    monkeypatch.setattr(json_text, "MAX_VALUE", 10_000)
    with pytest.raises(InputError, match="longer than 0 Mi characters starts here"):
        read_document(write('{"samples": ["' + "x" * 200_000 + '"]}'))


def test_a_file_that_changes_between_the_two_readings(write):
    path = write('{"samples": [1]}')
    _, elements = json_text.document(path, context(), "samples")
    write('{"samples": [1, 2]}')
    with pytest.raises(InputError, match="was written to while it was read"):
        list(elements)


def test_every_element_is_looked_at_before_the_first_one_is_given(write):
    seen: list[Any] = []
    path = write('{"samples": [1, {"a": 2}]}')
    _, elements = json_text.document(path, context(), "samples", seen.append)
    assert seen == [1, {"a": 2}]
    assert list(elements) == seen
    with pytest.raises(InputError, match="key 'a' occurs 2 times"):
        json_text.document(write('{"samples": [{"a": 1, "a": 2}]}'), context(), "samples", print)


def test_a_pipe_is_refused(tmp_path):
    readable, writable = os.pipe()
    os.write(writable, b'{"samples": []}')
    os.close(writable)
    with pytest.raises(InputError, match=r"is a pipe.*save it in a file"):
        read_document(f"/dev/fd/{readable}")
    os.close(readable)


# -------------------------------------------------------------------------------------- memory


def peak_of(consume) -> int:
    tracemalloc.start()
    try:
        consume()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_is_that_of_a_piece_and_not_of_the_file(tmp_path):
    record = json.dumps({"id": 1, "text": "word " * 2000, "more": list(range(100))})
    lines = tmp_path / "large.jsonl"
    document = tmp_path / "large.json"
    n = 3000
    with open(lines, "w") as file:
        for _ in range(n):
            file.write(record + "\n")
    with open(document, "w") as file:
        file.write('{"status": "success", "samples": [' + (record + ",\n") * (n - 1) + record)
        file.write('], "after": 1}')
    assert min(lines.stat().st_size, document.stat().st_size) > 30e6
    counts = {}

    def count_lines():
        counts["lines"] = sum(1 for _ in json_text.lines(str(lines), context()))

    def count_elements():
        fields, elements = json_text.document(str(document), context(), "samples")
        assert fields == {"status": "success", "after": 1}
        counts["elements"] = sum(1 for _ in elements)

    assert peak_of(count_lines) < 12e6
    assert peak_of(count_elements) < 12e6
    assert counts == {"lines": n, "elements": n}


# ------------------------------------------------------------------------------------- the head


@pytest.mark.parametrize(
    ("head", "seen"),
    [
        (b'{"a": 1}\n{"b": 2}\n', {"a": 1}),
        (b'\xef\xbb\xbf\n {"a": 1}\r\n', {"a": 1}),
        (b'{\n "a": 1,\n "b": [1, 2]\n}\n', {"a": 1, "b": [1, 2]}),
        (b'{"version": 2, "status": "succ', {"version": 2, "status": None}),
        (b'{"eval": {"task": "t", "model": "m', {"eval": {"task": "t", "model": None}}),
        (b'{"r": {"r": [{"p": 1}, {"q"', {"r": {"r": [{"p": 1}, {}]}}),
        (b'[{"a": 1}, {"b": [NaN, ', None),
        (b'{"a', {}),
        (b'{"a":', {"a": None}),
        (b"{", {}),
        (b"[", []),
        (b"", None),
        (b"a,b\n1,2\n", None),
        (b'"text"\n', None),
        (b"12\n", None),
        (b"PK\x03\x04", None),
    ],
)
def test_what_a_head_says(head, seen):
    found = json_text.probe_head(head)
    if head.startswith(b'[{"a"'):
        assert found[0] == {"a": 1}
        assert math.isnan(found[1]["b"][0])
    else:
        assert found == seen


def test_a_hostile_head_is_no_trouble():
    for head in (b"[" * 65536, b'{"a":' * 13000, b'{"a":[' * 9000, bytes(range(256)) * 256):
        json_text.probe_head(head)
    assert json_text.probe_head(b"{" + zlib.crc32(b"x").to_bytes(4, "big")) == {}

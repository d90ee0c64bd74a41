"""JSON Lines: scalars as text, nested objects, and what stops with which words."""

from __future__ import annotations

import json

import pytest

from janus_jax.values import as_boolean, as_numbers


def test_scalars_become_their_text(table, cells):
    made = table(
        '{"v": true}\n{"v": "true"}\n{"v": 1}\n{"v": 1.0}\n{"v": "1"}\n{"v": 0.1}\n{"v": null}\n'
        '{"v": NaN}\n{"v": -Infinity}\n{"v": ""}\n{"v": " "}\n{"v": -0.0}\n{"v": 1e22}\n{}\n'
        '{"v": 123456789012345678901}\n',
        "t.jsonl",
    )
    assert cells(made.columns["v"]) == [
        *("true", "true", "1", "1", "1", "0.1", None, None, "-inf", None, None, "0", "1e+22"),
        *(None, "123456789012345678901"),
    ]


def test_whole_floats_and_integers_are_one_level_and_one_number(table):
    column = table('{"v": 10}\n{"v": 10.0}\n{"v": 1e1}\n', "t.jsonl").columns["v"]
    assert column.levels == ("10",)
    assert as_numbers(column)[0].tolist() == [10]


def test_booleans_of_mixed_kinds_are_one_boolean(table):
    column = table('{"v": true}\n{"v": 0}\n{"v": "Yes"}\n{"v": "no"}\n', "t.jsonl").columns["v"]
    assert as_boolean(column).tolist() == [1, 0, 1, 0]


def test_lines_with_blanks_and_carriage_returns(table):
    made = table(b'\xef\xbb\xbf\r\n {"a": 1} \r\n\r\n\t\n{"a": 2}', "t.jsonl")
    assert made.lines.tolist() == [2, 5]
    assert made.line_word == ("line",)


def test_nested_objects_become_dotted_names(table, cells):
    made = table('{"m": {"a": {"b": 1}, "c": "x"}, "k": 2}\n{"m": {"c": "y"}}\n', "t.jsonl")
    assert list(made.columns) == ["m.a.b", "m.c", "k"]
    assert cells(made.columns["m.a.b"]) == ["1", None]
    assert cells(made.columns["m.c"]) == ["x", "y"]
    assert any("nested objects are read as dotted columns: m.a.b, m.c." in n for n in made.notes)
    assert any("m.a.b (1), k (1)" in note for note in made.notes)


def test_a_null_in_place_of_an_object_is_no_column(table, cells):
    made = table('{"m": null}\n{"m": {"a": 1}}\n{"m": {}}\n', "t.jsonl")
    assert list(made.columns) == ["m.a"]
    assert cells(made.columns["m.a"]) == [None, "1", None]


def test_a_scalar_in_place_of_an_object_is_one(table, cells):
    made = table('{"m": 3}\n{"m": {"a": 1}}\n', "t.jsonl")
    assert cells(made.columns["m"]) == ["3", None]
    assert cells(made.columns["m.a"]) == [None, "1"]


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ('{"a": {"b": 1}, "a.b": 2}\n', 1),
        ('{"a.b": 2}\n{"a": {"b": 1}}\n', 2),
        ('{"a": {"b.c": 1}}\n\n{"a.b": {"c": 1}}\n', 3),
    ],
)
def test_names_that_collide(refusal, content, line):
    message = refusal(content, "t.jsonl")
    assert message.startswith(f"t.jsonl line {line}: the name 'a.b")
    assert "stands for two different keys" in message
    assert "rename one of them" in message


@pytest.mark.parametrize(
    ("content", "line", "words"),
    [
        ('{"a": 1}\n{"b": 1, "a": 2, "b": 3}\n', 2, "key 'b' occurs 2 times"),
        ('{"x": {"y": 1, "y": 1}}\n', 1, "key 'y' occurs 2 times"),
        ('{"x": [{"y": 1, "y": 1, "y": 2}]}\n', 1, "key 'y' occurs 3 times"),
    ],
)
def test_repeated_keys_at_any_depth(refusal, content, line, words):
    assert refusal(content, "t.jsonl").startswith(f"t.jsonl line {line}: {words} in one object")


def test_lists_are_unusable_wherever_one_turns_up(table):
    made = table('{"a": 1, "b": []}\n{"a": [1], "b": null}\n{"a": null, "b": [{}]}\n', "t.jsonl")
    assert made.columns["a"].unusable == "a list"
    assert made.columns["a"].codes.tolist() == [0, 0, -1]
    assert made.columns["b"].unusable == "a list"
    assert made.columns["b"].codes.tolist() == [0, -1, 0]
    assert as_numbers(made.columns["a"]) is None
    assert as_boolean(made.columns["a"]) is None


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"a": 1', "not a complete JSON object"),
        ('{"a": 1} {"a": 2}', "not a complete JSON object (Extra data at character 10)"),
        ("{'a': 1}", "not a complete JSON object"),
        ("\u2028", "not a complete JSON object"),
        ("{", "is a JSON document spread over several lines, neither JSON Lines nor an"),
        ("[", "is a JSON document spread over several lines, neither JSON Lines nor an"),
        ("[1, 2]", "a record must be a JSON object, found a list; write one object a line"),
        ("3", "a record must be a JSON object, found the value 3"),
        ('{"a": ' + "9" * 5000 + "}", "cannot be read as JSON"),
        ('{"a": ' + "[" * 100_000, "cannot be read as JSON"),
    ],
)
def test_broken_lines(refusal, line, words):
    message = refusal('{"a": 1}\n\n' + line + "\n", "t.jsonl")
    assert message.startswith(f"t.jsonl line 3: {words}")


def test_undecodable_bytes(refusal):
    message = refusal(b'{"a": "x"}\n{"a": "\xe9"}\n', "t.jsonl")
    assert message.startswith("t.jsonl line 2: byte 0xe9 is not UTF-8")
    assert "--encoding latin-1" in message


def test_another_encoding(table, cells):
    made = table('{"a": "é"}\n{"a": "\u2028"}\n'.encode("utf-16"), "t.jsonl", encoding="utf-16")
    assert cells(made.columns["a"]) == ["é", None]


@pytest.mark.parametrize("content", ["\n\n", "\ufeff\n"])
def test_no_records(refusal, content):
    assert refusal(content, "t.jsonl") == (
        "t.jsonl: the file is empty; it needs one JSON object a line"
    )


def test_records_without_keys(refusal):
    assert refusal("{}\n{}\n", "t.jsonl").startswith("t.jsonl: no record has a key")


def test_half_an_emoji_can_be_written_again(table):
    made = table('{"a": "x \\ud83d", "\\udc00": 1}\n', "t.jsonl")
    assert made.columns["a"].levels == ("x \\ud83d",)
    assert list(made.columns) == ["a", "\\udc00"]
    "".join([*made.columns, *made.columns["a"].levels]).encode("utf-8")


def test_columns_stand_in_order_of_first_appearance(table):
    rows = [{"b": 1}, {"a": 1, "b": 2}, {"c": None, "a": 3}]
    made = table("\n".join(map(json.dumps, rows)), "t.ndjson")
    assert list(made.columns) == ["b", "a", "c"]
    assert made.columns["c"].levels == ()
    assert made.columns["c"].codes.tolist() == [-1, -1, -1]


def test_many_absent_keys_are_noted_briefly(table):
    rows = [{f"k{i}": 1} for i in range(11)]
    made = table("\n".join(map(json.dumps, rows)), "t.jsonl")
    (note,) = made.notes
    assert "some of the 11 records" in note
    assert note.endswith("k6 (10), k7 (10) and 3 more.")

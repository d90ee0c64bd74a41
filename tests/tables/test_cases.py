"""The cases from the field where reading, or the meaning of values, is what is asked."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from janus_jax.errors import InputError
from janus_jax.readers import read
from janus_jax.values import (
    as_boolean,
    as_numbers,
    as_text,
    first_non_number,
    is_index_name,
    is_near_unique,
    is_row_number,
    median,
    number_report,
)


def numbers_of(column):
    """Known values, one per row, and the number of rows without one."""
    values, missing = as_numbers(column)
    known = (column.codes >= 0) & ~np.append(missing, True)[column.codes]
    return values[column.codes[known]], int((~known).sum())


def booleans_of(column):
    """1, 0 or -1 per row."""
    return np.append(as_boolean(column), -1)[column.codes]


def missing(column):
    return int((column.codes < 0).sum())


def refused(path, **options):
    with pytest.raises(InputError) as caught:
        read(path, **options)
    return str(caught.value)


@pytest.mark.parametrize("name", ["input.csv", "input.jsonl"])
def test_24_missing_values_are_counted_and_are_no_level(case, expected, name):
    table, values = read(case("24") / name), expected("24")
    assert table.n == values["rows"]
    assert missing(table.columns["topic"]) == values["missing topic"]
    assert table.columns["topic"].levels == ("math", "code")
    known, absent = numbers_of(table.columns["n_tokens"])
    assert absent == values["missing n_tokens"]
    assert median(known).value == values["median of the known n_tokens"]


@pytest.mark.parametrize(("name", "first"), [("input.csv", 2), ("input.jsonl", 1)])
def test_36_missing_outcomes_are_found_in_their_lines(case, expected, name, first):
    table, values = read(case("36") / name), expected("36")
    error, ids = table.columns["error"], table.columns["id"]
    absent = np.flatnonzero(booleans_of(error) < 0)
    assert table.n == values["rows"]
    assert len(absent) == values["missing"]
    assert ", ".join(ids.levels[ids.codes[row]] for row in absent) == values["ids"]
    assert table.lines[absent].tolist() == [row + first for row in (3, 8, 11)]
    assert table.where(3) == f"{case('36') / name} line {3 + first}"
    assert booleans_of(error)[[0, 1]].tolist() == [1, 0]


def test_37_ids_repeat_and_can_be_counted(case, expected):
    table, values = read(case("37") / "input.csv"), expected("37")
    assert table.n == values["row-level test (n=48, wrong)"]["n"]
    assert len(table.columns["id"].levels) == values["per-id test (n=12)"]["n"]
    assert set(np.bincount(table.columns["id"].codes)) == {4}


@pytest.mark.parametrize("name", ["input.jsonl", "input_crlf.jsonl"])
def test_42_only_a_line_feed_ends_a_line(case, expected, name):
    table = read(case("42") / name)
    assert table.n == expected("42")["records"]
    assert table.columns["note"].levels == ("a\u2028b", "a\u0085b", "a\u2029b")
    assert table.lines.tolist() == list(range(1, 31))


def test_43_half_a_record_is_named_by_its_line(case, expected):
    last, middle = expected("43")["broken line numbers"]
    for name, line in (("input.jsonl", last), ("broken_middle.jsonl", middle)):
        path = case("43") / name
        message = refused(path)
        assert message.startswith(f"{path} line {line}: not a complete JSON object")
        assert message.endswith("repair or remove this line")
    blank = read(case("43") / "blank_lines.jsonl")
    assert blank.n == expected("43")["complete records"]
    assert blank.columns["id"].levels == tuple(f"t{i}" for i in range(20))
    text = (case("43") / "blank_lines.jsonl").read_text().split("\n")
    assert blank.lines.tolist() == [n for n, line in enumerate(text, 1) if line.strip()]
    assert blank.lines[-1] > blank.n  # blank lines count as lines


def test_48_a_missing_score_is_neither_right_nor_wrong(case, expected):
    scores, absent = numbers_of(read(case("48") / "input.csv").columns["faithfulness"])
    values = expected("48")
    assert int((scores >= 0.5).sum()) == values["right"]
    assert int((scores < 0.5).sum()) == values["wrong"]
    assert absent == values["missing"]
    assert as_boolean(read(case("48") / "input.csv").columns["faithfulness"]) is None


def test_49_one_flag_in_four_spellings_is_one_boolean(case, expected):
    table = read(case("49") / "input.csv")
    flags = [booleans_of(table.columns[name]) for name in ("has_code", "yn", "tf", "t_f")]
    for flag in flags[1:]:
        assert flag.tolist() == flags[0].tolist()
    reference = expected("49")["has_code = yes"]
    error = booleans_of(table.columns["error"])
    assert (len(error), int((flags[0] == 1).sum())) == (reference["n"], reference["n1"])
    assert int(error.sum()) == reference["K"]
    assert int(error[flags[0] == 1].sum()) == reference["a"]
    outcome = read(case("49") / "input_outcome_yes_no.csv").columns["error"]
    assert dict(zip(outcome.levels, as_boolean(outcome).tolist(), strict=True)) == {
        "yes": 1,
        "no": 0,
    }


def test_50_gaps_in_a_boolean_are_neither(case, expected):
    table = read(case("50") / "input.csv")
    flag, error = booleans_of(table.columns["flag"]), booleans_of(table.columns["error"])
    everyone = expected("50")["missing counted as not members (n=36)"]
    known = expected("50")["missing left out (n=24)"]
    assert Counter(flag.tolist()) == {1: everyone["n1"], 0: known["n"] - known["n1"], -1: 12}
    assert int(error[flag == 1].sum()) == everyone["a"]
    assert (table.n, int(error.sum())) == (everyone["n"], everyone["K"])
    assert int(error[flag >= 0].sum()) == known["K"]


def test_52_one_word_far_down_is_named_with_its_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with open("late.csv", "w") as file:
        file.write("id,n_tokens,error\n")
        for i in range(250_000):
            file.write(f"{i},{'unknown' if i == 249_990 else i % 997},{int(i % 5 == 0)}\n")
    table = read("late.csv")
    column = table.columns["n_tokens"]
    assert table.n == 250_000
    assert as_numbers(column) is None
    assert len(column.levels) == 998  # every number once, and the word
    assert number_report(column, table) == (
        "n_tokens: 249,999 of 250,000 values are numbers; the first that is not is 'unknown' "
        "(late.csv line 249992)"
    )
    found = first_non_number(column)
    assert (found.numbers, found.known, found.row, found.text) == (
        249_999,
        250_000,
        249_990,
        "unknown",
    )
    known, word = as_numbers(column, na=frozenset({"Unknown"}))
    assert known.dtype == np.int64
    assert int(np.append(word, True)[column.codes].sum()) == 1


@pytest.mark.parametrize("name", ["input.csv", "input.jsonl"])
def test_53_words_for_nothing_are_levels_in_text(case, expected, name):
    region = read(case("53") / name).columns["region"]
    assert region.levels == ("NA", "None", "null", "nan", "N/A", "EU")
    assert np.bincount(region.codes[region.codes >= 0]).tolist() == [10] * 6
    assert missing(region) == expected("53")["truly missing"]
    assert as_text(region) == region.levels
    assert as_numbers(region) is None
    assert as_boolean(region) is None


def test_54_repeated_names_stop_with_all_positions(case):
    message = refused(case("54") / "input.csv")
    assert "column name 'score' occurs 2 times (columns 2 and 4)" in message
    assert "column name 'error' occurs 2 times (columns 5 and 6)" in message
    assert "Rename or remove all copies but one" in message
    clash = refused(case("54") / "input_mangle_clash.csv")
    assert "column name 'a' occurs 2 times (columns 2 and 4)" in clash
    assert "a.1" not in clash.replace("input_mangle_clash", "")
    assert f"{case('54') / 'input.jsonl'} line 1: key 'lang' occurs 2 times" in refused(
        case("54") / "input.jsonl"
    )


@pytest.mark.parametrize(
    "name", ["input.csv", "input.jsonl", "input_one_missing_id.csv", "input_string_ids.jsonl"]
)
def test_56_long_ids_keep_every_digit(case, expected, name):
    ids = read(case("56") / name).columns["id"]
    assert len(ids.levels) == expected("56")["right"]
    assert ids.levels == tuple(str(2**53 + i) for i in range(20))
    assert as_numbers(ids)[0].tolist() == [2**53 + i for i in range(20)]
    assert is_near_unique(ids)


def test_58_a_byte_order_mark_is_no_part_of_a_name(case, expected):
    folder = case("58")
    first = read(folder / "input_bom.csv")
    assert list(first.columns) == ["id", "lang", "error"]
    assert first.n == expected("58")["rows in the csv files"]
    assert list(read(folder / "input_bom_outcome_first.csv").columns) == ["error", "id", "lang"]
    assert list(read(folder / "input_bom.jsonl").columns) == ["id", "lang", "error"]


def test_58_other_encodings_are_named_with_the_option(case, expected):
    folder, rows = case("58"), expected("58")["rows in the csv files"]
    latin = refused(folder / "input_latin1.csv")
    assert latin.startswith(f"{folder / 'input_latin1.csv'} line 3: byte 0xe7 is not UTF-8")
    assert "--encoding latin-1" in latin
    wide = refused(folder / "input_utf16.csv")
    assert "UTF-16" in wide
    assert "--encoding utf-16" in wide
    assert read(folder / "input_latin1.csv", encoding="latin-1").columns["lang"].levels == (
        "en",
        "français",
    )
    table = read(folder / "input_utf16.csv", encoding="utf-16")
    assert (table.n, list(table.columns)) == (rows, ["id", "lang", "error"])


def test_59_special_characters_stay_inside_their_fields(case, expected):
    table = read(case("59") / "input.csv")
    style = table.columns["prompt style"]
    assert table.n == expected("59")["rows"]
    assert len(style.levels) == expected("59")["levels"]
    assert style.levels == (
        "plain",
        "a, b",
        "line1\nline2",
        'say "hi"',
        "CR\r\nLF",
        "semi;colon",
        "tab\there",
    )
    # Rows 0..6 start here: two of them take two lines.
    assert table.lines[:7].tolist() == [2, 3, 4, 6, 7, 9, 10]


def test_59_broken_structure_is_named_by_its_lines(case):
    folder = case("59")
    short, quote = folder / "input_short_row.csv", folder / "input_unbalanced_quote.csv"
    assert refused(short).startswith(
        f"{short} lines 3 and 4: expected 3 fields as in the header, found 2 and 4"
    )
    assert refused(quote).startswith(f"{quote} line 2: a quote opened here is never closed")


def case_60_rows():
    """3,000 records: `tool` null for 2,000, `lang` absent on every tenth, a key seen once."""
    for i in range(3000):
        tool = None if i < 2000 else ("search", "code")[i % 2]
        row = {"id": i, "tool": tool, "error": int(i % 6 == 0), "meta": {"a": {"b": i % 3}}}
        if i % 10:
            row["lang"] = ("en", "de")[i % 2]
        row["tags"] = ["x"] if i % 2 else []
        if i == 2500:
            row["extra_key"] = "once"
        yield row


def test_60_types_do_not_come_from_the_first_rows(tmp_path, expected):
    path = tmp_path / "input.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in case_60_rows()))
    table = read(path)
    tool, lang = table.columns["tool"], table.columns["lang"]
    assert table.n == 3000
    assert [missing(tool), missing(lang)] == expected("60")["missing tool, lang"]
    assert dict(
        zip(tool.levels, np.bincount(tool.codes[tool.codes >= 0]).tolist(), strict=True)
    ) == {
        "search": 500,
        "code": 500,
    }
    assert table.columns["meta.a.b"].levels == ("0", "1", "2")
    assert "meta" not in table.columns
    assert table.columns["tags"].unusable == "a list"
    assert missing(table.columns["extra_key"]) == 2999
    assert any("dotted columns: meta.a.b" in note for note in table.notes)
    assert any("lang (300), extra_key (2,999)" in note for note in table.notes)


def test_60_parts_are_read_together(case):
    paths = [case("60") / "part1_all_null.jsonl", case("60") / "part2.jsonl"]
    table = read(paths)
    counts = [len(path.read_text().splitlines()) for path in paths]
    assert table.n == sum(counts)
    assert np.bincount(table.files).tolist() == counts
    assert missing(table.columns["tool"]) == counts[0]
    assert table.columns["tool"].levels == ("search", "code")
    assert table.where(counts[0]) == f"{paths[1]} line 1"
    assert f"Column 'extra_key' is absent from {paths[0]}: missing there." in table.notes


@pytest.mark.parametrize("name", ["input.csv", "input.jsonl"])
def test_64_infinities_are_numbers_and_nan_is_missing(case, expected, name):
    column = read(case("64") / name).columns["ratio"]
    known, absent = numbers_of(column)
    reference = expected("64")["ratio > 3, NaN left out (n=28)"]
    threshold = median(known)
    assert (len(known), absent) == (reference["n"], 4)
    assert (threshold.value, threshold.text) == (expected("64")["median without NaN"], "3")
    assert int(threshold.above(known).sum()) == reference["n1"]
    ends = np.array([np.inf, -np.inf, np.nan])
    assert threshold.above(ends).tolist() == [True, False, False]


def test_66_another_delimiter_is_recognised_and_named(case, expected):
    folder, rows = case("66"), expected("66")["rows"]
    semicolon = refused(folder / "input_semicolon.csv")
    assert "header looks separated by ';': use --delimiter ';'" in semicolon
    assert "decimal mark looks like a comma ('0,5')" in semicolon
    assert r"header looks separated by '\t': use --delimiter '\t'" in refused(
        folder / "input_tab.csv"
    )
    table = read(folder / "input_semicolon.csv", delimiter=";")
    assert (table.n, list(table.columns)) == (rows, ["id", "lang", "n_tokens", "error"])
    assert as_numbers(table.columns["n_tokens"]) is None
    for spelling in ("\t", "\\t", "tab"):
        assert list(read(folder / "input_tab.csv", delimiter=spelling).columns) == [
            "id",
            "lang",
            "error",
        ]


@pytest.mark.parametrize(
    ("name", "column"), [("input.csv", "Unnamed: 0"), ("input.parquet", "__index_level_0__")]
)
def test_70_a_saved_index_is_recognised(case, expected, name, column):
    table = read(case("70") / name)
    assert is_index_name(column)
    assert is_row_number(table.columns[column], table)
    assert not is_row_number(table.columns["error"], table)
    reference = expected("70")["row number > 23.5"]
    assert table.n == reference["n"]
    assert median(numbers_of(table.columns[column])[0]).text == "23.5"


def test_70_pandas_name_for_an_unnamed_column(case, expected):
    first = next(iter(read(case("70") / "input.csv").columns))
    assert first == expected("70")["name in pandas 3.1.1"]


@pytest.mark.parametrize("name", ["input.csv", "input.jsonl"])
def test_71_columns_without_information_are_recognised(case, name):
    table = read(case("71") / name)
    blank = {"empty", "blank"} & set(table.columns)
    for column in blank:
        assert table.columns[column].levels == ()
        assert missing(table.columns[column]) == table.n == 24
    nan = table.columns["all_nan"]
    assert as_boolean(nan) is None
    assert numbers_of(nan)[1] == 24
    assert len(numbers_of(nan)[0]) == 0
    assert np.bincount(table.columns["lang"].codes).tolist() == [12, 12]
    if "one_value" in table.columns:
        assert as_text(table.columns["one_value"]) == ("x",)


@pytest.mark.parametrize(
    ("number", "name", "reference"),
    [
        ("72", "corpus_offset", "2147483652.5"),
        ("73", "n_chars", "16777235.5"),
    ],
)
def test_72_73_medians_of_large_integers_split_exactly(case, expected, number, name, reference):
    table, values = read(case(number) / "input.csv"), expected(number)
    column = table.columns[name]
    numbers, _ = as_numbers(column)
    threshold = median(numbers, np.bincount(column.codes))
    error = booleans_of(table.columns["error"])
    above = threshold.above(numbers)[column.codes]
    assert numbers.dtype == np.int64
    assert threshold.text == reference
    assert threshold.value == values["median"]
    assert int(above.sum()) == values["rows above"] == values["table"]["n1"]
    assert int(error[above].sum()) == values["table"]["a"]


def test_the_cases_are_all_here():
    """A case that lost its reference values would silently test nothing."""
    folder = Path(__file__).parents[1] / "data" / "cases"
    numbers = {name[5:7] for name in globals() if name.startswith("test_") and name[5].isdigit()}
    assert len(numbers | {"73"}) == 21
    for number in numbers | {"73"}:
        assert len(list(folder.glob(f"{number}_*/expect.json"))) == 1

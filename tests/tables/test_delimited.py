"""CSV and TSV: what is read verbatim, and what stops with which words."""

from __future__ import annotations

import csv
import hashlib
import io
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from janus_jax.errors import InputError
from janus_jax.readers import opening, read


def test_values_are_verbatim_and_only_blank_cells_are_missing(table, cells):
    made = table("a,b\n007, x \n1e3,NA\n 1 ,\n,\u00a0\t\nnull,1_000\n")
    assert cells(made.columns["a"]) == ["007", "1e3", " 1 ", None, "null"]
    assert cells(made.columns["b"]) == [" x ", "NA", None, None, "1_000"]
    assert made.columns["a"].codes.dtype == np.int8  # four levels need no more
    assert made.columns["a"].levels == ("007", "1e3", " 1 ", "null")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False])
def test_any_line_end_with_or_without_the_last(table, cells, end, last):
    made = table(end.join(["a,b", "1,x", "", "2,y"]) + end * last)
    assert cells(made.columns["a"]) == ["1", "2"]
    assert cells(made.columns["b"]) == ["x", "y"]
    assert made.lines.tolist() == [2, 4]
    assert made.where(1).endswith("t.csv line 4")


def test_quoted_header_after_a_byte_order_mark(table):
    made = table(b'\xef\xbb\xbf"a,1","b ""q"""\r\n1,2\r\n')
    assert list(made.columns) == ["a,1", 'b "q"']


def test_lines_are_where_records_start(table):
    made = table('a,b\n1,"x\ny\n\nz"\n2,"p\r\nq"\n\n3,r\n')
    assert made.lines.tolist() == [2, 6, 9]


def test_blank_lines_before_the_header(table):
    made = table("\n \na,b\n1,2\n")
    assert list(made.columns) == ["a", "b"]
    assert made.lines.tolist() == [4]


def test_one_column(table, cells):
    made = table('q\nx\n""\n\ny\n')
    assert cells(made.columns["q"]) == ["x", None, "y"]
    assert made.lines.tolist() == [2, 3, 5]


def test_unnamed_columns_never_collide(table):
    made = table(",Unnamed: 0, ,Unnamed: 0.1\n1,2,3,4\n")
    assert list(made.columns) == ["Unnamed: 0.2", "Unnamed: 0", "Unnamed: 2", "Unnamed: 0.1"]


def test_names_repeated_more_often(refusal):
    assert "column name 'a' occurs 3 times (columns 1, 3 and 4)" in refusal("a,b,a,a\n1,2,3,4\n")


def test_the_hash_is_of_the_bytes(table, tmp_path):
    content = b"\xef\xbb\xbfa,b\r\n1,2\r\n"
    assert table(content).sha256 == hashlib.sha256(content).hexdigest()
    (tmp_path / "u.csv").write_bytes(b"a,b\n3,4\n")
    both = read([tmp_path / "t.csv", tmp_path / "u.csv"])
    assert both.sha256 == hashlib.sha256(content + b"a,b\n3,4\n").hexdigest()


def test_many_rows_across_chunks(table, cells):
    values = [str(i * i % 1013) for i in range(20_000)]
    made = table("i,v\n" + "".join(f"{i},{value}\n" for i, value in enumerate(values)))
    assert cells(made.columns["v"]) == values
    assert made.columns["v"].levels == tuple(dict.fromkeys(values))
    assert made.lines.tolist() == list(range(2, 20_002))


# --- structure ------------------------------------------------------------------------------------


def test_ragged_lines_are_named_where_they_start(refusal):
    message = refusal('a,b\n"1\n1",2\n3\n4,5\n6,7,8\n')
    assert message.startswith(
        "t.csv lines 4 and 6: expected 2 fields as in the header, found 1 and 3"
    )
    assert "quote fields that hold ','" in message


def test_one_ragged_line(refusal):
    assert refusal("a,b\n1,2\n3,4,5\n").startswith(
        "t.csv line 3: expected 2 fields as in the header, found 3;"
    )


def test_many_ragged_lines_are_cut_short(refusal):
    message = refusal("a,b\n" + "1\n" * 50)
    assert "lines 2, 3, 4, 5 and 6 (and perhaps later ones): expected 2 fields" in message


def test_the_quote_that_stays_open_is_found_behind_one_that_closes(refusal):
    message = refusal('a,b\n1,2\n"x\ny","z ""q"" \n3,4\n')
    assert message.startswith("t.csv line 4: a quote opened here is never closed; close it")


def test_doubled_quotes_do_not_reopen_a_field(refusal):
    message = refusal('a,b\n1,"x\n""q"" y\n3,4\n')
    assert message.startswith("t.csv line 2: a quote opened here is never closed")


def test_text_after_a_closing_quote(refusal):
    message = refusal('a,b\n1,"x\ny"z\n')
    assert message.startswith("t.csv line 3: text follows a closing quote")
    assert "opened in line 2" in message
    assert 'double the quotes that are part of the text ("")' in message


def test_a_quote_inside_unquoted_text_is_text(table, cells):
    assert cells(table('a,b\n5" pipe,x\n').columns["a"]) == ['5" pipe']


# --- delimiters -----------------------------------------------------------------------------------


def test_tsv_is_split_at_tabs_and_commas_are_text(table, cells):
    made = table("a\tb\n1,5\tx\n", "t.tsv")
    assert cells(made.columns["a"]) == ["1,5"]


def test_tsv_that_holds_commas_stops_too(refusal):
    assert "use --delimiter ','" in refusal("a,b\n1,2\n", "t.tsv")


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_ragged_at_commas_but_regular_elsewhere(refusal, mark):
    message = refusal(mark.join("ab") + "\n" + mark.join(["1,5", "2,5"]) + "\n")
    assert f"use --delimiter {mark!r}" in message
    assert "header has 1 column;" in message
    assert "decimal mark looks like a comma ('1,5')" in message


def test_ragged_with_commas_in_the_header(refusal):
    message = refusal("a, the first;b\n1;2\n3;4\n")
    assert "header has 2 columns; header looks separated by ';': use --delimiter ';'" in message
    assert "decimal" not in message


def test_a_single_column_that_holds_other_marks_is_believed(table, cells):
    made = table("a;b\nx\ny;z\n")
    assert cells(made.columns["a;b"]) == ["x", "y;z"]


def test_a_named_delimiter_is_believed(table):
    assert list(table("a;b\n1;2\n", delimiter=",").columns) == ["a;b"]


@pytest.mark.parametrize("delimiter", ["", ";;", '"', "\n"])
def test_a_delimiter_is_one_character(refusal, delimiter):
    assert f"delimiter {delimiter!r} is not one character" in refusal(
        "a,b\n1,2\n", delimiter=delimiter
    )


# --- bytes ----------------------------------------------------------------------------------------


def test_undecodable_bytes_behind_the_first_block(refusal):
    message = refusal(b"a,b\n" + b"1,2\n" * 40_000 + b"caf\xe9,1\n")
    assert message.startswith("t.csv line 40002: byte 0xe9 is not UTF-8")


def test_a_wrong_encoding_by_name(refusal):
    message = refusal("a\ncafé\n", encoding="ascii")
    assert message.startswith("t.csv line 2: byte 0xc3 is not ascii")
    assert "--encoding" in message


def test_an_unknown_encoding(refusal):
    assert "encoding 'utf-9' is not known" in refusal("a\n1\n", encoding="utf-9")


@pytest.mark.parametrize("encoding", ["base64", "rot13"])
def test_an_encoding_that_is_none_of_text(refusal, encoding):
    assert f"encoding {encoding!r} is not known" in refusal("a\n1\n", encoding=encoding)


def test_utf16_without_a_mark(refusal):
    message = refusal("a,b\n1,2\n".encode("utf-16-le"))
    assert message.startswith("t.csv line 1: holds a NUL byte")
    assert "--encoding utf-16" in message


def test_a_nul_byte_is_found_in_its_line(refusal):
    assert refusal(b"a,b\n1,2\n3,\x004\n").startswith("t.csv line 3: holds a NUL byte")


@pytest.mark.parametrize("bom", [b"\xff\xfe", b"\xfe\xff"])
def test_utf16_with_either_mark(refusal, bom):
    assert "use --encoding utf-16" in refusal(bom + "a,b\n".encode("utf-16-le"))


@pytest.mark.parametrize(
    ("magic", "words"),
    [
        (b"\x1f\x8b\x08\x00", "is gzip-compressed; decompress it first (gunzip)"),
        (b"PK\x03\x04xx", "is a zip archive (an Excel workbook is one too)"),
        (b"\x28\xb5\x2f\xfd", "is zstd-compressed"),
        (b"PAR1\x15\x04", "holds Parquet; rename it to end in .parquet"),
    ],
)
def test_other_content_under_the_name_of_text(refusal, magic, words):
    assert refusal(magic + b"rest\n").startswith(f"t.csv: {words}")


# --- no file, no rows -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.jsonl", "t", "t.parquet"])
def test_an_empty_file(refusal, name):
    assert refusal(b"", name).startswith(f"{name}: the file is empty")


@pytest.mark.parametrize("content", ["\n\n", "\ufeff", " \n"])
def test_a_file_of_blanks(refusal, content):
    assert refusal(content).startswith("t.csv: the file is empty; it needs a header and rows")


@pytest.mark.parametrize("content", ["a,b", "a,b\n", "a,b\n\n\n"])
def test_only_a_header(refusal, content):
    assert refusal(content).startswith("t.csv: has a header but no rows")


def test_paths_that_cannot_be_opened(tmp_path):
    for path, words in (
        (tmp_path, "is a directory; name the files in it"),
        (tmp_path / "none.csv", "no such file"),
    ):
        with pytest.raises(InputError, match="^" + str(path)) as caught:
            read(path)
        assert words in str(caught.value)


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything"
)
def test_a_file_that_may_not_be_read(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a\n1\n")
    path.chmod(0)
    with pytest.raises(InputError, match="no permission to read it"):
        read(path)


def test_no_permission_is_said_as_such(monkeypatch):
    def denied(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", denied)
    with pytest.raises(InputError) as caught:
        read("secret.csv")
    assert str(caught.value).startswith("secret.csv: no permission to read it")


def test_nothing_and_the_same_file_twice(tmp_path):
    (tmp_path / "t.csv").write_text("a\n1\n")
    with pytest.raises(InputError, match="no file was named"):
        read([])
    with pytest.raises(InputError, match=r"is the same file as .*its rows would count twice"):
        read([tmp_path / "t.csv", str(tmp_path / "." / "t.csv")])
    with pytest.raises(InputError, match="Name it once"):
        read([str(tmp_path / "t.csv")] * 2)
    with pytest.raises(InputError, match="a dict cannot be read; give a path"):
        read({"a": [1]})


# --- several files --------------------------------------------------------------------------------


def test_files_are_put_together_in_order(tmp_path, cells):
    (tmp_path / "b.csv").write_text("x,y\n1,p\n2,q\n")
    (tmp_path / "a.csv").write_text("z,y\n7,q\n")
    table = read([tmp_path / "b.csv", tmp_path / "a.csv"])
    assert list(table.columns) == ["x", "y", "z"]
    assert cells(table.columns["x"]) == ["1", "2", None]
    assert cells(table.columns["y"]) == ["p", "q", "q"]
    assert cells(table.columns["z"]) == [None, None, "7"]
    assert table.columns["y"].levels == ("p", "q")
    assert table.notes == (
        f"Column 'x' is absent from {tmp_path / 'a.csv'}: missing there.",
        f"Column 'z' is absent from {tmp_path / 'b.csv'}: missing there.",
    )
    assert [table.where(row) for row in (1, 2)] == [
        f"{tmp_path / 'b.csv'} line 3",
        f"{tmp_path / 'a.csv'} line 2",
    ]
    assert table.files.dtype == np.int32
    assert table.lines.dtype == np.int64


def test_formats_may_be_mixed(tmp_path, cells):
    (tmp_path / "a.csv").write_text("x,b\n10,true\n2.50,\n")
    (tmp_path / "b.jsonl").write_text('{"x": 10.0, "b": false}\n')
    table = read([tmp_path / "a.csv", tmp_path / "b.jsonl"])
    assert cells(table.columns["x"]) == ["10", "2.50", "10"]
    assert cells(table.columns["b"]) == ["true", None, "false"]


# --- bounds ---------------------------------------------------------------------------------------


def test_a_line_without_end_is_not_read_to_its_end(monkeypatch, tmp_path):
    """The file is sparse and larger than memory should ever see."""
    monkeypatch.setattr(opening, "MAX_LINE_BYTES", 3 * 2**20)
    path = tmp_path / "huge.csv"
    with path.open("wb") as file:
        file.write(b"a,b\n1,2\n")
        for _ in range(64):
            file.write(b"x" * 2**20)
    taken: list[int] = []
    original = opening._Guard.readinto

    def counting(self, buffer):
        taken.append(original(self, buffer))
        return taken[-1]

    monkeypatch.setattr(opening._Guard, "readinto", counting)
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path} line 3: a line longer than 3 MiB starts here")
    assert sum(taken) <= 5 * 2**20


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl"])
def test_a_long_line_between_short_ones(monkeypatch, refusal, name):
    monkeypatch.setattr(opening, "MAX_LINE_BYTES", 1000)
    line = '{"a": "' + "x" * 1001 + '"}\n'
    short = '{"a": 1}\n'
    assert refusal(short * 3 + line + short, name).startswith(
        f"{name} line 4: a line longer than 1000 bytes starts here"
    )


def test_a_long_record_of_short_lines(monkeypatch, refusal):
    monkeypatch.setattr(opening, "MAX_LINE_BYTES", 1000)
    message = refusal('a,b\n1,2\n3,"' + "xxxx\n" * 300 + '"\n')
    assert message.startswith("t.csv line 3: a record longer than 1000 bytes starts here")


def test_fields_beyond_the_csv_modules_own_limit(table, cells):
    before = csv.field_size_limit()
    long = "x" * (before + 1)
    assert cells(table(f"a,b\n{long},1\n").columns["a"]) == [long]
    assert csv.field_size_limit() == before


def test_the_field_limit_comes_back_after_an_error(refusal):
    before = csv.field_size_limit()
    refusal('a\n"x\n')
    assert csv.field_size_limit() == before


# --- surroundings ---------------------------------------------------------------------------------


def test_text_needs_neither_pandas_nor_pyarrow(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    (tmp_path / "t.jsonl").write_text('{"a": 1}\n')
    code = (
        "import sys\nfrom janus_jax.readers import read\n"
        "for p in sys.argv[1:]: assert read(p).n == 1\n"
        "print([m for m in ('pandas', 'pyarrow', 'jax', 'polars') if m in sys.modules])"
    )
    arguments = [sys.executable, "-c", code, str(tmp_path / "t.csv"), str(tmp_path / "t.jsonl")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(arguments, capture_output=True, text=True, env=environment, check=False)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_read_once(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    content = b"a,b\n" + b"1,2\n" * 50_000
    writer = threading.Thread(target=pipe.write_bytes, args=(content,))
    writer.start()
    table = read(pipe)
    writer.join()
    assert table.n == 50_000
    assert table.sha256 == hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize(
    ("name", "content"),
    [("noname", '\ufeff\n {"a": 1}\n'), ("t.txt", '{"a": 1}'), ("t.log", "a\n1\n")],
)
def test_without_a_known_extension_the_content_decides(table, cells, name, content):
    assert cells(table(content, name).columns["a"]) == ["1"]


FIELD = st.text(st.sampled_from('ab",;\n\r\té\u2028 '), max_size=6)


@given(
    rows=st.lists(st.lists(FIELD, min_size=2, max_size=2), min_size=1, max_size=8),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_what_a_csv_writer_writes_is_read_back(tmp_path_factory, rows, end):
    text = io.StringIO()
    writer = csv.writer(text, lineterminator=end, quoting=csv.QUOTE_ALL)
    writer.writerow(["left", "right"])
    writer.writerows(rows)
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    path.write_bytes(text.getvalue().encode())
    table = read(path)
    assert table.n == len(rows)
    for index, column in enumerate(table.columns.values()):
        got = [None if code < 0 else column.levels[code] for code in column.codes]
        assert got == [row[index] if row[index].strip() else None for row in rows]

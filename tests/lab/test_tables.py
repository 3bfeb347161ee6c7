"""CSV files: read back what was written, read what spreadsheets write, refuse the rest in words."""

from __future__ import annotations

import codecs
import csv
import io
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracle import fractions, play
from strategies import scenarios_parts, ticket_pairs, tricky_labels

from lab import LabError
from lab.errors import FileError, LengthError, TotalError
from lab.feedback import named_laws
from lab.prediction import Prediction, compare, truth
from lab.scenario import MOST_TOKENS, PRESETS, Scenario, Texts
from lab.tables import (
    MOST_BYTES,
    as_text_cell,
    export_csv,
    from_text_cell,
    import_csv,
    prediction_csv,
)

RUN_BY_SPREADSHEETS = ("=", "+", "-", "@", "\t", "\r", "\n")
COLUMNS = ["token", "p", "q", "accepted", "shortfall", "residual", "correction", "reconstructed"]


def cells(data: bytes) -> list[dict[str, str]]:
    """The table as a program reads it that knows nothing of lab."""
    return list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline=""), strict=True))


def scenario(p: str, q: str, tokens: list[str] | None = None) -> Scenario:
    p, q = fractions(p), fractions(q)
    return Scenario(tuple(tokens or (f"t{i}" for i in range(len(p)))), p, q)


# ---------------------------------------------------------------- export and back


@given(scenarios_parts())
@settings(max_examples=100)
def test_a_file_brings_back_the_scenario(parts):
    tokens, (p, q) = parts
    original = Scenario(tokens, p, q)
    assert import_csv(export_csv(original)) == original


@given(
    st.lists(tricky_labels, min_size=1, max_size=6),
    st.sampled_from(["", *RUN_BY_SPREADSHEETS, "'", "''", "'=", "＝", " =", '"=']),
)
@example(["cmd|' /C calc'!A0"], "=")
def test_no_label_cell_is_run_and_every_label_comes_back(labels, start):
    labels = [start + label for label in labels]
    n = len(labels)
    original = Scenario(tuple(labels), (Fraction(1, n),) * n, (Fraction(1, n),) * n)
    data = export_csv(original)
    for row in cells(data):
        assert not row["token"].startswith((*RUN_BY_SPREADSHEETS, "＝", "＋", "－", "＠"))
    assert import_csv(data).tokens == tuple(labels)


@given(tricky_labels)
def test_text_cells_are_undone(text):
    assert from_text_cell(as_text_cell(text)) == text
    if text and text[0].isalpha():
        assert as_text_cell(text) == text


@pytest.mark.parametrize("label", ["1/3", "007", "1e5", "1-2", "3.10", "12:30", "1234567890123456"])
def test_labels_that_a_spreadsheet_turns_into_numbers_or_dates_are_marked(label):
    assert as_text_cell(label) == f"'{label}"


@pytest.mark.parametrize("label", ["0", "7", "12", "5000"])
def test_plain_numbers_stay_as_they_are(label):
    assert as_text_cell(label) == label


@given(scenarios_parts())
@settings(max_examples=80)
def test_the_numbers_in_the_file(parts):
    tokens, (p, q) = parts
    step = Scenario(tokens, p, q).step
    vectors = {
        "p": p,
        "q": q,
        "accepted": step.accepted,
        "shortfall": step.shortfall,
        "residual": step.residual,
        "correction": step.correction,
        "reconstructed": p,
    }
    rows = cells(export_csv(Scenario(tokens, p, q)))
    assert len(rows) == len(tokens)
    assert [name for name in rows[0] if not name.endswith("_exact")] == COLUMNS
    for name, vector in vectors.items():
        column = [row[name] for row in rows]
        if vector is None:
            assert set(column) == {""}
            assert f"{name}_exact" not in rows[0]
            continue
        ends = all(10**400 % mass.denominator == 0 for mass in vector)
        assert (f"{name}_exact" in rows[0]) == (not ends)
        if ends:
            assert tuple(map(Fraction, column)) == vector
            continue
        # 17 digits, rounded once: half a unit of the last of them.
        for text, mass in zip(column, vector, strict=True):
            assert abs(Fraction(text) - mass) <= mass / (2 * 10**16)
        marked = [row[f"{name}_exact"] for row in rows]
        assert all(text.startswith("'") for text in marked)  # or 1/3 becomes a date
        assert tuple(Fraction(text[1:]) for text in marked) == vector


def test_formula_labels():
    # EX01
    tokens = ["=1+1", "+x", "-1", "@a", "\tb", "plain"]
    original = scenario(
        "0.25 0.25 0.125 0.125 0.125 0.125", "0.125 0.125 0.125 0.125 0.25 0.25", tokens
    )
    data = export_csv(original)
    rows = cells(data)
    assert not any(row["token"].startswith(RUN_BY_SPREADSHEETS) for row in rows)
    assert rows[5]["token"] == "plain"
    assert import_csv(data).tokens == tuple(tokens)
    assert '"0' not in data.decode()  # numbers stand without quotes
    difference = [Fraction(row["p"]) - Fraction(row["q"]) for row in rows]
    assert tuple(difference) == fractions("1/8 1/8 0 0 -1/8 -1/8")
    assert [row["accepted"] for row in rows] == ["0.125"] * 6
    assert [row["residual"] for row in rows] == ["0.5", "0.5", "0", "0", "0", "0"]
    assert original.step.acceptance == Fraction(3, 4)
    assert [row["reconstructed"] for row in rows] == [row["p"] for row in rows]


def test_digits_beyond_15():
    # EX02: the exported text is the typed text.
    typed_p = ["0.1234567890123456789", "0.8765432109876543211"]
    typed_q = ["0.1234567890123456788", "0.8765432109876543212"]
    original = scenario(" ".join(typed_p), " ".join(typed_q))
    data = export_csv(original)
    rows = cells(data)
    assert [row["p"] for row in rows] == [row["reconstructed"] for row in rows] == typed_p
    assert [row["q"] for row in rows] == typed_q
    assert [row["residual"] for row in rows] == ["1", "0"]
    assert [Fraction(row["correction"]) for row in rows] == [Fraction(1, 10**19), 0]
    assert import_csv(data) == original


@given(st.lists(st.integers(0, 10**19), min_size=1, max_size=5))
def test_decimals_of_19_digits_come_back_as_typed(digits):
    weights = [*digits, 10**20 - sum(digits)]
    if weights[-1] < 0:
        return
    typed = [f"{Fraction(w, 10**20).numerator and w:021d}" for w in weights]
    texts = [f"{t[0]}.{t[1:]}".rstrip("0").rstrip(".") for t in typed]
    law = tuple(map(Fraction, texts))
    data = export_csv(Scenario(tuple(map(str, range(len(law)))), law, law[::-1]))
    written = [row["p"] for row in cells(data)]
    for wrote, text, mass in zip(written, texts, law, strict=True):
        assert Fraction(wrote) == mass
        assert wrote == text or mass < Fraction(1, 10**6)
    assert import_csv(data).target == law


def test_no_residual_is_empty_not_0():
    rows = cells(export_csv(PRESETS["Equal"].scenario))
    assert [row["residual"] for row in rows] == ["", "", ""]
    assert [row["correction"] for row in rows] == ["0", "0", "0"]
    assert [row["reconstructed"] for row in rows] == [row["p"] for row in rows]


@pytest.mark.parametrize("name", PRESETS)
def test_presets_come_back(name):
    original = PRESETS[name].scenario
    assert import_csv(export_csv(original)) == original


def test_plain_files_carry_no_mark_and_others_do():
    plain = export_csv(PRESETS["Worked example"].scenario)
    assert plain.isascii()
    other = export_csv(scenario("1/2 1/2", "1/2 1/2", ["é", "日本"]))
    assert other.startswith(codecs.BOM_UTF8)


def test_a_half_of_a_pair_of_surrogates_has_a_file_or_a_sentence():
    # JSON's escapes can spell it, so it can be typed into the field.
    try:
        original = Scenario.from_texts(Texts('"\\ud800", B', "0.5, 0.5", "0.25, 0.75"))
        assert import_csv(export_csv(original)) == original
    except LabError as fault:
        assert str(fault).endswith(".")


def test_typed_powers_of_two_come_back():
    # Read from text without complaint, so the file must hold it too.
    text = f"1/{2**1100}"
    rest = Fraction(1) - Fraction(text)
    assert len(text) < 400
    original = Scenario(("a", "b"), (Fraction(text), rest), (rest, Fraction(text)))
    assert import_csv(export_csv(original)) == original


def test_denominators_of_many_digits_have_a_file_or_a_sentence():
    # Typed entries of fewer than 400 characters, and each vector sums to 1; but the digits of r
    # are as many as those of all denominators together, more than Python prints.
    def law(start: int, pairs: int = 20) -> tuple[Fraction, ...]:
        small = [Fraction(1, 99 * (10**180 + 2 * k + 1)) for k in range(start, start + pairs)]
        return tuple(mass for x in small for mass in (x, Fraction(1, pairs) - x))

    p, q = law(0), law(20)
    fields = [", ".join(map(str, law)) for law in (p, q)]
    try:
        original = Scenario.from_texts(Texts("", *fields))
        assert import_csv(export_csv(original)) == original
    except LabError as fault:
        assert str(fault).endswith(".")


# ---------------------------------------------------------------- files as people have them


def test_byte_order_mark():
    # IN10
    read = import_csv("\ufefftoken,p,q\nA,0.5,0.25\nB,0.5,0.75\n".encode())
    assert read == scenario("1/2 1/2", "1/4 3/4", ["A", "B"])
    assert read.step.accepted == fractions("1/4 1/2")
    assert (read.step.acceptance, read.step.rejection) == fractions("3/4 1/4")
    assert read.step.residual == (1, 0)


def test_labels_that_look_missing():
    # IN12
    text = "token,p,q\nNA,0.25,0.5\nnull,0.25,0.25\nNone,0.25,0.125\nnan,0.25,0.125\n"
    read = import_csv(text.encode())
    assert read.tokens == ("NA", "null", "None", "nan")
    assert read.step.residual == fractions("0 0 1/2 1/2")
    assert read.step.acceptance == Fraction(3, 4)


GOOD = [["token", "p", "q"], ["A", "0.2", "0.6"], ["B", "0.5", "0.2"], ["C", "0.3", "0.2"]]
WORKED = scenario("1/5 1/2 3/10", "3/5 1/5 1/5", ["A", "B", "C"])


def written(rows, delimiter=",", end="\r\n", quoting=csv.QUOTE_MINIMAL) -> str:
    page = io.StringIO(newline="")
    csv.writer(page, delimiter=delimiter, lineterminator=end, quoting=quoting).writerows(rows)
    return page.getvalue()


@given(
    st.sampled_from([",", ";", "\t"]),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    st.booleans(),
    st.sampled_from(["", "empty lines", "empty columns", "both", "sep="]),
    st.permutations(range(3)),
)
@settings(max_examples=100)
def test_what_spreadsheets_write(delimiter, end, quoting, encoding, comma, more, order):
    rows = [[row[i] for i in order] for row in GOOD]
    if comma:
        rows = [[cell.replace(".", ",") for cell in row] for row in rows]
    if more in ("empty columns", "both"):
        rows = [[*row, "", ""] for row in rows]
    if more in ("empty lines", "both"):
        rows += [[""] * len(rows[0])] * 3
    text = written(rows, delimiter, end, quoting)
    if more == "sep=":
        text = f"sep={delimiter}{end}{text}"
    assert import_csv(text.encode(encoding)) == WORKED


def test_old_line_ends():
    assert import_csv(written(GOOD, end="\r").encode()) == WORKED


def test_big_endian_utf16():
    assert import_csv(codecs.BOM_UTF16_BE + written(GOOD).encode("utf-16-be")) == WORKED


@pytest.mark.parametrize(
    "header",
    [
        "token,p,q",
        "Token,P,Q",
        " tokens , target , draft ",
        "label,Target p,Draft q",
        "TOKENS,target,Q",
    ],
)
def test_names_of_columns(header):
    text = "\n".join([header, *(",".join(row) for row in GOOD[1:])])
    assert import_csv(text.encode()) == WORKED


def test_other_columns_and_their_order_do_not_matter():
    rows = [["note", "q", "x", "p", "token"]]
    rows += [["hm", q, "nan", p, token] for token, p, q in GOOD[1:]]
    assert import_csv(written(rows).encode()) == WORKED


def test_without_labels_tokens_are_numbered():
    text = "\n".join(",".join(row[1:]) for row in GOOD)
    assert import_csv(text.encode()).tokens == ("1", "2", "3")


def test_exact_columns_come_before_rounded_ones():
    # A spreadsheet keeps 15 digits of the rounded column, and more than that is an edit.
    text = "token,p,p_exact,q\nA,0.333333333333333,'1/3,0.5\nB,0.666666666666667,'2/3,0.5\n"
    assert import_csv(text.encode()).target == fractions("1/3 2/3")


def test_an_edit_beside_an_exact_column_is_not_lost():
    text = "token,p,p_exact,q\nA,0.4,'1/3,0.5\nB,0.6,'2/3,0.5\n"
    with pytest.raises(FileError, match=r"^Row 1 below the header has 0\.4 .* and 1/3 in p_exact"):
        import_csv(text.encode())


def test_labels_are_not_trimmed():
    rows = [["token", "p", "q"], [" a", "0.5", "1"], ["a", "0.5", "0"], [" ", "0", "0"]]
    assert import_csv(written(rows).encode()).tokens == (" a", "a", " ")


def test_duplicate_labels_stay():
    rows = [["token", "p", "q"], ["the", "0.2", "0.3"], ["the", "0.8", "0.7"]]
    assert import_csv(written(rows).encode()).tokens == ("the", "the")


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("", FileError, "The file is empty; accepted is a CSV file with the columns token, p, q."),
        ("\n\n ,, \n", FileError, "The file is empty"),
        ("token,p,q\n", FileError, "The file has a header and no rows"),
        ("token,p\nA,1\n", FileError, "The header has no column q: it reads “token, p”"),
        ("token,q\nA,1\n", FileError, "The header has no column p: it reads “token, q”"),
        ("A,0.5,0.5\nB,0.5,0.5\n", FileError, "The header has no column p"),
        ("token,p,p,q\nA,1,1,1\n", FileError, "The header has two columns for p (“p” and “p”)"),
        (
            "token,p,target,q\nA,1,1,1\n",
            FileError,
            "The header has two columns for p (“p” and “target”); accepted is one.",
        ),
        ("token,label,p,q\nA,B,1,1\n", FileError, "The header has two columns for token"),
        ("token,p,q,Q\nA,1,1,1\n", FileError, "The header has two columns for q (“q” and “Q”)"),
        (
            "token,p,q\nA,0.5,0.5\nB,0.5\n",
            FileError,
            "Row 2 below the header has 2 cells, and the header 3; accepted are as many.",
        ),
        (
            "token,p,q\nA\n",
            FileError,
            "Row 1 below the header has 1 cells, and the header 3; accepted are as many.",
        ),
        (
            "token,p,q\nA,nan,0.25\nB,0.5,0.5\nC,0.5,0.25\n",
            FileError,
            "In the file, p, entry 1 (“nan”): it is not a number (NaN)",
        ),
        ("token,p,q\nA,1,0\nB,0,-1\n", FileError, "In the file, q, entry 2 (“-1”): it is negative"),
        ("token,p,q\nA,1,0\nB,inf,1\n", FileError, "In the file, p, entry 2 (“inf”): it is inf"),
        ("token,p,q\nA,1,0\nB,,1\n", FileError, "In the file, p, entry 2 (“”): it is empty, which"),
        ("token,p,q\nA,1,0\nB,#REF!,1\n", FileError, "In the file, p, entry 2 (“#REF!”)"),
        ("token,p,q\nA,0.5,0.5\nB,0.4,0.5\n", TotalError, "p sums to 0.9, which is 0.1 too little"),
        ("token,p,q\nA,0.5,0.5\nB,0.5,0.6\n", TotalError, "q sums to 1.1, which is 0.1 too much"),
    ],
)
def test_what_is_wrong_is_named(text, kind, words):
    with pytest.raises(LabError) as fault:
        import_csv(text.encode())
    assert type(fault.value) is kind
    assert str(fault.value).startswith(words)


@given(st.integers(0, 2), st.sampled_from([1, 2]), st.sampled_from(["x", "-0.1", "nan", "inf", ""]))
def test_any_bad_cell_is_the_one_named(row, column, bad):
    rows = [list(line) for line in GOOD]
    rows[row + 1][column] = bad
    with pytest.raises(FileError) as fault:
        import_csv(written(rows).encode())
    assert f"{'.pq'[column]}, entry {row + 1} (“{bad}”): it " in str(fault.value)


def test_limits_of_size():
    with pytest.raises(FileError, match=r"^The file has 2,000,001 bytes; up to 2,000,000 are"):
        import_csv(b"x" * (MOST_BYTES + 1))
    head, first, other = b"p,q\n", b"1,1\n", b"0,0\n"
    most = import_csv(head + first + other * (MOST_TOKENS - 1))
    assert len(most.tokens) == MOST_TOKENS
    with pytest.raises(FileError, match=r"^The file has 10,001 tokens; up to 10,000 are accepted"):
        import_csv(head + first + other * MOST_TOKENS)


def test_bytes_that_are_no_text():
    with pytest.raises(FileError, match=r"^The file is not text in UTF-8: byte 7 cannot be read"):
        import_csv("token,é,p".encode("latin-1"))


def test_a_cell_beyond_what_csv_reads():
    with pytest.raises(FileError, match=r"^The file cannot be read as CSV: field larger"):
        import_csv(b"token,p,q\n" + b"x" * 140_000 + b",1,1\n")


LINES = st.lists(
    st.sampled_from(
        [
            "token,p,q",
            "sep=;",
            'sep="',
            "sep=\r",
            "sep=,",
            '"',
            "A,0.5,0.5",
            "A;0,5;0,5",
            "\t\t",
            "p,q",
        ]
    ),
    max_size=6,
)


@given(
    st.one_of(
        st.binary(max_size=60),
        st.text(max_size=60).map(str.encode),
        st.text(max_size=30).map(lambda t: f"token,p,q\n{t}".encode()),
        st.text(max_size=30).map(lambda t: f"p,q\n1,1\n{t}".encode("utf-16")),
        st.tuples(LINES, st.binary(max_size=4)).map(lambda x: "\n".join(x[0]).encode() + x[1]),
        st.tuples(
            st.just(export_csv(WORKED)),
            st.integers(0, 200),
            st.integers(0, 20),
            st.binary(max_size=5),
        ).map(lambda x: x[0][: x[1]] + x[3] + x[0][x[1] + x[2] :]),
    )
)
@settings(max_examples=400)
def test_any_bytes_are_read_or_refused_in_a_sentence(data):
    try:
        read = import_csv(data)
    except LabError as fault:
        text = str(fault)
        assert text[0].isupper() or text.startswith(("p ", "q "))
        assert text.endswith(".")
        return
    assert sum(read.target) == sum(read.draft) == 1
    assert len(read.tokens) == len(read.target)


def test_lengths_cannot_differ_in_a_file_but_do_in_a_scenario():
    with pytest.raises(LengthError, match=r"^p has 2 entries and q has 1"):
        Scenario(("A", "B"), fractions("1/2 1/2"), fractions("1"))


# ---------------------------------------------------------------- predictions


def record(p, q, quantity, values, labels, step=Fraction(1, 100)):
    laws = Scenario(tuple(labels), p, q).step
    groups = tuple((i,) for i in range(len(p)))
    known = named_laws(laws, quantity, groups)
    comparison = compare(Prediction(values, step), truth(laws, quantity, groups), known)
    return comparison, prediction_csv(quantity, labels, {"p": p, "q": q}, comparison)


def test_the_record_of_a_prediction():
    p, q = WORKED.target, WORKED.draft
    comparison, data = record(p, q, "residual", fractions("0 3/5 2/5"), ["A", "=B", "C"])
    rows = cells(data)
    assert list(rows[0]) == ["bar", "quantity", "p", "q", "prediction", "truth", "gap", "verdict"]
    assert [row["bar"] for row in rows] == ["A", "'=B", "C"]
    assert {row["quantity"] for row in rows} == {"residual"}
    assert {row["verdict"] for row in rows} == {comparison.verdict} == {"right support"}
    assert [row["prediction"] for row in rows] == ["0", "0.6", "0.4"]
    assert [row["truth"] for row in rows] == ["0", "0.75", "0.25"]
    assert [row["gap"] for row in rows] == ["0", "-0.15", "0.15"]


@given(ticket_pairs(most=4), st.data(), st.sampled_from(["residual", "accepted", "output"]))
def test_records_hold_the_truth_of_the_experiment(pair, data, quantity):
    p, q = pair
    n = len(p)
    hundredths = st.integers(0, 100).map(lambda k: Fraction(k, 100))
    values = data.draw(
        st.one_of(st.none(), st.lists(hundredths, min_size=n, max_size=n).map(tuple))
    )
    labels = data.draw(st.lists(tricky_labels, min_size=n, max_size=n))
    comparison, file = record(p, q, quantity, values, labels)
    played = play(p, q)
    right = {"residual": played.replacement, "accepted": played.kept, "output": p}[quantity]
    rows = cells(file)
    assert len(rows) == n

    def column(name):
        marked = f"{name}_exact"
        return [row[marked].removeprefix("'") if marked in row else row[name] for row in rows]

    def same(name, vector):
        if vector is None:
            assert set(column(name)) == {""}
        else:
            assert tuple(map(Fraction, column(name))) == tuple(vector)

    same("p", p)
    same("q", q)
    same("prediction", values)
    same("truth", right)
    both = values is not None and right is not None
    same("gap", [v - t for v, t in zip(values, right, strict=True)] if both else None)
    assert {row["verdict"] for row in rows} == {comparison.verdict}
    assert [from_text_cell(row["bar"]) for row in rows] == labels
    assert not any(row["bar"].startswith(RUN_BY_SPREADSHEETS) for row in rows)


def test_a_missing_residual_is_empty_in_the_record():
    p = PRESETS["Equal"].scenario.target
    for values in (None, fractions("1/3 1/3 1/3")):
        _, data = record(p, p, "residual", values, ["A", "B", "C"])
        for row in cells(data):
            assert (row["truth"], row["gap"]) == ("", "")
            assert (row["prediction"] == "") == (values is None)
            assert row["verdict"] == ("right" if values is None else "no residual")

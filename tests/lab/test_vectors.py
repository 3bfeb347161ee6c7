"""The door for numbers: what people really paste is read exactly, or refused by name."""

from __future__ import annotations

import re
import time
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from oracle import fractions
from strategies import FLOATS, law_pairs

from lab import LabError, one_step, parse_vector
from lab.errors import EntryError, LengthError, RowsError, TotalError
from lab.vectors import (
    LARGEST_EXPONENT,
    LONGEST_NUMBER,
    LONGEST_TEXT,
    as_vector,
    format_vector,
    normalise,
    parse_entries,
    parse_number,
    parse_probability,
    read_rows,
    require_total_1,
    total,
)

# ---------------------------------------------------------------- cases of people's input


@pytest.mark.parametrize("tiny", ["1e-7", "1E-7", "1.0e-07", "0.0000001", "1/10000000", "0.00001%"])
def test_scientific_notation_is_exact(tiny):
    # IN01: never 1, and never what is left of it in a number box.
    vector = parse_vector(f"{tiny}\n0.9999999", "p")
    assert vector == fractions("1/10000000 9999999/10000000")
    assert total(vector) == 1


def test_decimal_commas_from_a_spreadsheet():
    # IN03
    reading = read_rows("0,25\n0,5\n0,25", "p")
    assert reading.rows == (fractions("1/4 1/2 1/4"),)
    assert reading.notes == ("p: commas inside numbers were read as decimal commas.",)


def test_no_leading_zero():
    # IN04
    assert parse_vector(".07\n.93") == fractions("7/100 93/100")


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("[0.1 0.2 0.7]", ["1/10 1/5 7/10"]),
        ("[[0. 1.]\n [1. 0.]]", ["0 1", "1 0"]),
        ("[1.e-07 9.999999e-01]", ["1/10000000 9999999/10000000"]),
    ],
)
def test_numpy_print_outs(text, rows):
    # IN06: two rows are two rows, not one vector of four.
    assert read_rows(text).rows == tuple(map(fractions, rows))


def test_two_rows_are_refused_where_one_is_wanted():
    with pytest.raises(RowsError) as fault:
        parse_vector("[[0. 1.]\n [1. 0.]]", "p")
    assert fault.value.rows == (fractions("0 1"), fractions("1 0"))
    assert str(fault.value) == "p holds 2 rows of 2 entries; it takes one row."


def test_torch_print_out_with_device_and_type():
    # IN07: the 0 of cuda:0 and the 16 of float16 are no entries.
    reading = read_rows("tensor([0.3333, 0.3333, 0.3333], device='cuda:0', dtype=torch.float16)")
    (row,) = reading.rows
    assert row == fractions("3333/10000 3333/10000 3333/10000")
    assert total(row) == Fraction(9999, 10000)
    assert normalise(row) == fractions("1/3 1/3 1/3")
    assert "printed with 4 decimals" in reading.notes[0]
    assert "need not be zero" in reading.notes[0]
    with pytest.raises(TotalError, match=r"^p sums to 0\.9999, which is 0\.0001 too little"):
        require_total_1(row, "p")


def test_torch_zero_need_not_be_zero():
    reading = read_rows("tensor([0.0000, 1.0000])", "q")
    assert reading.rows == (fractions("0 1"),)
    assert len(reading.notes) == 1
    assert reading.notes[0].startswith("q: these values look printed with 4 decimals")


@pytest.mark.parametrize("text", ["0.25, 0.75", "0.2500, 0.7500", "0.00001, 0.99999", "0, 1"])
def test_no_warning_without_a_reason(text):
    assert read_rows(text).notes == ()


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ("[0.25 0.25 ... 0.25 0.25]", 3),
        ("0.25, 0.25, …, 0.25, 0.25", 3),
        ("tensor([0.2500, 0.2500,  ..., 0.2500, 0.2500])", 3),
        ("...", 1),
        ("array([0.25, ..., 0.25], shape=(1001,))", 2),
    ],
)
def test_shortened_print_outs_are_refused(text, entry):
    # IN08: the visible values sum to 1, so a sum would not tell.
    with pytest.raises(EntryError) as fault:
        parse_vector(text, "p")
    assert (fault.value.vector, fault.value.entry, fault.value.value) == ("p", entry, "...")
    assert "entries are missing" in str(fault.value)


def test_numpy_shortens_what_is_refused():
    with pytest.raises(EntryError, match=r"p, entry 4 \(“\.\.\.”\): entries are missing"):
        parse_vector(np.array2string(np.full(2000, 0.0005)), "p")


@pytest.mark.parametrize(
    ("entries", "name", "total_text"),
    [
        ("0.3333333 0.3333333 0.3333333", "p", r"1 − 1e-7, which is 1e-7 too little"),  # IN14
        ("0.70000005 0.3", "p", r"1 \+ 5e-8, which is 5e-8 too much"),  # IN15
    ],
)
def test_sums_that_miss_1_are_stated_exactly(entries, name, total_text):
    with pytest.raises(TotalError, match=rf"^{name} sums to {total_text}; accepted is a sum of"):
        require_total_1(fractions(entries), name)


@given(law_pairs(), st.integers(-50, 50).filter(bool), st.integers(3, 20))
def test_any_sum_but_1_is_refused_with_its_side(pair, units, places):
    p, _ = pair
    off = Fraction(units, 10**places)
    if p[0] + off < 0:
        off = -off
    with pytest.raises(TotalError) as fault:
        require_total_1((p[0] + off, *p[1:]), "q")
    said = re.fullmatch(
        r"q sums to .+, which is (\S+) too (little|much); accepted is a sum of exactly 1\.",
        str(fault.value),
    )
    assert said
    assert Fraction(said[1]) == abs(off)
    assert (said[2] == "much") == (off > 0)


BAD_ENTRIES = [
    ("nan", "not a number (NaN)"),
    ("NaN", "not a number (NaN)"),
    ("inf", "infinite"),
    ("-inf", "infinite"),
    ("Infinity", "infinite"),
    ("-0.1", "negative"),
    ("−0.1", "negative"),
    ("-1e-300", "negative"),
    ("abc", "cannot be read as a number"),
    ("0.1.2", "cannot be read as a number"),
    ("1e", "cannot be read as a number"),
    ("1_000", "cannot be read as a number"),
    ("0x10", "cannot be read as a number"),
    ("1/2/3", "cannot be read as a number"),
    ("5%%", "cannot be read as a number"),
    ("1/0", "divides by 0"),
    (f"1e{LARGEST_EXPONENT + 1}", "beyond ±"),
    ("1e-99999999999", "beyond ±"),
    ("1/1e999999999", "beyond ±"),
]


@pytest.mark.parametrize(("entry", "fault_text"), BAD_ENTRIES)
@pytest.mark.parametrize("position", [1, 2, 3])
def test_a_bad_entry_is_named_in_a_text(entry, fault_text, position):
    # IN16: vector, entry counted from 1, value, and what is wrong with it.
    cells = ["0.5", "0.25", "0.25"]
    cells[position - 1] = entry
    with pytest.raises(EntryError) as fault:
        parse_vector(", ".join(cells), "p")
    shown = entry.replace("−", "-")
    assert (fault.value.vector, fault.value.entry, fault.value.value) == ("p", position, shown)
    assert str(fault.value).startswith(f"p, entry {position} (“{shown}”): it")
    assert fault_text in str(fault.value)


@pytest.mark.parametrize(("entry", "fault_text"), BAD_ENTRIES)
@pytest.mark.parametrize("position", [1, 3])
def test_a_bad_entry_is_named_in_cells_and_in_lists(entry, fault_text, position):
    cells = ["0.5", "0.25", "0.25"]
    cells[position - 1] = entry
    for read in (
        lambda: parse_entries(cells, "q"),
        lambda: as_vector(cells, "q"),
        lambda: one_step(["0.5", "0.25", "0.25"], cells),
    ):
        with pytest.raises(EntryError) as fault:
            read()
        assert (fault.value.vector, fault.value.entry) == ("q", position)
        assert fault_text in str(fault.value)


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        (",0.5,0.5", 1),
        ("0.5,,0.5", 2),
        ("0.5, ,0.5", 2),
        ("0.5;;0.5", 2),
        ("0.5\t\t0.5", 2),
        ("0.5,0.5,,", 3),
        ("[0.5,,0.5]", 2),
    ],
)
def test_an_empty_place_is_not_0(text, entry):
    # IN16, last variant
    with pytest.raises(EntryError) as fault:
        parse_vector(text, "p")
    assert (fault.value.vector, fault.value.entry, fault.value.value) == ("p", entry, "")
    assert "it is empty, which is not 0" in str(fault.value)


@pytest.mark.parametrize("text", ["\t0.5\t0.5", "\t0.5\t0.5\t"])
def test_an_empty_first_cell_of_a_spreadsheet_row_is_not_dropped(text):
    # As with a comma in front: three cells, the first of them empty.
    with pytest.raises(EntryError) as fault:
        parse_vector(text, "p")
    assert fault.value.entry == 1


@pytest.mark.parametrize("cell", ["", " ", "\u00a0", None])
def test_an_empty_cell_is_not_0(cell):
    with pytest.raises(EntryError, match=r"^p, entry 2 \(“”\): it is empty, which is not 0"):
        parse_entries(["0.5", cell, "0.5"], "p")


@pytest.mark.parametrize("text", ["", " ", "\n\n", "[]", "[[]]", "()", ",", "\ufeff", "tensor([])"])
def test_nothing_is_refused(text):
    with pytest.raises(LabError, match=r"^q is empty; accepted are numbers such as"):
        parse_vector(text, "q")


def test_the_row_is_named_too():
    with pytest.raises(EntryError) as fault:
        read_rows("[[0.5, 0.5], [0.5, x]]", "p")
    assert (fault.value.vector, fault.value.entry) == ("p, row 2", 2)


@pytest.mark.parametrize("text", ["0.5 0.5\n1", "[[0.5, 0.5], [1]]", "0.2 0.3 0.5\n0.5 0.5\n"])
def test_ragged_rows_are_refused(text):
    with pytest.raises(LengthError, match="rows of one length are accepted"):
        read_rows(text)


def test_long_values_are_cut_in_messages():
    with pytest.raises(EntryError) as fault:
        parse_vector("0.5, " + "x" * 1000)
    assert len(str(fault.value)) < 200
    assert fault.value.value == "x" * 1000


# ---------------------------------------------------------------- one number

plain = st.decimals(0, 1, allow_nan=False, allow_infinity=False, places=9)


@given(st.decimals(0, 10**6, allow_nan=False, allow_infinity=False))
@example(Decimal("1E-400"))
@example(Decimal("0E+3"))
def test_decimals_in_all_spellings(value):
    wanted = Fraction(value)
    spellings = [str(value), f"{value:e}", f"{value:E}", f"+{value}", f" {value} "]
    if abs(value.as_tuple().exponent) < 200:
        spellings += [f"{value:f}", f"{value:f}".replace(".", ",")]
        if f"{value:f}".startswith("0."):
            spellings.append(f"{value:f}"[1:])
    for text in spellings:
        assert parse_number(text) == wanted, text


@given(st.integers(0, 10**9), st.integers(1, 10**9))
def test_fractions_and_percent(above, below):
    wanted = Fraction(above, below)
    for text in (f"{above}/{below}", f"{above} / {below}", f"{above}\u2044{below}"):
        assert parse_number(text) == wanted
    for text in (f"{above}%", f"{above} %", f"{above}/{below}%"):
        share = Fraction(above, below if "/" in text else 1) / 100
        assert parse_number(text) == share


@pytest.mark.parametrize(
    ("sign", "value"),
    [("½", "1/2"), ("⅓", "1/3"), ("⅔", "2/3"), ("¼", "1/4"), ("¾", "3/4"), ("⅛", "1/8")],
)
def test_fraction_signs(sign, value):
    assert parse_number(sign) == Fraction(value)
    assert parse_vector(f"{sign} {sign}") == (Fraction(value),) * 2


def test_a_mixed_number_is_not_two_entries():
    # One and a half, an entry that no law has, must not turn into the entries 1 and 1/2.
    try:
        vector = parse_vector("1½, 0")
    except LabError:
        return
    assert vector == fractions("3/2 0")


def test_a_minus_is_read_before_it_is_refused():
    assert parse_number("-0.25") == parse_number("\u22120.25") == Fraction(-1, 4)
    with pytest.raises(LabError, match=r"^it is negative; accepted is a number from 0 up"):
        parse_probability("-0.25")
    assert parse_probability("-0") == 0


def test_limits_of_one_number():
    assert parse_number(f"1e-{LARGEST_EXPONENT}") == Fraction(1, 10**LARGEST_EXPONENT)
    longest = "0." + "3" * (LONGEST_NUMBER - 2)
    assert parse_number(longest) == Fraction(longest)
    with pytest.raises(LabError, match=rf" {LONGEST_NUMBER + 1} characters.* {LONGEST_NUMBER}\b"):
        parse_number(longest + "3")
    with pytest.raises(LabError, match=f"beyond ±{LARGEST_EXPONENT}"):
        parse_number(f"1e-{LARGEST_EXPONENT + 1}")


# ---------------------------------------------------------------- lists and separators

texts_of_numbers = st.lists(
    st.one_of(
        plain.map(str),
        st.integers(0, 9).map(str),
        st.fractions(0, 1, max_denominator=99).map(str),
        st.integers(0, 100).map("{}%".format),
        st.floats(0, 1, allow_subnormal=True).map(repr),
    ),
    min_size=2,
    max_size=9,
)


@given(
    texts_of_numbers,
    st.sampled_from([", ", ",", "; ", ";", " ", "  ", "\t", "\n", "\r\n", "\n\n", " , ", ",\n"]),
    st.sampled_from([("", ""), ("[", "]"), ("(", ")"), (" ", " \n"), ("\ufeff", ""), ("p = ", "")]),
)
def test_any_separator_gives_the_same_vector(entries, separator, around):
    text = around[0] + separator.join(entries) + around[1]
    if separator == "," and all("." not in entry for entry in entries) and len(entries) == 2:
        return  # "0,25" is one number or two: the next tests say which
    wanted = tuple(Fraction(e[:-1]) / 100 if e.endswith("%") else Fraction(e) for e in entries)
    assert parse_vector(text) == wanted


@given(
    texts_of_numbers,
    st.sampled_from(["\u00a0", "\u2007", "\u2009", "\u202f", "\u2003", "\u3000", "\x0b", "\x0c"]),
)
def test_white_space_of_every_kind_separates(entries, space):
    entries = [entry for entry in entries if not entry.endswith("%")] or ["1"]
    assert parse_vector(space.join(entries)) == tuple(map(Fraction, entries))
    assert parse_vector(f"{space}{entries[0]}{space}") == (Fraction(entries[0]),)


@given(
    st.lists(plain, min_size=2, max_size=8),
    st.sampled_from(["\n", "\r\n", "; ", ";", " ", "\t", ", "]),
    st.booleans(),
)
def test_decimal_commas_read_as_points_would_be(values, separator, percent):
    sign = "%" if percent else ""
    with_points = separator.join(f"{value:f}{sign}" for value in values)
    with_commas = separator.join(f"{value:f}{sign}".replace(".", ",") for value in values)
    reading = read_rows(with_commas, "p")
    assert reading.rows == read_rows(with_points, "p").rows
    assert any("decimal commas" in note for note in reading.notes)


@pytest.mark.parametrize(
    ("text", "values", "decimal"),
    [
        ("0,1", "0 1", False),
        ("1,0,0", "1 0 0", False),
        ("0.5,0.5", "1/2 1/2", False),
        ("0, 1, 0", "0 1 0", False),
        ("1/2,1/2", "1/2 1/2", False),
        ("0,25; 0,75", "1/4 3/4", True),
        ("0,25; 1; 0", "1/4 1 0", True),
        ("0,5 1e-7", "1/2 1/10000000", True),
        ("0.5 0,1", "1/2 0 1", False),  # a point says that commas are no points
        (".5 0,1", "1/2 0 1", False),
    ],
)
def test_commas_separate_unless_something_else_does(text, values, decimal):
    reading = read_rows(text)
    assert reading.rows == (fractions(values),)
    assert any("decimal commas" in note for note in reading.notes) == decimal


@pytest.mark.parametrize("text", ["1/3, 20%", "1 / 3, 20 %", "1  /  3 ,  20  %", "1 /3   20 %"])
def test_blanks_inside_an_entry_do_not_split_it(text):
    assert parse_vector(text) == fractions("1/3 1/5")


@given(st.lists(st.tuples(plain, plain), min_size=1, max_size=8), st.sampled_from("\t;,"))
def test_two_columns_are_rows_of_two(pairs, separator):
    text = "\n".join(f"{a:f}{separator}{b:f}" for a, b in pairs)
    assert read_rows(text).rows == tuple((Fraction(a), Fraction(b)) for a, b in pairs)


@given(st.lists(st.lists(plain, min_size=2, max_size=4), min_size=2, max_size=4))
def test_nested_lists_are_rows(rows):
    rows = [row[:2] for row in rows]
    wanted = tuple(tuple(map(Fraction, row)) for row in rows)
    as_lists = [[float(x) for x in row] for row in rows]
    for text in (
        str(as_lists),
        str(tuple(map(tuple, as_lists))),
        "\n".join(str([str(x) for x in row]).replace("'", "") for row in rows),
    ):
        found = read_rows(text).rows
        assert len(found) == len(wanted)
        for row, right in zip(found, wanted, strict=True):
            assert [float(x) for x in row] == [float(x) for x in right]


# ---------------------------------------------------------------- print-outs


def printed(text: str) -> tuple[Fraction, ...]:
    """The numbers between the first and the last bracket, one by one."""
    inside = text[text.index("[") : text.rindex("]")]
    return tuple(Fraction(word) for word in re.sub(r"[\[\],]", " ", inside).split())


@st.composite
def arrays(draw, dimensions: int = 1):
    kind = np.dtype(draw(st.sampled_from(FLOATS)))
    shape = (draw(st.integers(1, 30)),)
    if dimensions == 2:
        shape = (draw(st.integers(2, 4)), draw(st.integers(2, 12)))
    entry = st.one_of(
        st.floats(0, 1, width=kind.itemsize * 8),
        st.sampled_from([0.0, 1.0, 0.5, 0.25]),
        st.integers(0, 1000).map(lambda n: float(kind.type(n / 1000))),
    )
    return draw(hnp.arrays(kind, shape, elements=entry))


@st.composite
def print_options(draw):
    return {
        "max_line_width": draw(st.integers(12, 120)),
        "precision": draw(st.one_of(st.none(), st.integers(0, 17))),
        "suppress_small": draw(st.booleans()),
    }


@given(
    arrays(),
    print_options(),
    st.sampled_from([" ", ", ", "; ", ",", "\n"]),
    st.sampled_from(["fixed", "unique", "maxprec", "maxprec_equal"]),
    st.sampled_from("- +"),
)
def test_whatever_numpy_prints_is_read_back(array, options, separator, mode, sign):
    if mode == "fixed":
        options["precision"] = options["precision"] or 8
    text = np.array2string(
        array, separator=separator, threshold=10**6, floatmode=mode, sign=sign, **options
    )
    wanted = printed(text.replace(";", " "))
    assert len(wanted) == len(array)
    assert parse_vector(text) == wanted


@given(arrays(), print_options())
def test_whatever_numpy_represents_is_read_back(array, options):
    text = np.array_repr(array, **options)
    assert text.startswith("array([")
    assert parse_vector(text) == parse_vector(f"p = {text}") == printed(text)


@given(arrays())
def test_full_print_outs_bring_back_every_bit(array):
    with np.printoptions(threshold=10**6, floatmode="unique"):
        texts = [repr(array), str(array), str(array.tolist()), repr(tuple(array.tolist()))]
    texts += [repr(list(array)), "\n".join(map(repr, array.tolist())), "\n".join(map(str, array))]
    for text in texts:
        back = np.array([float(x) for x in parse_vector(text)]).astype(array.dtype)
        assert back.tobytes() == array.tobytes(), text


@given(arrays(dimensions=2), print_options(), st.sampled_from([" ", ", "]), st.booleans())
def test_matrices_keep_their_rows(array, options, separator, as_repr):
    options["precision"] = None
    with np.printoptions(threshold=10**6, floatmode="unique"):
        text = (
            np.array_repr(array, **options)
            if as_repr
            else np.array2string(array, separator=separator, **options)
        )
    rows = read_rows(text).rows
    assert len(rows) == len(array)
    back = np.array([[float(x) for x in row] for row in rows]).astype(array.dtype)
    assert back.tobytes() == array.tobytes()


def test_a_column_of_a_matrix_is_one_vector():
    assert parse_vector(str(np.array([[0.5], [0.25], [0.25]]))) == fractions("1/2 1/4 1/4")


def _torch(row: list[float], width: int, indent: int) -> str:
    """Numbers as PyTorch prints them: 4 decimals, wrapped under the bracket."""
    words = [f"{x:.4f}" for x in row]
    per_line = max(1, (width - indent) // 8)
    lines = [", ".join(words[i : i + per_line]) for i in range(0, len(words), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=40),
    st.integers(20, 100),
    st.sampled_from(
        [
            "",
            ", device='cuda:0'",
            ", dtype=torch.float64",
            ", device='cuda:1', dtype=torch.bfloat16",
            ",\n       grad_fn=<SoftmaxBackward0>",
            ", requires_grad=True",
        ]
    ),
)
def test_torch_print_outs(row, width, tail):
    wanted = tuple(Fraction(f"{x:.4f}") for x in row)
    assert parse_vector(f"tensor({_torch(row, width, 7)}{tail})") == wanted
    two = f"tensor([{_torch(row, width, 8)},\n        {_torch(row[::-1], width, 8)}]{tail})"
    rows = read_rows(two).rows
    if len(row) > 1:
        assert rows == (wanted, wanted[::-1])
    else:
        assert rows == (wanted * 2,)


@pytest.mark.parametrize(
    "text",
    [
        "Array([0.25, 0.75], dtype=float32)",
        "DeviceArray([0.25, 0.75], dtype=float32)",
        "Array([0.25, 0.75], dtype=bfloat16, weak_type=True)",
        "jnp.array([0.25, 0.75])",
        "np.array([0.25, 0.75], dtype=np.float16)",
        "torch.tensor([0.25, 0.75], dtype=torch.float16)",
        "tf.Tensor([0.25 0.75], shape=(2,), dtype=float32)",
        "array([0.25, 0.75], dtype=float16)",
        "array([[0.25, 0.75]])",
        "probs = tensor([0.2500, 0.7500], device='cuda:3')",
        "p: [0.25, 0.75]",
        "[np.float64(0.25), np.float64(0.75)]",
        "[np.float32(0.25), np.float32(0.75)]",
        "[tensor(0.2500), tensor(0.7500)]",
        "[Decimal('0.25'), Decimal('0.75')]",
        "(Fraction(1, 4), Fraction(3, 4))",
        "[Fraction(1, 4) Fraction(3, 4)]",
    ],
)
def test_print_outs_of_many_libraries(text):
    assert parse_vector(text) == fractions("1/4 3/4")


@given(st.lists(st.fractions(0, 1), min_size=1, max_size=6).map(tuple))
def test_python_print_outs_of_fractions_are_exact(vector):
    assert parse_vector(str(vector)) == parse_vector(str(list(vector))) == vector
    assert parse_vector(str(np.array(vector, dtype=object))) == vector


# ---------------------------------------------------------------- round trips


@given(st.lists(st.one_of(st.fractions(0, 5), st.floats(0, 1).map(Fraction)), min_size=1))
@example([Fraction(0), Fraction(1)])
@example([Fraction(5e-324), Fraction(1, 10**400)])
@example([Fraction("0.1234567890123456789"), Fraction("0.8765432109876543211")])
def test_what_is_written_is_read_back(vector):
    assert parse_vector(format_vector(tuple(vector))) == tuple(vector)


@pytest.mark.parametrize(
    "text",
    [
        "." + "3" * 399,  # 400 characters: as long as a number may be
        f"1/{2**1300}, 1",
        "1e-400/1e400",
    ],
)
def test_what_could_be_read_can_be_written_and_read_again(text):
    try:
        vector = parse_vector(text)
    except LabError:
        return  # then it is not in anybody's way
    assert parse_vector(format_vector(vector)) == vector


def test_what_was_normalised_can_be_read_again():
    # The button writes this text into the field.
    vector = normalise(parse_vector("0." + "1234567" * 40 + ", 0.7"))
    assert parse_vector(format_vector(vector)) == vector


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=8))
def test_normalising_keeps_ratios_and_gives_1(weights):
    vector = tuple(map(Fraction, weights))
    if not any(weights):
        with pytest.raises(TotalError, match=r"^q sums to 0 and cannot be normalised"):
            normalise(vector, "q")
        return
    result = normalise(vector, "q")
    assert sum(result) == 1
    for i, a in enumerate(weights):
        for j, b in enumerate(weights):
            assert result[i] * b == result[j] * a


@given(st.lists(st.fractions(0, 2), min_size=1, max_size=8))
def test_total_is_the_sum(vector):
    assert total(tuple(vector)) == sum(vector)


@pytest.mark.parametrize(("kind", "small"), [(np.float16, 2.0**-13), (np.float32, 2.0**-26)])
def test_total_of_floats_is_taken_in_double_precision(kind, small):
    # The sum lies between two numbers of the row's own type.
    row = np.array([0.5, *[small] * 3], dtype=kind)
    assert float(row.sum(dtype=kind)) != 0.5 + 3 * small
    assert total(row) == 0.5 + 3 * small
    assert type(total(row)) is float


# ---------------------------------------------------------------- nothing but LabError

nasty = st.text(
    alphabet="0123456789.,;:eE+-/%()[]{}'\"= \t\n\r…½−\u00a0\ufeffanif_NaF", max_size=60
)
valid = st.sampled_from(
    [
        "0.2, 0.5, 0.3",
        "tensor([0.3333, 0.3333, 0.3333], device='cuda:0', dtype=torch.float16)",
        "[[0. 1.]\n [1. 0.]]",
        "0,25\n0,5\n0,25",
        "[Fraction(1, 4), Fraction(3, 4)]",
        "1e-7; 50%; 1/3",
        "array([np.float64(0.1), 1.e-07])",
    ]
)


@st.composite
def mutated(draw):
    text = draw(valid)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(text)))
        upto = min(len(text), at + draw(st.integers(0, 5)))
        text = text[:at] + draw(st.one_of(nasty, st.text(max_size=3))) + text[upto:]
    return text


@given(st.one_of(st.text(), nasty, mutated()))
@settings(max_examples=600)
def test_any_text_is_read_or_refused_in_a_sentence(text):
    try:
        reading = read_rows(text, "p")
    except LabError as fault:
        assert str(fault).startswith("p")
        assert str(fault).endswith(".")
        return
    assert reading.rows
    assert len({len(row) for row in reading.rows}) == 1
    for row in reading.rows:
        assert row
        assert all(type(x) is Fraction and x >= 0 for x in row)


@given(st.one_of(st.text(max_size=20), nasty))
@settings(max_examples=300)
def test_any_number_is_read_or_refused_in_a_sentence(text):
    try:
        assert type(parse_number(text)) is Fraction
    except LabError as fault:
        assert str(fault).startswith("it ")
        assert str(fault).endswith(".")


junk = st.one_of(
    st.sampled_from(["nan", "inf", "-1", "x", "1..2", "--1", "1/0", "#REF!", "NA"]),
    st.text(alphabet="abxyz#_$&@!?", min_size=1, max_size=8),
)


@given(texts_of_numbers, st.data(), st.sampled_from([", ", ";", "\t", "\n", " ; "]), junk)
@settings(max_examples=120)
def test_one_bad_entry_among_good_ones_is_the_one_named(entries, data, separator, bad):
    position = data.draw(st.integers(1, len(entries)))
    entries[position - 1] = bad
    with pytest.raises(EntryError) as fault:
        parse_vector(separator.join(entries), "q")
    assert (fault.value.vector, fault.value.entry, fault.value.value) == ("q", position, bad)


@given(texts_of_numbers.filter(lambda e: len(e) > 2), st.data(), st.sampled_from(",;\t"))
def test_one_empty_place_among_good_ones_is_the_one_named(entries, data, separator):
    position = data.draw(st.integers(2, len(entries) - 1))
    entries[position - 1] = ""
    with pytest.raises(EntryError) as fault:
        parse_vector(separator.join(entries), "q")
    assert (fault.value.vector, fault.value.entry, fault.value.value) == ("q", position, "")


LONG = {
    "letters": "A" * 200_000,
    "calls that never close": "a(" * 100_000,
    "calls with quotes": "a('" * 66_000,
    "calls of calls": "f('1')" * 33_000,
    "open brackets": "[" * 200_000,
    "brackets with numbers": "[1 " * 66_000,
    "nested brackets": "[" * 100_000 + "]" * 100_000,
    "pairs of brackets": "()" * 100_000,
    "mixed brackets": "[](" * 66_000,
    "blanks": "0.5" + " " * 199_000 + "0.5",
    "blanks around separators": "0.5 , " * 33_000,
    "separators": "," * 200_000,
    "lines": "\n" * 199_000 + "1",
    "carriage returns": "\r\n\t" * 66_000 + "1",
    "tabs": "1" + "\t" * 199_000 + "1",
    "one huge number": "1" * 200_000,
    "points": "1." * 100_000,
    "exponents": "1e" * 100_000,
    "slashes": "1 /" * 66_000,
    "percent signs": "% " * 100_000,
    "assignments": "p=" * 100_000,
    "dotted names": "a." * 100_000,
    "fractions that never close": "Fraction(1," * 18_000,
    "ellipsis at the end": "1 " * 99_000 + "…",
    "decimal commas": "0,1 " * 50_000,
    "underscores": "_" * 200_000,
}


@pytest.mark.parametrize("shape", LONG)
def test_long_texts_of_nasty_shapes_are_quick(shape):
    start = time.perf_counter()
    try:
        assert read_rows(LONG[shape]).rows
    except LabError as fault:
        assert len(str(fault)) < 300
    # Backtracking would take minutes; a linear reading takes well under a second or two.
    assert time.perf_counter() - start < 10


def test_too_long_a_text_is_refused_by_its_length():
    with pytest.raises(LabError, match=r"^p has 200,001 characters.* 200,000 "):
        read_rows(" " * (LONGEST_TEXT + 1), "p")


# ---------------------------------------------------------------- arrays and lists


@pytest.mark.parametrize("kind", FLOATS)
def test_float_arrays_keep_their_type_and_are_not_writable(kind):
    array = np.array([0.25, 0.75], dtype=kind)
    vector = as_vector(array, "p")
    assert vector.dtype == kind
    assert vector.tolist() == [0.25, 0.75]
    assert not vector.flags.writeable
    assert array.flags.writeable


@pytest.mark.parametrize(
    "values",
    [
        [Fraction(1, 4), Fraction(3, 4)],
        [Decimal("0.25"), Decimal("0.75")],
        ["0.25", "75%"],
        ["1/4", Fraction(3, 4)],
        np.array([Fraction(1, 4), Fraction(3, 4)]),
        np.array(["0.25", "0.75"], dtype=object),
        "0.25, 0.75",
    ],
)
def test_everything_but_floats_becomes_exact(values):
    vector = as_vector(values, "p")
    assert vector == fractions("1/4 3/4")
    assert all(type(x) is Fraction for x in vector)


@pytest.mark.parametrize("values", [[1, 0], np.array([1, 0]), np.array([1, 0], dtype=np.uint8)])
def test_whole_numbers_become_exact(values):
    vector = as_vector(values)
    assert vector == (1, 0)
    assert all(type(x) is Fraction and type(x.numerator) is int for x in vector)


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint8])
def test_whole_numbers_of_numpy_in_a_list_do_not_overflow_later(kind):
    # A Fraction that holds a 64-bit integer computes modulo 2**64 or raises.
    vector = as_vector([kind(1), kind(0)])
    assert all(type(x.numerator) is int and type(x.denominator) is int for x in vector)
    tiny = Fraction(1, 10**30)
    assert one_step([kind(1), kind(0)], [tiny, 1 - tiny]).residual == (1, 0)


@pytest.mark.parametrize("kind", [float, *FLOATS])
def test_a_list_of_floats_is_a_float_vector(kind):
    # list(array) and [x for x in array] hold NumPy scalars.
    vector = as_vector([kind(0.25), kind(0.75)])
    assert isinstance(vector, np.ndarray)
    assert vector.tolist() == [0.25, 0.75]


def test_one_float_in_a_list_makes_floats_of_all():
    vector = as_vector([0.5, Fraction(1, 4), "25%", 0])
    assert vector.dtype == np.float64
    assert vector.tolist() == [0.5, 0.25, 0.25, 0]


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize(
    ("bad", "fault_text"),
    [(np.nan, "not a number"), (np.inf, "infinite"), (-np.inf, "infinite"), (-0.5, "negative")],
)
@pytest.mark.parametrize("position", [1, 2, 3])
def test_a_bad_entry_of_a_float_array_is_named(kind, bad, fault_text, position):
    array = np.array([0.5, 0.25, 0.25], dtype=kind)
    array[position - 1] = bad
    good = np.array([0.25, 0.5, 0.25], dtype=kind)
    for read, name in (
        (lambda: as_vector(array, "q"), "q"),
        (lambda: as_vector(array.tolist(), "q"), "q"),
        (lambda: one_step(array, good), "p"),
        (lambda: one_step(good, array), "q"),
        (lambda: one_step(array, ["0.5", "0.25", "0.25"]), "p"),
        (lambda: one_step(["0.5", "0.25", "0.25"], array), "q"),
    ):
        with pytest.raises(EntryError) as fault:
            read()
        assert (fault.value.vector, fault.value.entry) == (name, position)
        assert str(fault.value).startswith(f"{name}, entry {position} (“{fault.value.value}”)")
        assert fault_text in str(fault.value)


def test_the_first_bad_entry_is_the_one_named():
    with pytest.raises(EntryError) as fault:
        as_vector(np.array([0.5, -1, np.nan, -2]), "p")
    assert fault.value.entry == 2


@pytest.mark.parametrize("bad", [None, 1j, [0.5], object(), b"0.5"])
def test_what_is_no_number_is_named(bad):
    with pytest.raises(EntryError) as fault:
        as_vector([Fraction(1, 2), bad], "p")
    assert (fault.value.vector, fault.value.entry) == ("p", 2)
    assert "it is not a number" in str(fault.value)


@pytest.mark.parametrize("value", ["-0.123456789", Decimal("-0.123456789")])
def test_a_negative_value_is_named_as_it_was_given(value):
    with pytest.raises(EntryError) as fault:
        as_vector(["0.5", value], "p")
    assert fault.value.value == "-0.123456789"


def test_numbers_too_large_for_floats_are_refused_by_name():
    for read in (
        lambda: as_vector([0.5, 10**400], "p"),
        lambda: one_step([10**400, 0], np.array([0.5, 0.5])),
    ):
        with pytest.raises(EntryError) as fault:
            read()
        assert fault.value.vector == "p"


@pytest.mark.parametrize(
    "values", [[], (), np.array([]), np.array(0.5), np.ones((2, 2)), np.ones((1, 2))]
)
def test_shapes_that_are_no_vector_are_refused(values):
    with pytest.raises(LengthError, match=r"^q has "):
        as_vector(values, "q")


@pytest.mark.parametrize(
    "values", [np.array([True, False]), np.array([1j]), np.array(["0.5"]), np.array([b"a"])]
)
def test_other_types_are_refused_by_name(values):
    with pytest.raises(LabError, match=rf"^p has the type {re.escape(str(values.dtype))}; "):
        as_vector(values, "p")


@pytest.mark.parametrize("bad", [np.inf, np.nan, -np.inf, -0.5])
@pytest.mark.parametrize("where", ["p", "q", "pq"])
@pytest.mark.parametrize("kind", FLOATS)
def test_bad_floats_are_named_without_a_warning_of_numpy(kind, bad, where):
    # Under -W error a warning would take the place of the sentence.
    good, row = np.array([0.5, 0.5], dtype=kind), np.array([0.5, bad], dtype=kind)
    pair = [row if name in where else good for name in "pq"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(EntryError) as fault:
            one_step(*pair)
    assert fault.value.vector in where
    assert fault.value.entry == 2


# ---------------------------------------------------------------- normalised cases


def test_in14_in15_after_normalising():
    q = fractions("1/2 1/4 1/4")
    step = one_step(normalise(fractions("0.3333333 0.3333333 0.3333333")), q)
    assert step.accepted == fractions("1/3 1/4 1/4")
    assert (step.acceptance, step.rejection) == fractions("5/6 1/6")
    assert step.residual == fractions("0 1/2 1/2")
    assert step.output == fractions("1/3 1/3 1/3")

    step = one_step(normalise(fractions("0.70000005 0.3")), fractions("0.7 0.3"))
    assert step.accepted == fractions("7/10 2000000/6666667")
    assert (step.acceptance, step.rejection) == fractions("66666669/66666670 1/66666670")
    assert step.residual == (1, 0)
    assert step.output == fractions("4666667/6666667 2000000/6666667")


def test_in14_in15_without_normalising_nothing_is_claimed():
    for p, q in (
        ("0.3333333 0.3333333 0.3333333", "0.5 0.25 0.25"),
        ("0.70000005 0.3", "0.7 0.3"),
    ):
        with pytest.raises(TotalError, match=r"^p sums to "):
            one_step(fractions(p), fractions(q))
        with pytest.raises(TotalError, match=r"^q sums to "):
            one_step(fractions(q), fractions(p))

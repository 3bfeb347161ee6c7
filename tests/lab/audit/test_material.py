"""Files of every kind, and files that mean harm: each a verdict or a sentence."""

from __future__ import annotations

import io
import json
import pickle
import struct
import tracemalloc
import zipfile
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import fractions
from strategies import scenarios_parts

from lab.audit import arrays as arrays_module
from lab.audit import audit
from lab.audit import material as material_module
from lab.audit.material import LARGEST_TEXT, LARGEST_UPLOAD, audit_file, open_material
from lab.audit.rows import type_name
from lab.errors import FileError, LabError
from lab.scenario import Scenario
from lab.tables import export_csv

P, Q = [0.2, 0.5, 0.3], [0.6, 0.2, 0.2]
WORKED = fractions("1/5 1/2 3/10"), fractions("3/5 1/5 1/5")


def saved(save, *arrays, **named) -> bytes:
    page = io.BytesIO()
    save(page, *arrays, **named)
    return page.getvalue()


def rows(found, name):
    matrix = found.arguments[name]
    return [list(map(float, matrix[n])) for n in range(matrix.shape[0])]


def matrix(kind, order="=", positions=4, tokens=9):
    rng = np.random.default_rng(1)
    both = rng.dirichlet(np.ones(tokens), size=(positions, 2))
    if kind == "bfloat16":
        return both.astype(ml_dtypes.bfloat16)
    return both.astype(np.dtype(kind).newbyteorder(order))


KINDS = [("float16", "<"), ("float16", ">"), ("float32", "<"), ("float32", ">")]
KINDS += [("float64", "<"), ("float64", ">"), ("bfloat16", "=")]


# ---------------------------------------------------------------- arrays


@pytest.mark.parametrize(("kind", "order"), KINDS)
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_archives_in_every_type_and_byte_order(kind, order, save):
    both = matrix(kind, order)
    data = saved(save, p=both[:, 0], q=both[:, 1])
    with open_material(data, "x.npz") as found:
        assert type_name(found.arguments["p"]) == kind
        assert rows(found, "p") == both[:, 0].astype(float).tolist()
        assert rows(found, "q") == both[:, 1].astype(float).tolist()
        # Back again, and one in the middle.
        assert list(map(float, found.arguments["p"][2])) == both[2, 0].astype(float).tolist()
    plain = both if kind == "bfloat16" else both.astype(kind)
    assert (
        audit_file(data).acceptance.tolist() == audit(plain[:, 0], plain[:, 1]).acceptance.tolist()
    )


@pytest.mark.parametrize(("kind", "order"), KINDS)
@pytest.mark.parametrize("fortran", [False, True])
def test_one_array_holds_p_and_q(kind, order, fortran, tmp_path):
    both = matrix(kind, order)
    if fortran:
        both = np.asfortranarray(both)
    path = tmp_path / "both.npy"
    np.save(path, both)
    for source in (path, str(path), path.read_bytes(), io.BytesIO(path.read_bytes())):
        with open_material(source) as found:
            assert rows(found, "p") == both[:, 0].astype(float).tolist()
            assert rows(found, "q") == both[:, 1].astype(float).tolist()
    np.save(path, both[2])
    with open_material(path) as found:
        assert rows(found, "q") == [both[2, 1].astype(float).tolist()]


def test_everything_an_archive_may_hold():
    data = saved(
        np.savez,
        p=P,
        q=Q,
        tokens=np.array(["A", "B", "C"]),
        draft_tokens=np.array([b"A", b"B", "Ç".encode()]),
        residual=[0, 0.75, 0.25],
        output=P,
        alpha=0.6,
        counts=[20, 50, 30],
        accepted_counts=[20, 20, 20],
        whatever=[1],
    )
    with open_material(data) as found:
        assert found.arguments["tokens"] == ["A", "B", "C"]
        assert found.arguments["draft_tokens"] == ["A", "B", "Ç"]
        assert set(found.arguments) == {
            *("p", "q", "tokens", "draft_tokens", "residual", "output", "acceptance"),
            *("counts", "accepted_counts"),
        }
        assert "whatever" in found.notes[0]
    result = audit_file(data)
    assert result.counted == {"different-vocabularies": 1}
    assert any("whatever" in note for note in result.notes)


def test_whole_numbers_are_exact():
    with open_material(saved(np.savez, p=[0, 1], q=np.array([[1, 0]], ">u2"))) as found:
        assert audit(**found.arguments).target_type == "exact"


def test_a_matrix_is_read_row_by_row_and_never_whole(tmp_path):
    positions, tokens = 60, 50_000
    both = np.full((positions, 2, tokens), 1 / tokens, np.float32)
    files = {"a.npy": saved(np.save, both)}
    for name, save in (("b.npz", np.savez), ("c.npz", np.savez_compressed)):
        files[name] = saved(save, p=both[:, 0], q=both[:, 1])
    for name, data in files.items():
        path = tmp_path / name
        path.write_bytes(data)
        tracemalloc.start()
        audit_file(path)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < both.nbytes / 4, name


def test_one_position_of_a_large_archive():
    both = matrix("float32", positions=30)
    both[17, 0, 4] = np.nan
    data = saved(np.savez_compressed, p=both[:, 0], q=both[:, 1])
    assert audit_file(data, position=17).clean
    assert [(f.position, f.entry) for f in audit_file(data, position=18).findings] == [(18, 5)]


# ---------------------------------------------------------------- what is refused


class Bomb:
    """Leaves a trace when somebody unpickles it."""

    def __reduce__(self):
        return (open, ("/dev/null",)) if False else (_went_off, ())


went_off = []


def _went_off():
    went_off.append(1)


def test_pickles_are_never_run(tmp_path):
    objects = np.array([[Bomb(), 0.5], [0.5, 0.5]], dtype=object)
    files = [
        saved(np.save, objects),
        saved(np.savez, p=objects, q=objects),
        saved(np.savez, p=P, q=Q, tokens=np.array([Bomb(), "b", "c"], dtype=object)),
        pickle.dumps([Bomb()]),
        pickle.dumps({"p": P, "q": Bomb()}, protocol=2),
    ]
    page = io.BytesIO()
    with zipfile.ZipFile(page, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(Bomb()))
    files.append(page.getvalue())
    for data in files:
        with pytest.raises(FileError, match="pickle"):
            audit_file(data)
    assert not went_off
    pickle.loads(files[3])
    assert went_off  # it would have shown


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros((2, 3), complex), "complex"),
        (np.zeros((2, 3), bool), "type bool"),
        (np.zeros((2, 3), np.longdouble), "accepted are float16"),
        (np.array([["a", "b"]] * 2), "accepted are float16"),
        (np.zeros((2, 3), "V3"), "accepted are float16"),
        (np.zeros((2, 2), [("x", float)]), "accepted are float16"),
        (np.zeros((2, 2), "M8[s]"), "accepted are float16"),
        (np.zeros(3), "(2, n)"),
        (np.zeros((3, 3)), "(2, n)"),
        (np.zeros((2, 0)), "shape"),
        (np.zeros((2, 2, 2, 2)), "(2, n)"),
    ],
)
def test_arrays_of_another_kind_are_refused(array, words):
    with pytest.raises(FileError) as refused:
        audit_file(saved(np.save, array))
    assert words in str(refused.value)


def header(shape, descr="<f4", fortran=False) -> bytes:
    text = f"{{'descr': {descr!r}, 'fortran_order': {fortran}, 'shape': {shape!r}, }}"
    text = text.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


@pytest.mark.parametrize(
    "data",
    [
        header((2, 10**15)),
        header((2, 2**62, 2**62)),
        header((2, -4)) + b"\0" * 100,
        header((2, 3)) + b"\0" * 23,
        header((2, 3)) + b"\0" * 25,
        header((2, True)) + b"\0" * 8,
        header((2, 3), "<f3") + b"\0" * 24,
        header((2, 3), "|O8") + b"\0" * 48,
        header((2, 3), [["a", "<f4"]]) + b"\0" * 24,
        header("x") + b"\0" * 24,
        b"\x93NUMPY\x01\x00\xff\xff" + b" " * 70_000,
        b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + b" " * 100,
        b"\x93NUMPY\x09\x00\x10\x00" + b" " * 100,
        b"\x93NUMPY\x01\x00\x10\x00" + b"__import__('os')",
        b"\x93NUMPY\x01\x00\x20\x00" + b"(" * 32,
        b"\x93NUMPY",
        b"PK\x03\x04",
        b"PK\x05\x06" + b"\0" * 18,
        b"PK",
        b"",
        b"\x1f\x8b\x08rest",
        b"PAR1rest",
        b"\x00\x01\x02\x03",
        b"\xff\xfe\x00\xd8",
        b"just some words",
    ],
)
@pytest.mark.parametrize("name", [None, "x.npy", "x.npz", "x.json", "x.csv"])
def test_damaged_headers_get_a_sentence(data, name):
    tracemalloc.start()
    with pytest.raises(FileError) as refused:
        audit_file(data, name)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert str(refused.value).endswith(".")
    assert peak < 10_000_000


def test_a_header_longer_than_any_is_refused():
    text = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }".ljust(20_000) + "\n"
    data = b"\x93NUMPY\x02\x00" + struct.pack("<I", len(text)) + text.encode() + b"\0\0\x80\x3f" * 2
    with pytest.raises(FileError, match="header of 20,001 bytes"):
        audit_file(data)


def good_files() -> dict[str, bytes]:
    both = matrix("float32", positions=2, tokens=3)
    tokens = np.array(["A", "B", "C"])
    return {
        "a.npy": saved(np.save, both),
        "b.npz": saved(np.savez, p=both[:, 0], q=both[:, 1], tokens=tokens),
        "c.npz": saved(np.savez_compressed, p=both[:, 0], q=both[:, 1], tokens=tokens),
        "d.json": json.dumps({"tokens": list("ABC"), "p": P, "q": Q}).encode(),
        "e.csv": b"token,p,q\r\nA,0.2,0.6\r\nB,0.5,0.2\r\nC,0.3,0.2\r\n",
    }


@pytest.mark.parametrize("name", good_files())
def test_files_cut_at_every_length_get_a_verdict_or_a_sentence(name):
    whole = good_files()[name]
    assert audit_file(whole, name).clean
    for length in range(len(whole)):
        try:
            found = audit_file(whole[:length], name)
        except LabError as fault:
            assert str(fault)[-1:] in ".”)", str(fault)
            continue
        # Only texts can be cut and still be whole.
        assert name == "e.csv", length
        assert found.counted.get("sum") or length >= len(whole) - 4


@pytest.mark.parametrize("name", good_files())
@given(st.data())
@settings(max_examples=60)
def test_files_with_bytes_changed_get_a_verdict_or_a_sentence(name, data):
    damaged = bytearray(good_files()[name])
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    try:
        audit_file(bytes(damaged), name)
    except LabError as fault:
        assert str(fault)


@given(
    st.binary(max_size=300),
    st.sampled_from([b"", b"\x93NUMPY\x01\x00", b"PK\x03\x04", b"{", b"[", b"token,p,q\n"]),
    st.sampled_from([None, "a.npy", "a.npz", "a.json", "a.csv"]),
)
@settings(max_examples=300)
def test_random_bytes_get_a_sentence(data, start, name):
    try:
        audit_file(start + data, name)
    except LabError as fault:
        assert str(fault)


def bomb(size: int, shape) -> bytes:
    """A small archive that unpacks to `size` bytes of zeros behind a header."""
    page = io.BytesIO()
    with zipfile.ZipFile(page, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("p.npy", "q.npy"):
            with archive.open(name, "w", force_zip64=True) as member:
                member.write(header(shape))
                for _ in range(size // 2**20):
                    member.write(bytes(2**20))
    return page.getvalue()


def test_an_archive_that_unpacks_to_very_much_is_refused(monkeypatch):
    monkeypatch.setattr(arrays_module, "UNPACKED_UNASKED", 8 * 2**20)
    data = bomb(16 * 2**20, (4, 2**20))
    assert len(data) < 2**20
    tracemalloc.start()
    with pytest.raises(FileError, match="unpacks to 33,554,"):
        audit_file(data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**20


def test_an_archive_that_lies_about_its_sizes_gets_a_sentence():
    # The directory says 64 bytes more than the member has, or far less than it unpacks to.
    data = bytearray(saved(np.savez_compressed, p=[P] * 50, q=[Q] * 50))
    for change in (64, -64, 2**20):
        damaged = bytearray(data)
        start = 0
        while (at := damaged.find(b"PK\x01\x02", start)) >= 0:
            (size,) = struct.unpack_from("<I", damaged, at + 24)
            struct.pack_into("<I", damaged, at + 24, size + change)
            start = at + 4
        with pytest.raises(FileError):
            audit_file(bytes(damaged))


def test_a_damaged_matrix_in_an_archive_is_noticed():
    data = bytearray(saved(np.savez, p=[P] * 50, q=[Q] * 50))
    data[len(data) // 4] ^= 1
    with pytest.raises(FileError, match="damaged"):
        audit_file(bytes(data))


def test_archives_that_are_not_numpys(tmp_path):
    def made(*members, method=zipfile.ZIP_DEFLATED):
        page = io.BytesIO()
        with zipfile.ZipFile(page, "w", method) as archive:
            for name, content in members:
                archive.writestr(name, content)
        return page.getvalue()

    array = saved(np.save, np.array(P))
    cases = {
        "no p and no q": made(("a.npy", array)),
        "no q": made(("p.npy", array)),
        "unusual way": made(("p.npy", array), ("q.npy", array), method=zipfile.ZIP_BZIP2),
        "does not begin": made(("p.npy", b"0.5"), ("q.npy", array)),
        "both stand for p": made(("p.npy", array), ("target.npy", array), ("q.npy", array)),
    }
    for words, data in cases.items():
        with pytest.raises(FileError, match=words):
            audit_file(data)
    with pytest.warns(UserWarning, match="Duplicate"):
        twice = made(("p.npy", array), ("p.npy", array), ("q.npy", array))
    with pytest.raises(FileError, match="twice"):
        audit_file(twice)
    # A path that leads elsewhere is only a name.
    assert not list(tmp_path.iterdir())
    with pytest.raises(FileError, match="no p"):
        audit_file(made(("../p.npy", array), ("q.npy", array)))


def test_limits(monkeypatch, tmp_path):
    monkeypatch.setattr(material_module, "LARGEST_UPLOAD", 100)
    data = good_files()["a.npy"]
    with pytest.raises(FileError, match="up to 100 are accepted here"):
        audit_file(data)
    path = tmp_path / "a.npy"
    path.write_bytes(data)
    assert audit_file(path).clean
    monkeypatch.setattr(material_module, "LARGEST_TEXT", 20)
    path = tmp_path / "e.csv"
    path.write_bytes(good_files()["e.csv"])
    with pytest.raises(FileError, match=r"Larger ones go into \.npy"):
        audit_file(path)
    assert LARGEST_TEXT < LARGEST_UPLOAD == 200_000_000


def test_paths_that_are_no_files(tmp_path):
    with pytest.raises(FileError, match="no file"):
        audit_file(tmp_path / "none.npy")
    with pytest.raises(FileError, match="folder"):
        audit_file(tmp_path)
    with pytest.raises(FileError, match="no regular file"):
        audit_file("/dev/zero")
    with pytest.raises(FileError):
        audit_file("a\0b")
    with pytest.raises(FileError, match="name is empty"):
        audit_file("")


def test_a_file_that_is_cut_while_it_is_read(tmp_path):
    path = tmp_path / "both.npy"
    np.save(path, np.full((6, 2, 2000), 1 / 2000))

    def cut(done, total):
        if done == 2:
            with path.open("r+b") as file:
                file.truncate(5 * 2000 * 8)

    with pytest.raises(FileError, match="ends inside position 3"):
        audit_file(path, progress=cut)


# ---------------------------------------------------------------- CSV


@pytest.mark.parametrize(
    "data",
    [
        b"token,p,q\nA,0.2,0.6\nB,0.5,0.2\nC,0.3,0.2\n",
        b"\xef\xbb\xbftoken;p;q\r\nA;0,2;0,6\r\nB;0,5;0,2\r\nC;0,3;0,2\r\n",
        "token\tp\tq\nA\t0.2\t0.6\nB\t0.5\t0.2\nC\t0.3\t0.2\n".encode("utf-16"),
        b"sep=;\r\nToken;Target p;Draft q\r\nA;20%;60%\r\nB;50%;20%\r\nC;30%;20%\r\n",
        b"q,p,token\n0.6,1/5,A\n.2,1/2,B\n2e-1,3/10,C\n\n,,\n",
    ],
)
def test_csv_as_spreadsheets_save_it(data):
    with open_material(data) as found:
        assert found.arguments["p"][0] == WORKED[0]
        assert found.arguments["q"][0] == WORKED[1]
        assert found.arguments["tokens"] == ["A", "B", "C"]
    assert audit_file(data).clean


@given(scenarios_parts())
def test_the_labs_own_export_is_clean_and_exact(parts):
    tokens, (p, q) = parts
    data = export_csv(Scenario(tokens, p, q))
    with open_material(data) as found:
        if found.arguments["p"].dtype is None:
            assert found.arguments["p"][0] == p
        assert found.arguments["tokens"] == list(tokens)
        assert not any("Not read" in note for note in found.notes)
    assert audit_file(data).clean


def test_counts_with_signs_between_thousands():
    data = (
        "token;p;q;counts;accepted_counts\n"
        "A;0,2;0,6;20.000;20 000\nB;0,5;0,2;50\u202f000;20'000\nC;0,3;0,2;30000;20000,0\n"
    ).encode()
    with open_material(data) as found:
        assert rows(found, "counts") == [[20_000, 50_000, 30_000]]
        assert rows(found, "accepted_counts") == [[20_000, 20_000, 20_000]]
    assert audit_file(data).clean


def test_positions_in_csv():
    data = b"position,token,p,q\n" + b"".join(
        f"{n},{t},{p},{q}\n".encode()
        for n in (0, 1)
        for t, p, q in zip("ABC", P, Q[::-1] if n else Q, strict=True)
    )
    found = audit_file(data)
    assert found.positions == 2
    assert any("counted from 1" in note for note in found.notes)
    for bad, words in (
        (data + b"0,A,0.5,0.5\n", "comes back"),
        (data + b"2,A,0.5,0.5\n", "has 1 token and"),
        (data.replace(b"1,C", b"1,D"), "same tokens"),
    ):
        with pytest.raises(FileError, match=words):
            audit_file(bad)


@pytest.mark.parametrize(
    ("cell", "kind"), [("nan", "nan"), ("NaN", "nan"), ("inf", "infinite"), ("-0.3", "negative")]
)
def test_bad_numbers_in_csv_are_findings(cell, kind):
    found = audit_file(f"token,p,q\nA,0.2,0.6\nB,0.5,{cell}\nC,0.3,0.2\n".encode())
    assert [(f.kind, f.vector, f.entry, f.token) for f in found.findings if f.kind == kind] == [
        (kind, "q", 2, "B")
    ]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("token,p\nA,1\n", "no q"),
        ("token,p,q\n", "no rows"),
        ("token,p,q\nA,,1\n", "entry 1"),
        ("token,p,q\nA,0.5,0.5\nB\n", "Row 2 below the header has 1 cell, and the header 3"),
        ("token,p,q\nA,0,2,0,6\n", "Row 1 below the header has 5 cells.* commas need semicolons"),
        ("token,p,q\nA,0.5,0.5\nB,0.5,0.5,junk\n", "Row 2 below the header has 4 cells"),
        ("p,q,alpha\n0.5,0.5,1\n0.5,0.5,0\n", "alpha has 0 and 1 at one position"),
        ("p,q,p\n1,1,1\n", "two columns"),
        ("p,target,q\n1,1,1\n", "both stand for p"),
        ("p,q\nx,1\n", "cannot be read"),
        ("p,q,counts\n1,1,many\n", "counts"),
        ("p,q,residual\n0.5,0.5,0\n0.5,0.5,\n", "residual, entry 2"),
        ("A\n", "no rows"),
    ],
)
def test_csv_that_is_none(data, words):
    with pytest.raises(FileError, match=words):
        audit_file(data.encode())


# ---------------------------------------------------------------- JSON


def test_json_stays_exact():
    data = json.dumps(
        {"p": ["1/5", 0.5, 0.3], "q": P[::-1], "residual": None, "alpha": 0.7}
    ).encode()
    with open_material(data) as found:
        assert found.arguments["p"][0] == WORKED[0]
        assert found.arguments["acceptance"][0] == (Fraction(7, 10),)
        assert "residual" not in found.arguments


def test_a_float64_that_was_printed_is_one():
    p = np.random.default_rng(0).dirichlet(np.ones(30))
    found = audit_file(json.dumps({"p": p.tolist(), "q": p.tolist()}).encode())
    assert found.target_type == "float64"
    assert found.clean
    assert any("printed" in note for note in found.notes)
    long = audit_file(b'{"p": [0.1234567890123456789, 0.8765432109876543211], "q": [0.5, 0.5]}')
    assert long.target_type == "exact"
    assert long.clean


def test_many_entries_become_float64():
    size = 30_000
    p = np.full(size, 1 / size)
    data = json.dumps({"p": p.tolist(), "q": p.tolist()}).encode()
    found = audit_file(data)
    assert found.clean
    assert found.target_type == "float64"
    assert any("read as float64" in note for note in found.notes)


def test_not_a_number_in_json_is_a_finding():
    found = audit_file(b'{"p": [NaN, 0.5], "q": [0.5, Infinity], "tokens": ["a", "b"]}')
    assert [(f.kind, f.vector, f.entry, f.token) for f in found.findings] == [
        ("nan", "p", 1, "a"),
        ("infinite", "q", 2, "b"),
    ]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ('{"p": [1], "q": [1]', "cannot be read as JSON.*It may be cut"),
        ('{"p": [1], "q": [1]} {}', r"Extra data in line 1, column 22\. Accepted is one object"),
        ('{"p": [1e400, 0.5], "q": [0.5, 0.5]}', "p, entry 1 .* larger than floats hold"),
        ('{"p": [' + "9" * 400 + '], "q": [1]}', "p, entry 1 .* larger than floats hold"),
        ('{"p": [1], "q": [1], "counts": [' + "9" * 400 + "]}", "counts, entry 1"),
        ('{"p": [1], "q": [1], "acceptance": 1e400}', "acceptance, entry 1"),
        ('{"p": [[]], "q": [1]}', "row 1 has no entries"),
        ('{"p": [1], "p": [0], "q": [1]}', "twice"),
        ('{"p": [1]}', "no q"),
        ('{"p": [[1], [0.5, 0.5]], "q": [1]}', "row 2 has 2"),
        ('{"p": [[[1]]], "q": [1]}', "not a number"),
        ('{"p": [1, [1]], "q": [1]}', "not a number"),
        ('{"p": [true], "q": [1]}', "not a number"),
        ('{"p": [null], "q": [1]}', "not a number"),
        ('{"p": [{}], "q": [1]}', "not a number"),
        ('{"p": {}, "q": [1]}', "no list"),
        ('{"p": [], "q": [1]}', "no list"),
        ('{"p": 1, "q": [1]}', "no list"),
        ('{"p": ["x"], "q": [1]}', "cannot be read"),
        ('{"p": [1e999], "q": [1]}', "power of ten"),
        ('{"p": [1], "q": [1], "tokens": [null]}', "tokens"),
        ('{"p": [1], "q": [1], "tokens": "A"}', "tokens"),
        ("[1, 2, 3]", "no object"),
        ("[" * 100_000, "nested"),
        ('{"p": [' + "9" * 5000 + '], "q": [1]}', "characters"),
    ],
)
def test_json_that_is_none(data, words):
    with pytest.raises(LabError, match=words):
        audit_file(data.encode(), "x.json")


@pytest.mark.parametrize("alpha", ["0.6", '"0.6"', '"3/5"', "[0.6]", "0.60000000000000001"])
def test_acceptance_in_json(alpha):
    data = f'{{"p": [0.2, 0.5, 0.3], "q": [".6", 0.2, 0.2], "acceptance": {alpha}}}'
    assert audit_file(data.encode()).clean
    wrong = audit_file(data.replace(alpha, "0.61").encode())
    assert wrong.counted == {"wrong-acceptance": 1}


def test_acceptance_of_each_position_in_json_and_csv():
    for alphas in ("[0.6, 1]", "[[0.6], [1]]"):
        data = f'{{"p": [{P}, {P}], "q": [{Q}, {P}], "acceptance": {alphas}}}'
        assert audit_file(data.encode()).clean
        (finding,) = audit_file(
            data.replace(" 1]", " 0.9]").replace("[1]", "[0.9]").encode()
        ).findings
        assert (finding.kind, finding.position, finding.value) == ("wrong-acceptance", 2, "0.9")
    for first in (True, False):
        lines = [
            f"{n},{p},{q},{alpha if k == 0 or not first else ''}\n"
            for n, draft, alpha in ((1, Q, 0.6), (2, P, 1))
            for k, (p, q) in enumerate(zip(P, draft, strict=True))
        ]
        found = audit_file(("position,p,q,acceptance\n" + "".join(lines)).encode())
        assert found.clean
        assert "the claimed acceptance" in found.checked


def test_empty_cells_behind_the_last_column_are_fine():
    assert audit_file(b"token,p,q\nA,0.5,0.5,\nB,0.5,0.5,,\n").clean


def test_what_is_not_text_is_told_everything_that_is_accepted():
    for name in ("x.json", "x.bin"):
        with pytest.raises(FileError, match=r"not text in UTF-8.*accepted are \.npy"):
            audit_file(b'{"p": "\xff\xfe"}', name)


def test_a_header_is_shown_without_python_objects():
    data = header("x").replace(b"'x'", b"f()")
    with pytest.raises(FileError, match="cannot be read") as refused:
        audit_file(data + b"\0" * 24)
    assert "ast." not in str(refused.value)
    assert "0x" not in str(refused.value)


def test_a_cut_archive_is_said_to_be_cut():
    with pytest.raises(FileError, match="may be cut"):
        audit_file(saved(np.savez, p=P, q=Q)[:200])


def test_a_pair_of_lists_is_p_and_q():
    assert audit_file(b"[[0.2, 0.8], [0.5, 0.5]]").rejection.tolist() == [0.3]

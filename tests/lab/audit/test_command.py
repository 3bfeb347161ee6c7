"""The command, mostly in this process: exit codes, and where what is printed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import lab.__main__ as command
from lab.audit import report
from lab.audit.material import audit_file

ROOT = Path(__file__).resolve().parents[3]
P, Q = [0.2, 0.5, 0.3], [0.6, 0.2, 0.2]


@pytest.fixture
def files(tmp_path):
    np.savez(tmp_path / "clean.npz", p=[P, P], q=[Q, Q])
    np.savez(tmp_path / "wrong.npz", p=[P, P], q=[Q, Q], residual=[[0, 0.75, 0.25], P])
    (tmp_path / "broken.npz").write_bytes(b"PK\x03\x04")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "code"), [("clean.npz", 0), ("wrong.npz", 1), ("broken.npz", 2), ("none.npz", 2)]
)
def test_exit_codes(files, name, code, capsys):
    assert command.main(["audit", str(files / name)]) == code
    out, error = capsys.readouterr()
    assert bool(out) == (code < 2)
    assert bool(error) == (code == 2)
    if code == 2:
        assert error.count("\n") == 1
    else:
        assert audit_file(files / name).verdict in out


def test_json_and_markdown(files, capsys):
    path = str(files / "wrong.npz")
    assert command.main(["audit", path, "--json"]) == 1
    found = audit_file(path)
    assert json.loads(capsys.readouterr().out) == report.data(found, path)
    assert command.main(["audit", path, "--markdown"]) == 1
    assert capsys.readouterr().out == report.markdown(found, path)


def test_one_position(files, capsys):
    assert command.main(["audit", str(files / "wrong.npz"), "--position", "1"]) == 0
    out = capsys.readouterr().out
    assert "α = 0.6, Z = 0.4" in out
    assert "Where p and q differ the most" in out
    assert command.main(["audit", str(files / "wrong.npz"), "--position", "2"]) == 1
    assert "position 2" in capsys.readouterr().out
    assert command.main(["audit", str(files / "wrong.npz"), "--position", "3"]) == 2
    assert "accepted are 1 to 2" in capsys.readouterr().err


def test_usage_is_no_traceback(capsys):
    for arguments in (
        [],
        ["audit"],
        ["audit", "x", "--position", "one"],
        ["other"],
        ["audit", "x", "--json", "--markdown"],
    ):
        with pytest.raises(SystemExit) as stopped:
            command.main(arguments)
        assert stopped.value.code == 2
        assert "usage" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (KeyboardInterrupt(), "Stopped"),
        (OSError(5, "Input/output error"), "Input/output error"),
        (MemoryError(), "memory"),
        (ZeroDivisionError("by 0"), "ZeroDivisionError: by 0"),
    ],
)
def test_what_stops_an_audit_is_a_sentence(fault, words, monkeypatch, capsys):
    def stopped(*_, **__):
        raise fault

    monkeypatch.setattr(command, "audit_file", stopped)
    assert command.main(["audit", "x"]) == 2
    out, error = capsys.readouterr()
    assert (out, error.count("\n")) == ("", 1)
    assert words in error


def test_progress_is_told_on_long_work(files, monkeypatch, capsys):
    monkeypatch.setattr(command, "FIRST_AFTER", -1.0)
    monkeypatch.setattr(command, "EVERY", 0.0)
    command.main(["audit", str(files / "clean.npz")])
    out, error = capsys.readouterr()
    assert error == "1 of 2 positions (50%)\n"
    assert "50%" not in out
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    command.main(["audit", str(files / "clean.npz")])
    assert capsys.readouterr().err == "\r1 of 2 positions (50%)\n"


def run(*arguments, **settings):
    return subprocess.run(
        [sys.executable, "-m", "lab", "audit", *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        check=False,
        **settings,
    )


def test_the_command_itself_in_a_terminal_of_another_alphabet(files):
    done = run(files / "wrong.npz", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 1
    assert done.stdout.startswith(str(files / "wrong.npz").encode())
    assert not done.stderr


@pytest.mark.parametrize("where", [">&-", ">/dev/full"])
def test_a_report_that_cannot_be_written_is_no_verdict(files, where):
    done = subprocess.run(
        ["/bin/sh", "-c", f"{sys.executable} -m lab audit {files / 'clean.npz'} {where}"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith(b"The report cannot be written")
    assert done.stderr.count(b"\n") == 1


def test_closed_streams_do_not_change_the_exit_code(files):
    for name, where, code in (
        ("clean", "2>&-", 0),
        ("broken", "2>&-", 2),
        ("broken", ">&- 2>&-", 2),
    ):
        command_line = f"{sys.executable} -m lab audit {files / name}.npz {where}"
        assert (
            subprocess.run(
                ["/bin/sh", "-c", command_line], cwd=ROOT, check=False, stdout=subprocess.DEVNULL
            ).returncode
            == code
        )


def test_ctrl_c_while_a_file_is_read(tmp_path):
    path = tmp_path / "long.npy"
    with path.open("wb") as file:  # a sparse file: 400,000 positions of zeros
        header = "{'descr': '<f4', 'fortran_order': False, 'shape': (400000, 2, 4096), }"
        header = header.ljust(117) + "\n"
        file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
        file.truncate(file.tell() + 400_000 * 2 * 4096 * 4)
    going = subprocess.Popen(
        [sys.executable, "-m", "lab", "audit", str(path)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert going.stderr is not None
    going.stderr.read1(1)  # progress: it is under way
    going.send_signal(signal.SIGINT)
    start = time.monotonic()
    out, error = going.communicate(timeout=20)
    assert time.monotonic() - start < 10
    assert going.returncode == 2
    assert not out
    assert b"Stopped" in error
    assert b"Traceback" not in error

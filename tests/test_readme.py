"""The README tells the truth: its code runs, and the results in its comments are the results."""

from __future__ import annotations

import ast
import re
from fractions import Fraction
from pathlib import Path

import pytest

from lab import MISTAKES
from lab.evidence import draws_needed, power
from lab.precision import in_precision
from lab.scenario import NEAR_EQUAL, WORKED_EXAMPLE

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


def test_there_is_code_to_check():
    assert BLOCKS


@pytest.mark.parametrize("block", BLOCKS)
def test_code_gives_what_its_comments_say(block):
    names: dict[str, object] = {}
    checked = 0
    for statement in ast.parse(block).body:
        source = ast.get_source_segment(block, statement)
        line = block.splitlines()[statement.end_lineno - 1]
        said = line.partition("#")[2].strip()
        if isinstance(statement, ast.Expr) and said:
            assert repr(eval(source, names)) == said
            checked += 1
        else:
            exec(source, names)
    assert checked


def test_the_test_that_it_shows_passes_and_can_fail():
    (block,) = [block for block in BLOCKS if "negative control" in block]
    names: dict[str, object] = {}
    exec(block, names)

    def right(p, q, rng):
        x = rng.choice(len(p), p=q)
        if rng.random() < min(1, p[x] / q[x]):
            return x
        owed = (p - q).clip(0)
        return rng.choice(len(p), p=owed / owed.sum())

    test = names["test_my_sampler_has_the_law_p"]
    names["my_sample"] = right
    test()
    names["my_sample"] = lambda p, q, rng: rng.choice(3, p=q)
    with pytest.raises(AssertionError, match="does not have the law p"):
        test()


def vectors(text: str) -> list[tuple[Fraction, ...]]:
    """The vectors in a text, such as (0.2, 0.5, 0.3)."""
    return [
        tuple(map(Fraction, inner.split(", ")))
        for inner in re.findall(r"\(((?:\d[\d.]*, )+\d[\d.]*)\)", text)
    ]


def test_the_lesson_has_the_numbers_of_the_worked_example():
    step = WORKED_EXAMPLE.scenario.step
    lesson = README.partition("five minutes")[2].partition("## A second lesson")[0]
    assert vectors(lesson) == [
        step.target,
        step.draft,
        step.residual,
        step.accepted,
        step.correction,
    ]
    assert f"both are {float(step.rejection)}" in lesson
    assert f"Success p to {float(step.residual[1])}" in lesson


def test_the_lesson_on_mistakes_has_their_numbers():
    p, q = WORKED_EXAMPLE.scenario.target, WORKED_EXAMPLE.scenario.draft
    law = MISTAKES["resample-from-target"].law(p, q)
    lesson = README.partition("## A third lesson")[2].partition("##")[0]
    assert vectors(lesson) == [p, q, law]
    assert f"About {draws_needed(law, p)}" in lesson
    assert power(law, p, 50) < 0.5


@pytest.mark.parametrize(
    ("name", "cases"),
    [
        ("One ten-millionth", ["residual lost in storage"]),
        ("Thirds and decimals", ["rejection possible but residual empty"]),
    ],
)
def test_the_lesson_on_precision_has_its_cases(name, cases):
    assert f"*{name}*" in README
    step = NEAR_EQUAL[name].scenario.step
    assert [case.name for case in in_precision(step, "float16").cases] == cases


@pytest.mark.parametrize("command", ["make run", "make test"])
def test_the_two_commands_exist(command):
    assert command in README
    assert f"\n{command.split()[1]}:" in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_its_pictures_and_links_are_there():
    targets = re.findall(r"\]\(([^)]+)\)", README)
    assert targets
    assert [target for target in targets if not (ROOT / target).exists()] == []

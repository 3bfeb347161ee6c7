"""Charts read as specification and data: what is drawn, in which order, in whose colour."""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction

import altair as alt
import pytest
from hypothesis import given, settings
from oracle import fractions, play
from strategies import law_pairs, scenarios_parts, ticket_pairs

from lab import one_step
from lab.charts import (
    MOST_BARS,
    against_truth,
    chart_groups,
    error_by_distance,
    law,
    ledger,
    marked,
    reconstruction,
    residual,
)
from lab.groups import group_labels
from lab.labels import visible
from lab.precision import FORMULAS, TYPES, error_curve
from lab.prediction import Prediction, compare

KEPT, OWED, THROWN = "accepted min(p, q)", "owed p − q", "thrown away q − p"
ADDED, RESIDUAL = "correction Z · r", "residual r"
MINE, TRUTH = "your prediction", "truth"
WORKED = one_step(fractions("1/5 1/2 3/10"), fractions("3/5 1/5 1/5"))
ABC = ("A", "B", "C")


def pictures(step, tokens, dark=False):
    yield ledger(step, tokens, dark=dark)
    yield reconstruction(step, tokens, dark=dark)
    if step.residual is not None:
        yield residual(step, tokens, dark=dark)
        drawn = tuple(Fraction(1, len(tokens)) for _ in tokens)
        comparison = compare(Prediction(drawn, Fraction(1, 100)), step.residual)
        yield against_truth(comparison, visible(tokens), "owed", dark=dark)


# The templates' own words: Hypothesis finds them in the source, and tries them as tokens.
OWN = json.dumps([p.spec for dark in (False, True) for p in pictures(WORKED, ABC, dark)])


def walk(node):
    """Every dictionary in a specification."""
    if isinstance(node, dict):
        yield node
        for value in node.values():
            yield from walk(value)
    elif isinstance(node, list):
        for value in node:
            yield from walk(value)


def channels(spec, *names):
    for node in walk(spec):
        for name, channel in node.get("encoding", {}).items():
            if name in names:
                yield channel


def pieces(picture) -> dict[tuple[str, str], dict]:
    """The rows by token and part; a piece that is drawn twice would be lost, so it is refused."""
    rows = picture.data.to_pylist()
    found = {(row["token"], row["part"]): row for row in rows}
    assert len(found) == len(rows)
    return found


def in_order(picture) -> list[str]:
    return list(dict.fromkeys(row["token"] for row in picture.data.to_pylist()))


def size(piece) -> Fraction:
    return Fraction(piece["exact"]) if piece else Fraction()


# ---------------------------------------------------------------- every picture


@given(scenarios_parts())
@settings(max_examples=40)
def test_every_picture_is_sound(parts):
    tokens, (p, q) = parts
    step = one_step(p, q)
    for picture in pictures(step, tokens):
        columns = set(picture.data.column_names)
        made = {node["as"] for node in walk(picture.spec) if "as" in node}
        json.dumps(picture.spec)
        for node in walk(picture.spec):
            assert not {"data", "datasets", "values", "url", "usermeta"} & set(node)
            if "field" in node:
                # DI01: a dot, bracket or colon in a field name breaks a chart.
                assert re.fullmatch("[a-z]+", node["field"])
                assert node["field"] in columns | made
        assert list(channels(picture.spec, "x"))
        for x in channels(picture.spec, "x"):
            # DI02: without sort=null Vega sorts by label.
            assert (x["field"], x["type"], x["sort"]) == ("token", "nominal", None)
            assert x["axis"]["labelLimit"] == 0  # or Vega cuts labels that differ at the end
            assert x["axis"]["labelOverlap"] is False  # or Vega drops some
        # Tokens are values, all of them, in order, each under its own text.
        assert in_order(picture) == list(visible(tokens))
        text = json.dumps(picture.spec)
        assert not any(len(token) > 6 and token in text and token not in OWN for token in tokens)
        for row in picture.data.to_pylist():
            assert math.isfinite(row["low"])
            assert math.isfinite(row["high"])
            assert row["low"] <= row["high"]
            assert (row["high"] - row["low"]) == pytest.approx(
                0 if row["part"] in "pq" else float(Fraction(row["exact"])), abs=1e-15
            )  # two roundings of numbers up to 1


@pytest.mark.parametrize(("n", "dark"), [(3, False), (31, True)])
def test_specifications_are_valid_vega_lite(n, dark):
    p = (Fraction(1, n),) * n
    q = (Fraction(2, n), *[Fraction(1, n)] * (n - 2), Fraction(0)) if n > 1 else p
    step = one_step(p, q)
    stacked, *_, side_by_side = pictures(step, [f"t{i}" for i in range(n)], dark)
    for picture in (stacked, side_by_side):  # the others are of the same two kinds
        spec = json.loads(json.dumps(picture.spec))
        for channel in channels(spec, "x", "x2"):
            # Lines stand a little beyond their band. Vega draws that; the schema knows 0 to 1 only.
            if -0.1 <= channel.get("bandPosition", 0) <= 1.1:
                channel.pop("bandPosition", None)
        assert alt.LayerChart.from_dict({**spec, "data": {"name": "table"}}, validate=True).layer


@given(law_pairs())
@settings(max_examples=50)
def test_a_template_does_not_depend_on_the_numbers(pair):
    tokens = [f"t{i}" for i in range(len(pair[0]))]
    other = one_step((1, *[0] * (len(tokens) - 1)), (1, *[0] * (len(tokens) - 1)))
    assert ledger(one_step(*pair), tokens).spec == ledger(other, tokens).spec


def test_dark_and_light_differ_in_lines_not_in_roles():
    for light, dark in zip(pictures(WORKED, ABC), pictures(WORKED, ABC, dark=True), strict=True):
        assert light.spec != dark.spec
        assert light.data == dark.data
        assert light.alt == dark.alt
        scales = [
            [c["scale"] for c in channels(picture.spec, "color") if c["field"] == "part"]
            for picture in (light, dark)
        ]
        assert scales[0] == scales[1] != []


# ---------------------------------------------------------------- heights


@given(ticket_pairs())
def test_the_ledger_stacks_to_p_and_to_q(pair):
    p, q = pair
    step, played = one_step(p, q), play(p, q)
    tokens = [f"t{i}" for i in range(len(p))]
    found = pieces(ledger(step, tokens))
    for i, token in enumerate(tokens):
        kept, owed, thrown = (found.get((token, part)) for part in (KEPT, OWED, THROWN))
        assert size(kept) == played.kept[i]
        assert size(owed) == played.owed[i]
        assert size(thrown) == played.thrown[i]
        assert (kept or owed or thrown or {"low": 0})["low"] == 0
        floor = kept["high"] if kept else 0  # a piece with nothing in it may be left out
        for above in (owed, thrown):
            if above:
                assert above["low"] == floor
        if p[i] >= q[i]:
            assert (owed["high"] if owed else floor) == float(p[i])
        if q[i] >= p[i]:
            assert (thrown["high"] if thrown else floor) == float(q[i])
        for name, vector in ("p", p), ("q", q):
            line = found[token, name]
            assert line["low"] == line["high"] == float(vector[i])
            assert size(line) == vector[i]


@given(ticket_pairs())
def test_owed_and_thrown_away_have_the_same_total(pair):
    found = pieces(ledger(one_step(*pair), [f"t{i}" for i in range(len(pair[0]))]))
    totals = [
        sum((size(row) for (_, part), row in found.items() if part == name), Fraction())
        for name in (OWED, THROWN)
    ]
    assert totals[0] == totals[1] == sum(play(*pair).thrown)


@given(ticket_pairs())
def test_the_reconstruction_stacks_to_p(pair):
    p, _ = pair
    step, played = one_step(*pair), play(*pair)
    tokens = [f"t{i}" for i in range(len(p))]
    found = pieces(reconstruction(step, tokens))
    assert {part for _, part in found} <= {KEPT, ADDED, "p"}
    for i, token in enumerate(tokens):
        kept, added = found.get((token, KEPT)), found.get((token, ADDED))
        assert size(kept) == played.kept[i]
        assert size(kept) + size(added) == p[i] == size(found[token, "p"])
        top = added or kept or {"high": 0}
        assert top["high"] == found[token, "p"]["high"] == float(p[i])
        if added:
            assert added["low"] == (kept["high"] if kept else 0)


@given(ticket_pairs())
def test_the_residual_has_a_bar_for_every_token_from_the_floor(pair):
    step, played = one_step(*pair), play(*pair)
    if played.replacement is None:
        with pytest.raises(AssertionError):
            residual(step, [f"t{i}" for i in range(len(pair[0]))])
        return
    tokens = [f"t{i}" for i in range(len(pair[0]))]
    found = pieces(residual(step, tokens))
    for token, mass in zip(tokens, played.replacement, strict=True):
        bar = found[token, RESIDUAL]
        assert (bar["low"], bar["high"], size(bar)) == (0, float(mass), mass)


@pytest.mark.parametrize("law", ["1/2 1/2", "0 1 0 0", "1"])
def test_an_undefined_residual_is_drawn_nowhere(law):
    # DI10: neither bars of height 0 nor a nan; the ledger and the reconstruction have none owed.
    step = one_step(fractions(law), fractions(law))
    for picture in pictures(step, "ABCD"[: len(step.target)]):
        assert not {OWED, THROWN, ADDED, RESIDUAL} & {part for _, part in pieces(picture)}
        for row in picture.data.to_pylist():
            assert "nan" not in str(row).lower()
            assert "None" not in str(row)
        assert "nan" not in picture.alt.lower()


def test_prediction_and_truth_stand_side_by_side():
    mine = fractions("0 3/5 2/5")
    comparison = compare(Prediction(mine, Fraction(1, 100)), WORKED.residual)
    picture = against_truth(comparison, ABC, "owed")
    found = pieces(picture)
    for i, token in enumerate(ABC):
        assert size(found[token, MINE]) == mine[i]
        assert size(found[token, TRUTH]) == fractions("0 3/4 1/4")[i]
        assert found[token, MINE]["low"] == found[token, TRUTH]["low"] == 0
    offsets = list(channels(picture.spec, "xOffset"))
    assert offsets
    assert all(o["field"] == "part" and o["sort"] == [MINE, TRUTH] for o in offsets)
    assert picture.alt == (
        "Prediction and truth. A: predicted 0, truth 0; B: predicted 0.6, truth 0.75; "
        "C: predicted 0.4, truth 0.25."
    )


def test_a_single_law():
    picture = law(fractions("1/4 3/4"), ("failure", "success"), "one trial")
    assert in_order(picture) == ["failure", "success"]
    assert [size(row) for row in pieces(picture).values()] == [Fraction(1, 4), Fraction(3, 4)]
    assert picture.alt == "one trial. failure 0.25; success 0.75."


# ---------------------------------------------------------------- colours


def colours(picture) -> dict[str, str]:
    scales = [c["scale"] for c in channels(picture.spec, "color") if c["field"] == "part"]
    assert scales
    assert all(scale == scales[0] for scale in scales)
    return dict(zip(scales[0]["domain"], scales[0]["range"], strict=True))


def luminance(colour: str) -> float:
    """WCAG 2: relative luminance of a colour."""
    channel = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channel]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_colours_go_by_role():
    of_ledger, of_sum, of_residual, of_guess = (colours(p) for p in pictures(WORKED, ABC))
    assert list(of_ledger) == [KEPT, OWED, THROWN]
    assert of_sum == {KEPT: of_ledger[KEPT], ADDED: of_ledger[OWED]}
    assert of_residual == {RESIDUAL: of_ledger[OWED]}
    assert list(of_guess) == [MINE, TRUTH]
    assert of_guess[MINE] not in of_ledger.values()
    assert of_guess[MINE] != of_guess[TRUTH]
    # Owed is orange and thrown away is grey (design, section 7); accepted is neither.
    assert len(set(of_ledger.values())) == 3
    red, green, blue = (int(of_ledger[OWED][i : i + 2], 16) for i in (1, 3, 5))
    assert red > green > blue
    grey = {of_ledger[THROWN][i : i + 2] for i in (1, 3, 5)}
    assert len(grey) == 1


@pytest.mark.parametrize("role", ["accepted", "owed"])
def test_the_truth_has_the_colour_of_what_it_is(role):
    comparison = compare(Prediction(fractions("0 3/5 2/5"), Fraction(1, 100)), WORKED.residual)
    shown = colours(against_truth(comparison, ABC, role))
    assert shown[TRUTH] == colours(ledger(WORKED, ABC))[KEPT if role == "accepted" else OWED]


def test_colours_are_not_the_only_sign():
    for picture in pictures(WORKED, ABC):
        assert {sign.text for sign in picture.legend} == {
            part for _, part in pieces(picture)
        } | set(colours(picture))
        for sign in picture.legend:
            assert sign.fill == colours(picture).get(sign.text)
        # p and q are told apart by their dash, and so are their signs.
        dashes = [c["scale"] for c in channels(picture.spec, "strokeDash")]
        for scale in dashes:
            for name, dash in zip(scale["domain"], scale["range"], strict=True):
                (sign,) = [s for s in picture.legend if s.text == name]
                assert sign.dashed == (dash[1] > 0)
            assert len({tuple(dash) for dash in scale["range"]}) == len(scale["domain"])


@pytest.mark.parametrize(("dark", "background"), [(False, "#FFFFFF"), (True, "#0E1117")])
def test_numbers_and_lines_can_be_read(dark, background):
    for picture in pictures(WORKED, ABC, dark):
        fills = colours(picture)
        inked = [row for row in picture.data.to_pylist() if row["part"] in fills]
        assert inked
        for row in inked:
            assert contrast(row["ink"], fills[row["part"]]) >= 4.5
        for node in walk(picture.spec):
            if node.get("type") in ("rule", "text") and "color" in node:
                assert contrast(node["color"], background) >= 4.5
            if node.get("type") == "bar":
                assert contrast(node["stroke"], background) >= 4.5


def test_p_and_q_are_lines_not_areas():
    # So that nothing hides anything.
    lines = [
        layer["mark"]["type"]
        for layer in ledger(WORKED, ABC).spec["layer"]
        if any(f.get("oneOf") == ["p", "q"] for f in walk(layer))
    ]
    assert "rule" in lines
    assert not {"bar", "area", "rect"} & set(lines)


# ---------------------------------------------------------------- labels

DISPLAY = {
    "DI01": (
        ["a.b", "x[0]", "c:d", "t:Q", "it's", 'say "hi"', "back\\slash"],
        "0.4 0.1 0.1 0.1 0.1 0.1 0.1",
        "0.1 0.1 0.1 0.1 0.1 0.1 0.4",
        "3/10",
        0,
    ),
    "DI02": (
        ["the", " a", "zebra", "Apple", "10", "9"],
        "0.3 0.2 0.2 0.1 0.1 0.1",
        "0.2 0.2 0.2 0.2 0.1 0.1",
        "1/10",
        0,
    ),
    "DI03": (
        [
            "very_long_subword_label_that_shares_its_first_sixty_characters__one",
            "very_long_subword_label_that_shares_its_first_sixty_characters__two",
            "short",
        ],
        "0.5 0.25 0.25",
        "0.25 0.5 0.25",
        "1/4",
        0,
    ),
    "DI05": (["the", "the", "a"], "0.2 0.3 0.5", "0.3 0.2 0.5", "1/10", 1),
    "DI07": (
        [" ", "  ", "\n", "\t", " ", "a", " a"],
        "0.25 0.125 0.125 0.125 0.125 0.125 0.125",
        "0.125 0.125 0.125 0.125 0.125 0.125 0.25",
        "1/8",
        0,
    ),
    "DI09": (
        ["$", "$5", "_x_", "*b*", "<b>", "`c`", ":smile:"],
        "0.25 0.125 0.125 0.125 0.125 0.125 0.125",
        "0.125 0.25 0.125 0.125 0.125 0.125 0.125",
        "1/8",
        0,
    ),
    "DI10": (["A", "B"], "0.5 0.5", "0.5 0.5", "0", None),
}


@pytest.mark.parametrize("case", DISPLAY)
def test_display_cases(case):
    tokens, p, q, z, corrected = DISPLAY[case]
    p, q = fractions(p), fractions(q)
    step = one_step(p, q)
    assert step.rejection == Fraction(z)
    assert step.acceptance == 1 - Fraction(z)
    if corrected is None:
        assert step.residual is None
    else:
        assert step.residual == tuple(int(i == corrected) for i in range(len(tokens)))
    for picture in pictures(step, tokens):
        # One bar a token, merged with no other, in the order given.
        labels = in_order(picture)
        assert len(labels) == len(set(labels)) == len(tokens)
        for label in labels:
            assert label in picture.alt
    found = pieces(ledger(step, tokens))
    for label, a, b in zip(in_order(ledger(step, tokens)), p, q, strict=True):
        assert size(found[label, "p"]) == a
        assert size(found[label, "q"]) == b


def test_di05_equal_labels_are_not_added_up():
    tokens, p, q, *_ = DISPLAY["DI05"]
    step = one_step(fractions(p), fractions(q))
    for picture in pictures(step, tokens):
        for (label, part), piece in pieces(picture).items():
            if label.startswith("the") and part in ("p", "q", KEPT):
                assert size(piece) < Fraction(1, 2)


def test_di09_labels_are_literal():
    tokens, p, q, *_ = DISPLAY["DI09"]
    assert in_order(ledger(one_step(fractions(p), fractions(q)), tokens)) == tokens


# ---------------------------------------------------------------- many tokens


@pytest.fixture(scope="module")
def many():
    # DI04
    p = (Fraction(1, 5001),) * 5001
    q = (Fraction(2, 5001), Fraction(0), *p[2:])
    return one_step(p, q), [f"t{i}" for i in range(5001)]


def test_di04_numbers_do_not_depend_on_what_is_drawn(many):
    step, _ = many
    assert step.acceptance == Fraction(5000, 5001)
    assert step.rejection == Fraction(1, 5001)
    assert {i: r for i, r in enumerate(step.residual) if r} == {1: 1}


def test_di04_the_rest_is_one_bar_that_says_how_many_it_is(many):
    step, tokens = many
    rest = "4,972 others"
    for picture in (ledger(step, tokens), reconstruction(step, tokens), residual(step, tokens)):
        labels = in_order(picture)
        assert labels == [*tokens[: MOST_BARS - 1], rest]
        assert len(picture.data) <= 5 * MOST_BARS
        assert rest in picture.alt
        assert len(picture.alt) < 5000
    found = pieces(ledger(step, tokens))
    for name in ("p", "q"):
        drawn = [size(row) for (_, part), row in found.items() if part == name]
        assert sum(drawn) == 1
    assert size(found[rest, "p"]) == size(found[rest, KEPT]) == Fraction(4972, 5001)
    assert size(found["t1", OWED]) == size(found["t0", THROWN]) == Fraction(1, 5001)


def spread(n: int = 40):
    """Forty tokens; the last ones are light, and both owed and thrown away among themselves."""
    p = [Fraction(i + 1) for i in range(n)][::-1]
    q = [p[i + 1 if i % 2 == 0 else i - 1] for i in range(n)]
    whole = sum(p)
    return tuple(x / whole for x in p), tuple(x / whole for x in q)


def test_the_rest_keeps_what_is_owed_and_thrown_away_in_it():
    p, q = spread()
    step = one_step(p, q)
    tokens = [f"t{i}" for i in range(len(p))]
    groups = chart_groups(step)
    assert len(groups) == MOST_BARS
    rest = group_labels(tokens, groups)[-1]
    found = pieces(ledger(step, tokens))
    for part, vector in (KEPT, step.accepted), (OWED, step.shortfall), (THROWN, step.excess):
        assert size(found[rest, part]) == sum(vector[i] for i in groups[-1]) > 0
        drawn = [size(row) for (_, name), row in found.items() if name == part]
        assert sum(drawn) == sum(vector)
    for name, vector in ("p", p), ("q", q):
        assert size(found[rest, name]) == sum(vector[i] for i in groups[-1])


def test_words_keep_what_is_owed_and_thrown_away_in_the_rest():
    # The words stand for the picture: both pieces of the last bar are drawn, so both are said.
    step = one_step(*spread())
    tokens = [f"t{i}" for i in range(len(step.target))]
    last = ledger(step, tokens).alt.split("; ")[-1]
    assert last.startswith("11 others")
    assert " owed " in last
    assert " thrown away " in last


def test_heaviest_tokens_are_the_ones_drawn():
    # By p or q: a token that only the draft loves is thrown away in sight.
    n = 40
    p = (Fraction(1, 2), *[Fraction(1, 2 * (n - 1))] * (n - 1))
    q = (*[Fraction(1, 2 * (n - 1))] * (n - 1), Fraction(1, 2))
    groups = chart_groups(one_step(p, q))
    assert (0,) in groups
    assert (n - 1,) in groups
    assert len(groups) == MOST_BARS


@pytest.mark.parametrize("n", [MOST_BARS - 1, MOST_BARS, MOST_BARS + 1])
def test_the_limit_of_bars(n):
    p = (Fraction(1, n),) * n
    labels = in_order(ledger(one_step(p, p), [f"t{i}" for i in range(n)]))
    assert len(labels) == min(n, MOST_BARS)
    assert ("2 others" in labels) == (n > MOST_BARS)


# ---------------------------------------------------------------- words and numbers


def test_words_of_the_worked_example():
    assert ledger(WORKED, ABC).alt == (
        "Ledger of one step. A: p 0.2, q 0.6, accepted 0.2, thrown away 0.4; "
        "B: p 0.5, q 0.2, accepted 0.2, owed 0.3; C: p 0.3, q 0.2, accepted 0.2, owed 0.1."
    )
    assert reconstruction(WORKED, ABC).alt == (
        "Reconstruction. A: 0.2 + 0 = 0.2, p 0.2; B: 0.2 + 0.3 = 0.5, p 0.5; "
        "C: 0.2 + 0.1 = 0.3, p 0.3."
    )
    assert residual(WORKED, ABC).alt == "residual r. A 0; B 0.75; C 0.25."


def test_a_token_without_a_difference_owes_nothing():
    step = one_step(fractions("1/2 1/4 1/4"), fractions("1/2 1/2 0"))
    assert "A: p 0.5, q 0.5, accepted 0.5, nothing owed;" in ledger(step, ABC).alt


@given(ticket_pairs())
@settings(max_examples=50)
def test_numbers_on_bars_are_those_of_the_bars(pair):
    tokens = [f"t{i}" for i in range(len(pair[0]))]
    for picture in pictures(one_step(*pair), tokens):
        for row in picture.data.to_pylist():
            if row["part"] in ("p", "q"):
                assert row["text"] in (row["part"], "")
            elif row["text"]:
                shown = row["text"].removeprefix("≈")
                assert abs(Fraction(shown) - size(row)) <= Fraction(1, 20000)
                assert row["text"].startswith("≈") == (Fraction(shown) != size(row))


def test_tooltips_hold_token_part_and_exact_value():
    for picture in pictures(WORKED, ABC):
        tips = list(channels(picture.spec, "tooltip"))
        assert tips
        for tip in tips:
            assert [one["field"] for one in tip] == ["token", "part", "exact"]
    third = one_step(fractions("1/3 2/3"), fractions("2/3 1/3"))
    assert pieces(ledger(third, "AB"))["A", KEPT]["exact"] == "1/3"


# ---------------------------------------------------------------- errors against distance

NEAR = one_step(["0.1"] * 10, ["0.10001", "0.09999", *["0.1"] * 8])
CURVES = {kind: error_curve(NEAR, kind) for kind in TYPES}


def error_rows(picture, series):
    return [row for row in picture.data.to_pylist() if row["series"] == series]


def test_each_point_of_a_curve_is_drawn_broken_or_not():
    pictures = error_by_distance(CURVES, NEAR.rejection)
    assert list(pictures) == list(TYPES)
    for kind, picture in pictures.items():
        for i, name in enumerate(FORMULAS):
            rows = error_rows(picture, name)
            assert [row["distance"] for row in rows] == [float(p.distance) for p in CURVES[kind]]
            for row, point in zip(rows, CURVES[kind], strict=True):
                how = point.breaks[i]
                assert row["mark"] == (how or name)
                if point.errors[i]:
                    assert row["error"] == float(point.errors[i])
        (here,) = error_rows(picture, "this pair")
        assert here["distance"] == float(NEAR.rejection)
    marks = {row["mark"] for row in pictures["bfloat16"].data.to_pylist()}
    assert marks >= {"gives 0", "gives less than 0", *FORMULAS}


@pytest.mark.parametrize("dark", [False, True])
def test_the_axes_hold_every_point_on_logarithms(dark):
    for picture in error_by_distance(CURVES, NEAR.rejection, dark=dark).values():
        spec = json.loads(json.dumps(picture.spec))
        assert alt.LayerChart.from_dict({**spec, "data": {"name": "table"}}, validate=True).layer
        assert not {"data", "datasets"} & {key for node in walk(spec) for key in node}
        for channel, field in (("x", "distance"), ("y", "error")):
            (scale,) = {json.dumps(c["scale"]) for c in channels(spec, channel) if "scale" in c}
            low, high = json.loads(scale)["domain"]
            assert json.loads(scale)["type"] == "log"
            values = [row[field] for row in picture.data.to_pylist()]
            assert 0 < low <= min(values)
            assert max(values) <= high
        assert len({json.dumps(c["scale"]["range"]) for c in channels(spec, "shape")}) == 1


def test_an_error_of_0_stands_on_the_lower_edge():
    step = one_step(["1/2", "1/2"], ["1/4", "3/4"])
    picture = error_by_distance({"float16": error_curve(step, "float16")}, step.rejection)[
        "float16"
    ]
    (y,) = {json.dumps(c["scale"]["domain"]) for c in channels(picture.spec, "y") if "scale" in c}
    low, _ = json.loads(y)
    first = error_rows(picture, FORMULAS[0])[0]
    assert (first["off"], first["error"], first["how"]) == ("0", low, "not broken")


def test_the_axis_reaches_to_the_pair_even_where_the_curve_has_ended():
    step = one_step(["0.2", "0.5", "0.3"], ["0.2000001", "0.4999999", "0.3"])
    curve = error_curve(step, "float16")
    assert min(point.distance for point in curve) > 10 * step.rejection
    (picture,) = error_by_distance({"float16": curve}, step.rejection).values()
    (here,) = error_rows(picture, "this pair")
    (x,) = {json.dumps(c["scale"]["domain"]) for c in channels(picture.spec, "x") if "scale" in c}
    assert json.loads(x)[0] <= here["distance"] == 1e-7
    assert marked(picture)


def test_a_pair_far_beyond_the_curve_leaves_it_its_room():
    step = one_step(["0.5", "0.5"], [f"0.5{'0' * 49}1", f"0.4{'9' * 50}"])
    (picture,) = error_by_distance(
        {"float16": error_curve(step, "float16")}, step.rejection
    ).values()
    (x,) = {json.dumps(c["scale"]["domain"]) for c in channels(picture.spec, "x") if "scale" in c}
    assert json.loads(x)[0] > 1e-10
    assert not marked(picture)


def test_the_curve_in_words():
    picture = error_by_distance(CURVES, NEAR.rejection)["bfloat16"]
    assert picture.alt.startswith(
        "Relative error of Z in bfloat16, against the distance of p and q. Σ max(p − q, 0) off by "
    )
    assert picture.alt.count("breaks first at") == 2
    assert [sign.text for sign in picture.legend] == list(FORMULAS)
    assert [sign.dashed for sign in picture.legend] == [False, True]
    assert len({sign.line for sign in picture.legend}) == 2

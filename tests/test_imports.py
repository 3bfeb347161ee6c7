"""Arrows run one way (design, section 4): nobody imports from beside or above themselves.

Files are parsed, not run, so an import inside a function or behind TYPE_CHECKING counts too. A
file that cannot be parsed and a module that has no place yet fail the test instead of passing it.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# From the ground up, as the design places them. A module may import those of lower layers, and of
# its own layer only those that stand before it.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("errors",),
    ("figures", "labels"),
    ("vectors",),
    ("step", "binomial", "groups", "models", "wheel", "rules", "evidence"),
    ("prediction", "display", "block", "worth", "draws", "mistakes", "feedback", "precision"),
    ("scenario", "pairs", "tables", "charts"),
    (
        "audit.rows",
        "audit.suspects",
        "audit.findings",
        "audit.claims",
        "audit.counted",
        "audit.auditor",
        "audit",
        "audit.fields",
        "audit.arrays",
        "audit.sheets",
        "audit.material",
        "audit.report",
        "audit.excerpt",
    ),
    ("__main__",),
)
ORDER = [name for layer in LAYERS for name in layer]
OUTSIDE = {  # what a layer may use besides the standard library
    "lab": {"numpy"},
    "lab.charts": {"numpy", "altair", "pyarrow"},
    "lab.evidence": {"numpy", "scipy"},
    "lab.audit.arrays": {"numpy", "ml_dtypes"},
    "lab.precision": {"numpy", "ml_dtypes"},
}
PARTS, PAGES, APP = "pages.parts", "pages", "app"


def imported(source: str, package: str) -> Iterator[str]:
    """What `source`, a module in `package`, imports: dotted names, down to what it takes."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, *([base] if base else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            name = node.func.id if isinstance(node.func, ast.Name) else name
            if name in ("__import__", "import_module"):
                raise AssertionError(f"{package}: an import that this test cannot follow")


def sources(folder: str, pattern: str = "*.py") -> list[Path]:
    return sorted((ROOT / folder).rglob(pattern))


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def uses(path: Path) -> set[str]:
    name = module_name(path)
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    return set(imported(path.read_text(encoding="utf-8"), package))


def lab_modules(names: set[str]) -> set[str]:
    """The modules of lab among dotted names; ``lab`` itself for what the package exports."""
    found = set()
    for name in names:
        parts = name.split(".")
        if parts[0] == "lab":
            known = [".".join(parts[1:n]) for n in range(len(parts), 1, -1)]
            found.add(next((inner for inner in known if inner in MODULES), "lab"))
    return found


LAB = [path for path in sources("lab") if path != ROOT / "lab" / "__init__.py"]
MODULES = {module_name(path).removeprefix("lab."): path for path in LAB}


def test_every_module_of_lab_has_one_place():
    assert len(set(ORDER)) == len(ORDER)
    assert set(MODULES) == set(ORDER)


@pytest.mark.parametrize("name", MODULES)
def test_arrows_inside_lab_run_one_way(name):
    below = set(ORDER[: ORDER.index(name)])
    within = lab_modules(uses(MODULES[name]))
    assert within <= below, f"{name} imports {sorted(within - below)}"


@pytest.mark.parametrize("path", sources("lab"), ids=lambda path: path.stem)
def test_lab_imports_no_screen_and_little_else(path):
    name = module_name(path)
    allowed = OUTSIDE.get(name, OUTSIDE["lab"]) | {"lab"} | sys.stdlib_module_names
    tops = {used.split(".")[0] for used in uses(path)}
    assert tops <= allowed, f"{name} imports {sorted(tops - allowed)}"
    assert "streamlit" not in path.read_text(encoding="utf-8").lower()


def test_the_package_exports_from_the_lower_layers_only():
    # Else `import lab` would load charts and files for those who want one function.
    exported = lab_modules(uses(ROOT / "lab" / "__init__.py"))
    assert exported
    assert not exported & {"scenario", "pairs", "tables", "charts", "__main__"}


def screen_files() -> list[Path]:
    files = sources("pages")
    return files + [path for path in [ROOT / "app.py"] if path.exists()]


@pytest.mark.parametrize("path", screen_files(), ids=module_name)
def test_arrows_of_the_screen_run_one_way(path):
    name = module_name(path)
    for used in uses(path):
        if used.split(".")[0] == APP:
            raise AssertionError(f"{name} imports {used}, which stands above everything")
        if used.split(".")[0] != PAGES or name == APP:
            continue
        # Parts and pages both use parts only; no page imports a page.
        assert used.startswith(f"{PARTS}.") or used == PARTS, f"{name} imports {used}"


def test_parts_do_not_go_round_in_circles():
    arrows = {
        module_name(path): {
            target
            for used in uses(path)
            for target in (used, used.rpartition(".")[0])
            if (ROOT / (target.replace(".", "/") + ".py")).exists()
        }
        for path in sources("pages/parts")
    }
    done: set[str] = set()

    def visit(name: str, on_the_way: tuple[str, ...]) -> None:
        assert name not in on_the_way, " → ".join((*on_the_way, name))
        if name not in done:
            for target in arrows.get(name, ()):
                visit(target, (*on_the_way, name))
            done.add(name)

    for name in arrows:
        visit(name, ())
    assert done >= set(arrows)


def test_imports_of_every_shape_are_seen():
    source = """
import a.b as c
from lab import step
def f():
    from lab.vectors import total
if TYPE_CHECKING:
    import streamlit
from . import near
from .near import x
from .. import far
"""
    assert set(imported(source, "pages.parts")) == {
        "a.b",
        "lab.step",
        "lab.vectors.total",
        "streamlit",
        "pages.parts.near",
        "pages.parts.near.x",
        "pages.far",
    }
    assert lab_modules({"lab.step", "lab.vectors.total", "lab.one_step"}) == {
        "step",
        "vectors",
        "lab",
    }


@pytest.mark.parametrize("source", ["def (", "import importlib\nimportlib.import_module('x')"])
def test_what_cannot_be_followed_is_not_passed_over(source):
    with pytest.raises((SyntaxError, AssertionError)):
        set(imported(source, "lab"))


def test_importing_lab_loads_no_charts_no_tables_and_no_screen():
    code = (
        "import sys, lab; "
        "print(*sorted({name.split('.')[0] for name in sys.modules}), lab.one_step, sep='\\n')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.splitlines())
    assert {"lab", "numpy"} <= loaded
    assert not {"altair", "pandas", "pyarrow", "streamlit"} & loaded

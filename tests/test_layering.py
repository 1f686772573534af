"""Imports point up only: text, then the language, the model, schedules, code, the runtime, the commands, operations on top."""

import ast
from pathlib import Path

import polyml

ROOT = Path(polyml.__file__).parent
LAYERS = (
    (
        "source", "files", "input_limits", "userfiles", "definition", "interrupts", "errors", "reasons", "dtypes", "numpy_dtypes", "debug", "config",
        "polyhedra", "machine", "hardware",
    ),
    ("frontend",),
    ("model",),
    ("schedule",),
    ("codegen",),
    ("runtime",),
    ("caches",),
    ("machines", "bundles"),
    ("compile_budget", "pipeline", "target", "api", "bench", "gpu", "report", "simulate", "defects", "cli", "__main__"),
    ("ops",),
)
LAYER = {name: rank for rank, names in enumerate(LAYERS) for name in names}
FILES = sorted(p for p in ROOT.rglob("*.py") if p != ROOT / "__init__.py")


def layer_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports(text: str, package: str) -> set[str]:
    """Full names of everything a module imports, wherever in the file. package: of the module, for relative imports."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            found |= {f"{module}.{alias.name}" for alias in node.names}
    return found


def upward(path: Path, text: str) -> list[str]:
    """The imports of a file that point to a later layer."""
    own = LAYER[layer_of(path)]
    package = ".".join(("polyml", *path.relative_to(ROOT).parts[:-1]))
    targets = sorted(n for n in imports(text, package) if n.split(".")[0] == "polyml")
    return [n for n in targets if n.split(".")[1:2] and LAYER.get(n.split(".")[1], len(LAYERS)) > own]


def test_every_file_belongs_to_a_layer():
    assert {layer_of(p) for p in FILES} <= set(LAYER)


def test_imports_point_up_only():
    wrong = {str(p.relative_to(ROOT)): found for p in FILES if (found := upward(p, p.read_text()))}
    assert wrong == {}


def test_an_import_of_a_later_layer_would_be_found():
    inside = "def f():\n    from polyml.codegen import llvm\n"
    assert upward(ROOT / "model" / "scop.py", inside) == ["polyml.codegen.llvm.emit"]
    assert upward(ROOT / "model" / "scop.py", "from ..schedule import tree") == ["polyml.schedule.tree.bands"]
    assert upward(ROOT / "errors.py", "import polyml.frontend.syntax") == ["polyml.frontend.syntax"]
    assert upward(ROOT / "codegen" / "llvm.py", "from polyml.model.core.scop import Scop\nimport numpy") == []


def test_the_frontend_does_not_know_isl():
    for path in (ROOT / "frontend").rglob("*.py"):
        names = imports(path.read_text(), "polyml.frontend")
        assert not any(n.startswith(("islpy", "polyml.polyhedra")) for n in names), path.name


def test_isl_dimensions_are_addressed_by_position_in_one_package():
    assert {layer_of(p) for p in FILES if "dim_type" in p.read_text()} == {"polyhedra"}


def test_only_the_top_imports_terminal_libraries():
    for path in FILES:
        if layer_of(path) not in ("bench", "cli", "__main__"):
            names = {n.split(".")[0] for n in imports(path.read_text(), "polyml")}
            assert not names & {"click", "rich"}, path

"""Imports point up this list only: text, then the language, the model, schedules, code, the runtime, reports, the commands, operations."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from tests.codebase import ROOT, Codebase, imports

# folders, and modules of the uppermost one; those of one line may import from one another
LAYERS = (
    ("values", "source", "interrupts", "tracebacks", "errors", "reasons", "dtypes", "numpy_dtypes"),
    ("reading",),
    ("polyhedra",),
    ("quasi_affine",),
    ("drawing",),
    ("machines",),
    ("config", "debug", "pass_manager"),
    ("frontend",),
    ("frontend.library",),
    ("frontend.library.whole_arrays",),
    ("frontend.text",),
    ("frontend.sparse",),
    (
        "frontend.parsing",
        "frontend.parsing.functions",
        "frontend.parsing.sequences",
        "frontend.parsing.lists",
    ),  # names below, statements above
    ("frontend.lifting",),
    (
        "frontend.arrays",
        "frontend.arrays.functions",
        "frontend.arrays.sequences",
        "frontend.arrays.selecting",
        "frontend.arrays.statistics",
    ),  # views below, statements above
    ("frontend.algebra",),
    ("frontend.types",),
    ("model.index_arrays",),
    ("model.core",),
    ("model.nest_passes",),
    ("model.nest_passes.elements",),
    ("model.lowering.arithmetic",),
    ("model.lowering", "model.lowering.regions"),  # names and declarations below, the nest above
    ("model.scop_passes",),
    ("model.running_maximum",),
    ("model.counting",),
    ("schedule.tree",),
    ("model.references",),  # with the loops that two statements share
    ("model.text",),  # which has the source's order in it
    ("schedule.legality",),
    ("schedule.analysis",),
    ("schedule.affine",),
    ("schedule.tiling",),
    ("schedule.strips",),
    ("schedule",),
    ("schedule.gpu.libraries", "schedule.gpu"),  # products below, where they are placed above
    ("schedule.script",),
    ("schedule.replay",),
    ("codegen.ir",),
    ("codegen.dot_products",),
    ("codegen.text",),
    ("codegen.presburger",),
    ("codegen.astgen",),
    ("codegen.analysis",),
    ("codegen.costs",),
    ("codegen.lifetimes",),
    ("codegen.register_tiles",),
    ("codegen.passes",),
    ("codegen.passes.packing",),
    (
        "codegen.llvm",
        "codegen.llvm.elementary",
        "codegen.llvm.statements",
        "codegen.llvm.regions",
        "codegen.llvm.lanes",
        "codegen.llvm.loops",
    ),  # arithmetic below, functions above
    ("codegen.gpu.block_loops", "codegen.gpu.rows", "codegen.gpu"),  # registers below, launches above
    ("codegen.gpu.text.device_functions",),
    ("codegen.gpu.text.block_loops", "codegen.gpu.text"),  # values below, kernels above
    ("codegen.interpreter",),
    ("checks.symbolic",),
    ("checks",),
    ("runtime.storage",),
    ("runtime.loading",),
    ("runtime.calling",),
    ("runtime.gpu.toolkit",),
    ("runtime.gpu.host", "runtime.gpu", "runtime.gpu.cuda"),  # arrays and queues below, where a call runs above
    ("measure",),
    ("bundles",),
    ("pictures",),
    ("caches.simulator",),
    ("pictures.arrays",),
    ("caches.analytic",),
    ("gpu.warps",),
    ("gpu.teams", "gpu"),  # places below, launches above
    ("pictures.threads",),
    ("pictures.graphs",),
    ("pipeline.printing",),
    ("pipeline", "pipeline.regions"),  # stages below, what runs them above
    ("pipeline.from_text", "pipeline.gpu"),
    ("performance",),
    ("tune.tiles",),
    ("remarks",),
    ("remarks.devices",),
    ("explorer",),
    ("report",),
    ("report.gpu",),
    ("remarks.formats",),
    ("systolic.recurrences",),
    ("systolic.folding",),
    ("systolic.mapping",),
    ("systolic.program",),
    ("systolic.simulate", "systolic.simulate.llvm"),  # the call chooses between the engines, which share registers and spans
    ("systolic.report", "systolic.report.pictures"),
    ("api.compiling",),
    ("api.calls",),
    ("api.inspecting",),
    ("api.explaining",),
    ("api", "api.exploring"),  # the method below, the page that it makes above
    ("ahead_of_time.c_interface", "ahead_of_time"),  # what a signature is below, libraries above
    ("api.plotting",),
    ("api.notebook",),
    ("ops",),
    ("defects",),
    ("cli.inputs",),
    ("cli.commands", "cli.commands.explaining", "cli.commands.pages", "cli.commands.libraries"),
    ("cli", "__main__"),
)
LAYER = {name: rank for rank, names in enumerate(LAYERS) for name in names}
MOST_MODULES = 12  # of a folder: what a reader takes in at a glance
CODE = Codebase()


def layer_of(name: str) -> int:
    """The layer of a module or of what it defines, by its full name."""
    words = name.split(".")[1:]
    return next((LAYER[key] for n in range(len(words), 0, -1) if (key := ".".join(words[:n])) in LAYER), len(LAYERS))


def upward(path: Path, text: str) -> list[str]:
    """The imports of a file that point to a later layer."""
    own = layer_of(CODE.name_of(path))
    return sorted(name for name in CODE.own_imports(path, text) if layer_of(name) > own and CODE.module_of(name) in CODE.modules)


def test_every_folder_has_a_layer():
    homes = {CODE.name_of(p if p.parent == ROOT else p.parent) for p in CODE.files if p.name != "__init__.py"}
    assert homes == {f"polyml.{name}" for name in LAYER}


def test_imports_point_up_only():
    wrong = {str(p.relative_to(ROOT)): found for p in CODE.files if (found := upward(p, p.read_text()))}
    assert wrong == {}


def test_an_import_of_a_later_layer_would_be_found():
    inside = "def f():\n    from polyml.codegen.llvm import emit\n"
    assert upward(ROOT / "model" / "core" / "scop.py", inside) == ["polyml.codegen.llvm.emit"]
    assert upward(ROOT / "model" / "core" / "scop.py", "from ...schedule.tree import bands") == ["polyml.schedule.tree.bands"]
    assert upward(ROOT / "errors.py", "import polyml.frontend.syntax") == ["polyml.frontend.syntax"]
    assert upward(ROOT / "codegen" / "passes" / "vectorize.py", "from polyml.codegen.llvm.emit import emit") == [
        "polyml.codegen.llvm.emit.emit"
    ]
    assert upward(ROOT / "codegen" / "llvm" / "emit.py", "from polyml.model.core.scop import Scop\nimport numpy") == []


def test_no_modules_import_one_another_in_a_circle():
    """Neither at load time, nor inside functions or under TYPE_CHECKING."""
    try:
        TopologicalSorter(CODE.graph).prepare()
    except CycleError as problem:
        raise AssertionError(f"a circle: {' -> '.join(problem.args[1])}") from None


def test_folders_are_small_and_say_what_lives_there():
    for folder in CODE.folders:
        assert ast.get_docstring(ast.parse((folder / "__init__.py").read_text())), folder
        modules = [p for p in folder.glob("*.py") if p.name != "__init__.py"]
        assert len(modules) <= MOST_MODULES, (
            f"{folder} has {len(modules)} modules, more than {MOST_MODULES}: "
            "put some in a sub-folder, with a line in LAYERS here and in ARCHITECTURE.md's map"
        )


def test_the_compiler_does_not_know_the_kernels_it_is_measured_with():
    """`polyml.kernels` is the folder kernels/ of the repository."""
    users = {p.parent for p in CODE.files if any(name.startswith("polyml.kernels") for name in CODE.own_imports(p, p.read_text()))}
    assert users == {ROOT / "cli" / "commands"}


def test_the_frontend_does_not_know_isl():
    for path in (ROOT / "frontend").rglob("*.py"):
        names = imports(path.read_text(), "polyml.frontend")
        assert not any(n.startswith(("islpy", "polyml.polyhedra")) for n in names), path.name


def test_isl_dimensions_are_addressed_by_position_in_one_package():
    assert {p.relative_to(ROOT).parts[0] for p in CODE.files if "dim_type" in p.read_text()} == {"polyhedra"}


def test_only_the_top_imports_terminal_libraries():
    for path in CODE.files:
        if path.relative_to(ROOT).parts[0] not in ("cli", "__main__.py"):
            names = {n.split(".")[0] for n in imports(path.read_text(), "polyml")}
            assert not names & {"click", "rich"}, path

"""The JSON Schemas of docs/schemas, made from documents that commands write:  python -m tests.docs.schemas

A schema has the fields that the documents of `EXAMPLES` have, and no others; a field that all of them have is required. Tests hold other
documents against it.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from tests.cli.running import run

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "schemas"
DIALECT = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True)
class Document:
    """A kind of document.

    what: what it is, for the schema's title.
    examples: commands that write one, without `--json`; KERNELS/ stands for the folder of kernels, FOLDER for one to write to.
    others: commands whose documents tests hold against the schema.
    maps: paths of objects whose keys are names of the kernel or of the machine, such as "sizes" or "forms[].arrays".
    nodes: paths of lists whose items are trees of one kind, which have lists of the same name.
    nullable: paths of fields that may be null though no example's is.
    by: the field whose value tells kinds of the document apart; "": there is one kind.
    """

    what: str
    examples: tuple[str, ...]
    others: tuple[str, ...]
    maps: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    nullable: tuple[str, ...] = ()
    by: str = ""


_CPU = "--machine zen4 --threads 1"
_REMARK = (
    "cost",
    "conflict.sizes",
    "conflict.distance",
    "conflict.source.values",
    "conflict.sink.values",
)  # objects with names as keys
DOCUMENTS = {
    "report": Document(
        "`polyml report --json`, `Report.data()`: a kernel on a processor",
        (
            f"report KERNELS/gemm.py --preset MINI {_CPU}",
            f"report KERNELS/gemm.py --preset MINI {_CPU} --tile 8 --cache 2K:4:64",
            "report KERNELS/jacobi_1d.py --preset MINI --machine skylake-sp --threads 2 --coherent",
            "report KERNELS/nussinov.py --preset MINI --machine avx2 --threads 1 --no-simulation",
            "report KERNELS/durbin.py --preset MINI --machine neoverse-v2 --threads 1",
        ),
        (f"report KERNELS/jacobi_2d.py --preset MINI {_CPU}", f"report KERNELS/trisolv.py --preset MINI {_CPU}"),
        maps=("sizes", "operations.by_type", "footprints[].arrays", "forms[].misses.levels[].arrays", "forms[].prediction.moves"),
    ),
    "gpu_report": Document(
        "`polyml report --target cuda --json`: a kernel on a GPU",
        ("report KERNELS/gemm.py --preset MINI --target cuda", "report KERNELS/jacobi_2d.py --preset MINI --target cuda"),
        ("report KERNELS/syrk.py --preset MINI --target cuda",),
        maps=("sizes", "forms[].launches[].occupancy.limits"),
    ),
    "systolic_report": Document(
        "`polyml report --target systolic --json`: mappings on a systolic array",
        (
            "report KERNELS/gemm.py --preset MINI --target systolic --array 4x4",
            "report KERNELS/k2mm.py --preset MINI --target systolic --array 8x4 --dataflow ws",
        ),
        ("report KERNELS/gemm.py --preset MINI --target systolic --array 8x8 --dataflow is",),
        maps=("sizes", "nests[].mappings[].enters"),
    ),
    "simulation": Document(
        "`polyml simulate --json`: values from a simulated array",
        ("simulate KERNELS/gemm.py --preset MINI --array 4x4", "simulate KERNELS/k2mm.py --preset MINI --array 4x4 --dataflow all"),
        ("simulate KERNELS/gemm.py --preset MINI --array 8x4 --dataflow ws",),
        maps=("sizes", "simulations[].nests[].enters"),
    ),
    "build": Document(
        "`polyml build --json`: the files of a library",
        (
            "build KERNELS/trisolv.py --signature f64[N,N],f64[N],f64[N] -o FOLDER",
            "build KERNELS/trisolv.py --signature f64[N,N],f64[N],f64[N] -o FOLDER --object-only",
        ),
        ("build KERNELS/durbin.py --signature f64[N],f64[N] -o FOLDER --cpu neoverse-n1 --object-only",),
    ),
    "run": Document(
        "`polyml run --json`: a call, its results and times",
        ("run KERNELS/gemm.py --preset MINI", "run KERNELS/trisolv.py --preset MINI"),
        ("run KERNELS/jacobi_2d.py --preset MINI",),
        maps=("size", "changed"),
    ),
    "bench": Document(
        "`polyml bench --json`: kernels, checked and timed",
        ("bench gemm durbin floyd_warshall --preset MINI", "bench jacobi_1d --preset MINI --check-only"),
        ("bench trisolv --preset MINI",),
        maps=("[].size",),
    ),
    "machine": Document(
        "`polyml machine --json`: a processor, a GPU or a systolic array",
        ("machine zen4", "machine", "machine --measure", "machine neoverse-v1", "machine h100", "machine tpu-v1", "machine gemmini"),
        ("machine skylake-sp", "machine avx512"),
        by="kind",
    ),
    "doctor": Document("`polyml doctor --json`: versions, the host and a self-test", ("doctor",), ("doctor",), maps=("settings",)),
    "cache_info": Document("`polyml cache info --json`: what is on disk", ("cache info",), ("cache info",), nullable=("oldest_use_seconds",)),
    "cache_verify": Document("`polyml cache verify --json`: whether it is intact", ("cache verify",), ("cache verify",)),
    "cache_clear": Document("`polyml cache clear --json`: what was removed", ("cache clear",), ("cache clear",)),
    "domain": Document(
        "`polyml show --stage domain --json`: statements, accesses, arrays and checks",
        tuple(f"show KERNELS/{name}.py --stage domain" for name in ("gemm", "nussinov", "durbin", "jacobi_2d", "correlation")),
        ("show KERNELS/adi.py --stage domain", "show KERNELS/lu.py --stage domain"),
    ),
    "dependences": Document(
        "`polyml show --stage deps --json`: dependences by kind, as relations",
        tuple(f"show KERNELS/{name}.py --stage deps" for name in ("gemm", "jacobi_2d", "trisolv", "nussinov", "durbin")),
        ("show KERNELS/cholesky.py --stage deps", "show KERNELS/atax.py --stage deps"),
    ),
    "stage": Document(
        "`polyml show --stage kernel|llvm|asm --json`, also `--after` and of GPUs: a text by the name of its stage",
        ("show KERNELS/gemm.py --stage llvm", "show KERNELS/gemm.py --after pack"),
        ("show KERNELS/gemm.py --stage kernel", "show KERNELS/gemm.py --stage opencl"),
        maps=("",),
    ),
    "schedule": Document(
        "`polyml show --stage schedule --json`: the schedule tree and what was decided",
        tuple(f"show KERNELS/{name}.py --stage schedule" for name in ("gemm", "jacobi_2d", "durbin", "correlation")),
        ("show KERNELS/adi.py --stage schedule", "show KERNELS/k3mm.py --stage schedule"),
    ),
    "schedule_loops": Document(
        "`polyml schedule --json`: a schedule as loops with names and directives",
        (*(f"schedule KERNELS/{name}.py --preset MINI" for name in ("gemm", "nussinov", "correlation")), "schedule KERNELS/lu.py --preset MEDIUM"),
        ("schedule KERNELS/syrk.py --preset MINI", "schedule KERNELS/jacobi_2d.py --preset MINI --from source"),
        maps=("loops[].counts", "body[].counts", "body.counts"),
        nodes=("body",),
    ),
    "remarks": Document(
        "`polyml explain --json`, `k.explain().data()[0]`: what was done to each loop of the source and what was not",
        tuple(f"explain KERNELS/{name}.py" for name in ("gemm", "durbin", "correlation", "doitgen", "nussinov", "seidel_2d", "atax")),
        ("explain KERNELS/syrk.py", "explain KERNELS/adi.py", "explain KERNELS/lu.py"),
        maps=tuple(f"{on}[].remarks[].{name}" for on in ("loops", "statements") for name in _REMARK) + tuple(f"arrays[].{name}" for name in _REMARK),
        nullable=("loops[].place", "statements[].place", *(f"loops[].remarks[].conflict.{end}.place" for end in ("source", "sink"))),
    ),
    "program": Document(
        "`polyml show --stage ast --json`: the loops of a compiled kernel",
        tuple(f"show KERNELS/{name}.py --stage ast" for name in ("gemm", "jacobi_2d", "durbin", "trisolv", "correlation", "nussinov")),
        ("show KERNELS/syrk.py --stage ast", "show KERNELS/atax.py --stage ast"),
        nodes=("body",),
    ),
}  # fmt: skip


def documents(commands: Iterable[str]) -> Iterator[object]:
    """Yields what commands print with `--json`."""
    for command in commands:
        with tempfile.TemporaryDirectory() as folder:
            words = command.replace("KERNELS", str(ROOT / "kernels")).replace("FOLDER", folder).split()
            out, _ = run(*words, "--json")
        yield json.loads(out)


def schema(name: str) -> dict[str, object]:
    """The schema of a kind of document, made from its examples."""
    document = DOCUMENTS[name]
    maker = _Maker(document)
    found = list(documents(document.examples))
    if document.by:
        kinds = sorted({each[document.by] for each in found})
        made: dict[str, object] = {"oneOf": [maker.of_kind(kind, found) for kind in kinds]}
    else:
        made = maker.of(found, "")
    defined = {"$defs": {node: maker.of(items, node) for node, items in maker.trees.items()}} if maker.trees else {}
    return {"$schema": DIALECT, "$id": f"polyml:{name}", "title": document.what, **made, **defined}


class _Maker:
    """Makes schemas of values. trees: the nodes of trees by the name of their lists."""

    def __init__(self, document: Document):
        self.document = document
        self.trees: dict[str, list[object]] = {}

    def of_kind(self, kind: str, found: Sequence[Mapping[str, object]]) -> dict[str, object]:
        """The schema of the documents of one kind, which the field `by` has as its only value."""
        made = self.of([each for each in found if each[self.document.by] == kind], "")
        made["properties"][self.document.by] = {"const": kind}
        return made

    def of(self, values: Sequence[object], path: str) -> dict[str, object]:
        """The schema of the values that were seen at a path, such as "forms[].misses"."""
        kinds = sorted({_kind(value) for value in values} | ({"null"} if path in self.document.nullable else set()))
        if {"integer", "number"} <= set(kinds):
            kinds.remove("integer")
        made: dict[str, object] = {"type": kinds[0] if len(kinds) == 1 else kinds} if kinds else {}
        if "object" in kinds:
            made |= self._object([value for value in values if isinstance(value, dict)], path)
        if "array" in kinds:
            made["items"] = self._items([item for value in values if isinstance(value, list) for item in value], path)
        return made

    def _object(self, values: Sequence[Mapping[str, object]], path: str) -> dict[str, object]:
        if path in self.document.maps:
            return {"additionalProperties": self.of([each for value in values for each in value.values()], f"{path}.*")}
        names = dict.fromkeys(name for value in values for name in value)
        inner = {name: self.of([v[name] for v in values if name in v], f"{path}.{name}".lstrip(".")) for name in names}
        required = [name for name in names if all(name in value for value in values)]
        return {"properties": inner, "required": required, "additionalProperties": False}

    def _items(self, items: list[object], path: str) -> dict[str, object]:
        name = path.rpartition(".")[2]
        if name not in self.document.nodes:
            return self.of(items, f"{path}[]")
        self._collect(name, items)
        return {"$ref": f"#/$defs/{name}"}

    def _collect(self, name: str, items: list[object]) -> None:
        if name not in self.trees:
            self.trees[name] = []
        known = {id(item) for item in self.trees[name]}
        for item in items:
            if id(item) not in known:
                self.trees[name].append(item)
                self._collect(name, item.get(name, []))


def _kind(value: object) -> str:
    """JSON Schema's word for a value's type."""
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object", type(None): "null"}
    return names[type(value)]


def text(name: str) -> str:
    """The schema of a kind of document as the text of its file."""
    flat = re.compile(r"([\[{])\s+([^\[\]{}]*?)\s+([\]}])")
    short = flat.sub(lambda found: f"{found[1]}{' '.join(found[2].split())}{found[3]}", json.dumps(schema(name), indent=1))
    return f"{short}\n"


def main() -> None:
    """Writes all schemas, with a cache of their own."""
    with tempfile.TemporaryDirectory() as cache, mock.patch.dict(os.environ, POLYML_CACHE_DIR=f"{cache}/cache"):
        for name in DOCUMENTS:
            (FOLDER / f"{name}.json").write_text(text(name), encoding="utf-8")
            print(FOLDER / f"{name}.json")


if __name__ == "__main__":
    main()

"""The package as files: its modules, its folders, and who imports whom."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import polyml

ROOT = Path(polyml.__file__).parent


@dataclass(frozen=True)
class Codebase:
    """root: the folder of the package, whose name is the first word of its modules' names."""

    root: Path = ROOT

    @cached_property
    def files(self) -> list[Path]:
        """Every module but the package's own `__init__`, which joins the others."""
        return sorted(p for p in self.root.rglob("*.py") if p != self.root / "__init__.py")

    @cached_property
    def folders(self) -> list[Path]:
        return sorted({p.parent for p in self.files} - {self.root})

    @cached_property
    def modules(self) -> Mapping[str, Path]:
        """The file of each module, by the module's full name."""
        return {self.name_of(path): path for path in self.files}

    def name_of(self, path: Path) -> str:
        """The full name of a module's file, or of a folder."""
        return ".".join((self.root.name, *path.relative_to(self.root).with_suffix("").parts)).removesuffix(".__init__")

    def own_imports(self, path: Path, text: str) -> Iterator[str]:
        """Full names of the package's modules that a file imports, and of what it imports from them."""
        package = ".".join((self.root.name, *path.relative_to(self.root).parts[:-1]))
        return (name for name in imports(text, package) if name.startswith(self.root.name + "."))

    def module_of(self, name: str) -> str:
        """The module in which an imported name is: the name itself, or what is in front of its last dot."""
        return name if name in self.modules else name.rpartition(".")[0]

    @cached_property
    def graph(self) -> Mapping[str, set[str]]:
        """What each module imports, at load time, inside functions and under TYPE_CHECKING alike."""
        return {
            name: {self.module_of(each) for each in self.own_imports(path, path.read_text())} - {name}
            for name, path in self.modules.items()
        }


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

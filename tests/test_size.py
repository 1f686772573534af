"""The figures of `python -m tasks size`, on a small package whose figures can be counted by hand."""

from tests.codebase import Codebase
from tests.size import measured

FILES = {
    "__init__.py": "",
    "a/__init__.py": '"""A folder."""\n',
    "a/one.py": "from p.b import two\n\n\nclass Found:\n    def sum(self, x, y):\n        return x + y\n",
    "a/same.py": "class Found:\n    pass\n",
    "b/__init__.py": "",
    "b/two.py": "def f(a, b, c, *, d, e, g, h):\n    from p.a.one import Found\n    return Found\n",
    "b/same.py": "",
}


def package(folder, files):
    for name, text in files.items():
        path = folder / "p" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Codebase(folder / "p")


def test_modules_lengths_parameters_and_shared_names_are_counted(tmp_path):
    size = measured(package(tmp_path, FILES))
    assert size.folders == {"a": (2, 9), "b": (2, 3)}
    assert (size.longest_class, size.longest_module) == ((3, "p.a.one.Found"), (6, "p.a.one"))
    assert (size.most_parameters, size.many_parameters) == ((7, "p.b.two.f"), 1)
    assert (size.twice_classes, size.twice_modules) == (1, 1)


def test_a_circle_is_found_inside_a_function(tmp_path):
    assert set(measured(package(tmp_path, FILES)).circle) == {"p.a.one", "p.b.two"}
    apart = {**FILES, "b/two.py": "x = 1\n"}
    assert measured(package(tmp_path / "other", apart)).circle == ()

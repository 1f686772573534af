"""The names by which readers know the files of places."""

import sys
from types import SimpleNamespace

import pytest

from polyml.source import Loc, Source, reader_name, short_name, whole_file

CELL = "/tmp/ipykernel_18499/4065674712.py"


@pytest.fixture
def notebook(monkeypatch):
    """An IPython that has one cell, the third."""

    def format_code_name(name):
        return ("Cell", "In[3]") if name == CELL else ("File", name)

    shell = SimpleNamespace(compile=SimpleNamespace(format_code_name=format_code_name))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))


def test_cells_have_their_numbers(notebook):
    assert reader_name(CELL) == short_name(CELL) == "Cell In[3]"
    assert reader_name(f"{CELL} (lines 3 to 5)") == "Cell In[3]"
    assert str(Loc(Source(CELL, 1, ("A[i] = 1",)), 1, 1)) == "Cell In[3]:1:1"


def test_other_files_have_their_own_names(notebook):
    assert (reader_name("/a/b.py"), short_name("/a/b.py"), short_name("<doctest f>")) == ("/a/b.py", "b.py", "<doctest f>")


@pytest.mark.parametrize("module", [None, SimpleNamespace(), SimpleNamespace(get_ipython=lambda: None)])
def test_without_a_notebook_files_have_their_own_names(monkeypatch, module):
    monkeypatch.setitem(sys.modules, "IPython", module)
    assert (reader_name(CELL), short_name(CELL)) == (CELL, "4065674712.py")


def test_a_part_of_a_function_is_of_the_whole_file():
    assert whole_file("a.py (lines 3 to 5)") == whole_file("a.py") == "a.py"

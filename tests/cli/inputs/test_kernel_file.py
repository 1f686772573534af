"""FILE.py:FUNC on the command line, and every way it can be wrong."""

import textwrap

import pytest

from polyml.cli.inputs.kernel_file import load_kernel_file
from polyml.errors import ConfigError


@pytest.fixture
def write(tmp_path, monkeypatch):
    """A file in an empty current folder."""
    monkeypatch.chdir(tmp_path)

    def make(name, text):
        (tmp_path / name).write_text(textwrap.dedent(text))
        return name

    return make


TWO = """
    import math
    from os.path import join

    def smooth(A):
        pass

    def sharpen(A):
        pass

    def _hidden(A):
        pass
"""


def message(spec):
    with pytest.raises(ConfigError) as caught:
        load_kernel_file(spec)
    return str(caught.value)


def test_a_plain_function_is_found_by_name(write):
    target = load_kernel_file(write("loops_a.py", TWO) + ":smooth")
    assert (target.name, target.function.__name__, target.sizes, target.has_inputs) == ("smooth", "smooth", {}, False)


def test_the_only_function_needs_no_name(write):
    assert load_kernel_file(write("loops_b.py", "def only(A):\n    pass\n")).name == "only"


def test_a_decorated_kernel_gives_the_function_behind_it(write):
    text = """
        class Kernel:
            def __init__(self, f):
                self.py_func = f

        @Kernel
        def gemm(A):
            pass

        def helper(A):
            pass
    """
    target = load_kernel_file(write("loops_c.py", text))
    assert target.name == "gemm" and target.function.__code__.co_varnames == ("A",)


def test_a_kernel_of_the_project_has_sizes_and_inputs():
    from polyml import kernels

    target = load_kernel_file(f"{kernels.__path__[0]}/gemm.py")
    assert target.name == "gemm" and target.has_inputs and "LARGE" in target.sizes


def test_a_missing_file_suggests_its_neighbours(write):
    write("stencil.py", "")
    assert message("stencli.py:f") == "error: there is no file stencli.py\n  note: did you mean stencil.py?"
    assert message("stencil:f") == "error: there is no file stencil\n  note: did you mean stencil.py?"
    assert message("zzz") == ("error: there is no file zzz\n  note: expected FILE.py:FUNC, as in kernels/gemm.py:gemm")


def test_a_missing_function_suggests_its_neighbours(write):
    write("loops_d.py", TWO)
    assert message("loops_d.py:smoth") == (
        "error: loops_d.py has no function 'smoth'\n  note: did you mean smooth?\n  note: it has sharpen, smooth"
    )
    assert message("loops_d.py:join") == "error: loops_d.py has no function 'join'\n  note: it has sharpen, smooth"


def test_a_file_with_several_functions_needs_a_name(write):
    write("loops_e.py", TWO)
    assert message("loops_e.py") == (
        "error: which function of loops_e.py?\n  note: it has sharpen, smooth\n  note: for example loops_e.py:smooth"
    )
    write("loops_f.py", "x = 1\n")
    assert message("loops_f.py") == "error: which function of loops_f.py?\n  note: it defines no function"


def test_what_is_wrong_with_a_file_is_named_with_its_line(write):
    write("loops_g.py", "import math\nvalue = math.missing\n")
    assert message("loops_g.py:f") == (
        "loops_g.py:2:1: error: loops_g.py cannot be imported: AttributeError: module 'math' has no attribute 'missing'\n"
        "      value = math.missing\n"
        "      ^^^^^^^^^^^^^^^^^^^^"
    )
    write("loops_h.py", "def f(:\n")
    assert "loops_h.py cannot be imported: SyntaxError" in message("loops_h.py:f")
    assert message("loops_h.py:f").startswith("loops_h.py:1:7: error: ")


def test_a_folder_or_another_kind_of_file_is_refused(write):
    write("notes.txt", "")
    assert message("notes.txt:f") == "error: notes.txt is no Python file\n  note: expected FILE.py:FUNC"

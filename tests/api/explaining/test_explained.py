"""`explain` with remarks on loops, `why`, and the ledger of compiled forms, through calls of kernels."""

import json
from html.parser import HTMLParser

import numpy as np
import pytest

import polyml
from polyml.errors import ConfigError, PolymlError, PolymlTypeError, ScheduleError

FACTOR = 2.0


def prefix_sums(A):
    for i in range(1, A.shape[0]):
        A[i] += A[i - 1]


def scaled(A):
    for i in range(A.shape[0]):
        A[i] = A[i] * FACTOR


def two_nests(A, B):
    for i in range(A.shape[0]):
        A[i] *= 2.0
    for i in range(B.shape[0]):
        B[i] += A[i]


def partly(A):
    for i in range(A.shape[0]):
        A[i] *= 2.0
    print(A.sum())


def line_of(function, text):
    source = open(__file__).read().splitlines()
    start = function.__code__.co_firstlineno
    return next(number for number, line in enumerate(source[start:], start + 1) if text in line)


class Words(HTMLParser):
    """The words of a page, whose tags must nest."""

    def __init__(self, page):
        super().__init__()
        self.open, self.words = [], []
        self.feed(page)
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        if tag not in ("br", "meta"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words += data.split()


def test_explain_is_the_text_of_before_and_the_loops_behind_it():
    kernel = polyml.kernel(prefix_sums)
    assert kernel.explain().remarks == () and kernel.explain().endswith("not called yet")
    kernel(np.ones(100))
    text = kernel.explain()
    assert isinstance(text, str) and text.startswith(text.head) and "  time:" in text.head
    [found] = text.remarks
    [loop] = found.loops
    assert f"test_explained.py:{loop.place.line} for i in range(1, A.shape[0]):  # i" in text
    assert loop.place.line == line_of(prefix_sums, "for i") and loop.of("parallel").kind == "missed"
    assert json.loads(text.json())[0]["loops"][0]["remarks"][0]["conflict"]["element"] == "A[1]"
    assert "A[1]" in " ".join(Words(text._repr_html_()).words)
    assert kernel.explain().remarks[0] is found  # it is compiled again only once


def test_explain_of_a_kernel_in_parts_has_remarks_on_the_parts(capsys):
    kernel = polyml.kernel(partly, fallback="silent")
    kernel(np.ones(1000))
    whole, part = kernel.explain().remarks
    assert [(each.code, each.place.line) for each in whole.python] == [("PML-F010", line_of(partly, "print"))]
    assert part.loops[0].place.line == line_of(partly, "for i") and part.loops[0].place.file == __file__
    assert kernel.why("i", "vectorized").loops == part.loops


def test_the_settings_that_keep_something_out_are_named():
    kernel = polyml.kernel(scaled, parallel=False, vectorize=False)
    assert "parallel=False" in str(kernel.why("i", "parallel", "f64[:]"))
    answer = kernel.why("i", "vectorized", "f64[:]")
    assert answer.remark.kind == "missed" and answer.remark.advice == "leave out vectorize=False" and answer.conflict is None
    nests = polyml.kernel(two_nests, fusion="no")
    assert 'fusion="no"' in nests.why(f"i:{line_of(two_nests, 'range(A')}", "fused", "f64[:]", "f64[:]").remark.text


def test_arguments_that_share_memory_are_a_reason():
    kernel = polyml.kernel(two_nests)
    A = np.ones(100)
    kernel(A, A)
    assert "share memory" in kernel.why("i", "vectorized").remark.text
    assert kernel.signatures[-1].why == "arguments share memory"


def test_a_loop_is_called_by_variable_by_line_or_as_scripts_call_it():
    kernel = polyml.kernel(two_nests)
    kernel(np.ones(100), np.ones(100))
    first, second = kernel.why("i", "parallel").loops
    assert (first.name, second.name) == ("S0.i", "S1.i")
    assert kernel.why("S1.i", "parallel").loops == (second,)
    assert kernel.why(f"i:{first.place.line}", "parallel").loops == (first,)


def test_a_question_that_cannot_be_answered_is_an_error_that_says_what_can():
    kernel = polyml.kernel(two_nests)
    with pytest.raises(PolymlTypeError, match="has not been called"):
        kernel.why("i", "parallel")
    types = ("f64[:]", "f64[:]")
    with pytest.raises(ScheduleError, match="there is no loop 'k'") as problem:
        kernel.why("k", "parallel", *types)
    assert problem.value.notes[0].startswith("loops: S0.i (line ")
    with pytest.raises(ConfigError, match="does not answer 'paralel'") as problem:
        kernel.why("i", "paralel", *types)
    assert problem.value.notes == ("did you mean 'parallel'?", "questions: parallel, vectorized, tiled, fused, interchanged")
    with pytest.raises(PolymlTypeError, match="a text, not by 3"):
        kernel.why(3, "parallel", *types)
    with pytest.raises(ConfigError, match="does not answer"):
        kernel.why("i", None, *types)
    with pytest.raises(PolymlError):
        polyml.kernel(partly, fallback="silent").why("i", "parallel", "f64[:]")


def test_the_ledger_says_why_each_form_was_made(monkeypatch):
    kernel = polyml.kernel(scaled)
    for argument in (np.ones(100), np.ones(200), np.ones(100, np.float32), np.ones(200)[::2], np.ones(120)):
        kernel(argument)
    with polyml.config.scope(fp="strict"):
        kernel(np.ones(100))
    monkeypatch.setitem(scaled.__globals__, "FACTOR", 3.0)
    kernel(np.ones(100))
    found = kernel.signatures
    assert [form.why.partition(":")[0] for form in found] == [
        "the first call", "new types", "arrays with other strides", "other settings", "a value from outside the function changed",
    ]  # fmt: skip
    assert found[3].why == "other settings: fp" and "3.0" in found[4].why
    assert [form.signature for form in found[:3]] == ["(f64[:])", "(f32[:])", "(f64[:] A)"]
    assert all(form.seconds > 0 and form.sizes == "any" and not form.reason for form in found)
    assert [form.made for form in found] == sorted(form.made for form in found)
    lines = str(found).splitlines()
    assert lines[0].split() == ["types", "sizes", "made", "why", "seconds", "from"] and len(lines) == 6
    assert "the first call" in " ".join(Words(found._repr_html_()).words)


def test_the_ledger_knows_the_disk_cache_and_plain_python(tmp_path, monkeypatch):
    monkeypatch.setenv("POLYML_CACHE_DIR", str(tmp_path))
    polyml.kernel(prefix_sums)(np.ones(50))
    again = polyml.kernel(prefix_sums)
    again(np.ones(50))
    assert [form.source for form in again.signatures] == ["disk cache"]
    python = polyml.kernel(prefix_sums, fallback="silent")
    python(np.array(["a", "b"], dtype=object))
    python(np.ones(3))
    assert [form.source for form in python.signatures] == ["disk cache"]


def matmul(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def test_forms_for_some_sizes_say_for_which():
    kernel = polyml.kernel(matmul)
    for n in (100, 20, 100):
        kernel(*(np.ones((n, n)) for _ in range(3)))
    assert "one of 2 forms (`signatures` lists them), for sizes: C[65..128, 65..128], " in kernel.explain().head
    first, second = kernel.signatures
    assert (first.sizes, first.why) == ("C[65..128, 65..128], A[65..128, 65..128], B[65..128, 65..128]", "the first call")
    assert second.why == "sizes of another class" and "0..48" in second.sizes


def test_a_schedule_of_the_users_is_explained_as_it_is():
    types = ("f64[:, :]",) * 3
    source = polyml.kernel(matmul).schedule("source", *types)
    given = source.tile(i=48).parallel("i_t").interchange("j", "k").vectorize("j").unroll_jam("j", 2)
    kernel = polyml.kernel(matmul).with_schedule(given)
    [found] = kernel.remarks(*types)
    i, j, k = found.loops
    assert i.of("parallel").text == "its iterations go to threads, 48 at a time" and "strips of 48" in i.of("tiled").text
    assert j.of("vectorized").kind == "passed" and "2 vectors of" in j.of("vectorized").text
    assert "in the order i, k, j" in k.of("interchanged").text
    assert k.of("parallel").conflict.element == "C[0, 0]"

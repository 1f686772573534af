"""`polyml show --after` and `polyml trace`: one pass, and every pass, as text and as a page."""

import json
import re
from html.parser import HTMLParser

import pytest

from polyml import pass_manager
from polyml.config import PASSES
from tests.cli.running import run

LOOPS = """
def smooth(A, B):
    for i in range(1, A.shape[0] - 1):
        t = A[i - 1] + A[i + 1]
        B[i] = t * 0.5
"""
TYPES = ("--arg", "A=f64[:]", "--arg", "B=f64[:]")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("POLYML_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "loops.py").write_text(LOOPS)
    return tmp_path


def stopped(*given, **named):
    raise KeyError("injected")


def show(*words, code=0):
    return run("show", "loops.py:smooth", *TYPES, *words, code=code)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("infer", "def smooth(A: f64[:], B: f64[:]):"),
        ("resolve", "    t = A[i - 1] + A[i + 1]"),
        ("forward_substitution", "    B[i] = (A[i - 1] + A[i + 1])*0.5"),
        ("extract", "        domain  { S0[i] : 0 < i <= -2 + A_0 }"),
        ("cpu_mapping", '  mark: "parallel"'),
        ("build", "def smooth(A, B):"),
    ],
)
def test_show_after_a_pass_prints_what_it_made(name, line):
    out, err = show("--after", name)
    assert line.strip() in map(str.strip, out.splitlines()) and err == ""
    [(shown, text)] = json.loads(show("--after", name, "--json")[0]).items()
    assert shown == name and text.rstrip("\n") == out.rstrip("\n")


def test_a_scalar_is_there_before_the_pass_that_removes_it_and_not_behind():
    assert "array t" in show("--after", "narrow_counters")[0] and "array t" not in show("--after", "forward_substitution")[0]


def test_names_are_in_the_help_and_in_the_message():
    text = "".join(run("show", "--help")[0].split())
    assert all(name in text for name in PASSES)
    _, err = show("--after", "forward", code=2)
    assert "'forward' is not one of 'algebra', 'lower', " in err and "'fold_storage'" in err


@pytest.mark.parametrize("words", [(), ("--stage", "ast", "--after", "pack")])
def test_one_thing_is_shown_at_a_time(words):
    assert "Give either '--stage' or '--after'." in show(*words, code=2)[1]


def test_a_pass_that_does_not_run_is_said_to():
    _, err = show("--after", "scalar_expansion", "--schedule", "source", code=2)
    assert "the pass `scalar_expansion` does not run for this kernel" in err and "those that do: lower, live_ranges, infer" in err


def test_what_a_pass_made_is_printed_also_where_a_later_one_fails(monkeypatch):
    monkeypatch.setitem(pass_manager.instead, "vectorize", stopped)
    out, err = show("--after", "index_bounds", code=3)
    assert out.startswith("def smooth(A, B):") and "stage vectorize failed: KeyError: 'injected'" in err
    monkeypatch.setitem(pass_manager.instead, "extract", stopped)
    out, err = show("--after", "index_bounds", code=3)
    assert out == "" and "stage extract failed" in err


# Texts that read back


@pytest.mark.parametrize(
    ("start", "stages"), [("kernel", ("schedule", "ast", "llvm")), ("domain", ("deps", "ast")), ("ast", ("llvm",))]
)
def test_show_goes_on_from_the_text_of_a_stage(folder, start, stages):
    (folder / "saved").write_text(show("--stage", start, "--full")[0])
    for stage in stages:
        assert run("show", "--from", "saved", "--stage", stage) == show("--stage", stage)


def test_settings_and_full_texts_go_with_a_file(folder):
    (folder / "saved").write_text(show("--stage", "domain", "--full")[0])
    assert run("show", "--from", "saved", "--stage", "domain", "--full")[0] == (folder / "saved").read_text()
    assert run("show", "--from", "saved", "--stage", "ast", "--schedule", "source") == show(
        "--stage", "ast", "--schedule", "source"
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--stage", "ast"), "Give either FILE.py:FUNC or '--from'."),
        (("loops.py:smooth", "--from", "saved", "--stage", "ast"), "Give either FILE.py:FUNC or '--from'."),
        (("--from", "saved", "--after", "pack"), "'--from' goes with '--stage'"),
        (("--from", "saved", "--stage", "ast", "--json"), "'--from' goes with '--stage'"),
        (("--from", "missing", "--stage", "ast"), "error: missing cannot be read: No such file or directory"),
        (("--from", "loops.py", "--stage", "ast"), "loops.py:1:1: error: this is no text of a stage"),
        (("--from", "saved", "--stage", "kernel"), "error: the stage `kernel` comes before what the file has"),
    ],
)
def test_a_file_and_what_does_not_go_with_it(folder, words, said):
    (folder / "saved").write_text(show("--stage", "domain", "--full")[0])
    assert said in run("show", *words, code=2)[1]


def test_a_damaged_text_is_shown_with_its_place(folder):
    (folder / "saved").write_text(show("--stage", "ast", "--full")[0].replace("S0[c1]", "S0[c9]", 1))
    _, err = run("show", "--from", "saved", "--stage", "llvm", code=2)
    assert (
        "error: there is no `c9` here\n" in err
        and "                S0[c9]  # B[c1] = " in err
        and "\n  note: names that there are: " in err
    )


# Traces


def trace(*words, code=0):
    return run("trace", "loops.py:smooth", *TYPES, *words, code=code)


def test_a_trace_has_every_pass_with_its_time_difference_and_place():
    out, err = trace()
    assert err == ""
    [heading] = re.findall(r"^forward_substitution .*$", out, re.MULTILINE)
    assert re.fullmatch(
        r"forward_substitution  \d+\.\d\d ms  Nest -> Nest  polyml/model/nest_passes/forward_substitution\.py:\d+", heading
    )
    part = out.partition(heading)[2].partition("\n\n")[0]
    assert "    -    t = A[i - 1] + A[i + 1]" in part and "    +    B[i] = (A[i - 1] + A[i + 1])*0.5" in part
    assert re.search(r"^equal_sizes, alike_sizes, unroll_sums, narrow_counters: no change, \d+\.\d\d ms$", out, re.MULTILINE)
    assert re.search(r"^schedule .* Scop -> Schedule  polyml/schedule/compute\.py:\d+$", out, re.MULTILINE)
    assert re.search(r"^\d+ passes ran, \d+ of them made a difference, \d+\.\d\d ms together$", out.splitlines()[-1])


class Reader(HTMLParser):
    """The elements that a page opens, and its text."""

    def __init__(self):
        super().__init__()
        self.tags, self.open, self.attributes, self.text = [], [], [], ""

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_a_page_is_whole_without_network(folder):
    out, err = trace("--html", "page.html")
    assert out == "" and err == "written to page.html\n"
    page = (folder / "page.html").read_text()
    reader = Reader()
    reader.feed(page)
    assert reader.open == [] and not {"script", "link", "img", "iframe"} & {*reader.tags}
    assert not {"src", "href"} & {name for name, _ in reader.attributes} and "http" not in page and "url(" not in page
    assert "prefers-color-scheme: dark" in page and "smooth (loops.py)" in reader.text
    assert '<span class="minus">-    t = A[i - 1] + A[i + 1]</span>' in page
    assert reader.tags.count("details") > 5 and page.count("no change") > 10
    assert "polyml/codegen/passes/vectorize.py:" in reader.text


def test_a_trace_of_what_fails_ends_where_it_fails(monkeypatch, folder):
    monkeypatch.setitem(pass_manager.instead, "pack", stopped)
    out, err = trace(code=3)
    assert "balance" in out and "full_tiles" not in out and "stage pack failed" in err
    trace("--html", "page.html", code=3)
    assert "balance" in (folder / "page.html").read_text()


def test_a_page_that_cannot_be_written_is_said_to():
    _, err = trace("--html", "missing/page.html", code=2)
    assert "missing/page.html" in err and "cannot be written: No such file or directory" in err

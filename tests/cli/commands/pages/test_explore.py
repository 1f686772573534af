"""`polyml explore`: the page as a file, and served."""

import json
import signal
import subprocess
import sys
import urllib.request

from click.testing import CliRunner

from polyml.cli import main
from polyml.explorer.page import packed_data

KERNEL = "def prefix(A):\n    for i in range(1, A.shape[0]):\n        A[i] += A[i - 1]\n"


def made(folder):
    (folder / "prefix.py").write_text(KERNEL, encoding="utf-8")
    return f"{folder / 'prefix.py'}:prefix"


def ran(*words):
    return CliRunner().invoke(main, ["explore", *map(str, words)])


def test_the_page_is_written_with_what_the_options_ask_for(tmp_path):
    page = tmp_path / "page.html"
    given = (made(tmp_path), "--arg", "A=f64[N]", "--html", page, "--size", "A_0=5", "--tile", "3")
    found = ran(*given)
    assert found.exit_code == 0, found.output
    data = packed_data(page.read_text(encoding="utf-8"))
    assert data["kernel"] == "prefix" and data["tiles"] == [3] and [each["sizes"] for each in data["pictures"]] == [{"A_0": 5}]


def test_the_page_begins_with_a_schedule_from_a_file(tmp_path):
    import polyml

    spec, saved = made(tmp_path), tmp_path / "tiled.txt"
    scope: dict = {}
    exec(compile(KERNEL, tmp_path / "prefix.py", "exec"), scope)
    polyml.kernel(scope["prefix"]).schedule("source", "f64[:]").tile(i=8).save(saved)
    found = ran(spec, "--arg", "A=f64[N]", "--html", tmp_path / "page.html", "--load", saved)
    assert found.exit_code == 0, found.output
    data = packed_data((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert [loop["address"] for loop in data["view"]["loops"]] == ["i_t", "i"]


def test_wrong_options_are_refused(tmp_path):
    spec = made(tmp_path)
    for words in (("--size", "A_9=4"), ("--size", "x"), ("--tile", "1"), ("--port", "80"), ("--browser",)):
        found = ran(spec, "--arg", "A=f64[N]", "--html", tmp_path / "page.html", *words)
        assert found.exit_code == 2 and "rror" in found.output, words
    assert not (tmp_path / "page.html").exists()


def test_the_page_is_served_until_it_is_interrupted(tmp_path):
    command = [sys.executable, "-m", "polyml", "explore", made(tmp_path), "--arg", "A=f64[N]"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:"), process.stderr.read()
        question = json.dumps({"steps": ['tile({"i": 4})'], "step": 'reverse("i_t")'}).encode()
        with urllib.request.urlopen(urllib.request.Request(address, question), timeout=60) as reply:
            assert json.load(reply)["verdict"] == "illegal"
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.communicate()

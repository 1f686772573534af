"""`polyml completion`: the scripts, and what a shell completes with them."""

import shutil
import subprocess
import sys

import pytest

from polyml import kernels
from polyml.cli import main
from tests.cli.running import run

PRESS_TAB = """
set -e
eval "$(polyml completion bash)"
COMP_WORDS=(polyml "$@")
COMP_CWORD=$#
compopt() { echo "compopt $1 $2"; }  # bash's own refuses where no key was pressed
_polyml_completion polyml
printf '%s\\n' "${COMPREPLY[@]}"
complete -p polyml
"""


@pytest.fixture
def press_tab(tmp_path):
    """What bash offers for the last of the words after `polyml`, and how it is set up to ask."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash")
    program = tmp_path / "polyml"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "from polyml.cli import main; main(prog_name=\'polyml\')" "$@"\n')
    program.chmod(0o755)

    def pressed(*words):
        command = [bash, "--norc", "-c", f'PATH="{tmp_path}:$PATH"\n{PRESS_TAB}', "bash", *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0 and not done.stderr, done.stderr
        *offered, setup = done.stdout.split("\n")[:-1]
        assert setup.endswith(" polyml") and "-F _polyml_completion" in setup
        return [each for each in offered if each]

    return pressed


@pytest.mark.parametrize(
    "shell, words", [("bash", "complete -o nosort -F"), ("zsh", "#compdef polyml"), ("fish", "complete --no-files")]
)
def test_a_script_names_the_program_and_its_shell(shell, words):
    out, err = run("completion", shell)
    assert words in out and "_POLYML_COMPLETE=" + shell + "_complete" in out
    assert [line for line in out.splitlines() if "complete" in line and " polyml" in line] and err == ""


@pytest.mark.parametrize("words", [(), ("tcsh",)], ids=str)
def test_other_shells_are_refused_with_those_there_are(words):
    _, err = run("completion", *words, code=2)
    assert all(shell in err for shell in ("bash", "zsh", "fish"))


def test_bash_completes_commands(press_tab):
    assert press_tab("exp") == ["explain", "explore"]
    assert press_tab("") == sorted(main.commands)
    assert press_tab("cache", "ver") == ["verify"]


def test_bash_completes_options_and_their_values(press_tab):
    assert press_tab("bench", "--check") == ["--check-only"]
    assert press_tab("completion", "") == ["bash", "zsh", "fish"]
    assert press_tab("bench", "jacobi") == [name for name in kernels.NAMES if name.startswith("jacobi")]


@pytest.mark.parametrize(
    "words",
    [("run", "ker"), ("build", "ker"), ("explain", "k.py", "--diff", "o"), ("schedule", "k.py", "--save", "s"), ("bisect", "b")],
    ids=" ".join,
)
def test_bash_completes_files_by_itself(press_tab, words):
    assert press_tab(*words) == ["compopt -o default"]

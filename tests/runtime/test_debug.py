import pytest

from polyml.config import scope
from polyml.debug import dump


def test_nothing_is_written_or_made_unless_the_stage_is_named(capsys):
    def fail() -> str:
        raise AssertionError("the text was made")

    dump("llvm", fail)
    with scope(debug="schedule,ast"):
        dump("llvm", fail)
    assert capsys.readouterr() == ("", "")


def test_a_named_stage_goes_to_stderr(capsys):
    with scope(debug="llvm"):
        dump("llvm", "text", name="gemm")
        dump("llvm", lambda: "more\n")
    assert capsys.readouterr().err == "==== gemm: llvm ====\ntext\n==== kernel: llvm ====\nmore\n"


def test_a_folder_gets_a_file_for_each_dump_in_order(tmp_path, capsys):
    with scope(debug="all", debug_dir=tmp_path / "new"):
        dump("schedule", "first", name="gemm")
        dump("llvm", "second", name="gemm")
        dump("llvm", "third", name="gemm")
    files = sorted((tmp_path / "new").iterdir())
    assert [f.name.partition("-")[2] for f in files] == ["gemm.schedule.txt", "gemm.llvm.txt", "gemm.llvm.txt"]
    assert [f.read_text() for f in files] == ["first\n", "second\n", "third\n"]
    assert capsys.readouterr() == ("", "")


def test_a_misspelt_stage_is_refused():
    with pytest.raises(ValueError, match="there is no stage 'tree'; stages: kernel, domain, deps"):
        dump("tree", "text")

"""The loops of `benchmarks.tsvc`: all are there, their two languages agree, polyml keeps their results, and the table says what it must."""

import shutil

import pytest

from benchmarks.tsvc.c_functions import compiled
from benchmarks.tsvc.entry import SMALL
from benchmarks.tsvc.forms import WHOLE, c_form, peer
from benchmarks.tsvc.loops import LOOPS
from benchmarks.tsvc.table import Row, head, line, reasons, summary
from benchmarks.tsvc.worker import BOUND, checked

NAMES = """
s000 s111 s1111 s112 s1112 s113 s1113 s114 s115 s1115 s116 s118 s119 s1119 s121 s122 s123 s124 s125 s126 s127 s128 s131 s132 s141 s151
s152 s161 s1161 s162 s171 s172 s173 s174 s175 s176 s211 s212 s1213 s221 s1221 s222 s231 s232 s1232 s233 s2233 s235 s241 s242 s243 s244
s1244 s2244 s251 s1251 s2251 s3251 s252 s253 s254 s255 s256 s257 s258 s261 s271 s272 s273 s274 s275 s2275 s276 s277 s278 s279 s1279
s2710 s2711 s2712 s281 s1281 s291 s292 s293 s2101 s2102 s2111 s311 s31111 s312 s313 s314 s315 s316 s317 s318 s319 s3110 s13110 s3111
s3112 s3113 s321 s322 s323 s331 s332 s341 s342 s343 s351 s1351 s352 s353 s421 s1421 s422 s423 s424 s431 s441 s442 s443 s451 s452 s453
s471 s481 s482 s491 s4112 s4113 s4114 s4115 s4116 s4117 s4121 va vag vas vif vpv vtv vpvtv vpvts vpvpv vtvtv vsumr vdotr vbor
"""
# affine loops, and each way in which data decide: what is scattered, packed, searched, left early and stepped by an argument
SOME = "s112 s116 s1113 s151 s161 s2244 s258 s2710 s31111 s3112 s322 s424 s452 s4117 vbor s122 s123 s141 s277 s332 s341 s481 s491 s4116"
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


def test_all_loops_of_the_suite_are_there_once():
    assert list(LOOPS) == NAMES.split()
    assert len(LOOPS) == 151


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    if COMPILER is None:
        pytest.skip("there is no C compiler")
    return compiled([COMPILER, "-O1"], LOOPS.values(), SMALL, tmp_path_factory.mktemp("tsvc"))


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_is_the_same_in_c(name, library):
    found, _, _ = checked(lambda loop, size: c_form(library, loop, size), LOOPS[name])
    assert found <= BOUND


@pytest.mark.parametrize("name", SOME.split())
def test_a_kernel_has_the_result_of_python(name, tmp_path):
    found, written, explained = checked(peer("polyml", (), tmp_path), LOOPS[name])
    assert found <= BOUND
    assert any(written) or LOOPS[name].heading in ("reductions", "search loops", "indirect addressing")
    assert explained


def test_a_loop_that_is_compiled_whole_is_told_from_others(tmp_path):
    forms = peer("polyml", (), tmp_path)
    assert checked(forms, LOOPS["s000"])[2] == WHOLE


def test_the_table():
    rows = [
        Row(LOOPS["s000"], 2e-6, {"clang": 4e-6, "numba": 2e-6}, 0.0, WHOLE),
        Row(LOOPS["s111"], 4e-6, {"clang": 2e-6}, 1e-7, WHOLE),
        Row(LOOPS["s341"], 8e-3, {"clang": 8e-6}, 0.0, "subscript `j` is not affine"),
        Row(LOOPS["s343"], 8e-3, {"clang": 8e-6}, 0.0, "subscript `k` is not affine"),
    ]
    peers = ["clang", "numba"]
    assert reasons(rows) == {"subscript `...` is not affine": ["s341", "s343"]}
    assert [" ".join(text.split()) for text in (head(peers), line(rows[0], peers), line(rows[1], peers))] == [
        "loop polyml clang times numba times differs form; * less than 0.9 of the speed of clang",
        "s000 2.00 4.00 2.00 2.00 1.00 0 whole",
        "s111 4.00 2.00 0.50 none 1e-07 *whole",
    ]
    assert summary(rows, peers) == [
        "2 of 4 loops are compiled whole",
        "all (4): 0.03 times as fast as clang in the geometric mean; least 0.001 (s341)",
        "all (1): 1.00 times as fast as numba in the geometric mean; least 1 (s000)",
        "compiled whole (2): 1.00 times as fast as clang in the geometric mean; least 0.5 (s111)",
        "compiled whole (1): 1.00 times as fast as numba in the geometric mean; least 1 (s000)",
        "less than 0.9 of the speed of clang: s111 0.50",
        "less than 0.9 of the speed of numba: none",
        "not whole (2), subscript `...` is not affine: s341 s343",
    ]

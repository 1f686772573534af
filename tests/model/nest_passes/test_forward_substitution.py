"""Scalars that are only names for a value leave the nest."""

import numpy as np
import pytest

import polyml
from tests.frontend.define import define
from tests.passing import before_and_after


def named(A, B):
    for i in range(A.shape[0]):
        t = A[i] + 1
        B[i] = t * 2


def test_a_definition_moves_into_its_uses():
    gone, come = before_and_after("forward_substitution", named, np.arange(8.0), np.zeros(8))
    assert gone == ["array t: f64 (local)", "t = A[i] + 1.0", "B[i] = t*2.0"] and come == ["B[i] = (A[i] + 1.0)*2.0"]


def overwritten(A, B):
    for i in range(A.shape[0]):
        t = A[i] + 1
        A[i] = 0.0
        B[i] = t * 2


def test_a_definition_stays_where_what_it_reads_is_overwritten():
    assert before_and_after("forward_substitution", overwritten, np.arange(8.0), np.zeros(8)) == ([], [])


def redundancy(data):
    crc = 0xFFFF
    for i in range(data.shape[0]):
        bits = data[i]
        for _ in range(8):
            if (crc & 1) ^ (bits & 1):
                crc = (crc >> 1) ^ 0x8408
            else:
                crc >>= 1
            bits >>= 1
    return crc


def test_a_masked_number_fits_a_small_type_so_both_branches_move_into_their_use():
    gone, come = before_and_after("forward_substitution", redundancy, np.arange(40, dtype=np.uint8))
    assert [line for line in come if line.startswith("crc")] == [
        "crc = crc >> 1 ^ 33800 if crc & 1 ^ bits & 1 != 0 else crc >> 1  # perhaps"
    ]


@pytest.mark.parametrize(("mask", "fits"), [(255, True), (256, False), (0xFFFF, False)])
def test_a_mask_that_is_too_wide_is_checked_as_numpy_does(mask, fits):
    function = define(f"def kernel(data, n):\n    data[0] = data[1] ^ (n & {mask})\n", "kernel")
    compiled = polyml.kernel(function, cache=False)
    for n in (3, 255, 256, 511):
        wanted, got = np.arange(4, dtype=np.uint8), np.arange(4, dtype=np.uint8)
        if (n & mask) > 255:
            with pytest.raises(OverflowError):
                function(wanted, n)
            with pytest.raises(OverflowError):
                compiled(got, n)
        else:
            function(wanted, n)
            compiled(got, n)
            np.testing.assert_array_equal(got, wanted)
    assert fits == all((n & mask) <= 255 for n in (3, 255, 256, 511))


def settled(x, new, tolerance):
    steps = 0
    while True:
        change = 0.0
        for i in range(1, x.shape[0] - 1):
            value = 0.5 * (x[i - 1] + x[i + 1])
            change = max(change, abs(value - x[i]))
            new[i] = value
        for i in range(1, x.shape[0] - 1):
            old = x[i]
            x[i] = new[i]
            new[i] = old
        steps += 1
        if change < tolerance or steps > 40:
            return steps, change


@pytest.mark.parametrize("fp", ["strict", "reassociate"])
@pytest.mark.parametrize("threads", [1, 2])
def test_numbers_of_loops_beside_regions_are_substituted_too(fp, threads):
    kernel = polyml.kernel(settled, cache=False, fallback="error", fp=fp, threads=threads)
    x = np.random.default_rng(0).random(40_000)
    own, other = (x.copy(), np.zeros_like(x)), (x[:300].copy(), np.zeros(300))
    text = kernel.inspect_ast(*own, 1e-3)
    assert "value = " not in text and "old = " in text and ("together" in text) == (fp != "strict")
    for tolerance in (1e9, 0.2, 1e-9):
        given, plain = [a.copy() for a in other], [a.copy() for a in other]
        assert kernel(*given, tolerance) == settled(*plain, tolerance)
        assert all(map(np.array_equal, given, plain))

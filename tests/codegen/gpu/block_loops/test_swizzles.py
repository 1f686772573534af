"""Orders of elements in shared memory, against the banks that the lanes of a request need, counted one by one."""

import pytest

from polyml.codegen.gpu.block_loops.swizzles import Swizzle, across, conflicts, swizzle

BANKS, BANK_BYTES = 32, 4


def most_in_a_bank(addresses, size):
    """How many different words of one bank a group of lanes needs, each lane `size` bytes from its address on."""
    words = {word for address in addresses for word in range(address // BANK_BYTES, (address + size) // BANK_BYTES)}
    banks = [word % BANKS for word in words]
    return max(map(banks.count, banks))


@pytest.mark.parametrize("length", [8, 16, 32, 64, 128, 256])
@pytest.mark.parametrize("size", [2, 4])
def test_eight_rows_and_eight_neighbours_of_a_row_are_in_different_banks(length, size):
    order = swizzle(length, size)
    width = 16 // size
    for first in range(0, 16, 8):
        for column in range(0, length, width):
            rows = [(row * length + order.column(row, column)) * size for row in range(first, first + 8)]
            assert most_in_a_bank(rows, 16) == 1
    vectors = [(row, column) for row in range(8) for column in range(0, length, width)]
    for k in range(0, len(vectors), 8):  # a quarter of a warp copies eight vectors that follow one another
        copied = [(row * length + order.column(row, column)) * size for row, column in vectors[k : k + 8]]
        assert most_in_a_bank(copied, 16) == 1


@pytest.mark.parametrize("length", [8, 16, 32, 64, 128, 256])
def test_eight_words_of_each_of_four_rows_are_in_different_banks(length):
    order = across(length)
    for first in range(0, 16, 4):
        for column in range(0, length, 8):
            words = [(row * length + order.column(row, column + k)) * 4 for row in range(first, first + 4) for k in range(8)]
            assert most_in_a_bank(words, 4) == 1
            assert all(order.column(row, column) == order.column(row % 4, column) for row in range(first, first + 4))
    vectors = [(row, column) for row in range(8) for column in range(0, length, 4)]
    for k in range(0, len(vectors), 8):
        copied = [(row * length + order.column(row, column)) * 4 for row, column in vectors[k : k + 8]]
        assert most_in_a_bank(copied, 16) == 1


def test_rows_that_are_no_multiples_of_pairs_of_vectors_have_no_order_across():
    assert across(12) is None and across(4) is None and across(24) is None


@pytest.mark.parametrize("length", [16, 32, 128])
def test_pairs_of_vectors_change_places_as_a_whole(length):
    order = across(length)
    for row in range(8):
        places = [order.column(row, column) for column in range(length)]
        assert sorted(places) == list(range(length))
        assert all(places[k + 1] == places[k] + 1 for k in range(length) if k % 8 != 7)


@pytest.mark.parametrize("length", [16, 32, 64, 128])
def test_each_row_has_each_of_its_elements_once(length):
    order = swizzle(length, 2)
    for row in range(16):
        places = [order.column(row, column) for column in range(length)]
        assert sorted(places) == list(range(length))
        assert all(places[k + 1] == places[k] + 1 for k in range(length) if k % 8 != 7)  # vectors stay whole


def test_without_an_order_rows_of_64_bytes_need_each_bank_four_times():
    assert conflicts(Swizzle(1, 1, 8), 32, 2) == 4
    assert conflicts(swizzle(32, 2), 32, 2) == 1


@pytest.mark.parametrize("length", [12, 24, 48, 9])
def test_rows_of_other_lengths_have_no_order(length):
    assert swizzle(length, 2) is None


@pytest.mark.parametrize("row, column", [("e0", "e1"), ("i + 1", "e1 + 8"), ("3", "0")])
def test_the_text_is_the_column(row, column):
    for order in (Swizzle(8, 1, 8), Swizzle(4, 2, 8), Swizzle(1, 1, 8)):
        text = order.text(row, column).replace("/", "//")
        for e0 in range(9):
            for e1 in range(0, 64, 8):
                names = {"e0": e0, "e1": e1, "i": e0}
                assert eval(text, names) == order.column(eval(row, names), eval(column, names))

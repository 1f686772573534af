"""Requests of warps counted thread by thread in plain Python."""

from collections import defaultdict
from dataclasses import dataclass


@dataclass(frozen=True)
class Counted:
    requests: int
    lanes: int
    elements: int
    sectors: int
    lines: int
    most: int


def counted(made, block, sector=32, line=128, warp=32):
    """made: (time, thread's iterations of the loops x, y and z, address) of every load that some thread makes; time: of the
    loops in order, whatever names it.
    """
    requests = defaultdict(list)
    for time, thread, address in made:
        number, scale = 0, 1
        for v, size in zip(thread, block):
            number, scale = number + v % size * scale, scale * size
        blocks = tuple(v // size for v, size in zip(thread, (*block, 1, 1, 1)))
        requests[time, blocks, number // warp].append(address)
    pieces = {grain: [len({a // grain for a in each}) for each in requests.values()] for grain in (1, sector, line)}
    lanes = sum(map(len, requests.values()))
    most = max(pieces[sector], default=0)
    return Counted(len(requests), lanes, sum(pieces[1]), sum(pieces[sector]), sum(pieces[line]), most)


def wavefronts(addresses, element_bytes, banks=32, word=4):
    """Of one request of a warp for shared memory: at once go as many lanes as all banks deliver. An address is None where a lane takes no part."""
    at_once = min(len(addresses), banks * word // max(element_bytes, word))
    total = 0
    for first in range(0, len(addresses), at_once):
        asked = defaultdict(set)
        for address in (a for a in addresses[first : first + at_once] if a is not None):
            for each in range(address // word, (address + element_bytes - 1) // word + 1):
                asked[each % banks].add(each)
        total += max(map(len, asked.values()), default=0)
    return total

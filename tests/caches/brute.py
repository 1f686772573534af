"""Caches in plain Python, and the accesses that a Python function makes; shares no code with what it checks."""

from __future__ import annotations

from collections import Counter, OrderedDict


class Recorded:
    """An array of zeros whose uses are written down: (array, byte address, whether it is written)."""

    def __init__(self, name, shape, address, size_bytes, log):
        self.name, self.shape, self.address, self.size_bytes, self.log = name, shape, address, size_bytes, log

    def _place(self, index):
        index = index if isinstance(index, tuple) else (index,)
        assert len(index) == len(self.shape) and all(0 <= i < n for i, n in zip(index, self.shape))
        offset = 0
        for i, n in zip(index, self.shape):
            offset = offset * n + i
        return self.address + offset * self.size_bytes

    def __getitem__(self, index):
        self.log.append((self.name, self._place(index), False))
        return 1.0

    def __setitem__(self, index, value):
        self.log.append((self.name, self._place(index), True))


def accesses(function, arguments, alignment=64, size_bytes=8):
    """arguments: shapes of arrays by name, and numbers. The list of uses in order."""
    log, end, values = [], 0, []
    for name, value in arguments.items():
        if isinstance(value, tuple):
            start = -(-end // alignment) * alignment
            count = 1
            for extent in value:
                count *= extent
            end = start + count * size_bytes
            values.append(Recorded(name, value, start, size_bytes, log))
        else:
            values.append(value)
    function(*values)
    return log


class Lru:
    def __init__(self, ways):
        self.ways, self.lines = ways, OrderedDict()  # the newest last

    def dirty(self):
        return [line for line, dirty in self.lines.items() if dirty]

    def find(self, line):
        return self.lines.get(line)

    def use(self, line, dirty):
        self.lines[line] |= dirty
        self.lines.move_to_end(line)

    def put(self, line, dirty):
        gone = self.lines.popitem(last=False) if len(self.lines) == self.ways else None
        self.lines[line] = dirty
        return gone

    def mark(self, line):
        self.lines[line] = True

    def unmark(self, line):
        self.lines[line] = False

    def remove(self, line):
        return self.lines.pop(line)


class Plru:
    """The tree as nested halves: a half that was used last is not where the next line goes."""

    def __init__(self, ways):
        self.places, self.used_right = [None] * ways, {}

    def dirty(self):
        return [entry[0] for entry in self.places if entry and entry[1]]

    def find(self, line):
        return next((d for entry in self.places if entry and entry[0] == line for d in [entry[1]]), None)

    def _at(self, line):
        return next(way for way, entry in enumerate(self.places) if entry and entry[0] == line)

    def _turn(self, way):
        low, high = 0, len(self.places)
        while high - low > 1:
            middle = (low + high) // 2
            self.used_right[low, high] = way >= middle
            low, high = (middle, high) if way >= middle else (low, middle)

    def _next(self):
        if None in self.places:
            return self.places.index(None)
        low, high = 0, len(self.places)
        while high - low > 1:
            middle = (low + high) // 2
            # at first, before any use, the left half is next
            low, high = (low, middle) if self.used_right.get((low, high), True) else (middle, high)
        return low

    def use(self, line, dirty):
        way = self._at(line)
        self.places[way] = (line, self.places[way][1] or dirty)
        self._turn(way)

    def put(self, line, dirty):
        way = self._next()
        gone, self.places[way] = self.places[way], (line, dirty)
        self._turn(way)
        return gone

    def mark(self, line):
        self.places[self._at(line)] = (line, True)

    def unmark(self, line):
        self.places[self._at(line)] = (line, False)

    def remove(self, line):
        way = self._at(line)
        (_, dirty), self.places[way] = self.places[way], None
        return dirty


class Hierarchy:
    """levels: (size_bytes, ways, replacement, writes, contents) each, and by how many of the threads one is shared where that is
    not one, 0: by all. misses, cold: by thread, level, array and whether written; far: the same of fully associative caches in
    place of the shared levels. written: by level and array.
    """

    def __init__(self, levels, line_bytes, array_of, threads=1, coherent=False):
        self.sharing = [min((level[5] if len(level) > 5 else 1) or threads, threads) for level in levels]
        self.levels, self.line_bytes, self.array_of = [level[:5] for level in levels], line_bytes, array_of
        made = {"lru": Lru, "plru": Plru}
        self.caches = [
            [[made[policy](ways) for _ in range(size // (ways * line_bytes))] for _ in range(-(-threads // sharing))]
            for (size, ways, policy, _, _), sharing in zip(self.levels, self.sharing)
        ]
        self.beside = [[Lru(size // line_bytes) for _ in caches] for (size, *_), caches in zip(self.levels, self.caches)]
        self.misses, self.written, self.cold, self.far, self.seen = Counter(), Counter(), Counter(), Counter(), set()
        self.thread, self.threads, self.coherent = 0, threads, coherent
        self.lost, self.taken = set(), Counter()  # lines that other threads' writes took away; misses of these

    def dirty(self):
        """By array, the lines that are dirty in some cache."""
        every = {line for level in self.caches for cache in level for each in cache for line in each.dirty()}
        return Counter(map(self.array_of, every))

    def access(self, array, address, write, thread=0, first=0):
        """first: the level that is asked."""
        self.thread = thread
        if self.coherent:
            self.cohere(address // self.line_bytes, write)
        self.touch(first, address // self.line_bytes, write, array, write)

    def cohere(self, line, write):
        """No other thread has a line that is written, none has one dirty that is read."""
        dirty = None
        for k, caches in enumerate(self.caches):
            for number, sets in enumerate(caches):
                at = sets[line % len(sets)]
                if number == self._own(k) or at.find(line) is None:
                    continue
                if at.find(line):
                    dirty = number * self.sharing[k]  # a thread that had it
                if write:
                    at.remove(line)
                    self.lost.add((k, number, line))
                else:
                    at.unmark(line)
        if dirty is not None:
            met = [k for k, sharing in enumerate(self.sharing) if dirty // sharing == self.thread // sharing]
            self.send(met[0] - 1 if met else len(self.levels) - 1, line)
            self.receive(met[0] if met else len(self.levels), line)

    def _own(self, k):
        return self.thread // self.sharing[k]

    def _set(self, k, line):
        sets = self.caches[k][self._own(k)]
        return sets[line % len(sets)]

    def touch(self, k, line, write, array, is_write):
        """Whether the level hands a dirty line up."""
        if k == len(self.levels):
            return False
        _, _, _, writes, contents = self.levels[k]
        whose = self.thread, k, array, is_write
        beside = self.beside[k][self._own(k)]
        if beside.find(line) is None:
            self.far[whose] += 1
            beside.put(line, False)
        else:
            beside.use(line, False)
        at = self._set(k, line)
        if at.find(line) is not None:
            if contents == "exclusive":
                return at.remove(line)
            at.use(line, write and writes == "back")
            if write and writes == "through":
                self.send(k, line)
                self.touch(k + 1, line, True, array, is_write)
            return False
        self.misses[whose] += 1
        if (k, self._own(k), line) in self.lost:
            self.lost.remove((k, self._own(k), line))
            self.taken[whose] += 1
        if (k, self._own(k), line) not in self.seen:
            self.seen.add((k, self._own(k), line))
            self.cold[whose] += 1
        dirty = self.touch(k + 1, line, False, array, is_write)
        if contents == "exclusive":
            return dirty
        if writes == "through" and write:
            self.send(k, line)
            self.touch(k + 1, line, True, array, is_write)
        gone = at.put(line, dirty or (write and writes == "back"))
        if gone is not None:
            self.let_go(k, *gone)
        return False

    def let_go(self, k, line, dirty):
        if self.levels[k][4] == "inclusive":
            begin = self._own(k) * self.sharing[k]
            for above in range(k):
                for number in range(begin // self.sharing[above], -(-(begin + self.sharing[k]) // self.sharing[above])):
                    for sets in self.caches[above][number : number + 1]:
                        if sets[line % len(sets)].find(line) is not None:
                            dirty |= sets[line % len(sets)].remove(line)
        if k + 1 < len(self.levels) and self.levels[k + 1][4] == "exclusive":
            at = self._set(k + 1, line)
            if at.find(line) is not None:  # another thread let it go before
                at.use(line, dirty)
                return
            gone = at.put(line, dirty)
            if gone is not None:
                self.let_go(k + 1, *gone)
        elif dirty:
            self.send(k, line)
            self.receive(k + 1, line)

    def send(self, k, line):
        self.written[k, self.array_of(line)] += 1

    def receive(self, k, line):
        if k == len(self.levels):
            return
        at = self._set(k, line)
        if at.find(line) is not None and self.levels[k][3] == "back":
            at.mark(line)
        else:
            self.send(k, line)
            self.receive(k + 1, line)


def far(log, line_bytes, capacity):
    """Misses of a fully associative LRU cache with so many lines, by array and whether written."""
    held, found = OrderedDict(), Counter()
    for array, address, write in log:
        line = address // line_bytes
        if line in held:
            held.move_to_end(line)
        else:
            found[array, write] += 1
            held[line] = True
            if len(held) > capacity:
                held.popitem(last=False)
    return found


def array_of(places, line_bytes=64):
    """A function from lines to names: the array that begins last at or before a line, of several in one place the first that has it."""
    start_of = sorted(((place.address // line_bytes, -n, name) for n, (name, place) in enumerate(places.items())))

    def array(line):
        begun = [name for start, _, name in start_of if start <= line]
        same = [
            name for name in begun if places[name].address == places[begun[-1]].address and line * line_bytes < places[name].end
        ]
        return (same or begun)[-1]

    return array

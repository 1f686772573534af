"""The rates of a machine's file, with units and origins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from polyml.machines.descriptions import ORIGINS, Bandwidth, Energies, Figure, Peak, Rate
from polyml.machines.toml_tables import TomlTable

NUMBERS = ("f64", "f32", "f16", "bf16", "tf32", "f8", "i64", "i32", "i16", "i8")


class Figures:
    """A Figures reads the rates, latencies and energies of a machine's file, with units and origins.

    parts: how many cores, multiprocessors or the like the machine has; a rate that the file gives as a text is that of one.
    """

    def __init__(self, table: TomlTable, parts: int):
        self._table, self._parts = table, parts
        self._origin = table.choice("origin", ORIGINS, "estimate")
        self._source = table.text("source", "")
        self.frequency = Rate()
        if table.has("frequency"):
            found = self._rate(table, "frequency", "frequency")
            self.frequency = Rate(found.one or found.all, found.all or found.one)

    def peaks(self, key: str) -> tuple[Peak, ...]:
        """Returns the operations per second by type of number, from the table with this key; () where there is none."""
        if not self._table.has(key):
            return ()
        table = self._table.table(key)
        table.check_keys(NUMBERS)
        return tuple(Peak(n, self._spread(table, n, "operations", True)) for n in NUMBERS if table.has(n))

    def memory(self, *others: str) -> tuple[Bandwidth, ...]:
        """Returns the bandwidth of the memory, in a tuple; () where the file says nothing of it.

        others: keys that the memory's table may have beside those of the bandwidth, `read` and `update`.
        """
        if not self._table.has("memory"):
            return ()
        return (self.bandwidth(self._table.table("memory"), "memory", known=("read", "update", *others)),)

    def bandwidth(
        self, table: TomlTable, place: str, *, spread: bool = False, private: bool = False, known: Sequence[str] = ()
    ) -> Bandwidth:
        """Returns the bandwidth of a level of memory from the level's table.

        place: the name of the level.
        spread: whether a rate of all parts that the file lacks is taken to be one part's rate times their number; else it stays
            unknown.
        private: whether each part has such a level of its own; the product then has the origin of one part's rate, else "estimate".
        known: the keys that the table may have; (): any.
        """
        if known:
            table.check_keys(known)

        def rate(key: str) -> Rate:
            if not table.has(key):
                return Rate()
            return self._spread(table, key, "bandwidth", private) if spread else self._rate(table, key, "bandwidth")

        return Bandwidth(place, rate("read"), rate("update"))

    def latency(self, table: TomlTable) -> Figure | None:
        """Returns how long data of a level take to arrive, in seconds; None where its table does not say."""
        if not table.has("latency"):
            return None
        inside = table.table("latency") if isinstance(table.data["latency"], dict) else None
        if inside is None:
            return self._figure(table, "latency", "time", self.frequency.one, self._origin, self._source)
        inside.check_keys(("value", "origin", "source"))
        origin, source = inside.choice("origin", ORIGINS, self._origin), inside.text("source", self._source)
        return self._figure(inside, "value", "time", self.frequency.one, origin, source)

    def energies(self) -> Energies:
        """Returns the energies that the file says operations and accesses take."""
        if not self._table.has("energy"):
            return Energies()
        table = self._table.table("energy")
        names = [f.name for f in fields(Energies)]
        table.check_keys((*names, "origin", "source"))
        if table.has("multiply_add") and (table.has("multiply") or table.has("add")):
            raise table.error("multiply_add", "`multiply_add` is of both, `multiply` and `add`", "expected it, or these")
        origin, source = table.choice("origin", ORIGINS, self._origin), table.text("source", self._source)
        found = {n: self._figure(table, n, Energies.kind(n), None, origin, source) for n in names if table.has(n)}
        return Energies(**found)

    def _spread(self, table: TomlTable, key: str, kind: str, private: bool) -> Rate:
        """Returns the rate of a key; where the table lacks that of all parts, it is one part's times their number.

        One part's rate is converted first to the clock frequency at which all parts together run.

        kind: what is measured, a key of `units.UNITS` such as "bandwidth".
        private: whether the parts do not get in each other's way; the product then has the origin of one part's rate, else
            "estimate".
        """
        rate = self._rate(table, key, kind)
        if rate.all or not rate.one or self._parts == 1 and self.frequency.one == self.frequency.all:
            return Rate(rate.one, rate.all or rate.one)
        inside, keys, origin, source = self._told(table, key)
        one, together = self.frequency.one, self.frequency.all
        each = self._figure(inside, keys["one"], kind, together, origin, source)
        value, text = each.value, each.source
        if not inside.quantity(keys["one"], kind).per_cycle:
            text = "one part's"
            if one and together and one.value != together.value:
                value *= together.value / one.value
                text += f" at {together.value / 1e9:.4g} in place of {one.value / 1e9:.4g} GHz"
            text += f"; {source}" if source else ""
        return Rate(rate.one, Figure(value * self._parts, each.origin if private else "estimate", f"{self._parts} times {text}"))

    def _rate(self, table: TomlTable, key: str, kind: str) -> Rate:
        """Returns the rate of a key, whose value in the file is a text or a table.

        A text is one part's rate. A table has those of one part and of all under `one` and `all`, and may tell their origin.

        kind: what is measured, a key of `units.UNITS` such as "bandwidth".
        """
        inside, keys, origin, source = self._told(table, key)
        clocks = {"one": self.frequency.one, "all": self.frequency.all}
        found = Rate(**{which: self._figure(inside, keys[which], kind, clocks[which], origin, source) for which in keys})
        if found.one and found.all and kind != "frequency" and found.all.value < found.one.value:
            raise inside.error("all", f"`{key}` of all together is less than of one", "expected at least as much")
        return found

    def _told(self, table: TomlTable, key: str) -> tuple[TomlTable, dict[str, str], str, str]:
        """Returns (the table that has the figures of a key, their keys in it, their origin, their source).

        The keys in it are a dict with "one" for the figure of one part and "all" for that of all parts, or only one of the two.
        Where the key's value is a text, the text is the figure of one part: the result has `table` itself and {"one": key}.
        """
        if not isinstance(table.data[key], dict):
            return table, {"one": key}, self._origin, self._source
        inside = table.table(key)
        inside.check_keys(("one", "all", "origin", "source"))
        if not inside.has("one") and not inside.has("all"):
            raise inside.error(None, f"`{key}` has neither `one` nor `all`", "what one core reaches, and all together")
        keys = {which: which for which in ("one", "all") if inside.has(which)}
        return inside, keys, inside.choice("origin", ORIGINS, self._origin), inside.text("source", self._source)

    def _figure(self, table: TomlTable, key: str, kind: str, clock: Figure | None, origin: str, source: str) -> Figure:
        found = table.quantity(key, kind)
        if not found.per_cycle:
            return Figure(found.value, origin, source)
        if clock is None:
            raise table.error(key, f"`{key}` is per cycle, and there is no frequency", 'expected frequency = "3.2 GHz" above')
        weakest = max(origin, clock.origin, key=ORIGINS.index)
        text = f"{table.data[key]} at {clock.value / 1e9:.4g} GHz"
        value = found.value / clock.value if kind == "time" else found.value * clock.value
        return Figure(value, weakest, f"{text}; {source}" if source else text)

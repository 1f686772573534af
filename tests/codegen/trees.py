"""Schedule trees, written and random, and the order in which they and loops run instances."""

import islpy as isl

from polyml import polyhedra
from polyml.codegen.ir.program import Guard, Instance, Loop

CONTEXT = isl.Set("[N, M] -> { : N >= 0 and M >= 0 }")


def run(nodes, values):
    """The instances in the order in which the loops reach them."""
    for node in nodes:
        if isinstance(node, Instance):
            yield node.statement, tuple(e.evaluate(values) for e in node.point)
        elif isinstance(node, Guard):
            if node.condition.evaluate(values):
                yield from run(node.body, values)
        else:
            assert isinstance(node, Loop)
            low, high = max(e.evaluate(values) for e in node.lower), min(e.evaluate(values) for e in node.upper)
            for value in range(low, high + 1, node.step):
                yield from run(node.body, {**values, node.var: value})


def in_order(schedule, sizes):
    """The instances, sorted by their times."""
    times = dict(polyhedra.points(schedule.get_map().intersect_domain(schedule.get_domain()), **sizes))
    return [instance for instance, _ in sorted(times.items(), key=lambda pair: pair[1][1])]


def schedule_of(domain, child):
    return isl.Schedule(f'{{ domain: "[N, M] -> {{ {domain} }}", child: {child} }}')


def band(*members, options="", child=None):
    inner = f", child: {child}" if child else ""
    chosen = f', options: "{{ {options} }}"' if options else ""
    return f'{{ schedule: "[N, M] -> [{", ".join("{ " + m + " }" for m in members)}]"{chosen}{inner} }}'


def sequence(*children):
    parts = (f'{{ filter: "[N, M] -> {{ {part} }}"{", child: " + child if child else ""} }}' for part, child in children)
    return f"{{ sequence: [ {', '.join(parts)} ] }}"


def random_domain(rng, names, every=False):
    bounds = []
    for k, name in enumerate(names):
        low = rng.choice(["0", "0", "1", *(names[:k]), *(f"{n} + 1" for n in names[:k])])
        high = rng.choice(["N", "M", "N - 1", "M - 2", *(names[:k]), *(f"{n} + 3" for n in names[:k])])
        bounds.append(f"{low} <= {name} < {high}")
    if rng.random() < 0.2:
        bounds.append(rng.choice(["N > 2", f"{names[0]} + {names[-1]} < N + 1", f"2{names[0]} <= M + {names[-1]}"]))
    if every and rng.random() < 0.5:
        name = rng.choice(names)
        bounds.append(rng.choice([f"({name} + N) mod 2 = 0", f"({name} < 2 or {name} > M - 3)", f"{name} mod 3 <= 1"]))
    return " and ".join(bounds)


def random_member(rng, names, of):
    """A member by which no later one is lost: each has one iterator more."""
    others = [n for n in names if n != of]
    skew = rng.choice(["", "", f" + {rng.choice([1, 2])}*{rng.choice(others)}"]) if others else ""
    return rng.choice([f"{of}{skew}", f"{of}{skew}", f"{of}{skew} + {rng.randint(-2, 3)}", f"-{of}"])


TILES_OF_TILES = [
    "floor(({a})/4) + floor(({b})/3) + floor((1 + {a} - floor(({b})/3))/4)",
    "floor((floor(({b})/2) - 3*floor(({a})/5))/2)",
    "({a}) - ({a}) mod 8 - (-3*floor(({a})/8)) mod 5",
]


def random_schedule(rng, every=False):
    names = ["i", "j", "k"][: rng.randint(1, 3)]
    point = f"[{', '.join(names)}]"
    statements = ["S"] if rng.random() < 0.5 else ["S", "T"]
    domain = random_domain(rng, names, every)
    domains = {s: domain if rng.random() < 0.7 else random_domain(rng, names, every) for s in statements}
    order = rng.sample(names, len(names))
    shared = rng.randint(0, len(names)) if len(statements) > 1 else 0
    own = {s: [random_member(rng, names[:k] + [of], of) for k, of in enumerate(order)] for s in statements}
    if rng.random() < 0.6:
        own = {s: [m if "-" in m or len(m) > 3 else of for m, of in zip(own["S"], order)] for s in statements}

    def member(k, make):
        return "; ".join(f"{s}{point} -> [({make(own[s][k], s)})]" for s in statements)

    def tile(size):
        return lambda e, _: rng_tile.format(e=e, size=size)

    rng_tile = rng.choice(["{e} - ({e}) mod {size}", "floor(({e})/{size})"])
    options = rng.choice(["", "atomic[x]"]) if len(statements) > 1 else ""

    def child_of(s, start):
        members = [f"{s}{point} -> [({own[s][k]})]" for k in range(start, len(names))]
        if not members or rng.random() < 0.6:
            return band(*members) if members else ""
        of, low, high = rng.choice(names), rng.choice(["0", "1", "N - 2", "M"]), rng.choice(["0", "2", "N - 1", "M + 1"])
        parts = [f"{of} < {low}", f"{low} <= {of} <= {high}", f"{of} >= {low} and {of} > {high}"]
        return sequence(*((f"{s}{point} : {part}", band(*members)) for part in parts))

    if len(statements) == 1:
        tree = child_of("S", 0)
    else:
        tree = sequence(*((f"{s}{point}", child_of(s, shared)) for s in statements))
        for k in reversed(range(shared)):
            tree = band(member(k, lambda e, _: e), options=options, child=tree)
    for k in rng.sample(range(len(names)), rng.randint(0, len(names))):
        tree = band(member(k, tile(rng.choice([2, 3, 4, 6]))), options=options, child=tree)
    if len(names) > 1 and rng.random() < 0.2:
        lean = "floor(({a})/3) + floor(({b})/3)"
        tree = band(member(0, lambda e, s: lean.format(a=e, b=own[s][1])), options=options, child=tree)
    if every and len(names) > 1 and rng.random() < 0.4:
        leaning = rng.choice(TILES_OF_TILES)
        tree = band(member(0, lambda e, s: leaning.format(a=e, b=own[s][1])), options=options, child=tree)
    return schedule_of("; ".join(f"{s}{point} : {d}" for s, d in domains.items()), tree)


def random_product(rng):
    """A product T in tiles, with statements before and behind that run in the first and the last tile of its depth."""
    low, high = rng.choice(["0", "0", "1"]), rng.choice(["N", "M", "N - 1", "M - 2"])
    rows = rng.choice(["0 <= i < M", "0 <= i < N", "2 <= i < N + 2"])
    size, across = rng.choice([2, 3, 4, 6]), rng.choice([1, 2, 4])
    last = f"max({low}, {high} - 1)"
    value = {"B": low, "T": "k", "D": last, "E": last}
    names = ["B"] * rng.randint(0, 1) + ["T"] + ["D", "E"][: rng.randint(0, 2)]
    points = {s: "T[i, k]" if s == "T" else f"{s}[i]" for s in names}
    domains = [f"{points[s]} : {rows}" + (f" and {low} <= k < {high}" if s == "T" else "") for s in names]
    inner = {s: band("T[i, k] -> [(i)]", "T[i, k] -> [(k)]") if s == "T" else band(f"{points[s]} -> [(i)]") for s in names}
    tree = sequence(*((points[s], inner[s]) for s in names)) if len(names) > 1 else inner["T"]
    tiles = ["; ".join(f"{points[s]} -> [({e} - ({e}) mod {n})]" for s in names for e in [of(s)])
             for of, n in ((lambda s: value[s], size), (lambda s: "i", across))]  # fmt: skip
    for tile in rng.sample(tiles, 2):
        tree = band(tile, options="atomic[x]", child=tree)
    return schedule_of("; ".join(domains), tree)


def random_strided_schedule(rng):
    """Domains with strides, in tiles of tiles whose sizes do not divide one another."""
    names = ["i", "j"][: rng.randint(1, 2)]
    point = f"[{', '.join(names)}]"
    statements = ["S", "T"][: rng.randint(1, 2)]
    stride, rest = rng.choice([2, 3, 3, 5]), rng.choice(["0", "1", "N"])
    strides = [f"({name} + {rest}) mod {stride} = 0" for name in names if rng.random() < 0.8]
    bounds = [f"0 <= {name} < {rng.choice(['N', 'M', '2N'])}" for name in names]
    domain = " and ".join(bounds + strides)

    def tile(e, size):
        return f"({e}) - (({e}) mod {size})"

    members = []
    for name in names:
        inner = tile(rng.choice([name, f"{name} + {rng.randint(1, 2)}", f"-{name}"]), rng.choice([4, 6, 8]))
        outer = tile(inner, rng.choice([3, 5, 7]))
        members += rng.choice([[outer, inner], [outer, inner], [inner], [outer]])
    rng.shuffle(members)
    last = [rng.choice([name, f"{name} mod 8", f"3{name}"]) for name in names]

    def bands(of, inner):
        for member in reversed(of):
            options = rng.choice(["", "atomic[x]"])
            inner = band("; ".join(f"{s}{point} -> [({member})]" for s in inner[0]), options=options, child=inner[1]), inner[0]
            inner = inner[1], inner[0]
        return inner[1]

    if len(statements) == 1:
        tree = bands([*members, *last, *names], (statements, ""))
    else:
        shared = rng.randint(0, len(members))
        own = {s: bands([*members[shared:], *rng.choice([last, []]), *names], ([s], "")) for s in statements}
        tree = bands(members[:shared], (statements, sequence(*((f"{s}{point}", own[s]) for s in statements))))
    return schedule_of("; ".join(f"{s}{point} : {domain}" for s in statements), tree)

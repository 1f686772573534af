"""What the host does for a kernel on a GPU as JSON, and back."""

from __future__ import annotations

from polyml.runtime.gpu.host.nodes import (
    PRODUCT_ROLES,
    HostChoice,
    HostGuard,
    HostLaunch,
    HostLoop,
    HostNode,
    HostProduct,
    HostRows,
    HostTiles,
    MatrixWalk,
)
from polyml.runtime.storage.records import count_of, flag_of, only, text_of, tuple_of

_WALKS = ("result", "left", "right")


def node_to_json(node: HostNode) -> dict:
    if isinstance(node, HostLaunch):
        return vars(node)
    more: dict[str, object] = {}
    if isinstance(node, HostRows):
        more = {"launches": [vars(each) for each in node.launches]}
    if isinstance(node, HostProduct):
        more = {name: vars(getattr(node, name)) for name in _WALKS} | {"rest": [node_to_json(each) for each in node.rest]}
    return {**vars(node), "body": [node_to_json(each) for each in node.body], **more}


def _product_from_json(given: dict) -> HostProduct:
    data = only(given, HostProduct.__dataclass_fields__.keys())
    body, rest = (tuple_of(node_from_json, data[name]) for name in ("body", "rest"))
    roles, extents = (tuple_of(text_of, data[name]) for name in ("roles", "extents"))
    result, left, right = (_walk_from_json(data[name], len(roles)) for name in _WALKS)
    alpha, beta = (_scale_from_json(data[name]) for name in ("alpha", "beta"))
    if len(extents) != len(roles) or not {*roles} <= {*PRODUCT_ROLES}:
        raise ValueError("each loop of a product has a role and an extent")
    return HostProduct(text_of(data["name"]), body, rest, roles, extents, result, left, right, alpha, beta, flag_of(data["tf32"]))


def _walk_from_json(given: object, loops: int) -> MatrixWalk:
    data = only(given, MatrixWalk.__dataclass_fields__.keys())
    first, steps = tuple_of(text_of, data["first"]), tuple_of(lambda each: tuple_of(_step, each), data["steps"])
    if len(steps) != loops or any(len(each) != len(first) for each in steps):
        raise ValueError("a walk has a step for each loop and dimension")
    return MatrixWalk(text_of(data["array"]), first, steps)


def _step(given: object) -> int:
    if type(given) is not int:
        raise ValueError(f"an integer is expected, not {given!r:.40}")
    return given


def _scale_from_json(given: object) -> tuple[float, tuple[str, ...]]:
    constant, names = tuple_of(lambda each: each, given)
    if not isinstance(constant, (int, float)):
        raise ValueError(f"a number is expected, not {constant!r:.40}")
    return float(constant), tuple_of(text_of, names)


def _choice_from_json(given: dict) -> HostChoice:
    data = only(given, HostChoice.__dataclass_fields__.keys())
    body = [node for node in tuple_of(node_from_json, data["body"]) if isinstance(node, HostLaunch)]
    if len(body) not in (2, 4) or len(body) < len(data["body"]):
        raise ValueError("a choice is among two or four launches")
    trips, numbers = tuple_of(text_of, data["trips"]), (count_of(data["size"]), count_of(data["lanes"]))
    if not all(numbers):
        raise ValueError("a team has threads")
    return HostChoice(tuple(body), text_of(data["parts"]), trips, text_of(data["along"]), *numbers, flag_of(data["beside"]))


def _rows_from_json(given: dict) -> HostRows:
    data = only(given, HostRows.__dataclass_fields__.keys())
    chosen = tuple(node for node in tuple_of(node_from_json, data["launches"]) if isinstance(node, HostLaunch))
    threads, most = (tuple_of(count_of, data[name]) for name in ("threads", "most"))
    if len(chosen) < len(data["launches"]) or len(threads) != len(most) or len(chosen) not in (0, len(threads)):
        raise ValueError("rows have a number of threads for each launch")
    body, rows = tuple_of(node_from_json, data["body"]), tuple_of(text_of, data["rows"])
    return HostRows(body, chosen, text_of(data["longest"]), rows, threads, most)


def node_from_json(given: object) -> HostNode:
    if not isinstance(given, dict):
        raise ValueError(f"a loop or a launch is expected, not {given!r:.40}")
    if "kernel" in given:
        data = only(given, HostLaunch.__dataclass_fields__.keys())
        blocks, firsts = (tuple_of(text_of, data[name]) for name in ("blocks", "firsts"))
        axes = tuple(tuple_of(count_of, data[name]) for name in ("given_firsts", "given_extents"))
        if len(blocks) != len(firsts) or any(k >= len(blocks) for each in axes for k in each):
            raise ValueError("a launch has a number of blocks and a first one along each axis")
        integers, stored, counts = (tuple_of(text_of, data[name]) for name in ("integers", "stored", "counts"))
        first, extents = axes
        return HostLaunch(text_of(data["kernel"]), blocks, firsts, integers, first, extents, stored, counts)
    if "longest" in given:
        return _rows_from_json(given)
    if "roles" in given:
        return _product_from_json(given)
    if "trips" in given:
        return _choice_from_json(given)
    if "costs" in given:
        data = only(given, HostTiles.__dataclass_fields__.keys())
        forms, costs = tuple_of(node_from_json, data["body"]), tuple_of(count_of, data["costs"])
        body = tuple(node for node in forms if isinstance(node, HostLaunch))
        if not len(body) == len(forms) == len(costs) == 2:
            raise ValueError("a launch has two forms")
        return HostTiles(body, costs)
    if "condition" in given:
        data = only(given, HostGuard.__dataclass_fields__.keys())
        return HostGuard(text_of(data["condition"]), tuple_of(node_from_json, data["body"]))
    data = only(given, HostLoop.__dataclass_fields__.keys())
    step = count_of(data["step"])
    if not step:
        raise ValueError("a loop has a step")
    lower, upper = (tuple_of(text_of, data[name]) for name in ("lower", "upper"))
    return HostLoop(text_of(data["var"]), lower, upper, step, tuple_of(node_from_json, data["body"]))

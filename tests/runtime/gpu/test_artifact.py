"""A kernel for a GPU survives its journey through bytes, and damage is noticed."""

import json

import pytest

from polyml.runtime.gpu.artifact import GpuArtifact
from polyml.runtime.gpu.host.nodes import launches
from polyml.runtime.storage.checksum import Damaged
from tests.runtime.gpu.examples import layer, made, scaled, swept

ARTIFACTS = [made(scaled, "f64[:]", "f64[:]", "f64"), made(swept, "f32[:]", "int", dialect="cuda")]
WITH_PRODUCT = made(layer, "f32[:,:]", "f32[:,:]", "f32[:]", dialect="cuda", libraries=True)


@pytest.mark.parametrize("artifact", [*ARTIFACTS, WITH_PRODUCT], ids=lambda each: each.name)
def test_bytes_give_back_the_artifact(artifact):
    again = GpuArtifact.from_bytes(artifact.to_bytes())
    assert again == artifact
    assert [each.loc and each.loc.excerpt() for each in again.checks] == [
        each.loc and each.loc.excerpt() for each in artifact.checks
    ]


def test_what_is_written_is_known_without_the_program():
    assert [each.written for each in ARTIFACTS] == [("B",), ("A",)]


@pytest.mark.parametrize("kept", [0, 1, 8, 100, -1])
def test_a_truncated_artifact_is_noticed(kept):
    with pytest.raises(Damaged):
        GpuArtifact.from_bytes(ARTIFACTS[0].to_bytes()[:kept])


def places(data, path=()):
    """The paths of all values in JSON data."""
    yield path
    if isinstance(data, (dict, list)):
        for key, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from places(value, (*path, key))


@pytest.mark.parametrize("other", [None, -1, 2**70, [], {}, True, 1.5])
@pytest.mark.parametrize("artifact", [ARTIFACTS[1], WITH_PRODUCT], ids=lambda each: each.name)
def test_a_value_of_another_type_is_damage_or_what_was_meant(other, artifact):
    """Each value of the file is exchanged in turn: what is read is an artifact with values of the right types, or Damaged."""
    text = artifact.to_bytes()
    for path in list(places(json.loads(text)))[1:]:
        data = json.loads(text)
        holder = data
        for key in path[:-1]:
            holder = holder[key]
        holder[path[-1]] = other
        try:
            found = GpuArtifact.from_bytes(json.dumps(data).encode())
        except Damaged:
            continue
        assert GpuArtifact.from_bytes(found.to_bytes()) == found


def test_a_launch_of_a_kernel_that_there_is_not_is_damage():
    data = json.loads(ARTIFACTS[0].to_bytes())
    data["host"][0]["body"][0]["kernel"] = "other"
    with pytest.raises(Damaged, match="there is no other"):
        GpuArtifact.from_bytes(json.dumps(data).encode())


def test_launches_are_found_inside_loops():
    assert [each.kernel for each in launches(ARTIFACTS[1].host)] == ["swept_0"]

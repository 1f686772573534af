"""Whatever is given to a public method, the error is one of polyml's, or Python's own for the number or the names of arguments."""

import inspect
import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, seed, settings

import polyml
from polyml.errors import ConfigError, ScheduleError
from polyml.runtime.gpu.toolkit import nvidia
from polyml.schedule.script.schedule import Schedule
from tests.api.edges.wrong_arguments import Hostile, HostileNumber, HostileText, calls_of, methods, outcome

SLOW = {"serve"}  # which would wait


def two_parts(A):
    for i in range(A.shape[0]):
        for j in range(A.shape[0]):
            A[i, j] = A[i, j] * 2.0
            A[j, i] = A[j, i] + 1.0


@pytest.fixture(scope="module")
def subjects():
    kernel, on_gpu = polyml.kernel(two_parts, cache=False), polyml.kernel(two_parts, cache=False, target="opencl")
    kernel(np.ones((4, 4)))
    return {
        "schedule": kernel.schedule("source"),
        "gpu": on_gpu.schedule("source", "f64[:, :]"),
        "kernel": kernel,
        "polyml": polyml,
        "Target": polyml.Target,
    }


def of(subject, owner, examples):
    return [(subject, name, examples) for name in methods(owner) if name not in SLOW]


FUNCTIONS = [("polyml", name, 40) for name in ("plot", "load", "status", "kernel", "Target")]
CALLED = [
    *of("schedule", Schedule, 40),
    *of("gpu", Schedule, 10),
    *of("kernel", polyml.Kernel, 8),
    *of("Target", polyml.Target, 40),
    *FUNCTIONS,
]


@pytest.mark.parametrize("subject, name, examples", CALLED)
@pytest.mark.filterwarnings("ignore")
def test_wrong_arguments_give_an_error_of_polyml(subject, name, examples, subjects, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    method = getattr(subjects[subject], name)

    @seed(32)
    @settings(max_examples=examples, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(call=calls_of(method))
    def tried(call):
        args, named = call
        assert outcome(method, args, named) == ""

    tried()


@pytest.mark.parametrize(
    "subject, name", [(subject, name) for subject, name, _ in CALLED if subject in ("schedule", "kernel", "Target")]
)
@pytest.mark.parametrize("value", [Hostile(), HostileText("i"), HostileNumber(4), np.ones(3)], ids=lambda v: type(v).__name__)
@pytest.mark.filterwarnings("ignore")
def test_each_argument_may_be_anything(subject, name, value, subjects, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    method = getattr(subjects[subject], name)
    for parameter in inspect.signature(method).parameters.values():
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            others = [p for p in inspect.signature(method).parameters.values() if p.default is p.empty and p.name != parameter.name]
            rest = {p.name: "i" for p in others if p.kind == p.POSITIONAL_OR_KEYWORD}
            assert outcome(method, [], {**rest, parameter.name: value}) == "", parameter.name


def test_the_check_itself_finds_errors_that_are_not_of_polyml():
    def fails(a):
        return {}[a]

    assert "KeyError" in outcome(fails, ["i"], {}) and outcome(fails, [], {}) == "" and "TypeError" in outcome(len, [3], {})


# What was found


def test_texts_and_numbers_of_classes_of_their_own_are_taken_as_plain_ones(subjects):
    given = subjects["schedule"]
    assert given.tile(j=HostileNumber(4)) == given.tile(j=4)


@pytest.mark.parametrize("adjacent", [1, np.ones(2), Hostile(), None, "yes"], ids=lambda v: type(v).__name__)
def test_adjacent_is_true_or_false(adjacent, subjects):
    with pytest.raises(ScheduleError, match="items takes adjacent=True or adjacent=False, not"):
        subjects["gpu"].items(4, adjacent=adjacent)


def test_a_loop_is_cut_behind_a_statement_that_is_called_by_a_text(subjects):
    with pytest.raises(ScheduleError, match="loop `j` cannot be cut behind a Hostile"):
        subjects["schedule"].distribute("j", after=Hostile())


def test_a_schedule_is_not_saved_to_what_is_no_path(subjects):
    with pytest.raises(ScheduleError, match="cannot be written to a Hostile: this is no name of a file"):
        subjects["schedule"].save(Hostile())


def test_why_does_not_answer_what_is_no_text(subjects):
    with pytest.raises(ConfigError, match="`why` does not answer array"):
        subjects["kernel"].why("i", np.ones(2))


@pytest.mark.parametrize("sizes", [True, 3, "i", [1], np.ones(3)], ids=repr)
def test_sizes_of_a_picture_are_a_mapping(sizes, subjects):
    with pytest.raises(ConfigError, match="sizes= takes a mapping, not"):
        polyml.plot(subjects["kernel"], sizes=sizes)


@pytest.mark.parametrize("at", [np.ones(2), 0, Hostile()], ids=lambda v: type(v).__name__)
def test_what_a_picture_outlines_is_a_text(at, subjects):
    with pytest.raises(ConfigError, match="at= takes a text, not"):
        polyml.plot(subjects["kernel"], "footprints", at=at)


@pytest.mark.parametrize("path", [3, 2**70, {"i": 0}, Hostile(), None, os.sep + "\x00"], ids=lambda v: type(v).__name__)
def test_a_library_is_a_file(path):
    with pytest.raises(ConfigError, match="load takes the path of a shared library, not|there is no file"):
        polyml.load(path)


@pytest.mark.parametrize("device", [3, np.ones(2), None, Hostile()], ids=lambda v: type(v).__name__)
def test_a_device_is_called_by_a_text(device):
    with pytest.raises(ConfigError, match="a target's device is a text, not"):
        polyml.Target.cuda(device)
    with pytest.raises(ConfigError, match="a target's library is a text, not"):
        polyml.Target.cuda(library=device)


def test_the_machine_of_an_array_is_a_name_or_a_file():
    class NoPath(os.PathLike):
        def __fspath__(self):
            raise RuntimeError("hostile")

    with pytest.raises(ConfigError, match="is no file"):
        polyml.Target.systolic(machine=NoPath())


@pytest.mark.parametrize("arch", [2, None, Hostile(), HostileText("i"), "sm_90; rm"], ids=lambda v: type(v).__name__)
def test_the_architecture_of_a_gpu_is_a_text(arch):
    with pytest.raises(ConfigError, match="is no architecture of a GPU"):
        nvidia.ptx("", arch)

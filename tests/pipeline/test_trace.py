"""What is recorded of each pass: its values, its own time, and the difference that it made."""

import time

import numpy as np

import polyml
from polyml.pass_manager import Pass, run
from polyml.pipeline.trace import recorded


def slept(value, seconds, inner=()):
    for each in inner:
        run(Pass(f"inner{each}", slept, ""), value, each)
    time.sleep(seconds)
    return value


def test_passes_inside_another_are_before_it_and_their_time_is_theirs():
    with recorded() as ran:
        run(Pass("outer", slept, "why"), 1, 0.01, (0.02, 0.03))
    assert [each.step.name for each in ran] == ["inner0.02", "inner0.03", "outer"]
    inside, other, outer = ran
    assert outer.seconds >= 0.06 and 0.01 <= outer.own_seconds < 0.045
    assert abs(outer.own_seconds + inside.own_seconds + other.own_seconds - outer.seconds) < 1e-9


def tiled(A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[i, j] = A[j, i]


def test_differences_are_of_texts_and_a_translation_has_all_of_its_text():
    with recorded() as ran:
        polyml.kernel(tiled, cache=False)(np.ones((30, 30)), np.ones((30, 30)))
    found = {each.step.name: each for each in ran}
    assert found["equal_sizes"].difference == () and not found["equal_sizes"].translates
    assert found["extract"].translates and "\n".join(found["extract"].difference) == found["extract"].text
    assert found["extract"].kinds == "Nest -> Scop" and found["schedule"].kinds == "Scop -> Schedule"
    changed = found["vectorize"].difference
    assert changed[0].startswith("@@ ") and any(line.startswith("+") for line in changed)
    assert all(each.step.why for each in ran)

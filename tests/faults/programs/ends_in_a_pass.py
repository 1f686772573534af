"""A first call, in the midst of a pass of which the process ends as it would by a fault in isl or LLVM.

    ends_in_a_pass.py PASS FORMS [passes]      FORMS: "" it goes on; "0": in the first form alone; "01": in the first two.
                                                passes: print what passes there are

The tests say what ends with which status; the text that is printed is: right, compiled, from the cache, and the warning.
"""

import os
import signal
import sys
import warnings

import numpy as np

import polyml
from polyml import pass_manager
from polyml.api.compiling import simpler_forms

wanted, forms = sys.argv[1], sys.argv[2]
run, made = pass_manager.run, simpler_forms.made
now = [""]


def ending(step, *given, **named):
    result = run(step, *given, **named)
    if wanted == step.name and now[0] in forms:
        signal.signal(signal.SIGSEGV, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGSEGV)
    return result


def told(compiled, options, failed, ended_in=-1):
    def of_form(chosen, form):
        now[0] = str(form)
        return compiled(chosen, form)

    return made(of_form, options, failed, ended_in)


pass_manager.run, simpler_forms.made = ending, told
seen: dict[str, None] = {}


@polyml.kernel
def product(A, B, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


A, B, C = np.ones((20, 30)), np.arange(750.0).reshape(30, 25), np.zeros((20, 25))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for _ in range(2):
        C[:] = 0
        with pass_manager.watched(lambda step, *_: seen.setdefault(step.name)):
            product(A, B, C)
if sys.argv[3:] == ["passes"]:
    print(*seen)
    sys.exit()
right = "right" if np.allclose(C, A @ B) else "wrong"
said = [str(w.message) for w in caught if issubclass(w.category, polyml.PolymlDefectWarning)]
print(right, bool(product.compiled), product.from_cache, said[0] if len(said) == 1 else f"{len(said)} warnings")

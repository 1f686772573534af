"""Programs that compute on the rows of a product, with random holes. A template is as in `templates`."""

from __future__ import annotations

import random

from tests.fuzz.program import NUMPY_NAME
from tests.fuzz.template_parts import Made, arrays, nest


def weighted_sums(rng: random.Random) -> Made:
    """Sums of exp(x - m) over rows of a product, whose maximum m is, and of these times other things; perhaps masked."""
    e = rng.choice(["f64", "f64", "f32"])
    kind = f"np.{NUMPY_NAME[e]}"
    ij, ik = [("i", "range(N)"), ("j", "range(M)")], [("i", "range(N)"), ("k", "range(K)")]
    lines = ["def kernel(A, B, V, C, L):", "    N, K = A.shape", "    M = B.shape[0]", f"    S = np.empty((N, M), dtype={kind})"]
    lines += nest(ij, ["S[i, j] = 0", "for k in range(K):", "    S[i, j] += A[i, k] * B[j, k]"])
    mask = rng.choice(["", "j <= i + 2", "j > i - 2", "j != i", "j < i"])  # under the last one the first row has nothing
    if mask:
        lines += nest(ij, [f"S[i, j] = S[i, j] if {mask} else {kind}(-np.inf)"])
    best = ["m = " + rng.choice([f"{kind}(-np.inf)", f"{kind}(-1)", "S[i, 0]"]), "for j in range(M):", "    m = max(m, S[i, j])"]
    total = [f"l = {kind}(0)", "for j in range(M):", "    S[i, j] = np.exp(S[i, j] - m)", "    l += S[i, j]"]
    sums = ["for k in range(K):", "    C[i, k] = 0", "for j in range(M):", "    for k in range(K):"]
    factor = rng.choice(["V[j, k]", "V[j, k]", "2 * V[j, k]"])
    form = rng.choice(["before", "inside", "behind", "behind", "never"])
    if form == "before":
        total += ["for j in range(M):", "    S[i, j] = S[i, j] / l"]
    term = f"S[i, j] / l * {factor}" if form == "inside" else f"S[i, j] * {factor}"
    sums += [f"        C[i, k] += {term}"]
    if form == "behind":
        sums += ["for k in range(K):", "    C[i, k] = C[i, k] / l"]
    last = rng.choice([[], ["L[i] = m"], ["L[i] = m + l"], ["L[i] = l"]])
    lines += nest([("i", "range(N)")], [*best, *total, *sums, *last])
    return "\n".join(lines), arrays(e, A="N,K", B="M,K", V="M,K", C="N,K", L="N")


ROW_TEMPLATES = (weighted_sums, weighted_sums)

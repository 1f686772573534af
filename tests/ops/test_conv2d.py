"""Convolutions against the definition in float64, written with windows and einsum."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view

import polyml
from polyml.errors import PolymlError, PolymlTypeError, PolymlValueError
from polyml.ops import conv2d, conv2d_plan

ALGORITHMS = ("direct", "im2col", "winograd2", "winograd4", "fft")
# in units of eps * the largest sum |x||w|; of "direct" and "im2col" a bound is proved
SHARE_OF_LARGEST = {"winograd2": 10, "winograd4": 50, "fft": 10, "auto": 50}


def pair(value):
    return value if isinstance(value, tuple) else (value, value)


def definition(x, w, bias, *, stride=1, padding=0, dilation=1, groups=1):
    """NCHW, in float64."""
    x, w = x.astype("f8"), w.astype("f8")
    (down, right), (p, q), (dp, dq) = pair(stride), pair(padding), pair(dilation)
    x = np.pad(x, ((0, 0), (0, 0), (p, p), (q, q)))
    reach = (w.shape[2] - 1) * dp + 1, (w.shape[3] - 1) * dq + 1
    windows = sliding_window_view(x, reach, axis=(2, 3))[:, :, ::down, ::right, ::dp, ::dq]
    n, c, h, v = windows.shape[:4]
    windows = windows.reshape(n, groups, c // groups, h, v, *w.shape[2:])
    filters = w.reshape(groups, -1, *w.shape[1:])
    y = np.einsum("ngchwab,gocab->ngohw", windows, filters).reshape(n, len(w), h, v)
    return y if bias is None else y + bias.astype("f8")[:, None, None]


def check(case, dtype, layout, algorithm, *, rng, bias=True, **kwargs):
    """The result of one algorithm, within its bound of the definition."""
    (n, c, h, v), (o, kh, kw) = case
    groups = kwargs.get("groups", 1)
    x = rng.standard_normal((n, c, h, v)).astype(dtype)
    w = rng.standard_normal((o, c // groups, kh, kw)).astype(dtype)
    b = rng.standard_normal(o).astype(dtype) if bias else None
    expected = definition(x, w, b, **kwargs)
    sums = definition(abs(x), abs(w), None if b is None else abs(b), **kwargs)
    X, W = (x, w) if layout == "NCHW" else (x.transpose(0, 2, 3, 1).copy(), w.transpose(2, 3, 1, 0).copy())
    y = conv2d(X, W, b, layout=layout, algorithm=algorithm, **kwargs)
    y = y if layout == "NCHW" else y.transpose(0, 3, 1, 2)
    assert y.dtype == x.dtype and y.shape == expected.shape
    eps = np.finfo(dtype).eps
    if algorithm in SHARE_OF_LARGEST:
        assert np.abs(y - expected).max(initial=0) <= SHARE_OF_LARGEST[algorithm] * eps * sums.max(initial=0)
    else:
        k = w[0].size
        rounded = 2 if dtype == "f8" else 1  # the definition is then rounded as often as the result
        assert (np.abs(y - expected) <= rounded * (k + 1) * eps * sums).all()


CASES = [
    (((1, 3, 9, 11), (5, 3, 3)), {}),
    (((3, 4, 8, 7), (17, 3, 3)), {"padding": 1}),
    (((2, 6, 10, 9), (4, 3, 3)), {"padding": (2, 1), "groups": 2}),
    (((2, 3, 13, 12), (8, 7, 7)), {"stride": 2, "padding": 3}),
    (((1, 4, 11, 12), (6, 2, 5)), {"stride": (3, 1), "dilation": (1, 2), "padding": (0, 2)}),
    (((2, 8, 6, 5), (16, 1, 1)), {}),
    (((2, 8, 6, 5), (6, 1, 1)), {"groups": 2}),
    (((1, 8, 7, 6), (16, 1, 1)), {"stride": 2}),
    (((2, 5, 8, 9), (5, 3, 3)), {"groups": 5, "padding": 1}),
    (((1, 3, 8, 9), (6, 3, 3)), {"groups": 3, "stride": (1, 2)}),
    (((1, 2, 40, 37), (3, 13, 11)), {"padding": 5}),
    (((1, 4, 9, 9), (4, 3, 3)), {"dilation": 2, "groups": 2, "padding": 2}),
    (((1, 33, 5, 18), (33, 3, 3)), {"padding": 1}),
    (((0, 3, 5, 5), (2, 3, 3)), {}),
    (((1, 1, 9, 8), (5, 3, 3)), {"padding": 1}),
    (((1, 2, 9, 8), (8, 3, 3)), {"groups": 2}),
]


def applies(case, algorithm, kwargs):
    x, (o, kh, kw) = case
    plan = conv2d_plan(x, (o, x[1] // kwargs.get("groups", 1), kh, kw), **kwargs)
    return algorithm not in plan.refused


@pytest.mark.parametrize("algorithm", [*ALGORITHMS, "auto"])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.sweep("algorithm")
def test_every_algorithm_is_within_its_bound_of_the_definition(dtype, layout, algorithm):
    rng = np.random.default_rng(0)
    for case, kwargs in CASES:
        if algorithm == "auto" or applies(case, algorithm, kwargs):
            check(case, dtype, layout, algorithm, rng=rng, **kwargs)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.data())
def test_random_geometries(data):
    def number(low, high):
        return data.draw(st.integers(low, high))

    groups = number(1, 3)
    case = (
        (number(1, 3), groups * number(1, 4), number(4, 14), number(4, 14)),
        (
            groups * number(1, 5),
            number(1, 3),
            number(1, 3),
        ),
    )
    kwargs = dict(
        stride=(number(1, 3), number(1, 3)),
        padding=(number(0, 2), number(0, 2)),
        dilation=data.draw(st.sampled_from([1, (1, 2), (2, 1)])),
        groups=groups,
    )
    reach = [(k - 1) * d + 1 for k, d in zip(case[1][1:], pair(kwargs["dilation"]))]
    if any(size + 2 * p < r for size, p, r in zip(case[0][2:], kwargs["padding"], reach)):
        return
    fitting = [a for a in ALGORITHMS if applies(case, a, kwargs)]
    algorithm, layout = data.draw(st.sampled_from(fitting)), data.draw(st.sampled_from(["NCHW", "NHWC"]))
    check(case, "f4", layout, algorithm, rng=np.random.default_rng(number(0, 99)), bias=data.draw(st.booleans()), **kwargs)


@pytest.mark.parametrize("algorithm", ["winograd2", "winograd4"])
@pytest.mark.sweep()
def test_the_stated_error_of_winograd_holds_for_many_channels(algorithm):
    rng = np.random.default_rng(1)
    for channels in (64, 256):
        check(((1, channels, 16, 16), (32, 3, 3)), "f4", "NHWC", algorithm, rng=rng, padding=1)


def test_blocks_end_where_images_and_rows_end(monkeypatch):
    from polyml.ops import im2col, winograd

    monkeypatch.setattr(im2col, "LEAST_PIXELS", 1)
    monkeypatch.setattr(winograd, "LEAST_TILES", 1)
    rng = np.random.default_rng(2)
    for size, (layout, algorithm) in itertools.product(
        (1, 3000, 9000, 30000), [("NCHW", "im2col"), ("NHWC", "im2col"), ("NHWC", "winograd2")]
    ):
        monkeypatch.setattr(im2col, "block_bytes", lambda threads: size)
        monkeypatch.setattr(winograd, "block_bytes", lambda threads: size)
        check(((5, 4, 9, 6), (6, 3, 3)), "f4", layout, algorithm, rng=rng, padding=1)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_arrays_of_any_strides_give_the_same(layout, algorithm):
    rng = np.random.default_rng(3)
    x = rng.standard_normal((2, 16, 18, 16)).astype("f4")[:, ::2, ::-1, 1::2]
    w = rng.standard_normal((3, 3, 3, 8)).astype("f4").transpose(3, 0, 1, 2)
    w = w[:, :, :, :3]
    if layout == "NHWC":
        x, w = x.transpose(0, 2, 3, 1), w.transpose(2, 3, 1, 0)
        x, w = x[..., :6:2], w
    else:
        x = x[:, :6:2]
    expected = conv2d(x.copy(), w.copy(), padding=1, layout=layout, algorithm=algorithm)
    np.testing.assert_allclose(conv2d(x, w, padding=1, layout=layout, algorithm=algorithm), expected, rtol=1e-4, atol=1e-5)
    bias = np.arange(16, dtype="f4")[::2]
    np.testing.assert_allclose(
        conv2d(x, w, bias, padding=1, layout=layout, algorithm=algorithm),
        expected + (bias if layout == "NHWC" else bias[:, None, None]),
        rtol=1e-4,
        atol=1e-4,
    )


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_out_is_filled_and_returned_whatever_its_strides_and_memory(algorithm):
    rng = np.random.default_rng(4)
    x, w = rng.standard_normal((1, 4, 6, 6)).astype("f4"), rng.standard_normal((4, 4, 3, 3)).astype("f4")
    expected = conv2d(x, w, padding=1, algorithm=algorithm)
    for out in (np.full((1, 4, 6, 6), 7, "f4"), np.full((1, 6, 6, 4), 7, "f4").transpose(0, 3, 1, 2), x):
        assert conv2d(x, w, padding=1, algorithm=algorithm, out=out) is out
        np.testing.assert_array_equal(out, expected)


def test_a_result_is_not_changed_by_the_next_call():
    rng = np.random.default_rng(5)
    x, w = rng.standard_normal((1, 4, 6, 6)).astype("f4"), rng.standard_normal((4, 4, 3, 3)).astype("f4")
    for algorithm in ALGORITHMS:
        first = conv2d(x, w, algorithm=algorithm)
        kept = first.copy()
        conv2d(-x, w, algorithm=algorithm)
        np.testing.assert_array_equal(first, kept)


@pytest.mark.parametrize(("size", "kernel", "stride"), [(7, 3, 1), (7, 3, 2), (8, 2, 1), (6, 4, 3), (5, 1, 2)])
def test_same_makes_the_size_over_the_stride_with_an_odd_zero_below(size, kernel, stride):
    rng = np.random.default_rng(6)
    x, w = rng.standard_normal((1, 2, size, size)).astype("f4"), rng.standard_normal((3, 2, kernel, kernel)).astype("f4")
    whole = -(-size // stride)
    missing = max((whole - 1) * stride + kernel - size, 0)
    before = missing // 2
    sides = ((0, 0), (0, 0), (before, missing - before), (before, missing - before))
    expected = definition(np.pad(x, sides), w, None, stride=stride)
    assert expected.shape[2:] == (whole, whole)
    for algorithm in ("direct", "im2col"):
        y = conv2d(x, w, stride=stride, padding="same", algorithm=algorithm)
        np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(conv2d(x, w, padding="valid", algorithm="direct"), conv2d(x, w, algorithm="direct"))


@pytest.mark.parametrize("threads", [0, 1, 2, 3])
@pytest.mark.sweep(keep=3, long=("[1]",))
def test_threads_give_the_same(threads):
    rng = np.random.default_rng(7)
    x, w = rng.standard_normal((2, 16, 20, 20)).astype("f4"), rng.standard_normal((24, 16, 3, 3)).astype("f4")
    for algorithm in ALGORITHMS:
        y = conv2d(x, w, padding=1, algorithm=algorithm, threads=threads)
        np.testing.assert_allclose(y, definition(x, w, None, padding=1), rtol=1e-3, atol=1e-3)


def test_a_number_that_is_not_finite_stays_where_the_definition_has_it():
    x, w = np.ones((1, 2, 12, 12), "f4"), np.ones((2, 2, 3, 3), "f4")
    x[0, 0, 3, 4] = np.inf
    for algorithm in ("direct", "im2col"):
        np.testing.assert_array_equal(conv2d(x, w, algorithm=algorithm), definition(x, w, None).astype("f4"))


def test_strict_arithmetic_chooses_among_sums_of_the_definition():
    shapes = (16, 64, 56, 56), (64, 64, 3, 3)
    assert conv2d_plan(*shapes, padding=1).algorithm.startswith("winograd")
    with polyml.config.scope(fp="strict"):
        plan = conv2d_plan(*shapes, padding=1)
    assert plan.algorithm in ("direct", "im2col") and plan.refused["winograd4"] == 'fp="strict" asks for the sums of the definition'


def test_the_plan_shows_the_terms_of_every_algorithm_and_why_others_do_not_apply():
    plan = conv2d_plan((1, 64, 56, 56), (64, 64, 3, 3), stride=2, threads=1)
    text = str(plan)
    assert text.startswith("1 x 64 x 56 x 56, by 64 filters 64 x 3 x 3, to 27 x 27, stride 2, 2; NCHW float32; 1 thread\n")
    assert "winograd2: does not apply: its stride is 1, not 2, 2" in text
    assert text.count("<- chosen") == 1 and f"{plan.algorithm}: {plan.seconds(plan.algorithm) * 1e6:.0f} us  <- chosen" in text
    for terms in plan.terms.values():
        assert all(f"us  {term.name}: {term.why}" in text for term in terms)


def test_large_filters_take_spectra():
    assert conv2d_plan((8, 32, 128, 128), (32, 32, 31, 31), padding=15, threads=1).algorithm == "fft"


F = np.float32
X, W = np.zeros((1, 4, 8, 8), F), np.zeros((6, 4, 3, 3), F)
BAD = [
    (dict(x=X[0]), PolymlValueError, "`x` has shape (4, 8, 8), that is 3 dimensions", "it has four: (n, c_in, h, w)"),
    (dict(w=W[0]), PolymlValueError, "`w` has shape (4, 3, 3), that is 3 dimensions", "(c_out, c_in/groups, kh, kw)"),
    (dict(x=X[0], layout="NHWC"), PolymlValueError, "`x` has shape (4, 8, 8)", "(n, h, w, c_in)"),
    (dict(x=1.0), PolymlTypeError, "`x` is a float", "it is an array (n, c_in, h, w)"),
    (dict(x=X.astype("i4")), PolymlTypeError, "`x` is an array of int32 of shape (1, 4, 8, 8)", "float32 and float64"),
    (dict(x=X.astype("f2")), PolymlTypeError, "`x` is an array of float16", "float32 and float64 are accepted"),
    (
        dict(w=W.astype("f8")),
        PolymlTypeError,
        "`w` of float64 (shape (6, 4, 3, 3))",
        "both are float32, or both float64",
    ),
    (
        dict(w=W[:, :3]),
        PolymlValueError,
        "`x` has 4 channels (shape (1, 4, 8, 8)), `w` 6 filters of 3",
        "4 / 1 channels a filter",
    ),
    (dict(groups=4), PolymlValueError, "groups=4", "c_out a multiple of groups"),
    (dict(groups=0), PolymlValueError, "`groups` is 0", "an integer from 1 is accepted"),
    (dict(groups=True), PolymlTypeError, "`groups` is True", "an integer from 1 is accepted"),
    (dict(stride=0), PolymlValueError, "`stride` is 0", "an integer from 1 or a pair of them is accepted"),
    (dict(stride=(1, 2, 3)), PolymlTypeError, "`stride` is (1, 2, 3)", "an integer from 1 or a pair of them"),
    (dict(dilation=1.5), PolymlTypeError, "`dilation` is 1.5", "an integer from 1 or a pair of them"),
    (
        dict(padding=-1),
        PolymlValueError,
        "`padding` is -1",
        'an integer from 0 or a pair of them or "same", or "valid"',
    ),
    (dict(padding="full"), PolymlTypeError, "`padding` is 'full'", '"same"'),
    (dict(layout="CHWN"), PolymlValueError, "`layout` is 'CHWN'", '"NCHW" and "NHWC" are accepted'),
    (dict(layout=[]), PolymlValueError, "`layout` is []", '"NCHW" and "NHWC" are accepted'),
    (dict(algorithm="fast"), PolymlValueError, "`algorithm` is 'fast'", '"auto", "direct", "im2col"'),
    (
        dict(algorithm="winograd4", stride=2),
        PolymlValueError,
        'algorithm="winograd4" does not apply: its stride is 1, not 2, 2',
        '"direct", "im2col", "fft" or "auto"',
    ),
    (dict(algorithm="winograd2", dilation=2), PolymlValueError, "its filters have no dilation, not 2, 2", "auto"),
    (dict(algorithm="winograd2", w=W[..., :2]), PolymlValueError, "its filters are 3 x 3, not 3 x 2", "auto"),
    (
        dict(x=X[:, :, :2]),
        PolymlValueError,
        "the filter covers 3 x 3 pixels, the padded image has 2 x 8",
        "at least as large",
    ),
    (
        dict(x=X[:, :0], w=W[:, :0]),
        PolymlValueError,
        "`x` has shape (1, 0, 8, 8)",
        "only the number of images may be 0",
    ),
    (dict(bias=np.zeros(5, F)), PolymlValueError, "`bias` is an array of float32 of shape (5,)", "of shape (6,)"),
    (dict(bias=np.zeros(6)), PolymlValueError, "`bias` is an array of float64 of shape (6,)", "an array of float32"),
    (
        dict(out=np.zeros((1, 6, 8, 8), F)),
        PolymlValueError,
        "`out` is an array of float32 of shape (1, 6, 8, 8)",
        "of shape (1, 6, 6, 6)",
    ),
    (dict(out=[]), PolymlValueError, "`out` is a list", "a writable array of float32"),
    (dict(out=np.broadcast_to(F(0), (1, 6, 6, 6))), PolymlValueError, "read-only", "a writable array"),
    (dict(threads=-1), PolymlError, "`threads` does not take -1", "from 1 to 256"),
]


@pytest.mark.parametrize(("changes", "kind", "said", "accepted"), BAD)
def test_bad_arguments_are_refused_with_what_would_be_accepted(changes, kind, said, accepted):
    with pytest.raises(kind) as caught:
        conv2d(**{"x": X, "w": W, **changes})
    assert said in str(caught.value) and accepted in "".join(caught.value.notes)


def test_an_unhashable_algorithm_is_refused():
    with pytest.raises(PolymlValueError, match="`algorithm` is "):
        conv2d(X, W, algorithm=["direct"])

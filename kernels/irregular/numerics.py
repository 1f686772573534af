"""Iterations that end when they have converged or escaped, adaptive integration, the Fourier transform, and whole numbers."""

import math

import numpy as np

from polyml.kernels.irregular._irregular import irregular


def _window(size, rng):
    """Returns the corners of a part of the plane, which is not symmetric, the most steps, and room for counts."""
    top = -1.21 + 0.01 * rng.random()
    return -2.0, top, 0.6, 1.15, size["L"], np.zeros((size["N"], size["N"]), dtype=np.int64)


def _escapes(z, c, limit):
    """Returns after how many steps of z = z² + c each number is farther than 2 from 0."""
    counts = np.zeros(z.shape, dtype=np.int64)
    for _ in range(limit):
        counts += np.abs(z) <= 2.0
        z = np.where(np.abs(z) <= 2.0, z * z + c, 3.0)
    return counts


def _plane(x0, y0, x1, y1, shape):
    """Returns the complex numbers of a window."""
    y = y0 + (y1 - y0) * np.arange(shape[0]) / shape[0]
    return x0 + (x1 - x0) * np.arange(shape[1]) / shape[1] + 1j * y[:, None]


def _mandelbrot_right(x0, y0, x1, y1, limit, counts):
    c = _plane(x0, y0, x1, y1, counts.shape)
    return {"counts": _escapes(0 * c, c, limit)}


@irregular({"N": 20, "L": 30}, {"N": 256, "L": 80}, _window, _mandelbrot_right, parallel="0:i")
def mandelbrot(x0, y0, x1, y1, limit, counts):
    for i in range(counts.shape[0]):
        b = y0 + (y1 - y0) * i / counts.shape[0]
        for j in range(counts.shape[1]):
            a = x0 + (x1 - x0) * j / counts.shape[1]
            x = 0.0
            y = 0.0
            n = 0
            for _ in range(limit):
                if x * x + y * y > 4.0:
                    break
                t = x * x - y * y + a
                y = 2.0 * x * y + b
                x = t
                n += 1
            counts[i, j] = n


def _julia_inputs(size, rng):
    """Returns the number that is added, the most steps, and room for counts."""
    return complex(-0.8, 0.15 + 0.01 * rng.random()), size["L"], np.zeros((size["N"], size["N"]), dtype=np.int32)


def _julia_right(c, limit, counts):
    return {"counts": _escapes(_plane(-1.51, -1.49, 1.49, 1.51, counts.shape), c, limit)}


@irregular({"N": 20, "L": 30}, {"N": 256, "L": 80}, _julia_inputs, _julia_right, parallel="0:i")
def julia(c, limit, counts):
    """As the Mandelbrot set, with complex numbers and a `while`."""
    rows = counts.shape[0]
    columns = counts.shape[1]
    for i in range(rows):
        for j in range(columns):
            z = complex(-1.51 + 3.0 * j / columns, -1.49 + 3.0 * i / rows)
            n = 0
            while n < limit and z.real * z.real + z.imag * z.imag <= 4.0:
                z = z * z + c
                n += 1
            counts[i, j] = n


def _orbits(size, rng):
    """Returns mean anomalies, eccentricities, and room."""
    return rng.uniform(-3, 3, size["N"]), rng.uniform(0, 0.9, size["N"]), np.zeros(size["N"])


def _kepler_right(M, e, E):
    """Computed by bisection of all at once: the solution is between M - e and M + e, and the function increases."""
    low, high = M - e, M + e
    for _ in range(60):
        middle = (low + high) / 2
        left = middle - e * np.sin(middle) < M
        low, high = np.where(left, middle, low), np.where(left, high, middle)
    return {"E": low}


@irregular({"N": 60}, {"N": 40_000}, _orbits, _kepler_right, tolerance=1e-10, parallel="0:i")
def kepler_by_newton(M, e, E):
    """Solves E - e sin E = M for each orbit by Newton's method."""
    for i in range(M.shape[0]):
        x = M[i] if e[i] < 0.8 else math.copysign(math.pi, M[i])
        step = 1.0
        n = 0
        while abs(step) > 1e-13 and n < 50:
            step = (x - e[i] * math.sin(x) - M[i]) / (1.0 - e[i] * math.cos(x))
            x -= step
            n += 1
        E[i] = x


def _cubics(size, rng):
    """Returns factors of x³ + p x = q, whose one root is sought, and room."""
    return rng.uniform(0.1, 5, size["N"]), rng.uniform(-5, 5, size["N"]), np.zeros(size["N"])


def _cubic_right(p, q, root):
    """Computed by Cardano's formula."""
    under = np.sqrt(q * q / 4 + p**3 / 27)
    return {"root": np.cbrt(q / 2 + under) + np.cbrt(q / 2 - under)}


@irregular({"N": 60}, {"N": 40_000}, _cubics, _cubic_right, tolerance=1e-9, parallel="0:i")
def cubics_by_bisection(p, q, root):
    for i in range(p.shape[0]):
        low = -8.0
        high = 8.0
        while high - low > 1e-12:
            middle = 0.5 * (low + high)
            value = middle * middle * middle + p[i] * middle - q[i]
            if value == 0.0:
                low = middle
                break
            if value < 0.0:
                low = middle
            else:
                high = middle
        root[i] = low


def _peaks(size, rng):
    """Returns the widths of peaks, the bound of error, and room."""
    return rng.uniform(0.002, 0.05, size["N"]), 10.0 ** -size["D"], np.zeros(size["N"])


def _peaks_right(widths, tolerance, areas):
    return {"areas": (np.arctan(2 / widths) + np.arctan(1 / widths)) / widths}


@irregular({"N": 2, "D": 4}, {"N": 400, "D": 7}, _peaks, _peaks_right, tolerance=1e-5)
def adaptive_simpson(widths, tolerance, areas):
    """Integrates 1 / (x² + width²) from -1 to 2, with a stack of the parts that are still to be halved."""
    left = np.empty(64)
    length = np.empty(64)
    error = np.empty(64)
    for k in range(widths.shape[0]):
        square = widths[k] * widths[k]
        left[0] = -1.0
        length[0] = 3.0
        error[0] = tolerance
        depth = 1
        area = 0.0
        while depth > 0:
            depth -= 1
            a = left[depth]
            h = length[depth]
            bound = error[depth]
            fa = 1.0 / (a * a + square)
            f1 = 1.0 / ((a + 0.25 * h) ** 2 + square)
            fm = 1.0 / ((a + 0.5 * h) ** 2 + square)
            f3 = 1.0 / ((a + 0.75 * h) ** 2 + square)
            fb = 1.0 / ((a + h) ** 2 + square)
            coarse = h / 6.0 * (fa + 4.0 * fm + fb)
            fine = h / 12.0 * (fa + 4.0 * f1 + 2.0 * fm + 4.0 * f3 + fb)
            if abs(fine - coarse) <= 15.0 * bound or depth > 60:
                area += fine + (fine - coarse) / 15.0
            else:
                left[depth] = a
                length[depth] = 0.5 * h
                error[depth] = 0.5 * bound
                left[depth + 1] = a + 0.5 * h
                length[depth + 1] = 0.5 * h
                error[depth + 1] = 0.5 * bound
                depth += 2
        areas[k] = area


def _growths(size, rng):
    """Returns first values, rates, the last time, the bound of error, and room."""
    return rng.uniform(0.01, 0.5, size["N"]), rng.uniform(0.5, 4, size["N"]), 5.0, 1e-8, np.zeros(size["N"])


def _growth_right(first, rate, end, tolerance, last):
    return {"last": 1 / (1 + (1 / first - 1) * np.exp(-rate * end))}


@irregular({"N": 5}, {"N": 500}, _growths, _growth_right, tolerance=1e-6, parallel="0:i")
def runge_kutta_with_steps(first, rate, end, tolerance, last):
    """Solves y' = rate y (1 - y) by Bogacki and Shampine's pair, with steps as long as the error allows."""
    for i in range(first.shape[0]):
        y = first[i]
        r = rate[i]
        t = 0.0
        h = 0.1
        while t < end:
            if t + h > end:
                h = end - t
            k1 = r * y * (1.0 - y)
            u = y + 0.5 * h * k1
            k2 = r * u * (1.0 - u)
            u = y + 0.75 * h * k2
            k3 = r * u * (1.0 - u)
            new = y + h * (2.0 * k1 + 3.0 * k2 + 4.0 * k3) / 9.0
            k4 = r * new * (1.0 - new)
            error = abs(h * (-5.0 * k1 / 72.0 + k2 / 12.0 + k3 / 9.0 - k4 / 8.0))
            if error <= tolerance:
                t += h
                y = new
                if end - t < 1e-12:
                    break
            factor = 5.0
            if error > 0.0:
                factor = 0.9 * (tolerance / error) ** (1.0 / 3.0)
            h *= min(5.0, max(0.2, factor))
        last[i] = y


def _signal(size, rng):
    return rng.uniform(-1, 1, size["N"]), rng.uniform(-1, 1, size["N"])


def _fourier_right(re, im):
    right = np.fft.fft(re + 1j * im)
    return {"re": right.real, "im": right.imag}


@irregular({"N": 32}, {"N": 65_536}, _signal, _fourier_right, tolerance=1e-9)
def fft_radix_2(re, im):
    n = re.shape[0]
    j = 0
    for i in range(1, n):
        bit = n >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j |= bit
        if i < j:
            re[i], re[j] = re[j], re[i]
            im[i], im[j] = im[j], im[i]
    length = 2
    while length <= n:
        half = length // 2
        angle = -2.0 * math.pi / length
        for k in range(half):
            c = math.cos(angle * k)
            s = math.sin(angle * k)
            for i in range(k, n, length):
                a = re[i + half] * c - im[i + half] * s
                b = re[i + half] * s + im[i + half] * c
                re[i + half] = re[i] - a
                im[i + half] = im[i] - b
                re[i] += a
                im[i] += b
        length *= 2


def _two_arrays(size, rng):
    numbers = rng.integers(1, 10**9, (2, size["N"])) * rng.integers(1, 100, size["N"])
    return numbers[0], numbers[1], np.zeros(size["N"], dtype=np.int64)


@irregular({"N": 60}, {"N": 40_000}, _two_arrays, lambda a, b, out: {"out": np.gcd(a, b)}, parallel="0:i")
def greatest_common_divisors(a, b, out):
    for i in range(a.shape[0]):
        x = a[i]
        y = b[i]
        while y != 0:
            x, y = y, x % y
        out[i] = x


def _collatz_right(lengths):
    """Computed for all numbers at once, step by step."""
    n, right = np.arange(1, len(lengths) + 1), np.zeros(len(lengths), dtype=np.int64)
    left = np.flatnonzero(n > 1)
    while len(left):
        right[left] += 1
        n[left] = np.where(n[left] % 2, 3 * n[left] + 1, n[left] // 2)
        left = left[n[left] > 1]
    return {"lengths": right, "result": np.argmax(right) + 1}


@irregular(
    {"N": 60}, {"N": 30_000}, lambda size, rng: (np.zeros(size["N"] + int(rng.integers(0, 9)), dtype=np.int64),), _collatz_right
)
def collatz_lengths(lengths):
    """Counts the steps from each number to 1; returns the first number that has the most."""
    longest = 0
    best = 0
    for i in range(lengths.shape[0]):
        n = i + 1
        steps = 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        lengths[i] = steps
        if steps > longest or i == 0:
            longest = steps
            best = i + 1
    return best


def _powers(size, rng):
    """Returns bases, exponents, the modulus, and room."""
    return rng.integers(0, 10**6, size["N"]), rng.integers(0, 2**40, size["N"]), 998_244_353, np.zeros(size["N"], dtype=np.int64)


def _powers_right(base, exponent, modulus, out):
    return {"out": np.array([pow(int(b), int(e), modulus) for b, e in zip(base, exponent)])}


@irregular({"N": 20}, {"N": 20_000}, _powers, _powers_right, parallel="0:i")
def modular_powers(base, exponent, modulus, out):
    for i in range(base.shape[0]):
        square = base[i] % modulus
        left = exponent[i]
        product = 1
        while left > 0:
            if left & 1:
                product = product * square % modulus
            square = square * square % modulus
            left >>= 1
        out[i] = product

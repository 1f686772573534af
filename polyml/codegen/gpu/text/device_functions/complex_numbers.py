"""Functions of complex numbers, in double precision, with the signed zeros, infinities and NaN that NumPy has from the C standard's Annex G.

The inverse sine and cosine are those of Hull, Fairgrieve, Tang: "Implementing the complex arcsine and arccosine functions using exception
handling", ACM TOMS 23(3), 1997; the others are in Kahan: "Branch cuts for complex elementary functions", 1987.
"""

COMPLEX_NUMBERS = {
    "complex_of": """
typedef struct {
    double real, imag;
} complex_number;

FUNCTION complex_number complex_of(double real, double imag)
{
    complex_number z;
    z.real = real;
    z.imag = imag;
    return z;
}""",
    "complex_exp": """
complex_number complex_exp(double x, double y)
{
    if (y == 0)
        return complex_of(exp(x), y);
    if (isinf(x) && !isfinite(y))
        return x > 0 ? complex_of(x, NAN) : complex_of(0, copysign(0.0, y));
    if (x < 700)
        return complex_of(exp(x) * cos(y), exp(x) * sin(y));
    double root = exp(0.5 * x);  // twice, since e**x may overflow before it is multiplied
    return complex_of(root * cos(y) * root, root * sin(y) * root);
}""",
    "complex_log": """
complex_number complex_log(double x, double y)
{
    double large = fmax(fabs(x), fabs(y)), small = fmin(fabs(x), fabs(y));
    double size = hypot(x, y), angle = atan2(y, x);
    if (isinf(x) || isinf(y))
        return complex_of(INFINITY, angle);
    if (size > 0.5 && size < 2)
        return complex_of(0.5 * log1p(excess_square(large, small)), angle);
    if (large > 1e300)
        return complex_of(log(hypot(0.5 * x, 0.5 * y)) + 0.6931471805599453, angle);
    if (large < 1e-300 && large > 0)
        return complex_of(log(hypot(x * 0x1p100, y * 0x1p100)) - 69.31471805599453, angle);
    return complex_of(log(size), angle);
}""",
    "excess_square": """
double excess_square(double large, double small)
{
    // large**2 + small**2 - 1, whose terms may cancel: the rounding errors of the squares are added last
    double a = large * large, b = small * small;
    return ((a - 1) + b) + (fma(large, large, -a) + fma(small, small, -b));
}""",
    "complex_sinh": """
complex_number complex_sinh(double x, double y)
{
    if (isnan(x))
        return complex_of(x, y == 0 ? y : x);
    if (!isfinite(y))
        return complex_of(isinf(x) ? INFINITY : x == 0 ? x : NAN, NAN);
    if (isinf(x))
        return complex_of(y == 0 ? x : copysign(x, cos(y) * x), y == 0 ? y : copysign((double)INFINITY, sin(y)));
    if (fabs(x) < 700)
        return complex_of(sinh(x) * cos(y), cosh(x) * sin(y));
    double root = exp(0.5 * fabs(x));  // twice, since e**x may overflow before it is multiplied
    return complex_of(copysign(0.5, x) * root * cos(y) * root, y == 0 ? y : 0.5 * root * sin(y) * root);
}""",
    "complex_cosh": """
complex_number complex_cosh(double x, double y)
{
    if (isnan(x))
        return complex_of(x, y == 0 ? y : x);
    if (!isfinite(y))
        return complex_of(isinf(x) ? INFINITY : NAN, x == 0 ? 0 : NAN);
    if (isinf(x))
        return complex_of(y == 0 ? INFINITY : copysign((double)INFINITY, cos(y)), y == 0 ? y * copysign(1.0, x) : copysign((double)INFINITY, sin(y) * x));
    if (fabs(x) < 700)
        return complex_of(cosh(x) * cos(y), sinh(x) * sin(y));
    double root = exp(0.5 * fabs(x));  // twice, since e**x may overflow before it is multiplied
    return complex_of(0.5 * root * cos(y) * root, copysign(1.0, x) * (y == 0 ? y : 0.5 * root * sin(y) * root));
}""",
    "complex_tanh": """
complex_number complex_tanh(double x, double y)
{
    if (isinf(x))
        return complex_of(copysign(1.0, x), copysign(0.0, isfinite(y) && fabs(y) > 1 ? sin(y) * cos(y) : y));
    if (isnan(x))
        return complex_of(x, y == 0 ? y : x);
    if (!isfinite(y))
        return complex_of(x == 0 ? x : NAN, NAN);
    double sine = sin(y), cosine = cos(y);
    if (fabs(x) > 22)
        return complex_of(copysign(1.0, x), 4 * sine * cosine * exp(-fabs(x)) * exp(-fabs(x)));
    double grows = sinh(x), size = grows * grows + cosine * cosine;
    return complex_of(grows * cosh(x) / size, sine * cosine / size);
}""",
    "complex_sin": """
complex_number complex_sin(double x, double y)
{
    if (isinf(y) && !isfinite(x))
        return complex_of(NAN, INFINITY);
    complex_number turned = complex_sinh(-y, x);
    return complex_of(turned.imag, -turned.real);
}""",
    "complex_cos": """
complex_number complex_cos(double x, double y)
{
    return complex_cosh(-y, x);
}""",
    "complex_tan": """
complex_number complex_tan(double x, double y)
{
    complex_number turned = complex_tanh(-y, x);
    return complex_of(turned.imag, -turned.real);
}""",
    "arc_size": """
double arc_size(double x, double y)
{
    // log(a + sqrt(a**2 - 1)) with a = (|z + 1| + |z - 1|) / 2, of positive parts
    double r = hypot(x + 1, y), s = hypot(x - 1, y), a = 0.5 * (r + s), more;
    if (y < 1e-150 && x < 1)
        return y / sqrt((1 - x) * (1 + x));
    if (fmax(x, y) > 1e15)
        return complex_log(x, y).real + 0.6931471805599453;
    if (a > 1.5)
        return log(a + sqrt(a * a - 1));
    if (x == 1 && y < 1e-30)
        return sqrt(y);
    more = x < 1 ? y * (y / (r + (x + 1))) + y * (y / (s + (1 - x))) : y * (y / (r + (x + 1))) + (s + (x - 1));
    return log1p(0.5 * more + sqrt(0.5 * more * (a + 1)));
}""",
    "arc_legs": """
complex_number arc_legs(double x, double y)
{
    // numbers in proportion to the sine and the cosine of the arc, of positive parts
    double r = hypot(x + 1, y), s = hypot(x - 1, y), a = 0.5 * (r + s);
    if (fmax(x, y) > 1e15)
        return complex_of(x, y);
    if (x <= 1)
        return complex_of(x, sqrt(0.5 * (a + x)) * sqrt(y * (y / (r + (x + 1))) + (s + (1 - x))));
    return complex_of(x, y * sqrt(0.5 * ((a + x) / (r + (x + 1)) + (a + x) / (s + (x - 1)))));
}""",
    "complex_arcsin": """
complex_number complex_arcsin(double x, double y)
{
    complex_number turned = complex_arcsinh(y, x);
    return complex_of(turned.imag, turned.real);
}""",
    "complex_arccos": """
complex_number complex_arccos(double x, double y)
{
    if (!isfinite(x) || !isfinite(y)) {
        complex_number sine = complex_arcsin(x, y);
        double angle = 1.5707963267948966 - sine.real;
        return complex_of(angle == 0 ? 0.0 : angle, -sine.imag);
    }
    complex_number legs = arc_legs(fabs(x), fabs(y));
    return complex_of(atan2(legs.imag, copysign(legs.real, x)), copysign(arc_size(fabs(x), fabs(y)), -y));
}""",
    "complex_arcsinh": """
complex_number complex_arcsinh(double x, double y)
{
    if (isinf(y))
        return complex_of(copysign((double)INFINITY, x), isnan(x) ? x : copysign(isinf(x) ? 0.7853981633974483 : 1.5707963267948966, y));
    if (isinf(x))
        return complex_of(x, isnan(y) ? y : copysign(0.0, y));
    if (isnan(x) || isnan(y))
        return complex_of(NAN, isnan(x) && y == 0 ? y : NAN);
    complex_number legs = arc_legs(fabs(y), fabs(x));
    return complex_of(copysign(arc_size(fabs(y), fabs(x)), x), copysign(atan2(legs.real, legs.imag), y));
}""",
    "complex_arccosh": """
complex_number complex_arccosh(double x, double y)
{
    complex_number arc = complex_arccos(x, y);
    if (isnan(arc.imag) && isnan(arc.real))
        return arc;
    return complex_of(fabs(arc.imag), copysign(arc.real, y));
}""",
    "complex_arctan": """
complex_number complex_arctan(double x, double y)
{
    complex_number turned = complex_arctanh(y, x);
    return complex_of(turned.imag, turned.real);
}""",
    "complex_arctanh": """
complex_number complex_arctanh(double x, double y)
{
    double u = fabs(x), v = fabs(y), along, angle;
    if (isinf(y))
        return complex_of(copysign(0.0, x), copysign(1.5707963267948966, y));
    if (isinf(x))
        return complex_of(copysign(0.0, x), isnan(y) ? y : copysign(1.5707963267948966, y));
    if (isnan(x) || isnan(y))
        return complex_of(x == 0 ? x : NAN, NAN);
    if (fmax(u, v) > 1e15) {  // 1/z
        double scale = fmax(u, v), a = u / scale, b = v / scale;
        return complex_of(copysign(a / (a * a + b * b) / scale, x), copysign(1.5707963267948966, y));
    }
    if (u == 1 && v < 1e-15)
        along = v == 0 ? INFINITY : 0.5 * (0.6931471805599453 - log(v));
    else
        along = 0.25 * log1p(4 * u / ((u - 1) * (u - 1) + (v < 1e-150 ? 0 : v * v)));
    angle = u == 1 ? (v == 0 ? 0 : 0.5 * atan2(2.0, -v)) : 0.5 * atan2(2 * v, (1 - u) * (1 + u) - (v < 1e-150 ? 0 : v * v));
    return complex_of(copysign(along, x), copysign(angle, y));
}""",
    "complex_multiply": """
complex_number complex_multiply(complex_number a, complex_number b)
{
    return complex_of(a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real);
}""",
    "complex_reciprocal": """
complex_number complex_reciprocal(complex_number z)
{
    double ratio, scale;
    if (fabs(z.real) >= fabs(z.imag)) {
        if (z.real == 0 && z.imag == 0)
            return complex_of(1 / fabs(z.real), 0 / fabs(z.real));
        ratio = z.imag / z.real;
        scale = 1 / (z.real + z.imag * ratio);
        return complex_of(scale, (0 - ratio) * scale);
    }
    ratio = z.real / z.imag;
    scale = 1 / (z.real * ratio + z.imag);
    return complex_of((ratio + 0) * scale, (0 * ratio - 1) * scale);
}""",
    "complex_multiply_infinite": """
complex_number complex_multiply_infinite(complex_number a, complex_number b)
{
    // as complex_multiply, but where an operand has an infinite part, the product has too, if the other one is not zero
    complex_number product = complex_multiply(a, b);
    int is_infinite = isinf(a.real) || isinf(a.imag) || isinf(b.real) || isinf(b.imag);
    if (!is_infinite || !isnan(product.real) || !isnan(product.imag))
        return product;
    product = complex_multiply(direction(a), direction(b));
    return complex_of(INFINITY * product.real, INFINITY * product.imag);
}""",
    "direction": """
complex_number direction(complex_number z)
{
    if (isinf(z.real) || isinf(z.imag))
        return complex_of(copysign(isinf(z.real) ? 1.0 : 0.0, z.real), copysign(isinf(z.imag) ? 1.0 : 0.0, z.imag));
    return complex_of(isnan(z.real) ? copysign(0.0, z.real) : z.real, isnan(z.imag) ? copysign(0.0, z.imag) : z.imag);
}""",
    "complex_pow": """
complex_number complex_pow(double a, double b, double c, double d)
{
    complex_number base = complex_of(a, b), product = complex_of(1, 0);
    if (d == 0 && fabs(c) < 100 && c == rint(c)) {
        if (c > 0 && c < 4)
            return c == 1 ? base : complex_multiply(base, c == 2 ? base : complex_multiply(base, base));
        for (int rest = (int)fabs(c); rest > 0; rest >>= 1) {
            if (rest & 1)
                product = complex_multiply(product, base);
            base = complex_multiply(base, base);
        }
        return c < 0 ? complex_reciprocal(product) : product;
    }
    product = complex_multiply_infinite(complex_of(c, d), complex_log(a, b));
    return complex_exp(product.real, product.imag);
}""",
}

"""NumPy's operations on integers and floats of one type, which a kernel has for each type that it needs.

T is the type, N its name, U the unsigned type of as many bits, BITS how many these are, and SIGNED whether the type has a sign.
"""

INTEGERS = {
    "floor_divide": """
T floor_divide_N(T a, T b)
{
    if (b == 0)
        return 0;
    if (SIGNED && b == (T)-1)
        return (T)(0 - (U)a);
    T q = a / b;
    return a % b != 0 && (a % b < 0) != (b < 0) ? q - 1 : q;
}""",
    "remainder": """
T remainder_N(T a, T b)
{
    if (b == 0 || SIGNED && b == (T)-1)
        return 0;
    T r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}""",
    "shift_left": """
T shift_left_N(T a, T b)
{
    return (U)b < BITS ? (T)((U)a << b) : 0;
}""",
    "shift_right": """
T shift_right_N(T a, T b)
{
    return (U)b < BITS ? a >> b : a < 0 ? (T)-1 : 0;
}""",
    "power": """
T power_N(T a, T b, STATUS status)
{
    U result = 1, square = (U)a;
    if (b < 0)
        flag(status, -2);
    for (; b > 0; b >>= 1) {
        if (b & 1)
            result = (U)((ULONG)result * square);
        square = (U)((ULONG)square * square);
    }
    return (T)result;
}""",
    "sign": """
T sign_N(T a)
{
    return a > 0 ? 1 : a < 0 ? (T)-1 : 0;
}""",
    "absolute": """
T absolute_N(T a)
{
    return a < 0 ? (T)(0 - (U)a) : a;
}""",
}
FLOATS = {
    "floor_divide": """
T floor_divide_N(T a, T b)
{
    T rest = fmod(a, b);
    T quotient = (a - rest) / b;
    if (b == 0)
        return a / b;
    if (rest != 0 && (b < 0) != (rest < 0))
        quotient -= 1;
    if (quotient == 0)
        return copysign((T)0, a / b);
    T whole = floor(quotient);
    return quotient - whole > (T)0.5 ? whole + 1 : whole;
}""",
    "remainder": """
T remainder_N(T a, T b)
{
    T rest = fmod(a, b);
    if (b == 0)
        return rest;
    if (rest == 0)
        return copysign((T)0, b);
    return (b < 0) != (rest < 0) ? rest + b : rest;
}""",
    "sign": """
T sign_N(T a)
{
    return a != a ? a : a > 0 ? (T)1 : a < 0 ? (T)-1 : (T)0;
}""",
    "minimum": """
T minimum_N(T a, T b)
{
    return a < b || a != a ? a : b;
}""",
    "maximum": """
T maximum_N(T a, T b)
{
    return a > b || a != a ? a : b;
}""",
    "least": """
T least_N(T a, T b)
{
    return a <= b || b != b ? a : b;
}""",
    "greatest": """
T greatest_N(T a, T b)
{
    return a >= b || b != b ? a : b;
}""",
}
BOTH = {
    "first_min": """
T first_min_N(T a, T b)
{
    return b < a ? b : a;
}""",
    "first_max": """
T first_max_N(T a, T b)
{
    return b > a ? b : a;
}""",
}

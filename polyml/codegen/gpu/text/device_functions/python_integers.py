"""Python's int in 64 bits, and conversions to it: where a result does not fit, the call fails, by a code in `status`."""

PYTHON_INTEGERS = {
    "flag": """
void flag(STATUS status, int code)
{
    CAS(status, 0, code);
}""",
    "checked_add": """
LONG checked_add(LONG a, LONG b, STATUS status)
{
    LONG sum = (LONG)((ULONG)a + (ULONG)b);
    if (((a ^ sum) & (b ^ sum)) < 0)
        flag(status, -2);
    return sum;
}""",
    "checked_subtract": """
LONG checked_subtract(LONG a, LONG b, STATUS status)
{
    LONG difference = (LONG)((ULONG)a - (ULONG)b);
    if (((a ^ b) & (a ^ difference)) < 0)
        flag(status, -2);
    return difference;
}""",
    "leaves_product": """
int leaves_product(LONG a, LONG b)
{
    return MULTIPLY_HIGH(a, b) != (LONG)((ULONG)a * (ULONG)b) >> 63;
}""",
    "checked_multiply": """
LONG checked_multiply(LONG a, LONG b, STATUS status)
{
    if (leaves_product(a, b))
        flag(status, -2);
    return (LONG)((ULONG)a * (ULONG)b);
}""",
    "checked_floor_divide": """
LONG checked_floor_divide(LONG a, LONG b, STATUS status)
{
    if (b == -1 && a == (LONG)((ULONG)1 << 63))
        flag(status, -2);
    return floor_divide_i64(a, b);
}""",
    "checked_shift_left": """
LONG checked_shift_left(LONG a, LONG b, STATUS status)
{
    LONG shifted = shift_left_i64(a, b);
    if (shift_right_i64(shifted, b) != a)
        flag(status, -2);
    return shifted;
}""",
    "checked_power": """
LONG checked_power(LONG a, LONG b, STATUS status)
{
    LONG result = 1, square = a;
    int lost = 0;
    if (b < 0) {
        flag(status, -2);
        return 0;
    }
    while (b != 0) {
        if (b & 1) {
            lost |= leaves_product(result, square);
            result = (LONG)((ULONG)result * (ULONG)square);
        }
        b >>= 1;
        if (b != 0) {
            lost |= leaves_product(square, square);
            square = (LONG)((ULONG)square * (ULONG)square);
        }
    }
    if (lost)
        flag(status, -2);
    return result;
}""",
    "checked_within": """
LONG checked_within(LONG a, LONG low, LONG high, STATUS status)
{
    if (a < low || a > high)
        flag(status, -5);
    return a;
}""",
    "checked_unsigned": """
LONG checked_unsigned(ULONG a, STATUS status)
{
    if (a >> 63)
        flag(status, -2);
    return (LONG)a;
}""",
    "checked_whole": """
LONG checked_whole(double a, STATUS status)
{
    if (!(a < 9223372036854775808.0 && a >= -9223372036854775808.0)) {
        flag(status, a != a ? -3 : -4);
        return 0;
    }
    return (LONG)a;
}""",
}

"""Operations of expressions that subscripts and loop bounds are made of."""

INDICES = {
    "floor_divide_index": """
LONG floor_divide_index(LONG a, LONG b)
{
    return a >= 0 ? a / b : -((b - 1 - a) / b);
}""",
    "min_index": """
LONG min_index(LONG a, LONG b)
{
    return a < b ? a : b;
}""",
    "least_int": """
int least_int(int a, int b)
{
    return a < b ? a : b;
}""",
    "max_index": """
LONG max_index(LONG a, LONG b)
{
    return a > b ? a : b;
}""",
}

"""Conversions that C leaves undefined or has none for: floats to unsigned integers, and the two kinds of halves, stored as their bits."""

CONVERSIONS = {
    "u64_of_float": """
ULONG u64_of_float(double a)
{
    return a < 9223372036854775808.0 ? (ULONG)(LONG)a : (ULONG)(LONG)(a - 9223372036854775808.0) ^ ((ULONG)1 << 63);
}""",
    "bf16_bits": """
USHORT bf16_bits(float a)
{
    UINT bits = AS_UINT(a), high = bits >> 16;
    if (a != a)
        return (USHORT)(high & 0x8000 | 0x7fc0);
    return (USHORT)(bits + ((high & 1) + 0x7fff) >> 16);
}""",
    "bf16_value": """
float bf16_value(USHORT bits)
{
    return AS_FLOAT((UINT)bits << 16);
}""",
    "rounded_bf16": """
float rounded_bf16(float a)
{
    return bf16_value(bf16_bits(a));
}""",
    "f16_value": """
float f16_value(USHORT bits)
{
    HALF_TO_FLOAT
}""",
    "f16_bits": """
USHORT f16_bits(double a)
{
    DOUBLE_TO_HALF
}""",
    "rounded_f16": """
float rounded_f16(double a)
{
    return f16_value(f16_bits(a));
}""",
}

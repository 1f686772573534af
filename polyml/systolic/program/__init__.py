"""What the units of an array do, cycle by cycle, as a value and as text."""

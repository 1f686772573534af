"""What arrays of units do, cycle by cycle."""

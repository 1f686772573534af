"""What a mapping does on an array of a given size: folds, cycles, units at work, what waits between folds."""

"""Sums of products of small numbers, of which processors compute several in one instruction. `instructions.use` finds the one for a machine."""

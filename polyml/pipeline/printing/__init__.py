"""What stages and passes make, as texts."""

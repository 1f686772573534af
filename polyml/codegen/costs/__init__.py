"""What one way of running a nest of loops costs: cycles of operations and accesses, by which register tilings are chosen."""

"""Pictures of kernels and schedules."""

"""Programs that time polyml: compare and compile_time, both run as `python -m benchmarks.NAME`."""

"""Programs that time polyml: polybench, memory, compile_time and others, both run as `python -m benchmarks.NAME`."""

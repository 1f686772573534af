"""What one order of a kernel's instances costs on a machine: misses, trip counts, throughput, time, roofline, lanes, advice."""

"""What a kernel does to the memory hierarchy, why, and what to do about it: the data behind `polyml report` and `k.report()`."""

"""What a program does to caches: simulated exactly, access by access."""

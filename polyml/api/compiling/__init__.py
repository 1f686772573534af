"""One compilation: alone, with memory and stack looked for before it, and in simpler forms where the compiler itself fails."""

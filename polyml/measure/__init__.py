"""What the host reaches, measured and kept, and machines by name, the host among them: `lookup.find`."""

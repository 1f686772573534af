"""What the host reaches, measured and kept, and machines by name. The door is `lookup.find`."""

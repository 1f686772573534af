"""What the host does in a call: loops and choices around launches, as data and as Python functions."""

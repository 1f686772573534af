"""Loop nests as pictures: what is drawn, as values, and their SVG texts."""

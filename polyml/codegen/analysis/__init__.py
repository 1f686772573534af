"""The analyses of a Program that passes decide by: which iterations access the same element, and which values integers may take."""

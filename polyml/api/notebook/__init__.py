"""IPython and Jupyter: the cell magic `%%polyml`."""

"""The function of a library as C sees it: its parameters, its header, and its code, which checks arguments and calls the kernel."""

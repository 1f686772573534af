"""The notebooks: their form, their run from a clean kernel, and their pictures."""

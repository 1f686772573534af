"""Failures of the compiler as files that repeat them, in the cache folder; what repeats them is `polyml.defects`.

Doors: `bundle.read` reads a file, `folder.keep` writes one, `failure.of_failure` makes one where the compiler failed.
"""

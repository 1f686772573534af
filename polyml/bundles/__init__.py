"""Failures of the compiler as files that repeat them, in the cache folder; what repeats them is `polyml.defects`.

The doors are `bundle.read`, which reads a file, `folder.keep`, which writes one, and `failure.of_failure`, which makes one where
the compiler failed.
"""

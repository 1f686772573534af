"""Nests that take a polyhedral compiler long, generated: the compile budget holds for them, and what they give is right."""

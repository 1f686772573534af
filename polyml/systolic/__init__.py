"""Systolic arrays of processing elements (PEs, which messages and documents call units): nests as uniform recurrences, their
mapping and folding, the program of the PEs, its simulation, and reports.
"""

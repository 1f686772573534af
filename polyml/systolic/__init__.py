"""Systolic arrays of processing elements: nests as uniform recurrences, their folding and mapping, the program of the units, simulation
and reports.
"""

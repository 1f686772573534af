"""Schedules that users write step by step, save and load: `schedule.Schedule`."""

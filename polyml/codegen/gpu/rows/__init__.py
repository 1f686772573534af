"""Launches of teams that run rows of several nests. The door is `row_teams.row_launches`."""

"""The loads and stores of teams: threads of a block that share loops. The doors are `team_code.TeamWalk` and `row_code.RowWalk`."""

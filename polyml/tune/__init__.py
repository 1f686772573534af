"""Search among schedules."""

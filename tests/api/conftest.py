"""The tests' own cache, and no settings from outside, as for the runtime."""

from tests.runtime.conftest import cache_folder, settings  # noqa: F401

"""No code is kept on disk: tests change what it depends on besides its key."""

import pytest

from polyml import config


@pytest.fixture(autouse=True)
def nothing_is_kept_on_disk():
    with config.scope(cache=False):
        yield

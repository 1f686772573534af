import pytest


@pytest.fixture(scope="session")
def cache_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def settings(monkeypatch, cache_folder):
    """The tests' own cache, and no settings from outside."""
    for name in (
        "FP",
        "SCHEDULE",
        "THREADS",
        "PARALLEL",
        "VECTORIZE",
        "TILE",
        "FALLBACK",
        "CACHE",
        "DEBUG",
        "DEBUG_DIR",
    ):
        monkeypatch.delenv(f"POLYML_{name}", raising=False)
    monkeypatch.delenv("POLYML_CACHE_SIZE_MB", raising=False)
    monkeypatch.setenv("POLYML_CACHE_DIR", str(cache_folder))

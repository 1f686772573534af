"""The disk cache: whole entries or none, whoever else is at work; bounded; harmless where it cannot be."""

import multiprocessing
import os
import shutil
import stat
import time
import warnings

import pytest

from polyml.config import resolve, scope
from polyml.errors import PolymlPerformanceWarning
from polyml.runtime.storage import disk_cache as module
from polyml.runtime.storage.checksum import seal
from polyml.runtime.storage.disk_cache import Cache, Info, Removed, Verified, open_cache

KEY, OTHER = "ab12", "cd34"


@pytest.fixture
def cache(tmp_path):
    return Cache(str(tmp_path / "cache"), 10_000)


def path_of(cache: Cache, key: str) -> str:
    return os.path.join(cache.folder, "v2", key[-2:], f"{key}.bin")


def age(cache: Cache, key: str, seconds: float) -> None:
    now = time.time()
    os.utime(path_of(cache, key), (now - seconds, now - seconds))


def test_what_was_put_is_found_again_also_by_another_process_object(cache):
    assert cache.get(KEY) is None
    cache.put(KEY, b"code")
    cache.put(OTHER, b"")
    assert cache.get(KEY) == b"code"
    assert Cache(cache.folder, 1).get(OTHER) == b""


def test_a_second_put_replaces_the_first(cache):
    for content in (b"one", b"two"):
        cache.put(KEY, content)
    assert cache.get(KEY) == b"two"
    assert cache.info().entries == 1


def truncate(content: bytes) -> bytes:
    return content[:-1]


def empty(content: bytes) -> bytes:
    return b""


def flip(content: bytes) -> bytes:
    return content[:-2] + bytes([content[-2] ^ 4]) + content[-1:]


def lengthen(content: bytes) -> bytes:
    return content + b"\0"


DAMAGE = [truncate, empty, flip, lengthen]


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_entry_counts_as_absent_and_goes(cache, damage):
    cache.put(KEY, b"code")
    with open(path_of(cache, KEY), "rb") as file:
        content = file.read()
    with open(path_of(cache, KEY), "wb") as file:
        file.write(damage(content))
    assert cache.get(KEY) is None
    assert not os.path.exists(path_of(cache, KEY))
    cache.put(KEY, b"code")
    assert cache.get(KEY) == b"code"


@pytest.mark.parametrize("damage", DAMAGE)
def test_verify_removes_damaged_entries_and_no_others(cache, damage):
    for key in (KEY, OTHER, "ef56"):
        cache.put(key, key.encode())
    with open(path_of(cache, OTHER), "rb") as file:
        content = damage(file.read())
    with open(path_of(cache, OTHER), "wb") as file:
        file.write(content)
    assert cache.verify() == Verified(3, (path_of(cache, OTHER),))
    assert cache.verify() == Verified(2, ())
    assert cache.get(KEY) == KEY.encode()


def test_info_tells_size_and_age(cache):
    assert cache.info() == Info(cache.folder, 0, 0, 10_000, None)
    for key in (KEY, OTHER):
        cache.put(key, b"x" * 100)
    age(cache, KEY, 500)
    info = cache.info()
    assert (info.entries, info.size_bytes) == (2, 2 * len(seal(KEY, b"x" * 100)))
    assert 490 < info.oldest_use_seconds < 600


def test_clear_removes_everything(cache):
    cache.put(KEY, b"x" * 70)
    with open(path_of(cache, KEY) + ".1.2.tmp", "wb") as file:
        file.write(b"left by a killed process")
    assert cache.clear() == Removed(1, 100)
    assert cache.get(KEY) is None
    assert [files for _, _, files in os.walk(cache.folder) if files] == []
    assert cache.clear() == Removed(0, 0)


def test_the_least_recently_used_go_first(cache):
    for number in range(9):
        cache.put(f"k{number}", b"x" * 972)
        age(cache, f"k{number}", 1000 - number)
    assert cache.get("k0") is not None  # used just now
    cache.put("k9", b"x" * 972)
    cache.put("ka", b"x" * 972)  # 11,000 bytes: over the limit
    left = [key for key in (*(f"k{n}" for n in range(10)), "ka") if os.path.exists(path_of(cache, key))]
    assert left == ["k0", "k3", "k4", "k5", "k6", "k7", "k8", "k9", "ka"]
    assert cache.info().size_bytes <= 9_000


def test_an_old_temporary_file_goes_with_an_eviction_and_a_new_one_stays(cache):
    cache.put(KEY, b"x" * 9_000)
    old, new = (path_of(cache, KEY) + f".{n}.1.tmp" for n in (1, 2))
    for path in (old, new):
        with open(path, "wb") as file:
            file.write(b"part")
    os.utime(old, (0, 0))
    age(cache, KEY, 10)
    cache.put(OTHER, b"x" * 2_000)
    assert [os.path.exists(p) for p in (old, new, path_of(cache, KEY))] == [False, True, False]


def test_temporary_files_count_in_the_limit_and_old_ones_go_with_the_first_look_at_the_folder(cache):
    cache.put(KEY, b"x" * 4_000)
    old, new = (path_of(cache, KEY) + f".{n}.1.tmp" for n in (1, 2))
    for path in (old, new):
        with open(path, "wb") as file:
            file.truncate(7_000)
    os.utime(old, (0, 0))
    cache.evict()
    assert [os.path.exists(p) for p in (old, new, path_of(cache, KEY))] == [False, True, False]


def work(folder: str, seed: int, problems) -> None:
    cache = Cache(folder, 40_000)
    for turn in range(150):
        key = f"{(turn * 7 + seed * 3) % 10:04x}"
        content = key.encode() * 1_000
        found = cache.get(key)
        if found is not None and found != content:
            problems.put(key)
        cache.put(key, content)
        if turn % 50 == seed:
            cache.clear()
        if turn % 40 == seed:
            problems_found = cache.verify().damaged
            for path in problems_found:
                problems.put(path)


def test_processes_at_work_on_the_same_keys_never_see_part_of_an_entry(tmp_path):
    context = multiprocessing.get_context("fork")
    problems = context.Queue()
    workers = [context.Process(target=work, args=(str(tmp_path), seed, problems)) for seed in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0] * 4
    assert problems.empty()
    assert Cache(str(tmp_path), 40_000).verify().damaged == ()


def test_a_folder_that_cannot_be_written_costs_one_warning(tmp_path):
    place = tmp_path / "file"
    place.write_text("not a folder")
    cache = Cache(str(place / "cache"), 10_000)
    with pytest.warns(PolymlPerformanceWarning) as caught:
        cache.put(KEY, b"code")
        cache.put(OTHER, b"code")
    assert [str(w.message) for w in caught] == [
        f"the compile cache {place}/cache cannot be written, so what is compiled is not kept: Not a directory"
    ]
    assert cache.get(KEY) is None
    assert (cache.info().entries, cache.clear(), cache.verify()) == (0, Removed(0, 0), Verified(0, ()))


def test_a_full_disk_costs_one_warning_and_leaves_no_part_of_an_entry(cache, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    cache.put(KEY, b"code")
    with monkeypatch.context() as patched, pytest.warns(PolymlPerformanceWarning, match="No space left on device") as caught:
        patched.setattr(os, "replace", full)
        cache.put(OTHER, b"code")
        cache.put("ef56", b"code")
    assert len(caught) == 1
    assert cache.get(KEY) == b"code" and cache.get(OTHER) is None
    assert sum(len(files) for _, _, files in os.walk(cache.folder)) == 1
    cache.put(OTHER, b"code")  # there is room again
    assert cache.get(OTHER) == b"code"


def test_an_entry_that_cannot_be_marked_as_used_is_still_read(cache, monkeypatch):
    def refuse(*arguments, **named):
        raise PermissionError(1, "read-only")

    cache.put(KEY, b"code")
    monkeypatch.setattr(os, "utime", refuse)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cache.get(KEY) == b"code"


def test_the_settings_choose_folder_and_limit(tmp_path):
    with scope(cache_dir=tmp_path / "own", cache_size_mb=3):
        chosen = open_cache(resolve())
        assert (chosen.folder, chosen.limit_bytes) == (str(tmp_path / "own"), 3_000_000)
        assert open_cache(resolve()) is chosen
    with scope(cache=False):
        assert open_cache(resolve()) is None


def test_the_default_folder_is_the_users_cache_folder(monkeypatch, tmp_path):
    from platformdirs import user_cache_dir

    monkeypatch.delenv("POLYML_CACHE_DIR")
    for home in (str(tmp_path), ""):
        monkeypatch.setenv("XDG_CACHE_HOME", home)
        module._default_folder.cache_clear()
        assert open_cache(resolve()).folder == user_cache_dir("polyml", appauthor=False)
    module._default_folder.cache_clear()


def test_an_entry_under_another_name_is_no_entry(cache):
    cache.put(KEY, b"code")
    os.makedirs(os.path.dirname(path_of(cache, OTHER)), mode=0o700)
    shutil.copy(path_of(cache, KEY), path_of(cache, OTHER))
    assert cache.verify() == Verified(2, (path_of(cache, OTHER),))
    shutil.copy(path_of(cache, KEY), path_of(cache, OTHER))
    assert cache.get(OTHER) is None and not os.path.exists(path_of(cache, OTHER))
    assert cache.get(KEY) == b"code"


def test_entries_of_earlier_layouts_count_and_go(cache):
    cache.put(KEY, b"code")
    os.makedirs(os.path.join(cache.folder, "v1", "ab"), mode=0o700)
    with open(os.path.join(cache.folder, "v1", "ab", "ab12.bin"), "wb") as file:
        file.truncate(20_000)
    assert cache.info().entries == 2 and cache.verify() == Verified(1, ())
    os.utime(file.name, (0, 0))
    cache.evict()
    assert not os.path.exists(file.name) and cache.get(KEY) == b"code"


def put_fifo(path):
    os.mkfifo(path)


def put_folder(path):
    os.makedirs(os.path.join(path, "with", "more"))


def put_link(path):
    os.symlink("/dev/zero", path)


def put_much(path):
    with open(path, "wb") as file:
        file.truncate(200_000_000_000)


@pytest.mark.parametrize("put", [put_fifo, put_folder, put_link, put_much])
def test_what_is_no_entry_is_removed_and_replaced(cache, put):
    path = path_of(cache, KEY)
    for use in (lambda: cache.get(KEY), lambda: cache.put(KEY, b"new"), cache.verify, cache.clear, cache.evict):
        cache.put(KEY, b"code")
        os.unlink(path)
        put(path)
        use()
        assert not os.path.lexists(path) or os.path.isfile(path)
        cache.put(KEY, b"code")
        assert cache.get(KEY) == b"code"


def test_everything_is_made_for_this_user_alone(tmp_path):
    before = os.umask(0)
    try:
        cache = Cache(str(tmp_path / "one" / "two"), 10_000)
        cache.put(KEY, b"code")
    finally:
        os.umask(before)
    made = [path for path in (tmp_path / "one").rglob("*")]
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "one", *made)}
    assert len(made) == 4 and modes == {0o700, 0o600}


@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("change", ["mode", "owner"])
def test_where_others_may_put_code_nothing_is_read_or_written(cache, level, change):
    cache.put(KEY, b"code")
    within = os.path.dirname(path_of(cache, KEY))
    folder = (cache.folder, os.path.dirname(within), within)[level]
    if change == "mode":
        os.chmod(folder, 0o770)
    elif os.geteuid() == 0:
        os.chown(folder, 12345, -1)
    else:
        pytest.skip("only root can give a folder to another user")
    module._warn_once.cache_clear()
    with pytest.warns(PolymlPerformanceWarning, match="who could put code there that this process would run") as caught:
        assert cache.get(KEY) is None
        cache.put(KEY, b"new")
        cache.remove(KEY)
    assert len(caught) == 1 and folder in str(caught[0].message)
    assert bool(cache.fault()) is (level < 2)
    assert os.path.exists(path_of(cache, KEY))


def test_an_entry_that_others_can_write_is_replaced(cache):
    cache.put(KEY, b"code")
    os.chmod(path_of(cache, KEY), 0o666)
    assert cache.get(KEY) is None
    cache.put(KEY, b"code")
    assert cache.get(KEY) == b"code"


def test_a_folder_that_is_a_link_of_the_users_own_is_used(tmp_path):
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    cache = Cache(str(tmp_path / "link"), 10_000)
    cache.put(KEY, b"code")
    assert cache.get(KEY) == b"code"
    shutil.move(tmp_path / "real" / "v2", tmp_path / "elsewhere")
    (tmp_path / "real" / "v2").symlink_to(tmp_path / "elsewhere")
    assert cache.fault() == f"{tmp_path}/link/v2 is a symbolic link, not a folder"
    with pytest.warns(PolymlPerformanceWarning, match="is a symbolic link"):
        assert cache.get(KEY) is None


@pytest.mark.parametrize("call", ["mkdir", "open", "replace"])
def test_what_others_remove_meanwhile_is_made_again(cache, monkeypatch, call):
    right, failed = getattr(os, call), []

    def removed_once(path, *arguments, **named):
        if not failed:
            failed.append(path)
            raise FileNotFoundError(2, "No such file or directory", path)
        return right(path, *arguments, **named)

    monkeypatch.setattr(os, call, removed_once)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache.put(KEY, b"code")
    assert failed and cache.get(KEY) == b"code"


def test_too_much_for_an_entry_is_not_kept(cache, monkeypatch):
    monkeypatch.setattr(module, "ENTRY_BYTES", 100)
    with pytest.warns(PolymlPerformanceWarning, match="does not keep entries of more than 100 bytes"):
        cache.put(KEY, b"x" * 101)
    assert cache.get(KEY) is None and cache.info().entries == 0


@pytest.mark.parametrize("variable", ["~/caches", "below"])
def test_a_default_folder_begins_at_the_root(monkeypatch, tmp_path, variable):
    monkeypatch.delenv("POLYML_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", variable)
    monkeypatch.setenv("HOME", str(tmp_path))
    module._default_folder.cache_clear()
    assert open_cache(resolve()).folder == str(tmp_path / ".cache" / "polyml")
    monkeypatch.setenv("HOME", "nowhere")
    module._default_folder.cache_clear()
    module._warn_once.cache_clear()
    with pytest.warns(PolymlPerformanceWarning, match="HOME names no folder; POLYML_CACHE_DIR"):
        assert open_cache(resolve()) is None
    module._default_folder.cache_clear()

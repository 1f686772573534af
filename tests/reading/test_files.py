"""Files are read whole, within a bound, and nothing but files is."""

import os
import socket
import stat

import pytest

from polyml.reading.files import UnsuitableFile, fault_of, read_regular

LIMIT = 1_000


def refused(path, *words: str, **how) -> None:
    with pytest.raises(UnsuitableFile) as caught:
        read_regular(path, LIMIT, **how)
    assert all(word in str(caught.value) for word in (str(path), *words)), caught.value


@pytest.mark.parametrize("size", [0, 1, LIMIT])
def test_a_file_within_the_bound_is_read_whole(tmp_path, size):
    path = tmp_path / "file"
    path.write_bytes(b"x" * size)
    assert read_regular(path, LIMIT) == b"x" * size
    assert read_regular(str(path), LIMIT, follow_links=False, is_own=True) == b"x" * size


def test_a_larger_file_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "file"
    with open(path, "wb") as file:
        file.truncate(200_000_000_000)
    refused(path, "larger than the 1,000 bytes")


def test_a_file_that_has_more_than_it_says_is_refused():
    refused("/proc/self/status", "larger than the 1,000 bytes")  # whose size is 0


def test_a_file_that_says_too_little_is_read_whole():
    with open("/proc/self/limits", "rb") as file:
        expected = file.read()
    assert os.stat("/proc/self/limits").st_size == 0
    assert read_regular("/proc/self/limits", 100_000) == expected


def test_nothing_but_a_file_is_read(tmp_path):
    fifo, folder, path = tmp_path / "fifo", tmp_path / "folder", tmp_path / "socket"
    os.mkfifo(fifo)
    folder.mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        for each, word in ((fifo, "a FIFO"), (folder, "a folder"), (path, "a socket"), ("/dev/zero", "a device")):
            refused(each, f"is {word}, not a regular file")


def test_links_are_followed_unless_they_are_not_wanted(tmp_path):
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_bytes(b"content")
    link.symlink_to(path)
    assert read_regular(link, LIMIT) == b"content"
    refused(link, "is a symbolic link, not a regular file", follow_links=False)
    link.unlink()
    link.symlink_to("/dev/zero")
    refused(link, "is a device")


def test_a_link_that_leads_to_itself_is_a_symbolic_link(tmp_path):
    link = tmp_path / "link"
    link.symlink_to(link)
    refused(link, "is a symbolic link")


def test_a_file_that_is_not_there_is_the_systems_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_regular(tmp_path / "none", LIMIT)


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_what_others_can_write_is_not_ones_own(tmp_path, mode):
    path = tmp_path / "file"
    path.write_bytes(b"content")
    path.chmod(mode)
    assert read_regular(path, LIMIT) == b"content"
    refused(path, f"can be written by other users (its mode is {mode:04o})", is_own=True)
    path.chmod(0o644)
    assert read_regular(path, LIMIT, is_own=True) == b"content"


def test_what_another_user_owns_is_not_ones_own(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"content")
    status = os.stat(path)
    other = os.stat_result((stat.S_IFREG | 0o600, 0, 0, 1, status.st_uid + 12345, 0, 0, 0, 0, 0))
    assert fault_of(other) == f"belongs to another user ({status.st_uid + 12345})"
    monkeypatch.setattr(os, "geteuid", lambda: status.st_uid + 12345)
    assert fault_of(other) == ""

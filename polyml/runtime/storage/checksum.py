"""Bytes with a checksum and the name of their place in front, by which damaged, truncated and exchanged files are recognised.

The checksum finds accidents. It has no key, so that who may write a file can seal anything; the folder's owner and mode say who
may.
"""

from __future__ import annotations

import hashlib

_MAGIC = b"polyml\x00\x02"
_DIGEST_BYTES = 16
_LENGTH_BYTES = 2
_HEAD_BYTES = len(_MAGIC) + _DIGEST_BYTES


class Damaged(Exception):
    """The exception that says that bytes are not what `seal` returned for a name, as they are in a damaged file."""


def seal(name: str, content: bytes) -> bytes:
    """Returns the content behind a head that `unseal` checks: a magic number, a BLAKE2b digest of what follows, and the name.

    >>> unseal("a name", seal("a name", b"code"))
    b'code'
    """
    label = _label(name)
    return b"".join((_MAGIC, _digest(label, content), label, content))


def unseal(name: str, sealed: bytes) -> bytes:
    """Returns the content that was sealed under `name`. Raises Damaged for another name, or bytes missing, added or changed."""
    label = _label(name)
    start = _HEAD_BYTES + len(label)
    content = sealed[start:]
    if sealed[:_HEAD_BYTES] != _MAGIC + _digest(sealed[_HEAD_BYTES:start], content):
        raise Damaged("the checksum does not match")
    if sealed[_HEAD_BYTES:start] != label:
        raise Damaged(f"it is not the entry {name}")
    return content


def _label(name: str) -> bytes:
    text = name.encode()
    return len(text).to_bytes(_LENGTH_BYTES, "little") + text


def _digest(label: bytes, content: bytes) -> bytes:
    digest = hashlib.blake2b(label, digest_size=_DIGEST_BYTES)
    digest.update(content)
    return digest.digest()

"""Bytes with a checksum in front, so that a damaged or truncated file is recognised."""

from __future__ import annotations

import hashlib

_MAGIC = b"polyml\x00\x01"
_DIGEST_BYTES = 16
_HEAD_BYTES = len(_MAGIC) + _DIGEST_BYTES


class Damaged(Exception):
    """The bytes are not what was sealed."""


def seal(content: bytes) -> bytes:
    """magic, BLAKE2b digest, content.

    >>> unseal(seal(b"code"))
    b'code'
    """
    return _MAGIC + _digest(content) + content


def unseal(sealed: bytes) -> bytes:
    """The content that was sealed. Damaged if a byte is missing, added or changed."""
    content = sealed[_HEAD_BYTES:]
    if sealed[:_HEAD_BYTES] != _MAGIC + _digest(content):
        raise Damaged("the checksum does not match")
    return content


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST_BYTES).digest()

"""The runtime's own native code: compiled from LLVM IR once per machine, then kept in the disk cache."""

from __future__ import annotations

import hashlib
import os

from polyml import config
from polyml.runtime import load
from polyml.runtime.cache import open_cache
from polyml.runtime.seal import seal, unseal


def compiled(name: str, text: str) -> bytes:
    """Object code of `text` for any CPU of this architecture."""
    cache = open_cache(config.resolve())
    if cache is None:
        return load.assemble_optimised(text)
    key = f"{name}-{os.uname().sysname}-{os.uname().machine}-{hashlib.sha256(text.encode()).hexdigest()}"
    sealed = cache.get(key)
    if sealed is None:
        sealed = seal(load.assemble_optimised(text))
        cache.put(key, sealed)
    return unseal(sealed)


def text(file: str) -> str:
    """A file of this folder."""
    with open(os.path.join(os.path.dirname(__file__), file), encoding="utf-8") as opened:
        return opened.read()

"""The runtime's own native code: compiled from LLVM text once per machine, then kept in the disk cache."""

from __future__ import annotations

import hashlib
import os

from polyml import config
from polyml.runtime.loading import assemble, link
from polyml.runtime.storage.disk_cache import open_cache


def loaded(name: str, text: str, *symbols: str) -> link.Code:
    """Loads code of an LLVM text into memory, and returns it: from the cache on disk, or compiled for any CPU of this architecture.

    Code in the cache that cannot be loaded is made again.

    name: what the cache calls the code.
    symbols: those of which `Code.address` will be asked.
    """
    cache = open_cache(config.resolve())
    key = f"code-{name}-{os.uname().sysname}-{os.uname().machine}-{hashlib.sha256(text.encode()).hexdigest()}"
    kept = None if cache is None else cache.get(key)
    if cache is not None and kept is not None:
        try:
            return _with(kept, symbols)
        except MemoryError:
            raise
        except Exception:  # whatever it is that the file has
            cache.remove(key)
    made = assemble.assemble_optimised(text)
    code = _with(made, symbols)
    if cache is not None:
        cache.put(key, made)
    return code


def _with(content: bytes, symbols: tuple[str, ...]) -> link.Code:
    code = link.link([content], symbols, link.of_libraries)
    for symbol in symbols:
        code.address(symbol)
    return code


def text(file: str, beside: str = __file__) -> str:
    """Returns the text of a file in the folder of a module.

    beside: the module's `__file__`
    """
    with open(os.path.join(os.path.dirname(beside), file), encoding="utf-8") as opened:
        return opened.read()

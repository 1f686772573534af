"""A polyhedral loop-nest optimizer for Python.

>>> import numpy as np
>>> @kernel
... def scale(A, factor):
...     for i in range(A.shape[0]):
...         A[i] *= factor
>>> A = np.ones(3)
>>> scale(A, 2.0)
>>> A
array([2., 2., 2.])
"""

from polyml.interrupts import deferred

with deferred():  # NumPy cannot be imported again where its first import was interrupted
    from polyml import config
    from polyml.ahead_of_time.loaded_library import load
    from polyml.api import Kernel, kernel, status
    from polyml.api.plotting.plot import plot
    from polyml.api.target import Target
    from polyml.errors import (
        BoundsError,
        CompileError,
        ConfigError,
        DeviceError,
        IllegalSchedule,
        LanguageError,
        NotAffineError,
        PolymlDefectWarning,
        PolymlError,
        PolymlMemoryError,
        PolymlOverflowError,
        PolymlPerformanceWarning,
        PolymlTypeError,
        PolymlValueError,
        PolymlZeroDivisionError,
        RecompileError,
        ScheduleError,
    )
    from polyml.frontend.library.index_arrays import assume, injective, monotonic, within
    from polyml.frontend.sparse.freezing import freeze
    from polyml.runtime.loading.array_memory import release_memory

__version__ = "0.1.0"

__all__ = [
    "BoundsError",
    "CompileError",
    "ConfigError",
    "DeviceError",
    "IllegalSchedule",
    "Kernel",
    "LanguageError",
    "NotAffineError",
    "PolymlDefectWarning",
    "PolymlError",
    "PolymlMemoryError",
    "PolymlOverflowError",
    "PolymlPerformanceWarning",
    "PolymlTypeError",
    "PolymlValueError",
    "PolymlZeroDivisionError",
    "RecompileError",
    "ScheduleError",
    "Target",
    "assume",
    "config",
    "freeze",
    "injective",
    "kernel",
    "load",
    "monotonic",
    "plot",
    "release_memory",
    "status",
    "within",
]


def load_ipython_extension(shell: object) -> None:
    """Gives IPython and Jupyter the cell magic `%%polyml`; `%load_ext polyml` calls it.

    shell: IPython's shell.
    """
    from polyml.api.notebook.magic import register

    register(shell)


def unload_ipython_extension(shell: object) -> None:
    """Takes the cell magic away again; `%unload_ext polyml` calls it. shell: IPython's shell."""
    from polyml.api.notebook.magic import unregister

    unregister(shell)

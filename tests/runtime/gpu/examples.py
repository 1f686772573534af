"""Kernels and artifacts of GPUs that tests share."""

import numpy as np

from polyml.config import Options
from polyml.frontend.parsing.parse import parse
from polyml.pipeline.gpu.compile import compile_for_gpu
from polyml.pipeline.gpu.device import Device
from polyml.runtime.gpu.artifact import GpuArtifact
from polyml.runtime.storage.records import parse_type


def scaled(A, B, by):
    for i in range(A.shape[0]):
        B[i] = A[i] * by


def swept(A, steps):
    for t in range(steps):
        for i in range(1, A.shape[0]):
            A[i] = A[i] + A[0] * t


def layer(X, W, b):
    return np.maximum(X @ W + b, 0)


def made(function, *types: str, dialect: str = "opencl", libraries: bool = False) -> GpuArtifact:
    """The artifact of a function for arguments of these types."""
    device = Device(dialect, libraries=libraries)
    found = compile_for_gpu(parse(function), tuple(map(parse_type, types)), Options(), device)
    return found.artifact

"""The decorator and what it makes: a kernel, which is called, scheduled, inspected, reported on."""

from polyml.api.decorator import Kernel, kernel, status

__all__ = ["Kernel", "kernel", "status"]

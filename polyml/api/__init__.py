"""The decorator, and the kernel that it makes: called, scheduled, inspected, reported on. The doors are `kernel` and `status`."""

from polyml.api.decorator import Kernel, kernel, status

__all__ = ["Kernel", "kernel", "status"]

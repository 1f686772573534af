"""Operations of neural networks, built of kernels that are plain loops."""

from polyml.ops.conv2d import conv2d, conv2d_plan

__all__ = ["conv2d", "conv2d_plan"]

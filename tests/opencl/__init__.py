"""Kernels in OpenCL C on a device that runs them: pocl on this processor, or Oclgrind, which tells of races and of memory that was never written."""

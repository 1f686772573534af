"""The text of launches in OpenCL C or CUDA C++. The door is `printer.source`."""

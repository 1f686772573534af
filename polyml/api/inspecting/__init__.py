"""What `Kernel.model` and the methods `Kernel.inspect_...` return."""

"""Functions that a kernel calls and whose statements take the place of the call: functions of modules, and those inside of the kernel."""

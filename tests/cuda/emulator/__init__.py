"""Runs the CUDA text of kernels on the processor. The doors: `driver.Emulator`, a `polyml.runtime.gpu.driver.Driver`, for whole calls, and
`launches.Library` for single launches.

The text is compiled by g++ with `runtime/include/cuda_emulator.h` in place of CUDA's own words. Each CUDA thread is a fiber; a block's
threads run one after the other from barrier to barrier, forward, backward or in an order by chance, block after block. The compiler calls
the emulator at each access to memory, which finds races in a block and between blocks, accesses out of bounds, elements that are read
before they are written, copies by cp.async that are not waited for, and barriers that not all threads reach; and counts the requests of
warps, their 32-byte sectors and the passes through the banks of shared memory.

Inline PTX is written as calls (`ptx.py`): one statement `asm volatile("mma.sync.aligned... {%0, %1}, ...;" : "=f"(d0), ... : "r"(a0), ...);`
for each instruction, or several with `;` between them. `runtime/include/ptx.h` has those that are known.
"""

"""Contractions, and what is built on them, against the fastest libraries:  python -m benchmarks.contractions square

| set | what is timed | against |
|---|---|---|
| `looptune` | loops of small products, m, n, k from 64 to 256, one thread, call against call; cold times | NumPy |
| `square` | loops of square products from 32 to 4096 | NumPy (OpenBLAS), MKL, oneDNN |
| `skinny` | loops of products with one or two small sizes, and of matrix-vector products | the same |
| `tccg` | the 48 contractions of the TCCG benchmark, as loops and as `np.einsum` in a kernel | np.einsum, torch.einsum |
| `polybench` | the kernels of PolyBench that are made of products, LARGE | GFLOP/s of NumPy's and MKL's products; SciPy |
| `small-types` | loops of square products of float32, int8, uint8, int16 and bfloat16 numbers | PyTorch (oneDNN) |
| `convolution` | ResNet-50's layers, `polyml.ops.conv2d` and seven loops, NCHW and NHWC | PyTorch (oneDNN) |

Every library has a process of its own with one pool of threads. The processes take turns; a turn is calls in a row, of
which the median of the second half counts; a ratio is the median over the rounds of rates of the same round. Every result
is checked in the process that times it against NumPy's in float64; a wrong one has no figure.

Independent multiply-adds take turns with the peers. Their best rate is the peak; a case in which they fall far below it
was timed while others used the cores; it is marked and in no mean, as threads that wait for each other then take many times
as long, and not those of all libraries alike.
"""

"""The kernels and benchmarks come from the checkout that the tests belong to, whatever is installed."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

"""What every test has: a defect of the compiler is an error, not a simpler form."""

import os

os.environ.setdefault("POLYML_ON_DEFECT", "raise")

"""`make eval`: runs every eval and prints what it measured."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

for program in sorted(Path(__file__).parent.glob("[a-z]*.py")):
    print(f"\n=== {program.name}", flush=True)
    subprocess.run([sys.executable, str(program)], check=True)

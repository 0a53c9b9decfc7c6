"""Workers that are killed at random: `benchmarks/workers.py` on a small part of its data."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from sourcebook.bootstrap import BOUNDARY_MODEL
from sourcebook.models.install import install

PROGRAM = Path(__file__).parents[1] / "benchmarks" / "workers.py"


def test_killed_workers_lose_nothing_and_embed_little_twice(data_dir: Path) -> None:
    install(BOUNDARY_MODEL)
    options = "--passages 1500 --workers 6 --kills 5 --batch 64 --lease 4 --latency 0.2".split()
    timing = "--kill-every 0.2 --complete 1.5 --start fork".split()
    environment = {**os.environ, "SOURCEBOOK_DATA": str(data_dir), "OPENBLAS_NUM_THREADS": "1"}
    ran = subprocess.run(
        [sys.executable, str(PROGRAM), *options, *timing],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    told = json.loads(ran.stdout)
    assert told["kills"] >= 1
    assert told["vectors"] == told["vectors_right"] == 1500
    assert told["failed"] == told["without_need"] == 0
    assert 0 < told["embedded_again"] <= told["leases_expired"] <= told["kills"] * 64
    assert told["embedded"] == 1500 + told["embedded_again"]
    assert told["searches"]["wrong"] == []
    assert told["searches"]["degraded"] > 0
    assert told["searches"]["complete"] > 0

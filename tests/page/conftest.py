"""A real server over a real store, and a real browser; made once for all tests of the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.page.browser import chromium
from tests.page.site import Site, build
from tests.serve.running import copied, key_for, running

PATIENCE_MS = 20_000
"""Much longer than anything takes, but for a machine that does much else."""
WATCH = """
window.__violations = [];
addEventListener("securitypolicyviolation", (e) => window.__violations.push(e.violatedDirective));
"""
Open = Callable[..., Page]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    program = chromium()
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        # Root has no user namespace to build a sandbox of; the pages are our own.
        browser = playwright.chromium.launch(
            executable_path=program.path,
            env={**program.environment} or None,
            args=["--no-sandbox", "--disable-gpu"],
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def stores(tmp_path_factory: pytest.TempPathFactory, model_dir: Path) -> tuple[str, str]:
    """The same store twice, copied before anybody serves it."""
    store = build(tmp_path_factory.mktemp("page"))
    return store, copied(store, tmp_path_factory.mktemp("again"))


@pytest.fixture(scope="session")
def site(stores: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("served")
    with running(stores[0], folder) as server:
        yield Site(server, stores[0])


@pytest.fixture(scope="session")
def locked(
    stores: tuple[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Site, Any]]:
    """The same behind keys: one that may read, one that may write, one that may do all."""
    folder = tmp_path_factory.mktemp("locked")
    keys = {right: key_for(stores[1], rights=right) for right in ("read", "write", "admin")}
    with running(stores[1], folder) as server:
        yield Site(server, stores[1]), keys


@pytest.fixture
def new_context(browser: Browser) -> Iterator[Callable[..., BrowserContext]]:
    made: list[BrowserContext] = []

    def make(**options: Any) -> BrowserContext:
        options.setdefault("viewport", {"width": 1280, "height": 900})
        context = browser.new_context(**options)
        context.set_default_timeout(PATIENCE_MS)
        context.add_init_script(WATCH)
        made.append(context)
        return context

    yield make
    for context in made:
        context.close()


@pytest.fixture
def opened(new_context: Callable[..., BrowserContext], site: Site) -> Iterator[Open]:
    """A page at an address of the site; at the end nothing may have gone wrong in it."""
    wrong: list[str] = []
    pages: list[Page] = []

    def open_(path: str = "/", url: str = "", **options: Any) -> Page:
        context = new_context(permissions=["clipboard-read", "clipboard-write"], **options)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        page.goto((url or site.url) + path)
        pages.append(page)
        return page

    yield open_
    for page in pages:
        assert page.evaluate("window.__violations") == []
        assert page.evaluate("window.__owned") is None
    expected = ("Failed to load resource",)
    assert [each for each in wrong if not each.startswith(expected)] == []


def at(view: str = "search", **values: str) -> str:
    """An address of the page."""
    from urllib.parse import urlencode

    return "/?" + urlencode({**({} if view == "search" else {"view": view}), **values}, doseq=True)

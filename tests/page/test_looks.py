"""How it looks and for whom: axe in light and dark, phones, what the first view costs, pictures for
the documentation (SOURCEBOOK_SCREENSHOTS names the folder)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from playwright.sync_api import Page, expect

from tests.page.conftest import Open, at
from tests.page.site import CHAT, LATE, LENDING, NEW_BYLAWS, QUORUM, Site

ARTICLE = f"{NEW_BYLAWS}#bylaws-of-larkfield-commons/article-4-the-general-meeting"
BILLING = "id-proc-bill"
ALIKE = {"exclude": [[".hit:nth-child(n+7)"], ["tr:nth-child(n+7)"]]}
"""What axe need not look at: more of the same takes most of its time."""
PICTURES = frozenset(
    "search why read chat element time context health search-dark search-phone "
    "element-phone".split()
)
"""Those that docs/page.md shows."""
VIEWS = {
    "search": (at(q=QUORUM), ".hits[aria-busy=false] .hit"),
    "why": (at("why", q=LATE, mr="0.2", x="corpus/notes/barn-rules.txt"), ".funnel .n"),
    "read": (at("read", node=ARTICLE), "mark.cited"),
    "chat": (at("read", node=CHAT), ".say"),
    "element": (at("read", node=BILLING), ".graph .node"),
    "time": (at("time", q=LATE, doc=LENDING), ".diff .add"),
    "context": (at("context", q=LATE, tokens="1000"), "pre.assembled"),
    "health": (at("health"), "section[aria-label=Latency] svg"),
}


def kept(page: Page, name: str, tmp_path: Path) -> None:
    """A picture of what is seen first."""
    folder = os.environ.get("SOURCEBOOK_SCREENSHOTS") if name in PICTURES else None
    picture = Path(folder or tmp_path) / f"page-{name}.png"
    page.mouse.move(0, 0)
    page.screenshot(path=picture)
    with Image.open(picture) as drawn:
        drawn.convert("RGB").quantize(256).save(picture, optimize=True)
    assert 2_000 < picture.stat().st_size < 150_000


def settled(page: Page, selector: str) -> None:
    expect(page.locator(selector).first).to_be_visible()
    page.wait_for_load_state("networkidle")


@pytest.fixture(scope="module", autouse=True)
def asked(site: Site) -> None:
    """So that there is something to draw."""
    for query in (QUORUM, LATE):
        site.server.post("/v1/search", {"query": query})


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(opened: Open, site: Site, tmp_path: Path, scheme: str) -> None:
    # Axe is brought in from outside, which is just what the page's policy forbids.
    page = opened("/", color_scheme=scheme, bypass_csp=True)
    found: list[str] = []
    for name, (path, selector) in VIEWS.items():
        page.goto(site.url + path)
        settled(page, selector)
        if name == "search":
            page.get_by_role("button", name="Why", exact=True).first.click()
        kept(page, name if scheme == "light" else f"{name}-dark", tmp_path)
        for rule in Axe().run(page, context=ALIKE).response["violations"]:
            if rule["impact"] in ("serious", "critical"):
                nodes = [node["html"][:120] for node in rule["nodes"][:3]]
                found.append(f"{name} ({scheme}): {rule['id']}: {nodes}")
    assert found == []


def test_nothing_is_wider_than_a_phone(opened: Open, site: Site, tmp_path: Path) -> None:
    page = opened("/", viewport={"width": 360, "height": 780})
    for name, (path, selector) in VIEWS.items():
        page.goto(site.url + path)
        settled(page, selector)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, name
        kept(page, f"{name}-phone", tmp_path)


@pytest.mark.parametrize("width", [360, 1280])
def test_no_words_of_the_neighbourhood_are_hidden(opened: Open, width: int) -> None:
    page = opened(VIEWS["element"][0], viewport={"width": width, "height": 780})
    settled(page, ".graph .tag")
    hidden = page.evaluate(
        """() => {
          const within = (selector) => [...document.querySelectorAll(selector)].map((e) => {
            const { left, right, top, bottom } = e.getBoundingClientRect();
            return { said: e.textContent, left, right, top, bottom };
          });
          const tags = within(".graph .tag");
          const others = [...tags, ...within(".graph rect")];
          return tags.flatMap((a, i) => others.filter((b, j) => j !== i
            && a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)
            .map((b) => `${a.said} / ${b.said}`));
        }"""
    )
    assert hidden == []


def test_the_first_view_is_small(opened: Open, capsys: pytest.CaptureFixture[str]) -> None:
    page = opened(at(q=QUORUM))
    expect(page.locator(".hits[aria-busy=false] .hit").first).to_be_visible()
    sizes: dict[str, int] = page.evaluate(
        """() => Object.fromEntries([...performance.getEntriesByType("resource"),
             ...performance.getEntriesByType("navigation")].map((e) => [e.name, e.transferSize]))"""
    )
    whole = sum(sizes.values())
    files = sum(size for name, size in sizes.items() if "/v1/" not in name)
    with capsys.disabled():
        print(f"\nfirst view: {files / 1000:.0f} kB of page, {whole / 1000:.0f} kB in all")
    assert 0 < whole < 200_000


def test_light_and_dark_can_be_chosen(opened: Open) -> None:
    page = opened(color_scheme="light")
    colour = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(colour)
    page.get_by_role("button", name="Light or dark").click()
    dark = page.evaluate(colour)
    assert dark != light
    page.reload()
    expect(page.locator("#q")).to_be_visible()
    assert page.evaluate(colour) == dark


def test_landmarks_and_names(opened: Open) -> None:
    page = opened(at(q=QUORUM))
    for role in ("banner", "main", "contentinfo", "search"):
        expect(page.get_by_role(role)).to_have_count(1)  # type: ignore[arg-type]
    expect(page.get_by_role("navigation", name="Views").locator("[aria-current]")).to_have_text(
        "Search"
    )
    expect(page.get_by_role("complementary", name="Filters")).to_be_attached()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement !== document.body")

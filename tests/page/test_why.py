"""Why: the stages of a hit, the funnel with its refusals, and why something is not there."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.page.conftest import Open, at
from tests.page.site import LATE, LENDING, NEW_BYLAWS, QUORUM, Site
from tests.page.test_search import answered

NAMES = ["By meaning", "By words", "Fused", "Reranked", "Checked", "Passed", "In context"]


def test_a_hit_shows_what_each_stage_said(opened: Open, site: Site) -> None:
    page = opened(at(q=QUORUM))
    answered(page)
    hit = site.server.post("/v1/search", {"query": QUORUM, "k": 50}).json()["results"][0]
    card = page.locator(".hit").first
    card.get_by_role("button", name="Why").click()
    told = card.locator(".picture").get_attribute("aria-label") or ""
    assert f"meaning rank {hit['scores']['dense_rank']}" in told
    assert told.endswith("place rank 1")
    row = card.locator(".stage-row")
    expect(row).to_contain_text(f"{hit['scores']['dense']:.3f}")
    expect(row).to_contain_text(f"{hit['scores']['adjusted']:.3f}")
    expect(row).to_contain_text("× 1.1")


def test_the_funnel_tells_what_the_engine_did(opened: Open, site: Site) -> None:
    asked = {"query": LATE, "min_relevance": 0.2}
    told = site.server.post("/v1/explain", asked).json()
    page = opened(at("why", q=LATE, mr="0.2"))
    expect(page.locator(".funnel .name")).to_have_text(NAMES)
    expect(page.locator(".funnel .n")).to_have_text([str(s["count"]) for s in told["funnel"]])
    refused = [each for each in told["candidates"] if each["fate"] == "refused"]
    assert refused, "the question must have something to refuse"
    panel = page.locator("section", has=page.locator("#refused"))
    expect(panel.locator("li")).to_have_count(len(refused))
    expect(panel.locator("li").first).to_contain_text("its relevance is too low")
    search = site.server.post("/v1/search", {"query": LATE, "k": 100}).json()
    fused = next(s["count"] for s in told["funnel"] if s["stage"] == "fused")
    assert fused == search["stats"]["candidates"]
    ours = [each["node_id"] for each in told["candidates"]]
    assert ours == [hit["node_id"] for hit in search["results"]]


@pytest.mark.parametrize(
    ("name", "more", "words"),
    [
        (NEW_BYLAWS, {}, r"it is here, in place 1"),
        ("more/manual.pdf", {}, r"place \d+; places 1 to 10 are shown|no search had it"),
        (
            LENDING,
            {"f": "document_type=bylaws"},
            r"the filter document_type = bylaws leaves it out",
        ),
        ("more/chat.json", {"at": "published"}, r"there is nothing of that name"),
        ("more/hostile.md", {"at": "published"}, r"not there at revision 1; .* with revision 2"),
        (NEW_BYLAWS, {"mw": "9999"}, r"refused: it has too few words"),
    ],
)
def test_why_something_is_not_here(opened: Open, name: str, more: dict, words: str) -> None:  # type: ignore[type-arg]
    page = opened(at("why", q=QUORUM, **more))
    page.locator("#x").fill(name)
    page.get_by_role("button", name="Why not?").click()
    expect(page.locator(".verdict")).to_have_text(re.compile(words))

"""Health: the index, questions over time, and golden questions from what people found helpful."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.page.conftest import Open, at
from tests.page.site import LATE, OFF_TOPIC, QUORUM, Site
from tests.page.test_search import answered
from tests.serve.running import until


def test_the_index_is_told_in_numbers(opened: Open, site: Site) -> None:
    status = site.server.get("/v1/health/index").json()
    page = opened(at("health"))
    tiles = page.locator(".tile")
    expect(tiles.nth(0)).to_contain_text(str(status["revision"]))
    expect(tiles.nth(1)).to_contain_text(f"{status['counts']['passages']:,}")
    expect(tiles.nth(2).locator("dd")).to_have_text("0")
    space = page.locator("section[aria-label=Spaces] tbody tr")
    expect(space).to_contain_text(status["spaces"][0]["id"])
    expect(space).to_contain_text("100 %")


def test_questions_are_drawn_over_time(opened: Open, site: Site) -> None:
    for query in (QUORUM, LATE, OFF_TOPIC):
        site.server.post("/v1/search", {"query": query})

    def asked() -> int:
        found: int = site.server.get("/v1/health/queries").json()["count"]
        return found

    until(lambda: asked() >= 3)
    chart = site.server.get("/v1/health/queries", params={"buckets": 24}).json()
    page = opened(at("health"))
    told = page.locator("section[aria-label=Outcomes] svg").get_attribute("aria-label") or ""
    assert told.startswith(f"{chart['count']} questions: ok ")
    assert page.locator("section[aria-label=Outcomes] rect.low").count() > 0
    speed = page.locator("section[aria-label=Latency] svg").get_attribute("aria-label") or ""
    assert "p95" in speed
    expect(page.locator("section[aria-label='Where hits come from'] li")).to_have_count(3)
    weak = page.locator("section[aria-label='Without a good answer']")
    expect(weak).to_contain_text(OFF_TOPIC)


def test_what_people_found_helpful_is_asked_again_at_each_baseline(opened: Open) -> None:
    page = opened(at(q=QUORUM))
    answered(page)
    helpful = page.locator(".hit").first.get_by_role("button", name="Helpful", exact=True)
    helpful.click()
    expect(helpful).to_have_attribute("aria-pressed", "true")
    page.goto(page.url.split("/?")[0] + at("health"))
    box = page.locator("section[aria-label='Golden questions over time']")
    box.get_by_role("button", name="Ask them now").click()
    expect(box.locator("tbody tr").last).to_contain_text("now")
    expect(box.locator("tbody tr").last.locator("td").nth(1)).to_have_text("1.00")
    expect(box.locator("svg")).to_have_attribute(
        "aria-label", "recall at 10: 2025-spring 1.00, now 1.00"
    )


def test_a_key_that_may_only_read_is_not_told_what_others_asked(
    opened: Open, locked: tuple[Site, dict[str, str]]
) -> None:
    site, keys = locked
    page = opened(at("health"), url=site.url)
    page.locator("#key").fill(keys["read"])
    page.get_by_role("button", name="Continue").click()
    expect(page.locator("section[aria-label=Questions]")).to_contain_text("right to administer")

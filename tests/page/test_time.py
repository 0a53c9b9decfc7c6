"""Time: revisions and baselines, the same question at two points, differences, publishing."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.page.conftest import Open, at
from tests.page.site import BASELINE, LENDING, NEW_RULE, Site

QUESTION = "What does a power tool cost that is returned more than a week late?"


def test_the_line_of_time_has_revisions_and_baselines(opened: Open) -> None:
    page = opened(at("time"))
    told = page.locator(".line-of-time svg").get_attribute("aria-label") or ""
    assert f"{BASELINE} at revision 1" in told
    rows = page.locator(".revisions > li")
    expect(rows.first).to_contain_text("a stricter guideline, and a chat")
    expect(rows.last).to_contain_text("the example corpus")
    expect(rows.last).to_contain_text("+12 documents")
    rows.last.get_by_role("link", name="Read at this point").click()
    expect(page.locator("#at")).to_have_value("revision:1")


def test_the_same_question_at_two_points_side_by_side(opened: Open) -> None:
    page = opened(at("time", a=f"baseline:{BASELINE}", b="head"))
    page.locator("#q").fill(QUESTION)
    page.locator("#q").press("Enter")
    sides = page.locator(".side")
    expect(sides).to_have_count(2)
    expect(sides.first.locator("h2")).to_contain_text(f"{BASELINE} revision 1")
    expect(sides.last.locator("h2")).to_contain_text("Now revision 2")
    words = NEW_RULE[:20]
    expect(sides.last.locator(".hit", has_text=words).first).to_contain_text("other words")
    expect(sides.first.locator(".hit", has_text=words)).to_have_count(0)


def test_the_difference_of_a_document_line_by_line(opened: Open) -> None:
    page = opened(at("time", a="revision:1", b="revision:2"))
    panel = page.locator("section[aria-label='What changed']")
    expect(panel).to_contain_text("0 removed")
    panel.get_by_role("link", name="Guideline for lending tools").click()
    expect(page.locator(".diff .add", has_text=NEW_RULE)).to_have_count(1)
    expect(page.locator(".diff .del")).to_have_count(0)
    assert LENDING.replace("/", "%2F") in page.url


def test_a_baseline_is_made_and_published_by_who_may(
    opened: Open, locked: tuple[Site, dict[str, str]]
) -> None:
    site, keys = locked
    page = opened(at("time"), url=site.url)
    for key in ("sb_wrong", keys["write"]):
        page.locator("#key").fill(key)
        page.get_by_role("button", name="Continue").click()
    page.locator("#name").fill("2026 autumn/1")
    page.get_by_role("button", name="Create baseline").click()
    publish = page.get_by_role("button", name="Publish 2026 autumn/1")
    publish.click()
    expect(page.locator(".badge.binding")).to_have_text("2026 autumn/1 · published")
    expect(page.locator("#at option", has_text="Published")).to_have_text(re.compile("autumn/1"))
    found = site.server.get("/v1/baselines", keys["read"]).json()["baselines"]
    assert [each["id"] for each in found if each["published"]] == ["2026 autumn/1"]


def test_a_key_that_may_not_publish_is_told_so(
    opened: Open, locked: tuple[Site, dict[str, str]]
) -> None:
    site, keys = locked
    page = opened(at("time"), url=site.url)
    page.locator("#key").fill(keys["read"])
    page.get_by_role("button", name="Continue").click()
    page.locator("#name").fill("mine")
    page.get_by_role("button", name="Create baseline").click()
    expect(page.locator(".note.bad")).to_contain_text("This key may not do that.")
    assert page.evaluate("Object.keys(localStorage).length + document.cookie.length") == 0
    assert page.evaluate("sessionStorage.length") == 1

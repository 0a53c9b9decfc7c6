"""Texts that want to be programs, turn the page around, or never end: they are shown as texts."""

from __future__ import annotations

from playwright.sync_api import expect

from sourcebook.serve import page as served
from tests.page.conftest import Open, at
from tests.page.site import ATTACK, BIDI, Site
from tests.page.test_search import answered


def test_the_policy_lets_nothing_in(site: Site) -> None:
    with site.server.client() as client:
        answer = client.get("/")
    policy = answer.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    assert "require-trusted-types-for 'script'" in policy
    for name in ("<script>", " style=", " onclick=", "http://", "https://", "//cdn"):
        assert name not in answer.text, name


def test_a_file_is_sent_again_only_when_it_changed(site: Site) -> None:
    with site.server.client() as client:
        for path in served.FILES:
            first = client.get(path)
            assert first.status_code == 200
            again = client.get(path, headers={"if-none-match": first.headers["etag"]})
            assert (again.status_code, again.content) == (304, b"")
            assert client.get(path, headers={"if-none-match": 'W/"other"'}).status_code == 200


def test_a_script_in_a_document_is_text_everywhere(opened: Open) -> None:
    page = opened(at(q="payroll of gnomes"))
    answered(page)
    card = page.locator(".hit", has_text="payroll of gnomes").first
    expect(card.locator(".snippet")).to_contain_text(ATTACK)
    expect(card.locator("h3")).to_contain_text(ATTACK)
    card.locator("h3 a").click()
    expect(page.locator(".page-text")).to_contain_text(ATTACK)
    for view in ("context", "why"):
        page.goto(page.url.split("/?")[0] + at(view, q="payroll of gnomes"))
        expect(page.locator("main")).to_contain_text("<script>")
    page.goto(page.url.split("/?")[0] + at(q=ATTACK, x=ATTACK, at="head"))
    answered(page)
    assert page.locator("main script, main img, main iframe, main [onerror]").count() == 0


def test_text_that_turns_around_keeps_to_itself(opened: Open) -> None:
    page = opened(at("read", node="more/bidi.md"))
    block = page.locator(".prose p", has_text="Elven names are")
    assert BIDI in (block.text_content() or "")
    assert block.evaluate("e => getComputedStyle(e).unicodeBidi") == "isolate"
    page.goto(page.url.split("/?")[0] + at(q="elven names"))
    answered(page)
    assert (
        page.locator(".hit h3 bdi")
        .first.evaluate("e => getComputedStyle(e).unicodeBidi")
        .startswith("isolate")
    )


def test_a_word_of_a_million_letters_is_cut_and_wrapped(opened: Open) -> None:
    page = opened(at("read", node="more/long.txt"), viewport={"width": 360, "height": 780})
    expect(page.locator(".page-text")).to_contain_text("Troll inventory begins here.")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    shown = len(page.locator(".prose").text_content() or "")
    assert shown < 100_000
    page.get_by_role("button", name="Show more").click()
    assert len(page.locator(".prose").text_content() or "") > shown
    page.goto(page.url.split("/?")[0] + at(q="troll inventory"))
    answered(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert len(page.locator(".hit .snippet").first.text_content() or "") < 1000

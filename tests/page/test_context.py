"""The context builder: word for word what an agent gets, within the tokens that one chooses."""

from __future__ import annotations

import json
import re

from playwright.sync_api import Page, expect

from sourcebook.serve.mcp_inputs import GetContext
from tests.page.conftest import Open, at
from tests.page.site import BASELINE, LATE, Site


def copied(page: Page, label: str) -> str:
    page.get_by_role("button", name=label).click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    text: str = page.evaluate("navigator.clipboard.readText()")
    return text


def test_the_text_is_the_one_that_an_agent_gets(opened: Open, site: Site) -> None:
    asked = {"query": LATE, "max_tokens": 1000, "max_sources": 8, "read_context": "head"}
    answer = site.server.post("/v1/context", asked).json()
    page = opened(at("context", q=LATE, tokens="1000"))
    expect(page.locator(".tokens")).to_have_text(f"{answer['tokens']:,} of 1,000 tokens")
    assert page.locator("pre.assembled").text_content() == answer["text"]
    assert copied(page, "Copy text") == answer["text"]
    expect(page.locator("ol.sources li")).to_have_count(len(answer["sources"]))


def test_the_slider_changes_what_fits(opened: Open) -> None:
    page = opened(at("context", q=LATE))
    expect(page.locator(".tokens")).to_contain_text("of 4,000 tokens")
    slider = page.locator("#tokens")
    slider.focus()
    for _ in range(4):
        slider.press("ArrowLeft")
    expect(page.locator(".tokens")).to_contain_text("of 500 tokens")
    assert "tokens=500" in page.url
    used = int(re.sub(r"\D", "", (page.locator(".tokens").text_content() or "").split(" of ")[0]))
    assert 0 < used <= 500


def test_it_is_copied_as_json_and_as_a_call_that_mcp_accepts(opened: Open) -> None:
    page = opened(at("context", q=LATE, at=f"baseline:{BASELINE}", f="document_type=bylaws"))
    answer = json.loads(copied(page, "Copy JSON"))
    assert answer["read_context"]["revision"] == 1
    page.wait_for_timeout(1600)
    call = json.loads(copied(page, "Copy MCP call"))
    assert (call["method"], call["params"]["name"]) == ("tools/call", "getContext")
    given = GetContext.model_validate(call["params"]["arguments"])
    assert given.where()["read_context"] == {"baseline_id": BASELINE}
    assert given.filters.to_wire() == {"document_type": ["bylaws"]}

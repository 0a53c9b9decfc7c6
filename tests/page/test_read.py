"""Read: outline, cited words, pages, a chat with its branch, a model's element, citations."""

from __future__ import annotations

import json
import re

from playwright.sync_api import expect

from tests.page.conftest import Open, at
from tests.page.site import BASELINE, CHAT, LENDING, NEW_BYLAWS, NEW_RULE, QUORUM, Site


def test_the_cited_words_are_marked_in_their_document(opened: Open, site: Site) -> None:
    hit = site.server.post("/v1/search", {"query": QUORUM, "k": 1}).json()["results"][0]
    page = opened(at("read", node=hit["node_id"]))
    expect(page.locator("mark.cited").first).to_be_in_viewport()
    shown = " ".join(" ".join(page.locator("mark.cited").all_text_contents()).split())
    assert shown == " ".join(hit["text"].split())
    outline = page.locator("nav.outline")
    expect(outline.locator("a")).to_have_count(11)
    expect(outline.locator("[aria-current]")).to_have_text("Article 4: The general meeting")
    outline.get_by_text("Article 9: Records and data").click()
    expect(page.locator("h3.heading", has_text="Article 9")).to_be_in_viewport()
    assert "article-9" in page.url


def test_places_are_counted_in_characters_not_in_halves_of_them(opened: Open) -> None:
    page = opened(at("read", node="more/emoji.md#boats/mooring"))
    expect(page.locator("mark.cited")).to_have_count(2)
    shown = "".join(page.locator("mark.cited").all_text_contents())
    assert shown.startswith("Mooring")
    assert shown.rstrip().endswith("two lines.")


def test_pages_of_a_pdf_are_numbered(opened: Open) -> None:
    page = opened(at("read", node="more/manual.pdf"))
    expect(page.locator(".pagemark")).to_have_text(["page 1", "page 2"])
    text = page.locator(".prose").inner_text()
    assert text.index("page 1") < text.index("held down") < text.index("page 2")
    assert text.index("page 2") < text.index("letting the red lever go")


def test_a_chat_shows_its_branches_where_they_belong(opened: Open) -> None:
    page = opened(at("read", node=CHAT))
    said = page.locator(".talk > .say .prose")
    expect(said).to_have_count(4)
    expect(said.nth(0)).to_contain_text("Which battery")
    expect(said.nth(1)).to_contain_text("lithium iron phosphate")
    branch = page.locator(".talk > *").nth(1)
    expect(branch.locator("summary")).to_have_text("Another branch: 1 message")
    branch.locator("summary").click()
    expect(branch).to_contain_text("A lead battery would do")
    expect(page.locator(".say.user").first).to_contain_text("user")


def test_a_model_is_walked_through_by_its_relationships(opened: Open, site: Site) -> None:
    found = site.server.get("/v1/nodes", params={"kind": "element", "limit": 100}).json()["nodes"]
    links = {
        n["node_id"]: site.server.get(f"/v1/links/{n['node_id']}").json()["links"] for n in found
    }
    start = max(links, key=lambda name: len(links[name]))
    titles = {node["node_id"]: node["title"] for node in found}
    page = opened(at("read", node=start))
    expect(page.locator(".graph .centre title")).to_have_text(titles[start])
    expect(page.locator("table tbody tr")).to_have_count(len(links[start]))
    boxes = page.locator(".graph a.node")
    drawn = boxes.count()
    assert drawn > 2
    page.locator("fieldset input:checked").first.uncheck()
    assert boxes.count() < drawn
    page.locator("fieldset input").first.check()
    name = boxes.first.get_attribute("data-id")
    assert name
    boxes.first.focus()
    expect(page.locator(f'.edge.lit[data-of="{name}"]')).to_have_count(1)
    boxes.first.press("Enter")
    expect(page.locator(".graph .centre title")).to_have_text(titles[name])
    expect(page.locator(f'.graph a[data-id="{start}"]')).to_be_visible()


def test_a_citation_is_copied_and_verified(opened: Open, site: Site) -> None:
    page = opened(at("read", node=NEW_BYLAWS))
    page.get_by_role("button", name="Copy citation").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    citation = json.loads(page.evaluate("navigator.clipboard.readText()"))
    assert site.server.post("/v1/verify", {"citation": citation}).json()["valid"] is True
    page.get_by_role("button", name="Verify citation").click()
    expect(page.locator(".note.fine")).to_contain_text("It holds.")
    expect(page.locator(".note.fine")).to_contain_text("it is the newest")


def test_an_old_version_is_shown_as_it_was(opened: Open, site: Site) -> None:
    at_baseline = {"read_context": f"baseline:{BASELINE}"}
    old = site.server.get(f"/v1/nodes/{LENDING}", params=at_baseline).json()
    page = opened(at("read", node=LENDING, version=old["version_id"]))
    expect(page.locator(".note.warn")).to_contain_text("as it stood at revision 1")
    expect(page.locator(".page-text")).not_to_contain_text(NEW_RULE)
    page.get_by_role("button", name="Verify citation").click()
    expect(page.locator(".note.fine")).to_contain_text("superseded")
    page.goto(site.url + at("read", node=LENDING))
    expect(page.locator(".page-text")).to_contain_text(NEW_RULE)


def test_what_there_is_can_be_browsed(opened: Open) -> None:
    page = opened(at("read"))
    expect(
        page.locator(".sources li a", has_text="Bylaws of Larkfield Commons (2025)")
    ).to_be_visible()
    page.get_by_role("link", name="conversations").click()
    expect(page.locator(".sources li")).to_have_count(1)
    page.get_by_role("link", name="A battery for the barn").click()
    expect(page.locator("h1")).to_have_text(re.compile("battery"))

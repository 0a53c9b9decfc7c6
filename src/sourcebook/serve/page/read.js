// Read: a document with its outline, the cited words in it, its pages; a chat; an element of a model.

import { clear, copier, empty, h, many, note, said, short, time, trouble } from "./dom.js";
import { get, post } from "./api.js";
import { link, toRead } from "./address.js";
import { base, quality } from "./hit.js";
import { marked, paragraphs, styleOf, units } from "./words.js";
import { talk } from "./talk.js";
import { element } from "./element.js";

const WINDOW = 40000;
const STRUCTURE = new Set(["contains", "follows", "responds-to"]);
const HIDDEN = new Set(["title", "boundary", "format", "roles", "text_hash"]);

export async function show(main, here, page) {
  const id = here.get("node");
  if (!id) return browse(main, here, page);
  const at = here.at;
  const node = await get(`/v1/nodes/${encodeURIComponent(id)}`, here.get("version") ? { version_id: here.get("version") } : { read_context: at }, page.signal);
  const whole = await wholeOf(node, here, page);
  const view = { node, whole: whole.node, at: whole.at, here, page };
  main.append(heading(view));
  if (whole.note) main.append(note("warn", whole.note));
  if (view.whole.kind === "conversation") return talk(main, view, about(view));
  if (view.whole.kind === "element") return element(main, view, about(view));
  return reader(main, view);
}

// The document that a passage stands in, at a point in time that shows this version of it.
async function wholeOf(node, here, page) {
  const id = encodeURIComponent(node.element_id);
  if (!here.get("version")) return { at: here.at, node: node.node_id === node.element_id ? node : await get(`/v1/nodes/${id}`, { read_context: here.at }, page.signal) };
  const told = await post("/v1/verify", { citation: node.citation }, page.signal);
  const last = told.visible.at(-1);
  const at = last ? (last.until === null ? "head" : `revision:${last.until - 1}`) : "head";
  const words = told.state === "current" ? null : `This version is ${told.state === "ended" ? "no longer there" : "not the newest"}; it is shown as it stood at revision ${last.until - 1}.`;
  return { at, node: await get(`/v1/nodes/${id}`, { read_context: at }, page.signal), note: words };
}

function heading({ node, whole, at }) {
  const meta = whole.metadata;
  const path = node.node_id === whole.node_id ? [] : node.section_path;
  return h("div", { class: "title-block" },
    h("h1", null, said(meta.title && whole.kind === "document" ? meta.title : whole.title || base(whole.source))),
    path.length ? h("p", { class: "trail" }, path.flatMap((part, i) => [i ? " › " : null, said(part)])) : null,
    h("div", { class: "badges" }, h("span", { class: "badge" }, whole.kind),
      String(meta.is_binding) === "true" ? h("span", { class: "badge binding" }, "Binding") : null,
      meta.superseded_by ? h("span", { class: "badge old" }, "Superseded by ", h("a", { href: toRead(meta.superseded_by) }, said(base(meta.superseded_by)))) : null,
      meta.supersedes ? h("span", { class: "badge" }, "Supersedes ", h("a", { href: toRead(meta.supersedes) }, said(base(meta.supersedes)))) : null,
      quality(node.quality)));
}

// --- a document ------------------------------------------------------------------------------------

async function reader(main, view) {
  const { whole, at, page } = view;
  const box = h("div", { class: "reader" });
  main.append(box);
  const given = { filter: `element_id=${whole.element_id}`, read_context: at, limit: 1000 };
  const sections = (await get("/v1/nodes", { ...given, kind: "section" }, page.signal)).nodes.sort((a, b) => a.start - b.start || b.end - a.end);
  const paged = whole.metadata.format === "pdf" || sections.some((each) => each.page);
  const chunks = paged ? (await get("/v1/nodes", { ...given, kind: "chunk" }, page.signal)).nodes : [];
  const text = textOf(view, sections, pages([...sections, ...chunks]));
  if (sections.length > 1) box.append(outline(view, sections, text));
  else box.classList.add("two");
  box.append(h("article", { class: "page-text", "aria-label": "Text" }, text.box), about(view));
  text.reveal();
}

function pages(nodes) {
  const first = new Map();
  for (const node of nodes.sort((a, b) => a.start - b.start)) if (node.page && !first.has(node.page)) first.set(node.page, node.start);
  return [...first].map(([page, start]) => ({ page, start }));
}

function outline(view, sections, text) {
  const here = view.node.kind === "section" ? view.node.node_id : [...sections].reverse().find((s) => s.start <= view.node.start && view.node.end <= s.end)?.node_id;
  const items = sections.map((section) => h("li", { style: { "padding-left": `${Math.min(section.section_path.length - 1, 5) * 0.75}rem` } },
    h("a", { href: toRead(section.node_id), "aria-current": section.node_id === here && view.node.node_id !== view.whole.node_id ? "true" : null, onclick: (event) => {
      if (event.metaKey || event.ctrlKey) return;
      event.preventDefault();
      text.to(section.start);
      view.page.replace(toRead(section.node_id));
      for (const a of event.target.closest("ol").querySelectorAll("[aria-current]")) a.removeAttribute("aria-current");
      event.target.closest("a").setAttribute("aria-current", "true");
    } }, said(section.title))));
  return h("nav", { class: "outline-box outline", "aria-label": "Outline" }, h("details", { open: matchMedia("(min-width: 60rem)").matches }, h("summary", null, `Outline (${sections.length})`), h("ol", null, items)));
}

// A window of the text around what is cited; the rest is shown when it is asked for.
function textOf(view, sections, pages) {
  const { node, whole } = view;
  const text = whole.text, unit = units(text);
  const place = (offset) => unit(offset - whole.start);
  const cited = node.node_id === whole.node_id ? null : [place(node.start), place(node.end)];
  const heads = new Map(sections.map((section) => [place(section.start), section]));
  const breaks = pages.map((each) => ({ ...each, start: place(each.start) }));
  const box = h("div", { class: "prose", dir: "auto" });
  let from = 0, to = 0;
  const before = h("button", { type: "button", class: "plain more", onclick: () => paint(Math.max(0, from - WINDOW), to) });
  const after = h("button", { type: "button", class: "plain more", onclick: () => paint(from, Math.min(text.length, to + WINDOW)) });

  function paint(a, b) {
    [from, to] = [a, b];
    before.textContent = `Show what comes before (${from.toLocaleString("en")} characters)`;
    after.textContent = `Show more (${(text.length - to).toLocaleString("en")} characters)`;
    clear(box, from > 0 ? before : null, blocks(a, b), to < text.length ? after : null);
  }
  function blocks(a, b) {
    const made = [];
    let next = breaks.findIndex((each) => each.start >= a);
    for (const block of paragraphs(text, a, b)) {
      while (next >= 0 && next < breaks.length && breaks[next].start <= block.start) made.push(h("div", { class: "pagemark" }, `page ${breaks[next++].page}`));
      made.push(...blockOf(block));
    }
    return made;
  }
  function blockOf(block) {
    const section = heads.get(block.start);
    const found = cited ? [cited] : [];
    const hashes = /^(#{1,6})[ \t]+\S/.exec(text.slice(block.start, block.start + 20));
    if (!section && !(hashes && whole.metadata.format === "markdown")) return [h("p", { class: styleOf(text, block), dir: "auto" }, ...mark(block.start, block.end, found))];
    const line = text.indexOf("\n", block.start);
    const end = line < 0 || line > block.end ? block.end : line;
    const level = Math.min(section ? section.section_path.length : hashes[1].length, 3);
    const signs = /^#+\s*/.exec(text.slice(block.start, end))?.[0].length || 0;
    const head = h(`h${level + 1}`, { class: `heading l${level}`, "data-at": block.start, dir: "auto" },
      signs ? h("span", { class: "dim", "aria-hidden": "true" }, text.slice(block.start, block.start + signs)) : null, ...mark(block.start + signs, end, found));
    return end < block.end && text.slice(end, block.end).trim() ? [head, ...paragraphs(text, end, block.end).flatMap((p) => blockOf(p.start === block.start ? { ...p, start: end } : p))] : [head];
  }
  function mark(a, b, found) {
    const made = marked(text, a, b, found);
    for (const each of made) if (each.tagName === "MARK") each.className = "cited";
    return made;
  }
  const middle = cited ? cited[0] : 0;
  const lines = (offset) => { const found = text.lastIndexOf("\n\n", offset); return found < 0 ? 0 : found; };
  paint(middle > WINDOW / 2 ? lines(middle - WINDOW / 4) : 0, Math.min(text.length, Math.max(middle, WINDOW / 2) + WINDOW / 2));
  return {
    box,
    reveal() { const first = box.querySelector("mark.cited"); if (first && cited[0] > 600) first.scrollIntoView({ block: "center" }); },
    to(offset) {
      const at = place(offset);
      if (at < from || at >= to) paint(lines(at), Math.min(text.length, at + WINDOW));
      box.querySelector(`[data-at="${at}"]`)?.scrollIntoView({ block: "start" });
    },
  };
}

// --- beside it -------------------------------------------------------------------------------------

export function about(view) {
  const { node, whole } = view;
  const box = h("aside", { class: "about", "aria-label": "About it" });
  const facts = [["File", said(whole.source)], node.page ? ["Page", node.page] : null, ["Place", `${node.start}–${node.end}`], ["Version", h("span", { class: "mono" }, node.version_id)], ["Revision", node.read_context.revision],
    ...Object.entries(whole.metadata).filter(([key, value]) => !HIDDEN.has(key) && value !== "" && JSON.stringify(value).length < 200).map(([key, value]) => [key.replaceAll("_", " "), said([value].flat().join(", "))])];
  box.append(h("section", null, h("h2", null, "About it"), h("dl", { class: "facts" }, facts.filter(Boolean).flatMap(([key, value]) => [h("dt", null, key), h("dd", null, value)]))),
    citation(node), h("section", { class: "linked-box" }));
  linked(view, box.lastChild);
  return box;
}

function citation(node) {
  const told = h("div", { "aria-live": "polite" });
  const verify = h("button", { type: "button", onclick: async () => {
    try {
      const found = await post("/v1/verify", { citation: node.citation });
      const spans = found.visible.map((span) => (span.until === null ? `since revision ${span.from}` : `revisions ${span.from} to ${span.until - 1}`)).join(", ");
      clear(told, found.valid
        ? note("fine", h("strong", null, "It holds. "), `The cited version says these words, ${spans}${found.state === "current" ? "; it is the newest" : `; it is ${found.state}`}.`)
        : note("bad", h("strong", null, "It does not hold. "), said(found.reason)));
    } catch (error) { clear(told, trouble(error)); }
  } }, "Verify citation");
  const address = () => location.origin + link({ view: "read", node: node.node_id, version: node.version_id, q: null, at: null, f: null });
  return h("section", null, h("h2", null, "Citation"), h("div", { class: "row" }, verify, copier("Copy citation", JSON.stringify(node.citation)), copier("Copy link to this version", address)), told);
}

async function linked(view, box) {
  try {
    const { links } = await get(`/v1/links/${encodeURIComponent(view.whole.node_id)}`, { read_context: view.at }, view.page.signal);
    const found = links.filter((each) => !STRUCTURE.has(each.type));
    if (!found.length || view.whole.kind === "element") return;
    const other = (each) => (each.source_id === view.whole.node_id ? each.target_id : each.source_id);
    box.append(h("h2", null, "Linked"), h("ul", { class: "linked" }, found.slice(0, 30).map((each) => h("li", null, `${each.source_id === view.whole.node_id ? "" : "← "}${each.type} `, h("a", { href: toRead(other(each)) }, said(base(other(each))))))));
  } catch (error) { if (error.name !== "AbortError") box.append(trouble(error)); }
}

// --- what there is ---------------------------------------------------------------------------------

async function browse(main, here, page) {
  const kind = here.get("kind", "document"), after = here.get("after");
  const kinds = ["document", "conversation", "element"];
  main.append(h("h1", null, "Read"), h("div", { class: "row", role: "group", "aria-label": "Kind" }, kinds.map((each) => h("a", { class: "badge", href: link({ view: "read", kind: each, q: null, f: null }), "aria-current": each === kind ? "true" : null }, `${each}s`))));
  const found = await get("/v1/nodes", { kind, limit: 50, after, read_context: here.at }, page.signal);
  if (!found.nodes.length) return void main.append(empty(`There is no ${kind} here at this point in time.`));
  main.append(h("div", { class: "panel", style: { "margin-top": "1rem" } }, h("ul", { class: "sources" }, found.nodes.map((node) => h("li", { "data-card": true },
    h("a", { href: toRead(node.node_id), "data-stop": true }, said(node.metadata.title || node.title)), " ", h("div", { class: "trail" }, said(node.metadata.element_type ? `${node.metadata.element_type} · ${node.source}` : node.source)))))));
  if (found.next) main.append(h("p", { class: "after" }, h("a", { href: link({ view: "read", kind, after: found.next, f: null }) }, "Next page")));
}

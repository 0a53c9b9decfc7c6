// Time: revisions and baselines, what changed between two of them, and the same question at both.

import { clear, empty, h, many, note, number, picture, said, svg, time, trouble, when } from "./dom.js";
import { get, post } from "./api.js";
import { forgetHistory } from "./app.js";
import { link, toRead } from "./address.js";
import { base, card } from "./hit.js";
import { questionField } from "./search.js";

const SHOWN = 40;

export async function show(main, here, page) {
  const [{ revisions }, { baselines }] = await Promise.all([get("/v1/revisions", { limit: 200 }, page.signal), get("/v1/baselines", {}, page.signal)]);
  main.append(h("h1", null, "Time"));
  if (!revisions.length) return void main.append(empty("Nothing has been taken in yet."));
  const points = choices(revisions, baselines);
  const a = here.get("a") || (baselines.length ? `baseline:${baselines.at(-1).id}` : `revision:${revisions.at(-1).number}`);
  const b = here.get("b") || "head";
  const go = (more) => page.go(link({ view: "time", a, b, doc: here.get("doc"), ...more }));
  main.append(h("div", { class: "line-of-time" }, strip(revisions, baselines)));
  const stack = h("div", { class: "stack" });
  main.append(stack);
  stack.append(h("form", { class: "forms", "aria-label": "Two points in time", onsubmit: (e) => e.preventDefault() }, side("a", "From", a, points, go), side("b", "To", b, points, go)),
    questionField(here, { label: "A question at both points", onenter: (q) => go({ q, doc: null }) }));
  const results = h("div", { class: "stack" });
  stack.append(results, h("section", { class: "panel", "aria-label": "Revisions" }, h("h2", null, "Revisions"), naming(revisions, page), list(revisions, baselines, page, go)));
  const doc = here.get("doc");
  await Promise.all([here.q.trim() ? sideBySide(results, here, a, b, page) : null, changes(results, here, a, b, page, go, doc)]);
}

const nameOf = (at) => (at === "head" ? "now" : at.replace(/^baseline:/, "").replace(/^revision:/, "revision "));

function choices(revisions, baselines) {
  return [["head", "Now"], ...baselines.map((each) => [`baseline:${each.id}`, `Baseline ${each.id}${each.published ? " (published)" : ""}`]),
    ...revisions.filter((each) => !each.dropped).map((each) => [`revision:${each.number}`, `Revision ${each.number}: ${(each.message || when(each.at)).slice(0, 60)}`])];
}

function side(id, label, value, points, go) {
  const known = points.some(([one]) => one === value) ? points : [...points, [value, value]];
  return h("div", { class: "field" }, h("label", { for: `side-${id}` }, label), h("select", { id: `side-${id}`, onchange: (e) => go({ [id]: e.target.value, doc: null }) }, known.map(([one, name]) => h("option", { value: one, selected: one === value }, name))));
}

// --- the line --------------------------------------------------------------------------------------

function strip(revisions, baselines) {
  const width = innerWidth < 704 ? 340 : 1000, height = 76, left = 14;
  const times = revisions.map((each) => new Date(each.at).getTime());
  const first = Math.min(...times), span = Math.max(...times) - first;
  const order = [...revisions].reverse();
  // Half by the clock and half by order, so that busy days do not fall on one dot.
  const x = (each) => left + (width - 2 * left) * ((span ? (new Date(each.at).getTime() - first) / span : 1) * 0.5 + (order.length > 1 ? order.indexOf(each) / (order.length - 1) : 1) * 0.5);
  const label = `${many(revisions.length, "revision")} from ${when(order[0].at)} to ${when(order.at(-1).at)}; baselines: ${baselines.map((each) => `${each.id} at revision ${each.revision}${each.published ? ", published" : ""}`).join(", ") || "none"}`;
  const flags = baselines.map((each) => ({ each, at: revisions.find((one) => one.number === each.revision) })).filter(({ at }) => at);
  return picture(label, width, height, svg("path", { d: `M${left} 46H${width - left}`, class: "axis" }),
    flags.map(({ each, at }) => { const px = x(at), end = px > width - 140; return [svg("path", { d: `M${px} 46V16`, class: "line" }), svg("path", { d: end ? `M${px} 10l-12 5l12 5z` : `M${px} 10l12 5l-12 5z`, class: "flag" }), svg("text", { x: end ? px - 16 : px + 16, y: 19, class: `flagname ${end ? "right" : "left"}` }, `${each.id.slice(0, 24)}${each.published ? " · published" : ""}`)]; }),
    order.map((each) => svg("circle", { cx: x(each), cy: 46, r: 4.5, class: each.dropped ? "dot none" : "dot last" }, svg("title", null, `revision ${each.number}, ${when(each.at)}: ${each.message}`))),
    svg("text", { x: left, y: 70, class: "left" }, when(order[0].at)), order.length > 1 ? svg("text", { x: width - left, y: 70, class: "right" }, when(order.at(-1).at)) : null);
}

// --- revisions and baselines -----------------------------------------------------------------------

function naming(revisions, page) {
  const told = h("div", { "aria-live": "polite" });
  const form = h("form", { class: "forms", onsubmit: async (event) => {
    event.preventDefault();
    const { name, of } = event.target.elements;
    await act(told, page, () => post("/v1/baselines", { name: name.value, read_context: `revision:${of.value}` }));
  } },
  h("div", { class: "field" }, h("label", { for: "name" }, "Name a revision"), h("input", { id: "name", name: "name", required: true, maxlength: 200, placeholder: "2026-spring" })),
  h("div", { class: "field" }, h("label", { for: "of" }, "Revision"), h("select", { id: "of", name: "of" }, revisions.filter((each) => !each.dropped).map((each) => h("option", { value: each.number }, each.number)))),
  h("button", { type: "submit" }, "Create baseline"));
  return [form, told];
}

async function act(told, page, work) {
  try {
    await work();
    forgetHistory();
    await page.navigate();
  } catch (error) { clear(told, error.status === 403 ? note("bad", h("strong", null, "This key may not do that. "), said(error.message)) : trouble(error)); }
}

// What a commit brought and ended: {document_born: 2, document_died: 1} is +2 −1 documents.
function told_(counts) {
  const kinds = ["document", "conversation", "element", "section", "message", "chunk"];
  const parts = kinds.map((kind) => [kind, counts[`${kind}_born`] || 0, counts[`${kind}_died`] || 0]).filter(([, born, died]) => born || died);
  return parts.map(([kind, born, died]) => `${born ? `+${number(born)} ` : ""}${died ? `−${number(died)} ` : ""}${kind}${born + died === 1 ? "" : "s"}`).join(" · ");
}

function list(revisions, baselines, page, go) {
  const rows = revisions.slice(0, SHOWN).map((each) => {
    const told = h("div", { "aria-live": "polite" });
    const flags = baselines.filter((one) => one.revision === each.number).map((one) => one.published
      ? h("span", { class: "badge binding" }, said(one.id), " · published")
      : h("span", { class: "row" }, h("span", { class: "badge" }, said(one.id)), h("button", { type: "button", class: "plain", onclick: () => act(told, page, () => post(`/v1/baselines/${encodeURIComponent(one.id)}/publish`)) }, "Publish ", said(one.id))));
    const counts = told_(each.counts);
    return h("li", null, h("span", { class: "no" }, each.number), h("span", null, said(each.message || "–")), h("span", { class: "trail" }, time(each.at)),
      h("div", { class: "sub row" }, each.dropped ? "dropped by retention" : counts, flags, each.dropped ? null : h("a", { href: link({ view: "search", at: `revision:${each.number}`, f: null }) }, "Read at this point")), told);
  });
  return h("ol", { class: "revisions" }, rows);
}

// --- two points ------------------------------------------------------------------------------------

async function sideBySide(box, here, a, b, page) {
  const ask = (at) => post("/v1/preview", { query: here.q, k: 8, filters: here.filters, read_context: at }, page.signal);
  const place = h("section", { "aria-label": "The question at both points" });
  box.prepend(place);
  try {
    const [one, two] = await Promise.all([ask(a), ask(b)]);
    place.append(h("div", { class: "sides" }, column(one, two, a), column(two, one, b, true)));
  } catch (error) { if (error.name !== "AbortError") place.append(trouble(error)); }
}

function column(answer, other, at, later) {
  const places = new Map(other.results.map((hit) => [hit.node_id, hit]));
  const list = h("ol", { class: "hits" }, answer.results.map((hit) => {
    const item = card(hit, answer, { small: true });
    item.querySelector("h3 a").setAttribute("href", toRead(hit.node_id, { at }));
    item.querySelector(".trail").append(" · ", moved(hit, places.get(hit.node_id), later));
    return item;
  }));
  return h("section", { class: "panel side", "aria-label": `At ${nameOf(at)}` }, h("h2", null, at === "head" ? "Now " : `At ${nameOf(at)} `, h("span", { class: "trail" }, `revision ${answer.read_context.revision} · ${answer.status.replace("_", " ")}`)), answer.results.length ? list : h("p", { class: "help" }, said(answer.warning)));
}

function moved(hit, before, later) {
  if (!before) return h("span", { class: later ? "moved new" : "moved down" }, later ? "new" : "not in the other");
  const words = hit.version_id === before.version_id ? "" : ", other words";
  const step = before.rank - hit.rank;
  if (!later || !step) return h("span", { class: "moved" }, step ? `there #${before.rank}${words}` : `same place${words}`);
  return h("span", { class: step > 0 ? "moved up" : "moved down" }, `${step > 0 ? "▲" : "▼"} was #${before.rank}${words}`);
}

async function changes(box, here, a, b, page, go, doc) {
  const place = h("section", { class: "panel", "aria-label": "What changed" }, h("h2", null, `What changed from ${nameOf(a)} to ${nameOf(b)}`));
  if (doc) box.prepend(place); else box.append(place);
  try {
    const [told, one] = await Promise.all([
      get("/v1/diff", { old: a, new: b, limit: 300 }, page.signal), doc ? get("/v1/diff", { old: a, new: b, node_id: doc }, page.signal) : null]);
    const whole = (nodes) => nodes.filter((node) => node.id === node.element_id);
    const { nodes, relationships } = told.counts;
    place.append(h("p", { class: "help" }, `${number(nodes.added)} nodes added, ${number(nodes.removed)} removed, ${number(nodes.changed)} changed; relationships: ${number(relationships.added)} added, ${number(relationships.removed)} removed, ${number(relationships.changed)} changed.`));
    if (one) place.append(differences(one.documents[0], go));
    const rows = [...whole(told.nodes.changed).map((each) => [each, "~", "tilde", "changed"]), ...whole(told.nodes.added).map((each) => [each, "+", "plus", "added"]), ...whole(told.nodes.removed).map((each) => [each, "−", "minus", "removed"])];
    if (!rows.length) return void place.append(h("p", { class: "help" }, "No document differs."));
    place.append(h("ul", { class: "changes" }, rows.slice(0, 120).map(([each, sign, kind, word]) => h("li", null, h("span", { class: `sign ${kind}`, role: "img", "aria-label": word }, sign),
      h("a", { href: link({ view: "time", a, b, doc: each.element_id }), "data-stop": true }, said(each.title || base(each.element_id))), each.changed ? h("span", { class: "trail" }, ` ${each.changed.join(", ")}`) : null))));
    if (rows.length > 120) place.append(h("p", { class: "help" }, `and ${rows.length - 120} more`));
  } catch (error) { if (error.name !== "AbortError") place.append(trouble(error)); }
}

function differences(told, go) {
  const lines = told.diff.split("\n");
  const kinds = { "+": "add", "-": "del", "@": "at" };
  return h("div", { class: "stack" }, h("h3", null, said(told.element_id), " ", h("button", { type: "button", class: "plain", onclick: () => go({ doc: null }) }, "Close")),
    told.diff ? h("div", { class: "diff", role: "group", "aria-label": "Difference, line by line", dir: "auto" }, lines.map((line) => h("div", { class: kinds[line[0]] || "same" }, line || " "))) : h("p", { class: "help" }, "Its text is the same at both points."),
    told.cut ? h("p", { class: "help" }, "The texts differ in more than is shown.") : null);
}

// Read: a document with its outline, the cited words in it, its pages; a chat; an element of a model.

import { empty, h, note, said } from "./dom.js";
import { get, post } from "./api.js";
import { link, toRead } from "./address.js";
import { base, quality } from "./hit.js";
import { about } from "./about.js";
import { element } from "./element.js";
import { talk } from "./talk.js";
import { textOf } from "./text.js";

export async function show(main, here, page) {
  const id = here.get("node");
  if (!id) return browse(main, here, page);
  const at = here.at;
  const node = await get(
    `/v1/nodes/${encodeURIComponent(id)}`,
    here.get("version") ? { version_id: here.get("version") } : { read_context: at },
    page.signal,
  );
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
  if (!here.get("version"))
    return {
      at: here.at,
      node:
        node.node_id === node.element_id
          ? node
          : await get(`/v1/nodes/${id}`, { read_context: here.at }, page.signal),
    };
  const told = await post("/v1/verify", { citation: node.citation }, page.signal);
  const last = told.visible.at(-1);
  const at = last ? (last.until === null ? "head" : `revision:${last.until - 1}`) : "head";
  const words =
    told.state === "current"
      ? null
      : `This version is ${told.state === "ended" ? "no longer there" : "not the newest"}; it is shown as it stood at revision ${last.until - 1}.`;
  return { at, node: await get(`/v1/nodes/${id}`, { read_context: at }, page.signal), note: words };
}

function heading({ node, whole }) {
  const meta = whole.metadata;
  const path = node.node_id === whole.node_id ? [] : node.section_path;
  return h(
    "div",
    { class: "title-block" },
    h(
      "h1",
      null,
      said(
        meta.title && whole.kind === "document" ? meta.title : whole.title || base(whole.source),
      ),
    ),
    path.length
      ? h(
          "p",
          { class: "trail" },
          path.flatMap((part, i) => [i ? " › " : null, said(part)]),
        )
      : null,
    h(
      "div",
      { class: "badges" },
      h("span", { class: "badge" }, whole.kind),
      String(meta.is_binding) === "true" ? h("span", { class: "badge binding" }, "Binding") : null,
      meta.superseded_by
        ? h(
            "span",
            { class: "badge old" },
            "Superseded by ",
            h("a", { href: toRead(meta.superseded_by) }, said(base(meta.superseded_by))),
          )
        : null,
      meta.supersedes
        ? h(
            "span",
            { class: "badge" },
            "Supersedes ",
            h("a", { href: toRead(meta.supersedes) }, said(base(meta.supersedes))),
          )
        : null,
      quality(node.quality),
    ),
  );
}

// --- a document ------------------------------------------------------------------------------------

async function reader(main, view) {
  const { whole, at, page } = view;
  const box = h("div", { class: "reader" });
  main.append(box);
  const given = { filter: `element_id=${whole.element_id}`, read_context: at, limit: 1000 };
  const sections = (await get("/v1/nodes", { ...given, kind: "section" }, page.signal)).nodes.sort(
    (a, b) => a.start - b.start || b.end - a.end,
  );
  const paged = whole.metadata.format === "pdf" || sections.some((each) => each.page);
  const chunks = paged
    ? (await get("/v1/nodes", { ...given, kind: "chunk" }, page.signal)).nodes
    : [];
  const text = textOf(view, sections, pages([...sections, ...chunks]));
  if (sections.length > 1) box.append(outline(view, sections, text));
  else box.classList.add("two");
  box.append(h("article", { class: "page-text", "aria-label": "Text" }, text.box), about(view));
  text.reveal();
}

function pages(nodes) {
  const first = new Map();
  for (const node of nodes.sort((a, b) => a.start - b.start))
    if (node.page && !first.has(node.page)) first.set(node.page, node.start);
  return [...first].map(([page, start]) => ({ page, start }));
}

function outline(view, sections, text) {
  const here =
    view.node.kind === "section"
      ? view.node.node_id
      : [...sections].reverse().find((s) => s.start <= view.node.start && view.node.end <= s.end)
          ?.node_id;
  const items = sections.map((section) =>
    h(
      "li",
      { style: { "padding-left": `${Math.min(section.section_path.length - 1, 5) * 0.75}rem` } },
      h(
        "a",
        {
          href: toRead(section.node_id),
          "aria-current":
            section.node_id === here && view.node.node_id !== view.whole.node_id ? "true" : null,
          onclick: (event) => {
            if (event.metaKey || event.ctrlKey) return;
            event.preventDefault();
            text.to(section.start);
            view.page.replace(toRead(section.node_id));
            for (const a of event.target.closest("ol").querySelectorAll("[aria-current]"))
              a.removeAttribute("aria-current");
            event.target.closest("a").setAttribute("aria-current", "true");
          },
        },
        said(section.title),
      ),
    ),
  );
  return h(
    "nav",
    { class: "outline-box outline", "aria-label": "Outline" },
    h(
      "details",
      { open: matchMedia("(min-width: 60rem)").matches },
      h("summary", null, `Outline (${sections.length})`),
      h("ol", null, items),
    ),
  );
}

// --- beside it -------------------------------------------------------------------------------------

// --- what there is ---------------------------------------------------------------------------------

async function browse(main, here, page) {
  const kind = here.get("kind", "document"),
    after = here.get("after");
  const kinds = ["document", "conversation", "element"];
  main.append(
    h("h1", null, "Read"),
    h(
      "div",
      { class: "row", role: "group", "aria-label": "Kind" },
      kinds.map((each) =>
        h(
          "a",
          {
            class: "badge",
            href: link({ view: "read", kind: each, q: null, f: null }),
            "aria-current": each === kind ? "true" : null,
          },
          `${each}s`,
        ),
      ),
    ),
  );
  const found = await get(
    "/v1/nodes",
    { kind, limit: 50, after, read_context: here.at },
    page.signal,
  );
  if (!found.nodes.length)
    return void main.append(empty(`There is no ${kind} here at this point in time.`));
  main.append(
    h(
      "div",
      { class: "panel", style: { "margin-top": "1rem" } },
      h(
        "ul",
        { class: "sources" },
        found.nodes.map((node) =>
          h(
            "li",
            { "data-card": true },
            h(
              "a",
              { href: toRead(node.node_id), "data-stop": true },
              said(node.metadata.title || node.title),
            ),
            " ",
            h(
              "div",
              { class: "trail" },
              said(
                node.metadata.element_type
                  ? `${node.metadata.element_type} · ${node.source}`
                  : node.source,
              ),
            ),
          ),
        ),
      ),
    ),
  );
  if (found.next)
    main.append(
      h(
        "p",
        { class: "after" },
        h("a", { href: link({ view: "read", kind, after: found.next, f: null }) }, "Next page"),
      ),
    );
}

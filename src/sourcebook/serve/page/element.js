// An element of a model: what it is connected with, as a picture that one walks through, and in words.

import { clear, h, said, svg } from "./dom.js";
import { get } from "./api.js";
import { toRead } from "./address.js";
import { prose } from "./words.js";

const MOST = 14;

export async function element(main, view, about) {
  const { whole, at, page } = view;
  const { links } = await get(
    `/v1/links/${encodeURIComponent(whole.node_id)}`,
    { read_context: at },
    page.signal,
  );
  const id = whole.node_id;
  const all = links.filter((each) => each.source_id !== each.target_id);
  const others = [
    ...new Set(all.map((each) => (each.source_id === id ? each.target_id : each.source_id))),
  ];
  const names = await titles(others, at, page);
  const types = [...new Set(all.map((each) => each.type))].sort();
  const hidden = new Set(types.length > 1 ? types.filter((type) => type === "shows") : []);
  const box = h("div", { class: "graph", "data-arrows": true });
  const draw = () =>
    clear(
      box,
      graph(
        whole,
        all.filter((each) => !hidden.has(each.type)),
        names,
      ),
    );
  const choice = h(
    "fieldset",
    { class: "row" },
    h("legend", { class: "unseen" }, "Relationships in the picture"),
    types.map((type) =>
      h(
        "label",
        { class: "row" },
        h("input", {
          type: "checkbox",
          checked: !hidden.has(type),
          onchange: (event) => {
            if (event.target.checked) hidden.delete(type);
            else hidden.add(type);
            draw();
          },
        }),
        type,
      ),
    ),
  );
  const words = whole.text.startsWith(whole.title)
    ? whole.text.slice(whole.title.length).trim()
    : whole.text;
  const text = words ? prose(words, [], 0, 4000) : null;
  draw();
  main.append(
    h(
      "div",
      { class: "reader two" },
      h(
        "article",
        { class: "page-text", "aria-label": "Element" },
        h(
          "p",
          { class: "help" },
          said(whole.metadata.element_type || "element"),
          " · ",
          said(whole.metadata.model || ""),
          whole.metadata.layer ? [" · ", said(whole.metadata.layer)] : null,
        ),
        text,
        all.length ? [choice, box] : h("p", { class: "empty" }, "It is connected with nothing."),
        table(id, whole.title, all, names),
      ),
      about,
    ),
  );
}

async function titles(ids, at, page) {
  const names = new Map();
  for (let i = 0; i < Math.min(ids.length, 300); i += 60) {
    const some = ids.slice(i, i + 60);
    const found = await get(
      "/v1/nodes",
      { filter: some.map((id) => `element_id=${id}`), read_context: at, limit: 1000 },
      page.signal,
    );
    for (const node of found.nodes) if (!node.parent_id) names.set(node.node_id, node);
  }
  return names;
}

const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
const named = (names, id) => names.get(id)?.title || id;

// Around the element; on a narrow screen below it, each on a line of its own.
function layout(count) {
  return innerWidth < 704 ? column(count) : circle(count);
}

function circle(count) {
  const width = 640,
    w = 132,
    height = Math.max(count < 3 ? 130 : 260, count * 34 + 60);
  const centre = { x: width / 2, y: height / 2 };
  const spots = Array.from({ length: count }, (_, i) => {
    const angle = -Math.PI / 2 + ((i + 0.5) / count) * 2 * Math.PI;
    const dx = Math.cos(angle) * ((width - w) / 2 - 4),
      dy = Math.sin(angle) * (height / 2 - 28);
    const x = centre.x + dx,
      y = centre.y + dy;
    const tag = { x: centre.x + dx * 0.56, y: centre.y + dy * 0.56 + 3 };
    return { x, y, tag, edge: `M${centre.x},${centre.y}L${x},${y}` };
  });
  return { width, height, w, centre, spots };
}

function column(count) {
  const width = 330,
    w = 176,
    row = 52;
  const centre = { x: 4 + w / 2, y: 24 };
  const x = width - 4 - w / 2;
  const spots = Array.from({ length: count }, (_, i) => {
    const y = centre.y + (i + 1) * row;
    const tag = { x: (18 + width - 4 - w) / 2, y: y - 5 };
    return { x, y, tag, edge: `M18,${centre.y}V${y}H${x}` };
  });
  return { width, height: centre.y + count * row + 24, w, centre, spots };
}

function graph(whole, links, names) {
  const id = whole.node_id;
  const ids = [
    ...new Set(links.map((each) => (each.source_id === id ? each.target_id : each.source_id))),
  ];
  const shown = ids.slice(0, MOST);
  const { width, height, w, centre, spots } = layout(shown.length);
  const edges = [],
    tags = [];
  shown.forEach((one, i) => {
    const between = links.filter((each) => each.source_id === one || each.target_id === one);
    const out = between.some((each) => each.source_id === id),
      back = between.some((each) => each.target_id === id);
    edges.push(svg("path", { d: spots[i].edge, class: "edge", "data-of": one }));
    const words = [...new Set(between.map((each) => each.type))].join(", ");
    tags.push(
      svg(
        "text",
        { ...spots[i].tag, class: "tag" },
        `${back && !out ? "← " : ""}${cut(words, 22)}${out && !back ? " →" : ""}`,
      ),
    );
  });
  const label = `${whole.title} is connected with ${shown.map((one) => named(names, one)).join(", ")}${ids.length > MOST ? ` and ${ids.length - MOST} more` : ""}`;
  const made = svg(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, class: "picture", role: "group", "aria-label": label },
    edges,
    tags,
    shown.map((one, i) =>
      box(
        spots[i],
        w,
        named(names, one),
        names.get(one)?.metadata.element_type,
        toRead(one),
        one,
      ),
    ),
    box(centre, w, whole.title, whole.metadata.element_type),
  );
  const light = (event, on) => {
    const of = event.target.closest("[data-id]")?.dataset.id;
    for (const edge of edges) edge.classList.toggle("lit", on && edge.dataset.of === of);
  };
  for (const [name, on] of [
    ["pointerover", true],
    ["pointerout", false],
    ["focusin", true],
    ["focusout", false],
  ])
    made.addEventListener(name, (event) => light(event, on));
  return made;
}

function box({ x, y }, w, title, type, href, id) {
  const hgt = 38,
    most = Math.round(w / 7);
  const inner = [
    svg("title", null, title),
    svg("rect", { x: x - w / 2, y: y - hgt / 2, width: w, height: hgt }),
    svg("text", { x, y: type ? y - 2 : y + 4 }, cut(title, most)),
    type ? svg("text", { x, y: y + 12, class: "type" }, cut(type, most + 3)) : null,
  ];
  return href
    ? svg(
        "a",
        { href, class: "node", "data-id": id, "aria-label": `${title}, ${type || ""}` },
        inner,
      )
    : svg("g", { class: "node centre" }, inner);
}

function table(id, title, links, names) {
  if (!links.length) return null;
  return h(
    "table",
    { class: "fixed" },
    h("caption", { class: "unseen" }, "Relationships"),
    h(
      "thead",
      null,
      h(
        "tr",
        null,
        ["From", "Relationship", "To"].map((name) => h("th", { scope: "col" }, name)),
      ),
    ),
    h(
      "tbody",
      null,
      links.map((each) =>
        h(
          "tr",
          null,
          [each.source_id, null, each.target_id].map((one) =>
            h(
              "td",
              null,
              one === null
                ? each.type
                : one === id
                  ? said(title)
                  : h("a", { href: toRead(one), "data-stop": true }, said(named(names, one))),
            ),
          ),
        ),
      ),
    ),
  );
}

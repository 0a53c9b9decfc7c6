// Beside a text: what is known of it, its citation, and what it is linked with.

import { clear, copier, h, note, said, trouble } from "./dom.js";
import { get, post } from "./api.js";
import { link, toRead } from "./address.js";
import { base } from "./hit.js";

const STRUCTURE = new Set(["contains", "follows", "responds-to"]);

const HIDDEN = new Set(["title", "boundary", "format", "roles", "text_hash"]);

export function about(view) {
  const { node, whole } = view;
  const box = h("aside", { class: "about", "aria-label": "About it" });
  const facts = [
    ["File", said(whole.source)],
    node.page ? ["Page", node.page] : null,
    ["Place", `${node.start}–${node.end}`],
    ["Version", h("span", { class: "mono" }, node.version_id)],
    ["Revision", node.read_context.revision],
    ...Object.entries(whole.metadata)
      .filter(
        ([key, value]) => !HIDDEN.has(key) && value !== "" && JSON.stringify(value).length < 200,
      )
      .map(([key, value]) => [key.replaceAll("_", " "), said([value].flat().join(", "))]),
  ];
  box.append(
    h(
      "section",
      null,
      h("h2", null, "About it"),
      h(
        "dl",
        { class: "facts" },
        facts.filter(Boolean).flatMap(([key, value]) => [h("dt", null, key), h("dd", null, value)]),
      ),
    ),
    citation(node),
    h("section", { class: "linked-box" }),
  );
  linked(view, box.lastChild);
  return box;
}

function citation(node) {
  const told = h("div", { "aria-live": "polite" });
  const verify = h(
    "button",
    {
      type: "button",
      onclick: async () => {
        try {
          const found = await post("/v1/verify", { citation: node.citation });
          const spans = found.visible
            .map((span) =>
              span.until === null
                ? `since revision ${span.from}`
                : `revisions ${span.from} to ${span.until - 1}`,
            )
            .join(", ");
          clear(
            told,
            found.valid
              ? note(
                  "fine",
                  h("strong", null, "It holds. "),
                  `The cited version says these words, ${spans}${found.state === "current" ? "; it is the newest" : `; it is ${found.state}`}.`,
                )
              : note("bad", h("strong", null, "It does not hold. "), said(found.reason)),
          );
        } catch (error) {
          clear(told, trouble(error));
        }
      },
    },
    "Verify citation",
  );
  const address = () =>
    location.origin +
    link({
      view: "read",
      node: node.node_id,
      version: node.version_id,
      q: null,
      at: null,
      f: null,
    });
  return h(
    "section",
    null,
    h("h2", null, "Citation"),
    h(
      "div",
      { class: "row" },
      verify,
      copier("Copy citation", JSON.stringify(node.citation)),
      copier("Copy link to this version", address),
    ),
    told,
  );
}

async function linked(view, box) {
  try {
    const { links } = await get(
      `/v1/links/${encodeURIComponent(view.whole.node_id)}`,
      { read_context: view.at },
      view.page.signal,
    );
    const found = links.filter((each) => !STRUCTURE.has(each.type));
    if (!found.length || view.whole.kind === "element") return;
    const other = (each) =>
      each.source_id === view.whole.node_id ? each.target_id : each.source_id;
    box.append(
      h("h2", null, "Linked"),
      h(
        "ul",
        { class: "linked" },
        found
          .slice(0, 30)
          .map((each) =>
            h(
              "li",
              null,
              `${each.source_id === view.whole.node_id ? "" : "← "}${each.type} `,
              h("a", { href: toRead(other(each)) }, said(base(other(each)))),
            ),
          ),
      ),
    );
  } catch (error) {
    if (error.name !== "AbortError") box.append(trouble(error));
  }
}

// Two points in time: the same question at both, and what changed between them.

import { h, number, said, trouble } from "./dom.js";
import { get, post } from "./api.js";
import { link, toRead } from "./address.js";
import { base, card } from "./hit.js";

const nameOf = (at) =>
  at === "head" ? "now" : at.replace(/^baseline:/, "").replace(/^revision:/, "revision ");

export async function sideBySide(box, here, a, b, page) {
  const ask = (at) =>
    post(
      "/v1/preview",
      { query: here.q, k: 8, filters: here.filters, read_context: at },
      page.signal,
    );
  const place = h("section", { "aria-label": "The question at both points" });
  box.prepend(place);
  try {
    const [one, two] = await Promise.all([ask(a), ask(b)]);
    place.append(h("div", { class: "sides" }, column(one, two, a), column(two, one, b, true)));
  } catch (error) {
    if (error.name !== "AbortError") place.append(trouble(error));
  }
}

function column(answer, other, at, later) {
  const places = new Map(other.results.map((hit) => [hit.node_id, hit]));
  const list = h(
    "ol",
    { class: "hits" },
    answer.results.map((hit) => {
      const item = card(hit, answer, { small: true });
      item.querySelector("h3 a").setAttribute("href", toRead(hit.node_id, { at }));
      item.querySelector(".trail").append(" · ", moved(hit, places.get(hit.node_id), later));
      return item;
    }),
  );
  return h(
    "section",
    { class: "panel side", "aria-label": `At ${nameOf(at)}` },
    h(
      "h2",
      null,
      at === "head" ? "Now " : `At ${nameOf(at)} `,
      h(
        "span",
        { class: "trail" },
        `revision ${answer.read_context.revision} · ${answer.status.replace("_", " ")}`,
      ),
    ),
    answer.results.length ? list : h("p", { class: "help" }, said(answer.warning)),
  );
}

function moved(hit, before, later) {
  if (!before)
    return h(
      "span",
      { class: later ? "moved new" : "moved down" },
      later ? "new" : "not in the other",
    );
  const words = hit.version_id === before.version_id ? "" : ", other words";
  const step = before.rank - hit.rank;
  if (!later || !step)
    return h(
      "span",
      { class: "moved" },
      step ? `there #${before.rank}${words}` : `same place${words}`,
    );
  return h(
    "span",
    { class: step > 0 ? "moved up" : "moved down" },
    `${step > 0 ? "▲" : "▼"} was #${before.rank}${words}`,
  );
}

export async function changes(box, here, a, b, page, go, doc) {
  const place = h(
    "section",
    { class: "panel", "aria-label": "What changed" },
    h("h2", null, `What changed from ${nameOf(a)} to ${nameOf(b)}`),
  );
  if (doc) box.prepend(place);
  else box.append(place);
  try {
    const [told, one] = await Promise.all([
      get("/v1/diff", { old: a, new: b, limit: 300 }, page.signal),
      doc ? get("/v1/diff", { old: a, new: b, node_id: doc }, page.signal) : null,
    ]);
    const whole = (nodes) => nodes.filter((node) => node.id === node.element_id);
    const { nodes, relationships } = told.counts;
    place.append(
      h(
        "p",
        { class: "help" },
        `${number(nodes.added)} nodes added, ${number(nodes.removed)} removed, ${number(nodes.changed)} changed; relationships: ${number(relationships.added)} added, ${number(relationships.removed)} removed, ${number(relationships.changed)} changed.`,
      ),
    );
    if (one) place.append(differences(one.documents[0], go));
    const rows = [
      ...whole(told.nodes.changed).map((each) => [each, "~", "tilde", "changed"]),
      ...whole(told.nodes.added).map((each) => [each, "+", "plus", "added"]),
      ...whole(told.nodes.removed).map((each) => [each, "−", "minus", "removed"]),
    ];
    if (!rows.length) return void place.append(h("p", { class: "help" }, "No document differs."));
    place.append(
      h(
        "ul",
        { class: "changes" },
        rows
          .slice(0, 120)
          .map(([each, sign, kind, word]) =>
            h(
              "li",
              null,
              h("span", { class: `sign ${kind}`, role: "img", "aria-label": word }, sign),
              h(
                "a",
                { href: link({ view: "time", a, b, doc: each.element_id }), "data-stop": true },
                said(each.title || base(each.element_id)),
              ),
              each.changed ? h("span", { class: "trail" }, ` ${each.changed.join(", ")}`) : null,
            ),
          ),
      ),
    );
    if (rows.length > 120) place.append(h("p", { class: "help" }, `and ${rows.length - 120} more`));
  } catch (error) {
    if (error.name !== "AbortError") place.append(trouble(error));
  }
}

function differences(told, go) {
  const lines = told.diff.split("\n");
  const kinds = { "+": "add", "-": "del", "@": "at" };
  return h(
    "div",
    { class: "stack" },
    h(
      "h3",
      null,
      said(told.element_id),
      " ",
      h("button", { type: "button", class: "plain", onclick: () => go({ doc: null }) }, "Close"),
    ),
    told.diff
      ? h(
          "div",
          { class: "diff", role: "group", "aria-label": "Difference, line by line", dir: "auto" },
          lines.map((line) => h("div", { class: kinds[line[0]] || "same" }, line || " ")),
        )
      : h("p", { class: "help" }, "Its text is the same at both points."),
    told.cut ? h("p", { class: "help" }, "The texts differ in more than is shown.") : null,
  );
}

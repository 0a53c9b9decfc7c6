// Revisions and baselines: the line of time, the list, and naming and publishing.

import { clear, h, many, note, number, picture, said, svg, time, trouble, when } from "./dom.js";
import { post } from "./api.js";
import { link } from "./address.js";
import { forgetHistory } from "./app.js";

const SHOWN = 40;

export function strip(revisions, baselines) {
  const width = innerWidth < 704 ? 340 : 1000,
    height = 76,
    left = 14;
  const times = revisions.map((each) => new Date(each.at).getTime());
  const first = Math.min(...times),
    span = Math.max(...times) - first;
  const order = [...revisions].reverse();
  // Half by the clock and half by order, so that busy days do not fall on one dot.
  const x = (each) =>
    left +
    (width - 2 * left) *
      ((span ? (new Date(each.at).getTime() - first) / span : 1) * 0.5 +
        (order.length > 1 ? order.indexOf(each) / (order.length - 1) : 1) * 0.5);
  const label = `${many(revisions.length, "revision")} from ${when(order[0].at)} to ${when(order.at(-1).at)}; baselines: ${baselines.map((each) => `${each.id} at revision ${each.revision}${each.published ? ", published" : ""}`).join(", ") || "none"}`;
  const flags = baselines
    .map((each) => ({ each, at: revisions.find((one) => one.number === each.revision) }))
    .filter(({ at }) => at);
  return picture(
    label,
    width,
    height,
    svg("path", { d: `M${left} 46H${width - left}`, class: "axis" }),
    flags.map(({ each, at }) => {
      const px = x(at),
        end = px > width - 140;
      return [
        svg("path", { d: `M${px} 46V16`, class: "line" }),
        svg("path", { d: end ? `M${px} 10l-12 5l12 5z` : `M${px} 10l12 5l-12 5z`, class: "flag" }),
        svg(
          "text",
          { x: end ? px - 16 : px + 16, y: 19, class: `flagname ${end ? "right" : "left"}` },
          `${each.id.slice(0, 24)}${each.published ? " · published" : ""}`,
        ),
      ];
    }),
    order.map((each) =>
      svg(
        "circle",
        { cx: x(each), cy: 46, r: 4.5, class: each.dropped ? "dot none" : "dot last" },
        svg("title", null, `revision ${each.number}, ${when(each.at)}: ${each.message}`),
      ),
    ),
    svg("text", { x: left, y: 70, class: "left" }, when(order[0].at)),
    order.length > 1
      ? svg("text", { x: width - left, y: 70, class: "right" }, when(order.at(-1).at))
      : null,
  );
}

export function naming(revisions, page) {
  const told = h("div", { "aria-live": "polite" });
  const form = h(
    "form",
    {
      class: "forms",
      onsubmit: async (event) => {
        event.preventDefault();
        const { name, of } = event.target.elements;
        await act(told, page, () =>
          post("/v1/baselines", { name: name.value, read_context: `revision:${of.value}` }),
        );
      },
    },
    h(
      "div",
      { class: "field" },
      h("label", { for: "name" }, "Name a revision"),
      h("input", {
        id: "name",
        name: "name",
        required: true,
        maxlength: 200,
        placeholder: "2026-spring",
      }),
    ),
    h(
      "div",
      { class: "field" },
      h("label", { for: "of" }, "Revision"),
      h(
        "select",
        { id: "of", name: "of" },
        revisions
          .filter((each) => !each.dropped)
          .map((each) => h("option", { value: each.number }, each.number)),
      ),
    ),
    h("button", { type: "submit" }, "Create baseline"),
  );
  return [form, told];
}

async function act(told, page, work) {
  try {
    await work();
    forgetHistory();
    await page.navigate();
  } catch (error) {
    clear(
      told,
      error.status === 403
        ? note("bad", h("strong", null, "This key may not do that. "), said(error.message))
        : trouble(error),
    );
  }
}

// What a commit brought and ended: {document_born: 2, document_died: 1} is +2 −1 documents.
function brought(counts) {
  const kinds = ["document", "conversation", "element", "section", "message", "chunk"];
  const parts = kinds
    .map((kind) => [kind, counts[`${kind}_born`] || 0, counts[`${kind}_died`] || 0])
    .filter(([, born, died]) => born || died);
  return parts
    .map(
      ([kind, born, died]) =>
        `${born ? `+${number(born)} ` : ""}${died ? `−${number(died)} ` : ""}${kind}${born + died === 1 ? "" : "s"}`,
    )
    .join(" · ");
}

export function list(revisions, baselines, page) {
  const rows = revisions.slice(0, SHOWN).map((each) => {
    const told = h("div", { "aria-live": "polite" });
    const flags = baselines
      .filter((one) => one.revision === each.number)
      .map((one) =>
        one.published
          ? h("span", { class: "badge binding" }, said(one.id), " · published")
          : h(
              "span",
              { class: "row" },
              h("span", { class: "badge" }, said(one.id)),
              h(
                "button",
                {
                  type: "button",
                  class: "plain",
                  onclick: () =>
                    act(told, page, () =>
                      post(`/v1/baselines/${encodeURIComponent(one.id)}/publish`),
                    ),
                },
                "Publish ",
                said(one.id),
              ),
            ),
      );
    const counts = brought(each.counts);
    return h(
      "li",
      null,
      h("span", { class: "no" }, each.number),
      h("span", null, said(each.message || "–")),
      h("span", { class: "trail" }, time(each.at)),
      h(
        "div",
        { class: "sub row" },
        each.dropped ? "dropped by retention" : counts,
        flags,
        each.dropped
          ? null
          : h(
              "a",
              { href: link({ view: "search", at: `revision:${each.number}`, f: null }) },
              "Read at this point",
            ),
      ),
      told,
    );
  });
  return h("ol", { class: "revisions" }, rows);
}

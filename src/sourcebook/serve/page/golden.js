// Golden questions: what people called helpful, asked again at each named point in time.

import { clear, h, many, note, panel, said, short, trouble } from "./dom.js";
import { get, post } from "./api.js";
import { lines } from "./charts.js";

// The same questions at each named point in time: what was judged helpful should still be found.
export function golden(page) {
  const out = h("div", { "aria-live": "polite" });
  const run = h("button", { type: "button", onclick: () => ask() }, "Ask them now");
  const box = panel(
    "Golden questions over time",
    h(
      "p",
      { class: "help" },
      "Questions whose results people called helpful or not, asked again at each baseline and now.",
    ),
    h("p", { class: "row" }, run),
    out,
  );

  async function ask() {
    run.disabled = true;
    const { baselines } = await get("/v1/baselines", {}, page.signal);
    const points = [
      ...baselines
        .sort((a, b) => a.revision - b.revision)
        .slice(-11)
        .map((b) => [`baseline:${b.id}`, b.id]),
      ["head", "now"],
    ];
    const found = [];
    try {
      for (const [at, name] of points) {
        found.push({ name, ...(await post("/v1/golden", { read_context: at }, page.signal)) });
        clear(out, results(found));
      }
    } catch (error) {
      if (error.name !== "AbortError")
        clear(
          out,
          error.status === 404
            ? note("", "Nobody has judged a result yet. Each hit of a search has a button for it.")
            : trouble(error),
        );
    }
    run.disabled = false;
  }
  return box;
}

function results(found) {
  const of = (name) => found.map((each) => each.measures[name]);
  const last = found.at(-1);
  const label = `recall at 10: ${found.map((each) => `${each.name} ${short(each.measures["recall@10"])}`).join(", ")}`;
  return [
    lines(
      label,
      [
        { name: "recall@10", values: of("recall@10") },
        { name: "mrr@10", second: true, values: of("mrr@10") },
      ],
      found[0].name,
      last.name,
      { most: 1, format: (v) => short(v, 1) },
    ),
    h(
      "p",
      { class: "help" },
      `${many(last.questions, "question")}. Solid: recall@10; dashed: mrr@10.`,
    ),
    h(
      "table",
      null,
      h(
        "thead",
        null,
        h(
          "tr",
          null,
          h("th", { scope: "col" }, "At"),
          ["recall@10", "mrr@10", "citations"].map((name) =>
            h("th", { scope: "col", class: "n" }, name),
          ),
        ),
      ),
      h(
        "tbody",
        null,
        found.map((each) =>
          h(
            "tr",
            null,
            h("td", null, said(each.name)),
            ["recall@10", "mrr@10", "citations"].map((name) =>
              h("td", { class: "n" }, short(each.measures[name])),
            ),
          ),
        ),
      ),
    ),
    last.wrong.length
      ? h(
          "ul",
          { class: "sources" },
          last.wrong
            .slice(0, 5)
            .map((each) =>
              h(
                "li",
                null,
                said(each.query),
                h(
                  "div",
                  { class: "fate refused" },
                  each.missing.length ? ["not found: ", said(each.missing.join(", "))] : null,
                  each.forbidden.length
                    ? [" found, but should not be: ", said(each.forbidden.join(", "))]
                    : null,
                ),
              ),
            ),
        )
      : null,
  ];
}

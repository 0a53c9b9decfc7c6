// Why: what each stage let through, what became of every candidate, and why something is not there.

import { empty, h, many, number, said, short } from "./dom.js";
import { post } from "./api.js";
import { link, toRead } from "./address.js";
import { base, relevance } from "./hit.js";
import { absent, reason } from "./absent.js";
import { banner, questionField } from "./search.js";

const NAMES = {
  dense: "By meaning",
  sparse: "By words",
  fused: "Fused",
  judged: "Reranked",
  checked: "Checked",
  passed: "Passed",
  context: "In context",
};
const FATES = { passed: "passed", refused: "refused", outranked: "outranked" };
const ROWS = 25;

export async function show(main, here, page) {
  const ask = (more) => page.go(link({ view: "why", ...gateOf(here), x: here.get("x"), ...more }));
  main.append(
    h("h1", null, "Why these, and not others"),
    h(
      "div",
      { class: "stack" },
      questionField(here, { onenter: (q) => ask({ q }) }),
      gateForm(here, ask),
    ),
  );
  const stack = main.lastChild;
  if (!here.q.trim())
    return void stack.append(
      empty(
        "Ask something: every passage that was considered is listed here with what became of it.",
      ),
    );
  const given = { query: here.q, filters: here.filters, read_context: here.at };
  for (const [name, field] of [
    ["mq", "min_quality"],
    ["mr", "min_relevance"],
  ])
    if (here.get(name)) given[field] = Number(here.get(name));
  if (here.get("mw")) given.min_words = Number(here.get("mw"));
  if (here.get("x")) given.node_id = here.get("x");
  const told = await post("/v1/explain", given, page.signal);
  const named = absent(here, told, ask);
  stack.append(
    ...banner(told),
    ...(told.absent ? [named] : []),
    h(
      "section",
      { class: "panel", "aria-labelledby": "funnel" },
      h("h2", { id: "funnel" }, "From all that was found to what an agent reads"),
      funnel(told.funnel),
    ),
    ...(told.absent ? [] : [named]),
    refused(told),
    candidates(told),
  );
}

const gateOf = (here) => ({ mq: here.get("mq"), mw: here.get("mw"), mr: here.get("mr") });

// What an agent would let pass.
function gateForm(here, ask) {
  const field = (id, label, most, step, otherwise) =>
    h(
      "div",
      { class: "field" },
      h("label", { for: id }, label),
      h("input", {
        id,
        name: id,
        type: "number",
        min: 0,
        max: most,
        step,
        placeholder: otherwise,
        value: here.get(id),
      }),
    );
  return h(
    "form",
    {
      class: "forms",
      "aria-label": "What an agent lets pass",
      onsubmit: (event) => {
        event.preventDefault();
        ask(
          Object.fromEntries(
            ["mr", "mq", "mw"].map((name) => [name, event.target.elements[name].value]),
          ),
        );
      },
    },
    field("mr", "Least relevance", 1, 0.05, "0"),
    field("mq", "Least quality", 1, 0.05, "0.4"),
    field("mw", "Least words", 10000, 1, "30"),
    h("button", { type: "submit" }, "Apply"),
  );
}

function funnel(told) {
  const most = Math.max(...told.map((stage) => stage.count), 1);
  return h(
    "ol",
    { class: "funnel" },
    told.map((stage) =>
      h(
        "li",
        null,
        h("span", { class: "name" }, NAMES[stage.stage] || stage.stage),
        h(
          "span",
          { class: "track" },
          h("span", {
            class: "length",
            style: { width: `${Math.max(0.4, (stage.count / most) * 82)}%` },
          }),
          h("span", { class: "n" }, number(stage.count)),
        ),
        h("span", { class: "what" }, stage.what),
      ),
    ),
  );
}

function title(each) {
  return [
    h("a", { href: toRead(each.node_id), "data-stop": true }, said(each.title || each.node_id)),
    " ",
    h("span", { class: "trail" }, said(base(each.element_id))),
  ];
}

function refused(told) {
  const found = told.candidates.filter((each) => each.fate === "refused");
  const kinds = Object.entries(told.rejected)
    .map(([code, n]) => `${n} × ${reason(code)}`)
    .join(" · ");
  return h(
    "section",
    { class: "panel", "aria-labelledby": "refused" },
    h("h2", { id: "refused" }, `Refused: ${found.length || "none"}`),
    kinds
      ? h("p", { class: "help" }, kinds)
      : h("p", { class: "help" }, "Everything that was looked at is good enough for an agent."),
    found.length
      ? h(
          "ul",
          { class: "sources" },
          found.map((each) =>
            h(
              "li",
              { "data-card": true },
              title(each),
              h(
                "div",
                { class: "fate refused" },
                `${reason(each.reason)} · relevance ${short(each.relevance)}`,
              ),
            ),
          ),
        )
      : null,
  );
}

function candidates(told) {
  const body = h("tbody");
  const row = (each) =>
    h(
      "tr",
      { "data-card": true },
      h("td", null, each.rank),
      h("td", null, title(each)),
      h("td", null, relevance(each.relevance)),
      [each.scores.dense_rank, each.scores.sparse_rank].map((rank) =>
        h("td", { class: "wide n" }, rank ? `#${rank}` : "–"),
      ),
      h(
        "td",
        null,
        h(
          "span",
          { class: `fate ${each.fate}` },
          FATES[each.fate],
          each.source ? ` · SOURCE ${each.source}` : "",
        ),
      ),
    );
  const add = (from, to) => body.append(...told.candidates.slice(from, to).map(row));
  add(0, ROWS);
  const left = told.candidates.length - ROWS;
  const more =
    left > 0
      ? h(
          "button",
          {
            type: "button",
            class: "plain more",
            onclick: () => {
              add(ROWS);
              more.remove();
            },
          },
          `Show the other ${left}`,
        )
      : null;
  return h(
    "section",
    { class: "panel", "aria-labelledby": "all" },
    h("h2", { id: "all" }, `All ${many(told.candidates.length, "passage")} that were judged`),
    h(
      "table",
      { class: "fates" },
      h(
        "thead",
        null,
        h(
          "tr",
          null,
          h("th", { scope: "col" }, "#"),
          h("th", { scope: "col" }, "Passage"),
          h("th", { scope: "col" }, "Relevance"),
          h("th", { scope: "col", class: "wide n" }, "Meaning"),
          h("th", { scope: "col", class: "wide n" }, "Words"),
          h("th", { scope: "col" }, "What became of it"),
        ),
      ),
      body,
    ),
    more,
  );
}

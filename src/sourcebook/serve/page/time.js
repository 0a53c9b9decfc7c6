// Time: revisions and baselines, what changed between two of them, and the same question at both.

import { empty, h, when } from "./dom.js";
import { get } from "./api.js";
import { link } from "./address.js";
import { changes, sideBySide } from "./compare.js";
import { list, naming, strip } from "./revisions.js";
import { questionField } from "./search.js";

export async function show(main, here, page) {
  const [{ revisions }, { baselines }] = await Promise.all([
    get("/v1/revisions", { limit: 200 }, page.signal),
    get("/v1/baselines", {}, page.signal),
  ]);
  main.append(h("h1", null, "Time"));
  if (!revisions.length) return void main.append(empty("Nothing has been taken in yet."));
  const points = choices(revisions, baselines);
  const a =
    here.get("a") ||
    (baselines.length ? `baseline:${baselines.at(-1).id}` : `revision:${revisions.at(-1).number}`);
  const b = here.get("b") || "head";
  const go = (more) => page.go(link({ view: "time", a, b, doc: here.get("doc"), ...more }));
  main.append(h("div", { class: "line-of-time" }, strip(revisions, baselines)));
  const stack = h("div", { class: "stack" });
  main.append(stack);
  stack.append(
    h(
      "form",
      { class: "forms", "aria-label": "Two points in time", onsubmit: (e) => e.preventDefault() },
      side("a", "From", a, points, go),
      side("b", "To", b, points, go),
    ),
    questionField(here, {
      label: "A question at both points",
      onenter: (q) => go({ q, doc: null }),
    }),
  );
  const results = h("div", { class: "stack" });
  stack.append(
    results,
    h(
      "section",
      { class: "panel", "aria-label": "Revisions" },
      h("h2", null, "Revisions"),
      naming(revisions, page),
      list(revisions, baselines, page),
    ),
  );
  const doc = here.get("doc");
  await Promise.all([
    here.q.trim() ? sideBySide(results, here, a, b, page) : null,
    changes(results, here, a, b, page, go, doc),
  ]);
}

function choices(revisions, baselines) {
  return [
    ["head", "Now"],
    ...baselines.map((each) => [
      `baseline:${each.id}`,
      `Baseline ${each.id}${each.published ? " (published)" : ""}`,
    ]),
    ...revisions
      .filter((each) => !each.dropped)
      .map((each) => [
        `revision:${each.number}`,
        `Revision ${each.number}: ${(each.message || when(each.at)).slice(0, 60)}`,
      ]),
  ];
}

function side(id, label, value, points, go) {
  const known = points.some(([one]) => one === value) ? points : [...points, [value, value]];
  return h(
    "div",
    { class: "field" },
    h("label", { for: `side-${id}` }, label),
    h(
      "select",
      { id: `side-${id}`, onchange: (e) => go({ [id]: e.target.value, doc: null }) },
      known.map(([one, name]) => h("option", { value: one, selected: one === value }, name)),
    ),
  );
}

// --- the line --------------------------------------------------------------------------------------

// --- revisions and baselines -----------------------------------------------------------------------

// --- two points ------------------------------------------------------------------------------------

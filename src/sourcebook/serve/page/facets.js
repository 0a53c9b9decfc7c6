// Filters as they occur in what was found, each with its count, and those that are on.

import { clear, h, said } from "./dom.js";
import { base } from "./hit.js";

const NAMES = {
  document_type: "Type",
  kind: "Kind",
  is_binding: "Binding",
  source: "File",
  speaker: "Speaker",
  role: "Speaker",
  layer: "Layer",
  element_type: "Element",
  model: "Model",
  format: "Format",
  department: "Department",
  author: "Author",
  app: "Application",
  date: "Date",
};
const LEFT_OUT = new Set([
  "title",
  "boundary",
  "roles",
  "role",
  "version",
  "model_id",
  "folder",
  "created_at",
  "updated_at",
  "at",
  "content_type",
  "default_model",
  "supersedes",
  "superseded_by",
  "id",
  "url",
  "_id",
  "branch",
  "effective_date",
  "text_hash",
  "element_id",
]);
const FIRST = ["document_type", "kind", "is_binding", "speaker", "layer", "element_type", "source"];
const MOST_KEYS = 7,
  MOST_VALUES = 6;

function values(hit) {
  const found = { kind: hit.kind, source: hit.source };
  for (const [key, value] of Object.entries(hit.metadata || {}))
    if (!LEFT_OUT.has(key)) found[key] = value;
  return found;
}

const listed = (value) =>
  [value]
    .flat()
    .filter((v) => ["string", "number", "boolean"].includes(typeof v))
    .map(String);
const fits = (own, filters, but) =>
  Object.entries(filters).every(
    ([key, wanted]) => key === but || listed(own[key]).some((v) => wanted.includes(v)),
  );

export function count(hits, filters) {
  const keys = new Map();
  for (const own of hits.map(values)) {
    for (const [key, value] of Object.entries(own)) {
      const counts = keys.get(key) || keys.set(key, new Map()).get(key);
      for (const one of listed(value))
        if (one.length <= 200)
          counts.set(one, (counts.get(one) || 0) + (fits(own, filters, key) ? 1 : 0));
    }
  }
  for (const [key, wanted] of Object.entries(filters)) {
    const counts = keys.get(key) || keys.set(key, new Map()).get(key);
    for (const one of wanted) if (!counts.has(one)) counts.set(one, 0);
  }
  const place = (key) => FIRST.indexOf(key) + 1 || 99;
  return [...keys]
    .filter(([key, counts]) => filters[key] || (counts.size > 1 && counts.size <= 30))
    .sort(([a], [b]) => place(a) - place(b) || a.localeCompare(b))
    .slice(0, MOST_KEYS);
}

export function toggled(filters, key, value) {
  const before = filters[key] || [];
  const next = {
    ...filters,
    [key]: before.includes(value) ? before.filter((v) => v !== value) : [...before, value],
  };
  if (!next[key].length) delete next[key];
  return next;
}

const label = (key) => NAMES[key] || key.replaceAll("_", " ");
const shown = (key, value) =>
  key === "is_binding"
    ? { true: "binding", false: "not binding" }[value] || value
    : key === "source"
      ? base(value)
      : value.replaceAll("_", " ");

export function facets(side, hits, filters, choose) {
  const groups = count(hits, filters).map(([key, counts]) => {
    const on = filters[key] || [];
    const sorted = [...counts]
      .sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]))
      .filter(([v], i) => i < MOST_VALUES || on.includes(v));
    return h(
      "fieldset",
      null,
      h("legend", null, label(key)),
      sorted.map(([value, n]) =>
        h(
          "label",
          { class: n ? null : "none", title: value },
          h("input", {
            type: "checkbox",
            checked: on.includes(value),
            onchange: () => choose(toggled(filters, key, value)),
          }),
          said(shown(key, value), { class: "value" }),
          h("span", { class: "count" }, n),
        ),
      ),
    );
  });
  if (!groups.length) return clear(side);
  const box = h(
    "details",
    { open: matchMedia("(min-width: 60rem)").matches },
    h("summary", null, "Filters"),
    h("div", { class: "groups" }, groups),
    h(
      "p",
      { class: "help" },
      `Counts are of the ${hits.length} best passages; a filter may find more.`,
    ),
  );
  return clear(side, box);
}

export function chips(filters, choose) {
  const on = Object.entries(filters).flatMap(([key, found]) => found.map((value) => [key, value]));
  if (!on.length) return null;
  return h(
    "ul",
    { class: "chips", "aria-label": "Filters that are on" },
    on.map(([key, value]) =>
      h(
        "li",
        null,
        h(
          "button",
          { type: "button", class: "chip", onclick: () => choose(toggled(filters, key, value)) },
          `${label(key)}: `,
          said(shown(key, value)),
          h("span", { "aria-hidden": "true" }, " ×"),
          h("span", { class: "unseen" }, " – remove"),
        ),
      ),
    ),
  );
}

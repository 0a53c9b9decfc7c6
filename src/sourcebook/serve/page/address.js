// What is shown is what the address says: an address can be kept, sent and opened again.

export const VIEWS = ["search", "why", "read", "time", "context", "health"];
const KEPT = ["q", "at", "repo", "f"];

export function state(url = location.href) {
  const given = new URL(url).searchParams;
  const view = VIEWS.includes(given.get("view")) ? given.get("view") : "search";
  const get = (name, otherwise = "") => given.get(name) ?? otherwise;
  return {
    view,
    q: get("q"),
    at: get("at", "head"),
    repo: get("repo"),
    filters: filters(given),
    get,
    given,
  };
}

function filters(given) {
  const found = {};
  for (const pair of given.getAll("f")) {
    const cut = pair.indexOf("=");
    if (cut > 0) (found[pair.slice(0, cut)] ||= []).push(pair.slice(cut + 1));
  }
  return found;
}

export const pairs = (found) =>
  Object.entries(found).flatMap(([key, values]) => values.map((value) => `${key}=${value}`));

// An address with these values; question, read context, repository and filters stay unless named.
export function link(values, base = location.href) {
  const before = new URL(base).searchParams;
  const made = new URLSearchParams();
  const all = {};
  for (const name of KEPT) if (before.has(name)) all[name] = before.getAll(name);
  if (values.filters) {
    all.f = pairs(values.filters);
    values = { ...values, filters: undefined };
  }
  Object.assign(all, values);
  for (const [name, value] of Object.entries(all)) {
    for (const one of [value].flat()) {
      const plain =
        one === undefined ||
        one === null ||
        one === "" ||
        (name === "view" && one === "search") ||
        (name === "at" && one === "head");
      if (!plain) made.append(name, one);
    }
  }
  const text = made.toString();
  return text ? `/?${text}` : "/";
}

export const toRead = (node, more = {}) => link({ view: "read", node, f: null, ...more });

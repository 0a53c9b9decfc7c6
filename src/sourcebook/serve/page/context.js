// Context: what an agent gets for a question, within a number of tokens, and how to ask for it.

import {
  bar,
  clear,
  copier,
  debounce,
  empty,
  h,
  many,
  number,
  said,
  short,
  trouble,
} from "./dom.js";
import { post } from "./api.js";
import { link, toRead } from "./address.js";
import { banner, questionField } from "./search.js";

const SIZES = [200, 500, 1000, 2000, 3000, 4000, 6000, 8000, 12000, 16000, 32000];

export async function show(main, here, page) {
  const wanted = {
    tokens: Number(here.get("tokens", 4000)),
    sources: Number(here.get("sources", 8)),
    links: here.get("links", "1") === "1",
    q: here.q,
  };
  const controls = h("div", { class: "controls" });
  const out = h("div", { class: "stack" });
  let controller = new AbortController(),
    turn = 0;
  const address = () =>
    link({
      view: "context",
      q: wanted.q,
      tokens: wanted.tokens,
      sources: wanted.sources,
      links: wanted.links ? null : "0",
    });
  page.signal.addEventListener("abort", () => {
    later.cancel();
    controller.abort();
  });
  const later = debounce(() => ask(), 400);
  const change = (more) => {
    Object.assign(wanted, more);
    page.replace(address());
    later();
  };

  async function ask() {
    const mine = ++turn;
    controller.abort();
    controller = new AbortController();
    if (!wanted.q.trim())
      return void clear(out, empty("Ask something to see exactly what an agent is given."));
    const given = request(wanted, here);
    try {
      const context = await post("/v1/context", given, controller.signal);
      if (mine === turn) clear(out, result(context, given));
    } catch (error) {
      if (error.name !== "AbortError" && mine === turn) clear(out, trouble(error));
    }
  }

  main.append(
    h("h1", null, "What an agent is given"),
    h(
      "div",
      { class: "stack" },
      questionField(here, { oninput: (q) => change({ q }), onenter: () => ask() }),
    ),
    h("div", { class: "builder" }, controls, out),
  );
  controls.append(...fields(wanted, change));
  await ask();
}

function request(wanted, here) {
  return {
    query: wanted.q,
    max_tokens: wanted.tokens,
    max_sources: wanted.sources,
    include_relationships: wanted.links,
    filters: here.filters,
    read_context: here.at,
  };
}

function fields(wanted, change) {
  const at = SIZES.findIndex((size) => size >= wanted.tokens);
  const tokens = h("output", { for: "tokens" }, `${number(wanted.tokens)} tokens`);
  const sources = h("output", { for: "sources" }, many(wanted.sources, "source"));
  return [
    h(
      "div",
      { class: "field" },
      h("label", { for: "tokens" }, "At most ", tokens),
      h("input", {
        id: "tokens",
        type: "range",
        min: 0,
        max: SIZES.length - 1,
        step: 1,
        "aria-valuetext": `${wanted.tokens} tokens`,
        value: at < 0 ? SIZES.length - 1 : at,
        oninput: (e) => {
          const size = SIZES[e.target.value];
          e.target.setAttribute("aria-valuetext", `${size} tokens`);
          tokens.textContent = `${number(size)} tokens`;
          change({ tokens: size });
        },
      }),
    ),
    h(
      "div",
      { class: "field" },
      h("label", { for: "sources" }, "At most ", sources),
      h("input", {
        id: "sources",
        type: "range",
        min: 1,
        max: 30,
        value: wanted.sources,
        oninput: (e) => {
          sources.textContent = many(Number(e.target.value), "source");
          change({ sources: Number(e.target.value) });
        },
      }),
    ),
    h(
      "label",
      { class: "row" },
      h("input", {
        type: "checkbox",
        checked: wanted.links,
        onchange: (e) => change({ links: e.target.checked }),
      }),
      "Follow links and tell relationships",
    ),
  ];
}

function result(context, given) {
  const share = context.tokens / context.max_tokens;
  const call = {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "getContext", arguments: tool(given) },
  };
  return [
    ...banner(context),
    h(
      "div",
      { class: "row" },
      bar(share, `${context.tokens} of ${context.max_tokens} tokens`),
      h(
        "strong",
        { class: "tokens" },
        `${number(context.tokens)} of ${number(context.max_tokens)} tokens`,
      ),
      h(
        "span",
        { class: "help" },
        `${many(context.sources.length, "source")}${context.left_out ? `, ${many(context.left_out, "hit")} left out` : ""} · revision ${context.read_context.revision}`,
      ),
    ),
    h(
      "div",
      { class: "row" },
      copier("Copy text", context.text, { class: "" }),
      copier("Copy JSON", JSON.stringify(context, null, 2), { class: "" }),
      copier("Copy MCP call", JSON.stringify(call, null, 2), { class: "" }),
    ),
    h(
      "section",
      { class: "panel", "aria-label": "The context" },
      h("h2", null, "The context, word for word"),
      h("pre", { class: "assembled", tabindex: "0", dir: "auto" }, ...coloured(context.text)),
    ),
    h(
      "section",
      { class: "panel", "aria-label": "Sources" },
      h("h2", null, "Its sources"),
      h("ol", { class: "sources" }, context.sources.map(source)),
    ),
  ];
}

// getContext takes no number of sources; the rest has the same names.
function tool({ query, max_tokens, include_relationships, filters, read_context, repository }) {
  const at = /^(baseline|as-of|revision):(.*)$/.exec(read_context);
  const where = at
    ? {
        [{ baseline: "baseline_id", "as-of": "as_of", revision: "revision" }[at[1]]]:
          at[1] === "revision" ? Number(at[2]) : at[2],
      }
    : { selector: read_context };
  return {
    query,
    max_tokens,
    include_relationships,
    ...(Object.keys(filters).length ? { filters } : {}),
    read_context: where,
    ...(repository ? { repository } : {}),
  };
}

function coloured(text) {
  return text
    .split(/^(\[SOURCE \d+\]|\[RELATIONSHIPS\])$/m)
    .map((part, i) => (i % 2 ? h("span", { class: "src" }, part) : part));
}

function source(each) {
  return h(
    "li",
    { "data-card": true },
    h("span", { class: "no" }, `${each.number} `),
    h(
      "a",
      { href: toRead(each.node_id), "data-stop": true },
      said(each.section_path.at(-1) || each.title),
    ),
    " ",
    h("span", { class: "trail" }, said(each.title)),
    h(
      "div",
      { class: "trail" },
      said(each.why_included),
      each.relevance === null ? "" : ` · relevance ${short(each.relevance)}`,
      each.superseded_by ? [" · superseded by ", said(each.superseded_by)] : null,
    ),
  );
}

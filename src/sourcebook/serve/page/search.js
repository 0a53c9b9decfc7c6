// Search: answers as one types, filters with counts, and what the engine made of the question.

import { announce, clear, debounce, empty, h, many, note, said, short, trouble } from "./dom.js";
import { post } from "./api.js";
import { link } from "./address.js";
import { card } from "./hit.js";
import { chips, facets } from "./facets.js";

const FIRST = 10,
  ALL = 50,
  PAUSE = 110,
  SETTLED = 700;
const kept = new Map();
const TYPES = {
  general: "a general question",
  terminology: "asks for a term",
  definition: "asks what something is",
  location: "asks where something stands",
};

export function questionField(here, { label = "Question", oninput, onenter }) {
  const field = h("input", {
    id: "q",
    type: "search",
    name: "q",
    value: here.q,
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
    placeholder: "Ask, or type words",
    enterkeyhint: "search",
    maxlength: 10000,
    oninput: () => oninput?.(field.value),
  });
  return h(
    "form",
    {
      class: "ask",
      role: "search",
      onsubmit: (event) => {
        event.preventDefault();
        onenter?.(field.value);
      },
    },
    h("label", { for: "q", class: "unseen" }, label),
    field,
    h("kbd", { class: "hint", "aria-hidden": "true" }, "/"),
  );
}

export async function show(main, here, page) {
  const view = new Search(main, here, page);
  await view.start();
}

class Search {
  constructor(main, here, page) {
    Object.assign(this, {
      here,
      page,
      turn: 0,
      drawn: new Map(),
      q: here.q,
      filters: here.filters,
    });
    this.told = h("div", { class: "told" });
    this.side = h("aside", { class: "facets", "aria-label": "Filters" });
    this.list = h("ol", { class: "hits", "aria-label": "Results" });
    this.status = h("div", { class: "status" });
    const later = debounce(() => this.ask(), PAUSE);
    this.settle = debounce(() => this.ask(true), SETTLED);
    this.form = questionField(here, {
      oninput: (value) => {
        this.q = value;
        this.settle.cancel();
        page.replace(this.address());
        later();
      },
      onenter: () => {
        later.cancel();
        this.settle.cancel();
        this.ask(true);
      },
    });
    main.append(
      h("h1", { class: "unseen" }, "Search"),
      this.form,
      this.told,
      h(
        "div",
        { class: "columns" },
        this.side,
        h("section", { class: "results", "aria-label": "Answer" }, this.status, this.list),
      ),
    );
    page.signal.addEventListener("abort", () => {
      later.cancel();
      this.settle.cancel();
      this.controller?.abort();
    });
  }

  address() {
    return link({ q: this.q, filters: this.filters });
  }

  async start() {
    const field = this.form.querySelector("input");
    const handy = matchMedia("(pointer: fine)").matches;
    if (!this.q) {
      if (handy) field.focus();
      return this.welcome();
    }
    const known = kept.get(this.name());
    if (known) return this.draw(known, true);
    await this.ask();
    this.settle.cancel();
    await this.ask(true);
    if (handy && document.activeElement === document.body) field.focus({ preventScroll: true });
  }

  name() {
    return JSON.stringify([this.q, this.filters, this.here.at, this.here.repo]);
  }

  // A newer question ends an older one, and an older answer never covers a newer one.
  async ask(all = false) {
    const turn = ++this.turn;
    this.controller?.abort();
    this.controller = new AbortController();
    if (!this.q.trim()) return this.welcome();
    const given = {
      query: this.q,
      k: all ? ALL : FIRST,
      filters: this.filters,
      read_context: this.here.at,
    };
    const name = this.name();
    try {
      const answer = await post(all ? "/v1/search" : "/v1/preview", given, this.controller.signal);
      if (turn !== this.turn) return;
      if (all) answer.counted = await this.counted(answer, turn);
      if (turn !== this.turn) return;
      if (all) remember(name, answer);
      this.draw(answer, all);
      if (!all) this.settle();
    } catch (error) {
      if (error.name === "AbortError" || turn !== this.turn) return;
      clear(this.status, trouble(error));
      clear(this.list);
      clear(this.told);
    }
  }

  // Counts are of what the question finds without filters, so that a filter can be widened again.
  async counted(answer) {
    if (!Object.keys(this.filters).length) return answer.results;
    const given = { query: this.q, k: ALL, read_context: this.here.at };
    return (await post("/v1/preview", given, this.controller.signal)).results;
  }

  draw(answer, all) {
    this.answer = answer;
    clear(this.told, told(answer));
    clear(
      this.status,
      chips(this.filters, (next) => this.choose(next)),
      banner(answer),
    );
    this.list.replaceChildren(...this.cards(answer));
    this.list.setAttribute("aria-busy", String(!all));
    if (all) {
      facets(this.side, answer.counted, this.filters, (next) => this.choose(next));
      if (answer.results.length === ALL)
        this.list.append(
          h("li", { class: "after" }, `The best ${ALL}; narrow the question or filter for others.`),
        );
      announce(
        answer.results.length
          ? `${many(answer.results.length, "result")}, ${answer.status.replace("_", " ")}`
          : "no results",
      );
    }
  }

  // A hit that stands where it stood stays as it is: opened, or with the focus in it.
  cards(answer) {
    const before = this.drawn;
    this.drawn = new Map(
      answer.results.map((hit) => {
        const key = JSON.stringify([
          answer.query.text,
          answer.read_context.revision,
          hit.version_id,
          hit.rank,
          hit.relevance,
        ]);
        return [key, before.get(key) || card(hit, answer)];
      }),
    );
    return this.drawn.values();
  }

  choose(next) {
    this.filters = next;
    this.page.go(this.address());
  }

  welcome() {
    clear(this.told);
    clear(this.side);
    clear(this.list);
    clear(
      this.status,
      empty(
        "Type a question. Each passage tells how likely it answers, which exact version it is of, and why it is here.",
      ),
    );
  }
}

function remember(name, answer) {
  kept.delete(name);
  kept.set(name, answer);
  if (kept.size > 12) kept.delete(kept.keys().next().value);
  setTimeout(() => kept.delete(name), 60000);
}

export function banner(answer) {
  const made = [];
  for (const each of answer.degraded || [])
    made.push(note("warn", h("strong", null, `Without ${each.part}: `), said(each.reason)));
  if (answer.status === "low_confidence")
    made.push(note("warn", h("strong", null, "Low confidence. "), said(answer.warning)));
  if (answer.status === "no_results")
    made.push(note("warn", h("strong", null, "Nothing found. "), said(answer.warning)));
  return made;
}

// How the question was read, and what that took.
function told(answer) {
  const { query, stats, read_context: at } = answer;
  const whole = Object.values(query.weights).reduce((a, b) => a + b, 0) || 1;
  const names = { dense: "meaning", sparse: "words", staged: "section", combined: "both" };
  const weights = Object.entries(query.weights)
    .map(([name, weight]) => `${names[name] || name} ${weight}`)
    .join(", ");
  return [
    h("span", { class: "kind" }, TYPES[query.type] || query.type),
    query.document_type
      ? h("span", null, `asks for ${query.document_type.replaceAll("_", " ")}`)
      : null,
    h(
      "span",
      { class: "weights" },
      "weights ",
      h(
        "span",
        { class: "split", role: "img", "aria-label": weights, title: weights },
        Object.entries(query.weights).map(([name, weight]) =>
          h("span", { class: `part ${name}`, style: { "flex-grow": String(weight / whole) } }),
        ),
      ),
      h("span", { class: "legend", "aria-hidden": "true" }, weights),
    ),
    ...query.parts.map((part) => h("span", { class: "part-of" }, "also asked: ", said(part))),
    h(
      "span",
      { class: "numbers" },
      `${many(stats.candidates, "candidate")} · revision ${at.revision} · `,
      h(
        "span",
        { class: "ms" },
        stats.timings_ms.cached === undefined
          ? `${short(stats.timings_ms.total, 0)} ms`
          : "asked before",
      ),
    ),
    h("a", { href: link({ view: "why" }) }, "How this came about"),
    h("a", { href: link({ view: "context" }) }, "As context"),
  ];
}

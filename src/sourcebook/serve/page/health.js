// Health: how far the index is behind, what failed, how questions go, and how golden questions do over time.

import { bar, empty, h, many, note, number, panel, said, short } from "./dom.js";
import { get } from "./api.js";
import { link } from "./address.js";
import { clock, lines, shares, stacked } from "./charts.js";
import { golden } from "./golden.js";

export async function show(main, here, page) {
  main.append(h("h1", null, "Health"));
  const status = await get("/v1/health/index", {}, page.signal);
  const spaces = await spacesOf(status, page);
  main.append(tiles(status));
  const grid = h("div", { class: "grid" });
  main.append(grid);
  grid.append(progress(status, spaces), failures(status.index));
  const questions = status.queries;
  if (questions.count === undefined)
    grid.append(
      panel(
        "Questions",
        note("", "What others asked is told to keys with the right to administer."),
      ),
    );
  else if (!questions.count)
    grid.append(
      panel(
        "Questions",
        empty(
          questions.logged
            ? "Nobody has asked anything yet."
            : "Questions are not logged; the setting is monitoring.log.",
        ),
      ),
    );
  else await asked(grid, questions, page);
  grid.append(golden(page));
}

function tiles(status) {
  const { index, counts } = status;
  const lag = index.oldest_pending_s;
  const all = [
    [
      "Revision",
      number(status.revision),
      status.published ? ` published: ${status.published}` : " nothing published",
    ],
    [
      "Passages",
      number(counts.passages),
      ` in ${number((counts.document || 0) + (counts.conversation || 0) + (counts.element || 0))} sources`,
    ],
    ["Waiting for a vector", number(index.pending), lag ? ` oldest ${short(lag, 0)} s` : ""],
    [
      "Given up",
      number(index.failed),
      index.retrying ? ` ${index.retrying} tried again` : "",
      index.failed,
    ],
    ["Vectors a second", short(index.vectors_per_s, 1), " of late"],
  ];
  return h(
    "dl",
    { class: "tiles" },
    all.map(([name, value, more, bad]) =>
      h(
        "div",
        { class: `tile ${bad ? "bad" : ""}` },
        h("dt", null, name),
        h("dd", null, value, h("small", null, said(more))),
      ),
    ),
  );
}

// Counting what waits takes a while in a large store: it is asked again only where several spaces are.
async function spacesOf({ spaces, counts, index }, page) {
  const used = spaces.filter((space) => space.state !== "retired");
  if (used.length > 1) return (await get("/v1/health/spaces", {}, page.signal)).spaces;
  return spaces.map((space) => {
    const { pending, failed } = space.state === "retired" ? { pending: null, failed: null } : index;
    return { ...space, passages: counts.passages, pending, failed };
  });
}

function progress(status, spaces) {
  const rows = spaces.map((space) => {
    const done =
      space.pending === null
        ? null
        : space.passages
          ? Math.max(0, 1 - (space.pending + space.failed) / space.passages)
          : 1;
    return h(
      "tr",
      null,
      h("td", null, said(space.id)),
      h("td", null, space.state),
      h(
        "td",
        { class: "whole" },
        done === null
          ? "–"
          : [
              bar(done, `${(done * 100).toFixed(1)} % embedded`),
              ` ${(done * 100).toFixed(done === 1 ? 0 : 1)} %`,
            ],
      ),
    );
  });
  const spent = status.index.spending.map((each) =>
    h(
      "p",
      { class: "help" },
      `${each.provider}/${each.model}: ${number(each.texts)} texts, ${number(each.tokens)} tokens, ${short(each.seconds, 0)} s${each.cost ? `, $ ${short(each.cost, 4)}` : ""}`,
    ),
  );
  return panel(
    "Spaces",
    spaces.length
      ? h(
          "table",
          null,
          h(
            "thead",
            null,
            h(
              "tr",
              null,
              ["Space", "State", "Embedded"].map((name) => h("th", { scope: "col" }, name)),
            ),
          ),
          h("tbody", null, rows),
        )
      : empty("There is no space yet."),
    spent,
  );
}

function failures(index) {
  return panel(
    "Texts that could not be embedded",
    index.failures.length
      ? h(
          "ul",
          { class: "sources" },
          index.failures.map((each) =>
            h(
              "li",
              null,
              said(each.text.slice(0, 160)),
              h(
                "div",
                { class: "fate refused" },
                said(each.error),
                ` · ${many(each.attempts, "attempt")}${each.dead ? ", given up" : ""}`,
              ),
            ),
          ),
        )
      : h("p", { class: "help" }, "None."),
  );
}

async function asked(grid, questions, page) {
  const chart = await get("/v1/health/queries", { buckets: 24 }, page.signal);
  const first = clock(chart.since),
    last = clock(chart.until);
  const kinds = [
    ["ok", "ok", "ok"],
    ["low_confidence", "low", "low confidence"],
    ["no_results", "nothing", "no results"],
  ];
  const bars = chart.buckets.map((each) => ({
    label: clock(each.at),
    parts: kinds.map(([field, kind, name]) => ({ kind, name, value: each[field] })),
  }));
  const told = kinds
    .map(([field, , name]) => `${name} ${((questions.status[field] || 0) * 100).toFixed(0)} %`)
    .join(", ");
  const { p50, p95, p99 } = questions.latency_ms;
  const speed = `p50 ${short(p50, 0)} ms, p95 ${short(p95, 0)} ms, p99 ${short(p99, 0)} ms`;
  grid.append(
    panel(
      "Outcomes",
      stacked(`${many(chart.count, "question")}: ${told}`, bars, first, last),
      h(
        "p",
        { class: "swatches" },
        kinds.map(([field, kind, name]) =>
          h(
            "span",
            null,
            h("span", { class: `swatch ${kind}` }),
            `${name} ${((questions.status[field] || 0) * 100).toFixed(0)} %`,
          ),
        ),
      ),
    ),
    panel(
      "Latency",
      lines(
        speed,
        [
          { name: "p50", values: chart.buckets.map((b) => b.p50_ms) },
          { name: "p95", second: true, values: chart.buckets.map((b) => b.p95_ms) },
        ],
        first,
        last,
        { format: (v) => `${v && v < 10 ? short(v, 1) : number(Math.round(v))}` },
      ),
      h(
        "p",
        { class: "help" },
        `${speed}. Solid: half of the questions were faster; dashed: 95 of 100 were. In milliseconds.`,
      ),
    ),
    panel(
      "Where hits come from",
      shares([
        ["meaning and words", questions.sources.both],
        ["meaning alone", questions.sources.dense_only],
        ["words alone", questions.sources.sparse_only],
      ]),
      h(
        "p",
        { class: "help" },
        `First hits have a relevance of ${short(questions.relevance.p50)} in the middle, ${short(questions.relevance.p10)} at the low end.`,
      ),
    ),
    panel("Asked most", list(questions.hot)),
    panel(
      "Without a good answer",
      list([...questions.no_results.queries, ...questions.low_confidence.queries]),
    ),
  );
}

function list(queries) {
  if (!queries.length) return h("p", { class: "help" }, "None.");
  return h(
    "ul",
    { class: "sources" },
    queries
      .slice(0, 8)
      .map((each) =>
        h(
          "li",
          null,
          each.query === null
            ? h("span", { class: "mono" }, each.text_hash.slice(0, 12))
            : h(
                "a",
                { href: link({ view: "search", q: each.query, f: null }), "data-stop": true },
                said(each.query),
              ),
          h("span", { class: "figure" }, `${each.count} × · relevance ${short(each.relevance)}`),
        ),
      ),
  );
}

// Why a hit is where it is: the ranks that each search gave it, and the number of each stage.

import { h, picture, short, svg } from "./dom.js";
import { link } from "./address.js";

const LISTS = [
  ["dense", "meaning"],
  ["sparse", "words"],
  ["staged", "section"],
  ["combined", "both"],
];

// The ranks that each search gave it, and where it ended: high is good.
export function ranks(hit, last = "place") {
  const points = [
    ...LISTS.map(([name, label]) => [label, hit.scores[`${name}_rank`]]),
    [last, hit.rank],
  ];
  const width = 340,
    height = 84,
    left = 28,
    step = (width - 2 * left) / (points.length - 1);
  const y = (rank) => 24 + (Math.log(Math.min(rank, 100)) / Math.log(100)) * 32;
  const told = points
    .map(([label, rank]) => `${label} ${rank ? `rank ${rank}` : "did not find it"}`)
    .join(", ");
  const placed = points.map(([label, rank], i) => ({
    label,
    rank,
    x: left + i * step,
    y: rank ? y(rank) : 56,
  }));
  const path = placed
    .filter((p) => p.rank)
    .map((p, i) => `${i ? "L" : "M"}${p.x.toFixed(1)} ${p.y.toFixed(1)}`)
    .join(" ");
  return picture(
    told,
    width,
    height,
    svg("path", { d: `M${left} 24H${width - left}`, class: "axis" }),
    svg("path", { d: path, class: "line" }),
    placed.map((p, i) => [
      svg("circle", {
        cx: p.x,
        cy: p.y,
        r: i === placed.length - 1 ? 6 : 4,
        class: p.rank ? (i === placed.length - 1 ? "dot last" : "dot") : "dot none",
      }),
      p.rank ? svg("text", { x: p.x, y: p.y - 10, class: "value" }, `#${p.rank}`) : null,
      svg("text", { x: p.x, y: height - 4, class: "label" }, p.label),
    ]),
  );
}

export function stages(hit) {
  const scores = hit.scores;
  const rows = [
    ["meaning", scores.dense, "cosine with the question", 3],
    ["words", scores.sparse, "BM25", 2],
    ["fused", scores.fused, "all lists by their ranks", 4],
    ["reranked", scores.rerank, "what the reranker says", 2],
    ["relevance", hit.relevance, "how likely it answers", 3],
  ];
  const cells = rows
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value, what, digits]) =>
      h(
        "div",
        { class: "stage", title: what },
        h("dt", null, name),
        h("dd", null, short(value, digits)),
      ),
    );
  for (const each of hit.adjustments)
    cells.push(
      h(
        "div",
        { class: "stage", title: each.reason },
        h("dt", null, each.name.replace("_", " ")),
        h("dd", null, `× ${each.factor}`),
      ),
    );
  if (scores.adjusted !== null && scores.adjusted !== undefined)
    cells.push(
      h(
        "div",
        { class: "stage end", title: "what the hits are ordered by" },
        h("dt", null, "ordered by"),
        h("dd", null, short(scores.adjusted, 3)),
      ),
    );
  return h(
    "div",
    { class: "stages" },
    ranks(hit),
    h("dl", { class: "stage-row" }, cells),
    h(
      "p",
      { class: "help" },
      h("a", { href: link({ view: "why", x: hit.node_id }) }, "What became of the others"),
    ),
  );
}

// Small pictures of numbers, each with the same numbers in words.

import { h, number, picture, short, svg, when } from "./dom.js";

const WIDTH = 340,
  LEFT = 40,
  RIGHT = 8,
  TOP = 12,
  HEIGHT = 150,
  BOTTOM = 22;
const inner = WIDTH - LEFT - RIGHT,
  tall = HEIGHT - TOP - BOTTOM;

function scale(most, format) {
  return [0, most / 2, most].map((value) => {
    const y = TOP + tall - (value / (most || 1)) * tall;
    return [
      svg("path", { d: `M${LEFT} ${y}H${WIDTH - RIGHT}`, class: "axis" }),
      svg("text", { x: LEFT - 6, y: y + 4, class: "right" }, format(value)),
    ];
  });
}

function round(value) {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 4, 5, 8, 10].map((n) => n * power).find((n) => n >= value);
}

function ends(first, last) {
  return [
    svg("text", { x: LEFT, y: HEIGHT - 4, class: "left" }, first),
    svg("text", { x: WIDTH - RIGHT, y: HEIGHT - 4, class: "right" }, last),
  ];
}

// Bars of several parts on each other: [{label, parts: [{kind, value}]}]
export function stacked(label, bars, first, last) {
  const most = round(
    Math.max(...bars.map((bar) => bar.parts.reduce((sum, part) => sum + part.value, 0))),
  );
  const step = inner / bars.length,
    wide = Math.max(2, Math.min(26, step * 0.72));
  return picture(
    label,
    WIDTH,
    HEIGHT,
    scale(most, (v) => short(v, v % 1 ? 1 : 0)),
    bars.map((bar, i) => {
      let y = TOP + tall;
      return bar.parts.map((part) => {
        const high = (part.value / most) * tall;
        y -= high;
        return high
          ? svg(
              "rect",
              {
                x: LEFT + i * step + (step - wide) / 2,
                y,
                width: wide,
                height: high,
                class: part.kind,
              },
              svg("title", null, `${bar.label}: ${part.value} ${part.name}`),
            )
          : null;
      });
    }),
    ends(first, last),
  );
}

// Lines over the same places: [{name, values, second}]
export function lines(
  label,
  series,
  first,
  last,
  { most, format = (v) => number(Math.round(v)) } = {},
) {
  const top =
    most || round(Math.max(...series.flatMap((each) => each.values.filter((v) => v !== null)), 0));
  const count = Math.max(...series.map((each) => each.values.length));
  const x = (i) => (count > 1 ? LEFT + (i / (count - 1)) * inner : LEFT + inner / 2);
  const y = (value) => TOP + tall - (Math.min(value, top) / top) * tall;
  return picture(
    label,
    WIDTH,
    HEIGHT,
    scale(top, format),
    series.map((each) => {
      const points = each.values
        .map((value, i) => (value === null || value === undefined ? null : [x(i), y(value), value]))
        .filter(Boolean);
      const path = points
        .map(([a, b], i) => `${i ? "L" : "M"}${a.toFixed(1)} ${b.toFixed(1)}`)
        .join("");
      return [
        svg("path", { d: path, class: each.second ? "line second" : "line" }),
        points.length <= 40
          ? points.map(([a, b, v]) =>
              svg(
                "circle",
                { cx: a, cy: b, r: 2.75, class: each.second ? "dot none" : "dot last" },
                svg("title", null, `${each.name}: ${format(v)}`),
              ),
            )
          : null,
      ];
    }),
    ends(first, last),
  );
}

export function shares(rows) {
  return h(
    "ul",
    { class: "shares" },
    rows.map(([name, share]) =>
      h(
        "li",
        null,
        h("span", null, name),
        h(
          "span",
          { class: "bar", "aria-hidden": "true" },
          h("span", { class: "fill", style: { width: `${((share || 0) * 100).toFixed(1)}%` } }),
        ),
        h(
          "span",
          { class: "figure" },
          share === null || share === undefined ? "–" : `${(share * 100).toFixed(0)} %`,
        ),
      ),
    ),
  );
}

export const clock = (iso) => when(iso).replace(/ \d{4},/, ",");

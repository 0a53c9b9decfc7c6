// A window of a long text around what is cited, with headings and pages; the rest when it is asked for.

import { clear, h } from "./dom.js";
import { marked, paragraphs, styleOf, units } from "./words.js";

const WINDOW = 40000;

// A window of the text around what is cited; the rest is shown when it is asked for.
export function textOf(view, sections, pages) {
  const { node, whole } = view;
  const text = whole.text,
    unit = units(text);
  const place = (offset) => unit(offset - whole.start);
  const cited = node.node_id === whole.node_id ? null : [place(node.start), place(node.end)];
  const heads = new Map(sections.map((section) => [place(section.start), section]));
  const breaks = pages.map((each) => ({ ...each, start: place(each.start) }));
  const box = h("div", { class: "prose", dir: "auto" });
  let from = 0,
    to = 0;
  const before = h("button", {
    type: "button",
    class: "plain more",
    onclick: () => paint(Math.max(0, from - WINDOW), to),
  });
  const after = h("button", {
    type: "button",
    class: "plain more",
    onclick: () => paint(from, Math.min(text.length, to + WINDOW)),
  });

  function paint(a, b) {
    [from, to] = [a, b];
    before.textContent = `Show what comes before (${from.toLocaleString("en")} characters)`;
    after.textContent = `Show more (${(text.length - to).toLocaleString("en")} characters)`;
    clear(box, from > 0 ? before : null, blocks(a, b), to < text.length ? after : null);
  }
  function blocks(a, b) {
    const made = [];
    let next = breaks.findIndex((each) => each.start >= a);
    for (const block of paragraphs(text, a, b)) {
      while (next >= 0 && next < breaks.length && breaks[next].start <= block.start)
        made.push(h("div", { class: "pagemark" }, `page ${breaks[next++].page}`));
      made.push(...blockOf(block));
    }
    return made;
  }
  function blockOf(block) {
    const section = heads.get(block.start);
    const found = cited ? [cited] : [];
    const hashes = /^(#{1,6})[ \t]+\S/.exec(text.slice(block.start, block.start + 20));
    if (!section && !(hashes && whole.metadata.format === "markdown"))
      return [
        h(
          "p",
          { class: styleOf(text, block), dir: "auto" },
          ...mark(block.start, block.end, found),
        ),
      ];
    const line = text.indexOf("\n", block.start);
    const end = line < 0 || line > block.end ? block.end : line;
    const level = Math.min(section ? section.section_path.length : hashes[1].length, 3);
    const signs = /^#+\s*/.exec(text.slice(block.start, end))?.[0].length || 0;
    const head = h(
      `h${level + 1}`,
      { class: `heading l${level}`, "data-at": block.start, dir: "auto" },
      signs
        ? h(
            "span",
            { class: "dim", "aria-hidden": "true" },
            text.slice(block.start, block.start + signs),
          )
        : null,
      ...mark(block.start + signs, end, found),
    );
    return end < block.end && text.slice(end, block.end).trim()
      ? [
          head,
          ...paragraphs(text, end, block.end).flatMap((p) =>
            blockOf(p.start === block.start ? { ...p, start: end } : p),
          ),
        ]
      : [head];
  }
  function mark(a, b, found) {
    const made = marked(text, a, b, found);
    for (const each of made) if (each.tagName === "MARK") each.className = "cited";
    return made;
  }
  const middle = cited ? cited[0] : 0;
  const lines = (offset) => {
    const found = text.lastIndexOf("\n\n", offset);
    return found < 0 ? 0 : found;
  };
  paint(
    middle > WINDOW / 2 ? lines(middle - WINDOW / 4) : 0,
    Math.min(text.length, Math.max(middle, WINDOW / 2) + WINDOW / 2),
  );
  return {
    box,
    reveal() {
      const first = box.querySelector("mark.cited");
      if (first && cited[0] > 600) first.scrollIntoView({ block: "center" });
    },
    to(offset) {
      const at = place(offset);
      if (at < from || at >= to) paint(lines(at), Math.min(text.length, at + WINDOW));
      box.querySelector(`[data-at="${at}"]`)?.scrollIntoView({ block: "start" });
    },
  };
}

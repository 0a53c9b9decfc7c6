// Texts as people read them: which words answer the question, where to cut, and where a place that is
// counted in characters lies in a string that is counted in code units.

import { h } from "./dom.js";

const WORD = /[\p{L}\p{N}]+/gu;
export const SHOWN = 20000;

// Offsets of the engine count whole characters; strings here count halves of rare ones.
export function units(text) {
  if (!/[\ud800-\udbff]/.test(text)) return (offset) => offset;
  const places = [0];
  let at = 0;
  for (const character of text) {
    at += character.length;
    places.push(at);
  }
  return (offset) => places[Math.max(0, Math.min(offset, places.length - 1))];
}

function alike(word, keyword) {
  if (word === keyword) return true;
  const least = Math.max(4, Math.min(word.length, keyword.length) - 3);
  if (Math.min(word.length, keyword.length) < 4 || Math.abs(word.length - keyword.length) > 4)
    return false;
  return (
    word.slice(0, least) === keyword.slice(0, least) &&
    (word.startsWith(keyword.slice(0, -2)) || keyword.startsWith(word.slice(0, -2)))
  );
}

export function places(text, keywords) {
  const wanted = [
    ...new Set((keywords || []).flatMap((k) => k.toLowerCase().match(WORD) || [])),
  ].filter((k) => k.length > 1);
  const found = [];
  if (!wanted.length) return found;
  for (const match of text.matchAll(WORD)) {
    if (match[0].length > 60) continue;
    const word = match[0].toLowerCase();
    if (wanted.some((keyword) => alike(word, keyword)))
      found.push([match.index, match.index + match[0].length]);
    if (found.length > 2000) break;
  }
  return found;
}

// The part of a text that holds the most of the question's words.
export function around(text, found, size) {
  if (text.length <= size) return [0, text.length];
  let best = 0,
    most = -1;
  for (let i = 0; i < found.length; i++) {
    let j = i;
    const words = new Set();
    while (j < found.length && found[j][1] - found[i][0] < size - 60) {
      words.add(
        text
          .slice(...found[j])
          .toLowerCase()
          .slice(0, 5),
      );
      j++;
    }
    const score = words.size * 10 + (j - i);
    if (score > most) {
      most = score;
      best = found[i][0];
    }
  }
  let start = Math.max(0, Math.min(best - 60, text.length - size));
  if (start > 0) {
    const space = text.slice(start, start + 40).search(/\s/);
    start += space >= 0 ? space + 1 : 0;
  }
  let end = Math.min(text.length, start + size);
  if (end < text.length) {
    const space = text.slice(end - 40, end).search(/\s\S*$/);
    if (space > 0) end = end - 40 + space;
  }
  return [start, end];
}

// A stretch of text with some stretches of it marked.
export function marked(text, start, end, found, tag = "mark") {
  const made = [];
  let at = start;
  for (const [from, to] of found) {
    if (to <= at || from >= end) continue;
    const a = Math.max(from, at),
      b = Math.min(to, end);
    if (a > at) made.push(text.slice(at, a));
    made.push(h(tag, null, text.slice(a, b)));
    at = b;
  }
  if (at < end) made.push(text.slice(at, end));
  return made;
}

const ITEM = /^\s*([-*+•]|\d{1,3}[.)])\s/;

// A list is cut into its items, so that each can flow.
function items(text, from, to) {
  if (to - from > 20000 || text.startsWith("```", from)) return [[from, to]];
  const starts = [...text.slice(from, to).matchAll(/\n(?=[ \t]*([-*+•]|\d{1,3}[.)])[ \t])/g)].map(
    (match) => from + match.index + 1,
  );
  const ends = [from, ...starts, to];
  return ends.slice(0, -1).map((start, i) => [start, ends[i + 1]]);
}

// Paragraphs of a text: lines that were only broken to fit a page are joined for the eye.
export function paragraphs(text, start = 0, end = text.length) {
  const made = [];
  const gap = /\n[ \t\r]*\n\s*/g;
  let at = start;
  gap.lastIndex = start;
  const add = (from, to) => {
    if (to <= from || !text.slice(from, to).trim()) return;
    for (const [a, b] of items(text, from, to)) {
      const lines = text
        .slice(a, Math.min(b, a + 4000))
        .trimEnd()
        .split("\n");
      made.push({
        start: a,
        end: b,
        flows: lines.slice(0, -1).every((line) => line.length > 55 && !/^\s*[|>]/.test(line)),
        item: ITEM.test(lines[0]),
      });
    }
  };
  for (let match = gap.exec(text); match && match.index < end; match = gap.exec(text)) {
    add(at, match.index);
    at = match.index + match[0].length;
  }
  add(at, end);
  return made;
}

export const styleOf = (text, block) =>
  text.startsWith("```", block.start)
    ? "code"
    : `${block.flows ? "flow" : ""}${block.item ? " item" : ""}`;

// A text in paragraphs that is cut where it is very long; the rest comes when it is asked for.
export function prose(text, keywords, from = 0, most = SHOWN) {
  const box = h("div", { class: "prose", dir: "auto" });
  const found = places(text.slice(0, 400000), keywords);
  let at = from;
  const more = h("button", { type: "button", class: "plain more" });
  const show = () => {
    const end = Math.min(text.length, at + most);
    for (const p of paragraphs(text, at, end))
      box.insertBefore(
        h("p", { class: styleOf(text, p), dir: "auto" }, ...marked(text, p.start, p.end, found)),
        more.parentNode === box ? more : null,
      );
    at = end;
    if (at < text.length) {
      more.textContent = `Show more (${(text.length - at).toLocaleString("en")} characters)`;
      if (!more.parentNode) box.append(more);
    } else more.remove();
  };
  more.addEventListener("click", show);
  show();
  return box;
}

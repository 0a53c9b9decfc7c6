// One hit: what it says, how sure that is, what is to be known of its document, and why it is here.

import { announce, bar, copier, h, said, short } from "./dom.js";
import { post } from "./api.js";
import { toRead } from "./address.js";
import { stages } from "./stages.js";
import { around, marked, places, prose } from "./words.js";

const CUT = 340;
export const base = (path) => String(path).split("/").pop();
export const documentTitle = (hit) =>
  hit.metadata?.title || hit.section_path?.[0] || base(hit.source || hit.element_id);

export function relevance(value) {
  if (value === null || value === undefined)
    return h("span", { class: "relevance none" }, "not judged");
  return h(
    "span",
    { class: "relevance", title: "How likely it is that this passage answers the question" },
    bar(value, `relevance ${short(value)}`),
    h("span", { class: "figure", "aria-hidden": "true" }, short(value)),
  );
}

export function quality(told) {
  if (!told) return null;
  const word = told.overall >= 0.6 ? "good" : told.overall >= 0.4 ? "fair" : "low";
  return h(
    "span",
    {
      class: `badge quality-${word}`,
      title: `authenticity ${short(told.authenticity)}, necessity ${short(told.necessity)}, ${told.words} words`,
    },
    `${word} quality ${short(told.overall)}`,
  );
}

function badges(hit) {
  const made = [];
  const named = (name) => hit.adjustments.find((each) => each.name === name);
  const binding = hit.metadata.is_binding;
  const old = named("superseded");
  if (old) {
    const by = old.reason.replace(/^by /, "");
    made.push(
      h(
        "span",
        { class: "badge old" },
        "Superseded",
        by ? [" by ", h("a", { href: toRead(by) }, said(base(by)))] : null,
      ),
    );
  }
  if (binding === true || binding === "true")
    made.push(h("span", { class: "badge binding" }, "Binding"));
  if (binding === false || binding === "false")
    made.push(h("span", { class: "badge" }, "Not binding"));
  if (named("primary")) made.push(h("span", { class: "badge" }, "Primary source"));
  if (named("asked_type")) made.push(h("span", { class: "badge" }, "The type asked for"));
  if (hit.scores.exact) made.push(h("span", { class: "badge" }, "Exact match"));
  if (hit.quality?.stub_type)
    made.push(h("span", { class: "badge" }, `Stub: ${hit.quality.stub_type}`));
  made.push(quality(hit.quality));
  return made;
}

export function trail(hit) {
  const parts = [
    documentTitle(hit),
    ...(hit.section_path || []).filter(
      (part, i) => !(i === 0 && documentTitle(hit).startsWith(part)),
    ),
  ];
  if (parts.at(-1) === hit.title && parts.length > 1) parts.pop();
  return h(
    "p",
    { class: "trail" },
    parts.flatMap((part, i) => [
      i ? h("span", { class: "sep", "aria-hidden": "true" }, " › ") : null,
      said(part),
    ]),
  );
}

// Without the heading that stands above it anyway, and without the marks of headings.
function plain(text, title) {
  const first = /^\s*#{0,6}\s*(.*)\n+/.exec(text);
  const rest =
    first && title && first[1].trim() === title.trim() ? text.slice(first[0].length) : text;
  return (rest.trim() ? rest : text).replace(/^#{1,6}[ \t]+/gm, "");
}

export function snippet(text, keywords, title) {
  const box = h("div", { class: "snippet" });
  const whole = text;
  text = plain(text, title);
  const found = places(text.slice(0, 200000), keywords);
  const [start, end] = around(text, found, CUT);
  const cut = end - start < text.length;
  box.append(
    h(
      "p",
      { dir: "auto" },
      start > 0 ? "… " : null,
      ...marked(text, start, end, found),
      end < text.length ? " …" : null,
    ),
  );
  if (cut) {
    const more = h(
      "button",
      {
        type: "button",
        class: "plain more",
        "aria-expanded": "false",
        onclick: () => {
          const open = more.getAttribute("aria-expanded") === "true";
          more.setAttribute("aria-expanded", String(!open));
          more.textContent = open ? "Show more" : "Show less";
          if (open) {
            box.querySelector(".prose").remove();
            box.firstChild.hidden = false;
          } else {
            box.firstChild.hidden = true;
            box.insertBefore(prose(whole, keywords), more);
          }
        },
      },
      "Show more",
    );
    box.append(more);
  }
  return box;
}

export function card(hit, answer, { small = false } = {}) {
  const id = `why-${hit.rank}-${hit.version_id}`;
  const at = answer.read_context.selector === "head" ? null : undefined;
  const body = h("div", { class: "why-box", id, hidden: true });
  const why = h(
    "button",
    {
      type: "button",
      class: "plain",
      "data-why": true,
      "aria-expanded": "false",
      "aria-controls": id,
      onclick: () => {
        const open = body.hidden;
        body.hidden = !open;
        why.setAttribute("aria-expanded", String(open));
        if (open && !body.firstChild) body.append(stages(hit));
      },
    },
    "Why",
  );
  const read = toRead(hit.node_id, { q: answer.query.text, ...(at === null ? { at: null } : {}) });
  return h(
    "li",
    { class: "hit", "data-card": true, "data-node": hit.node_id },
    h(
      "div",
      { class: "lead" },
      h("span", { class: "rank", "aria-label": `place ${hit.rank}` }, hit.rank),
      h(
        "h3",
        null,
        h("a", { href: read, "data-stop": true }, said(hit.title || documentTitle(hit))),
      ),
      relevance(hit.relevance),
    ),
    trail(hit),
    snippet(hit.text || hit.title, answer.query.keywords, hit.title),
    small ? null : h("div", { class: "badges" }, badges(hit)),
    small
      ? null
      : h(
          "div",
          { class: "acts" },
          h(
            "span",
            { class: "place" },
            said(base(hit.source)),
            hit.page ? ` · page ${hit.page}` : "",
            ` · ${hit.start}–${hit.end}`,
          ),
          why,
          copier("Copy citation", JSON.stringify(hit.citation)),
          judge(hit, answer),
        ),
    body,
  );
}

function judge(hit, answer) {
  const say = async (judgment, button) => {
    try {
      await post("/v1/feedback", {
        query: answer.query.text,
        citation: hit.citation,
        judgment,
        read_context: `revision:${(hit.read_context || answer.read_context).revision}`,
      });
      for (const each of button.parentNode.children)
        each.setAttribute("aria-pressed", String(each === button));
      announce("Thank you");
    } catch (error) {
      announce(error.message);
      button.title = error.message;
    }
  };
  return h(
    "span",
    { class: "judge", role: "group", "aria-label": "Did this help?" },
    [
      ["helpful", "Helpful"],
      ["not_helpful", "Not helpful"],
    ].map(([value, label]) =>
      h(
        "button",
        {
          type: "button",
          class: "plain",
          "aria-pressed": "false",
          onclick: (event) => say(value, event.currentTarget),
        },
        label,
      ),
    ),
  );
}

// --- why -------------------------------------------------------------------------------------------

// A conversation: who said what and when; answers that were given again stand aside, where they belong.

import { h, many, said, time } from "./dom.js";
import { get } from "./api.js";
import { prose, units } from "./words.js";

export async function talk(main, view, about) {
  const { whole, node, at, page } = view;
  const found = [];
  let after = "";
  do {
    const some = await get(
      "/v1/nodes",
      {
        kind: "message",
        filter: `element_id=${whole.element_id}`,
        read_context: at,
        limit: 1000,
        after,
      },
      page.signal,
    );
    found.push(...some.nodes);
    after = some.next;
  } while (after && found.length < 5000);
  found.sort((a, b) => a.position - b.position);
  const aside = found.filter((each) => each.metadata.branch === "alternative");
  const answers = await branches(aside, at, page);
  const unit = units(whole.text);
  const words = (each) =>
    whole.text.slice(unit(each.start - whole.start), unit(each.end - whole.start));
  const cited = (each) =>
    node.node_id !== whole.node_id && node.start < each.end && each.start < node.end;
  const list = h("div", { class: "talk" });
  for (const each of found.filter((one) => !aside.includes(one))) {
    list.append(message(each, words(each), cited(each)));
    const others = answers.get(each.node_id);
    if (others)
      list.append(
        branch(
          others.map((one) => message(one, words(one), cited(one))),
          others.some(cited),
        ),
      );
  }
  const loose = answers.get("");
  if (loose)
    list.append(
      branch(
        loose.map((one) => message(one, words(one), cited(one))),
        loose.some(cited),
      ),
    );
  main.append(
    h(
      "div",
      { class: "reader two" },
      h("article", { class: "page-text", "aria-label": "Conversation" }, list),
      about,
    ),
  );
  list.querySelector(".cited")?.scrollIntoView({ block: "center" });
}

// Each branch below the message that it answers; what goes on within a branch stays in it.
async function branches(aside, at, page) {
  const ids = new Set(aside.map((each) => each.node_id));
  const root = new Map(),
    answers = new Map();
  const told = await Promise.all(
    aside
      .slice(0, 100)
      .map((each) =>
        get(`/v1/links/${encodeURIComponent(each.node_id)}`, { read_context: at }, page.signal),
      ),
  );
  aside.forEach((each, i) => {
    const target =
      told[i]?.links.find((one) => one.type === "responds-to" && one.source_id === each.node_id)
        ?.target_id || "";
    const place = ids.has(target) ? (root.get(target) ?? target) : target;
    root.set(each.node_id, place);
    answers.set(place, [...(answers.get(place) || []), each]);
  });
  return answers;
}

function branch(messages, open) {
  return h(
    "details",
    { class: "branch", open },
    h("summary", null, `Another branch: ${many(messages.length, "message")}`),
    messages,
  );
}

function message(node, text, cited) {
  const who = node.metadata.speaker || node.metadata.role || "someone";
  const person = who === "user" || who === "human";
  return h(
    "section",
    {
      class: `say ${person ? "user" : ""} ${cited ? "cited" : ""}`,
      "aria-label": `${who} says`,
      "data-node": node.node_id,
    },
    h(
      "header",
      null,
      said(who, { class: "who" }),
      node.metadata.at ? time(node.metadata.at) : null,
      node.metadata.model && !person ? said([node.metadata.model].flat().join(", ")) : null,
      cited ? h("span", null, "cited") : null,
    ),
    prose(text, [], 0, 4000),
  );
}

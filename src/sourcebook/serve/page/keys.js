// The keyboard is enough: keys that move, open, explain and go back, and a list of them.

import { h } from "./dom.js";
import { forgetKey, hasKey } from "./api.js";
import { link, state } from "./address.js";

const KEYS = [
  ["/", "go to the question"],
  ["j  ↓", "next result"],
  ["k  ↑", "previous result"],
  ["Enter", "open the result"],
  ["w", "why is this result here?"],
  ["Esc", "back"],
  ["g then s y r t c h", "go to search, why, read, time, context, health"],
  ["?", "this list"],
];

const LETTERS = { s: "search", y: "why", r: "read", t: "time", c: "context", h: "health" };

export function help() {
  document.querySelector("dialog.keys")?.remove();
  const dialog = h(
    "dialog",
    { class: "dialog keys", "aria-labelledby": "keys-title" },
    h("h2", { id: "keys-title" }, "Keys"),
    h(
      "dl",
      { class: "keylist" },
      KEYS.map(([key, what]) => [
        h(
          "dt",
          null,
          key.split("  ").map((k) => [h("kbd", null, k), " "]),
        ),
        h("dd", null, what),
      ]),
    ),
    h(
      "form",
      { method: "dialog", class: "row end" },
      hasKey()
        ? h(
            "button",
            {
              type: "submit",
              class: "plain",
              onclick: () => {
                forgetKey();
                location.assign("/");
              },
            },
            "Forget the API key",
          )
        : null,
      h("button", { type: "submit", class: "primary" }, "Close"),
    ),
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

const typing = (element) =>
  element.matches?.(
    "input:not([type=checkbox]):not([type=radio]):not([type=range]), textarea, select",
  );

function move(main, step) {
  const stops = [...main.querySelectorAll("[data-stop]")].filter(
    (stop) => stop.getClientRects().length,
  );
  if (!stops.length) return false;
  const card = document.activeElement.closest?.("[data-card]");
  const at = stops.findIndex(
    (stop) => stop === document.activeElement || (card && card.contains(stop)),
  );
  const next = at + step;
  if (next < 0) {
    main.querySelector("#q")?.focus();
    return true;
  }
  const stop = stops[Math.min(next, stops.length - 1)];
  stop.focus();
  (stop.closest("[data-card]") || stop).scrollIntoView({ block: "nearest" });
  return true;
}

// `go` shows another address.
export function listen(main, go) {
  let jump = 0;

  function question() {
    const field = main.querySelector("#q");
    if (!field) return go(link({ view: "search" }));
    field.focus();
    field.select();
  }

  function back() {
    if (state().view === "search") return;
    if (history.state?.inside) history.back();
    else go(link({ view: "search" }));
  }

  document.addEventListener("keydown", (event) => {
    const { key, target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (document.querySelector("dialog[open]")) return;
    if (typing(target)) {
      if (key === "Escape") target.blur();
      if (key === "ArrowDown" && target.id === "q" && move(main, 1)) event.preventDefault();
      return;
    }
    if (jump && event.timeStamp - jump < 1200 && LETTERS[key]) {
      jump = 0;
      go(link({ view: LETTERS[key] }));
      return;
    }
    jump = key === "g" ? event.timeStamp : 0;
    const arrows = !target.closest?.("[data-arrows]");
    const step = { j: 1, k: -1, ...(arrows ? { ArrowDown: 1, ArrowUp: -1 } : {}) }[key];
    const why = target.closest?.("[data-card]")?.querySelector("[data-why]");
    if (key === "/") question();
    else if (key === "?") help();
    else if (key === "w") why?.click();
    else if (key === "Escape") back();
    else if (!step || !move(main, step)) return;
    event.preventDefault();
  });
}

// "Why is X not here?" for anything that somebody names.

import { h, note, said } from "./dom.js";
import { stages } from "./stages.js";

const REASONS = {
  "relevance-too-low": "its relevance is too low",
  "quality-too-low": "its quality is too low",
  "word-count-too-low": "it has too few words, even with what stands around it",
  "not-scored": "its quality is not known yet",
};

export const reason = (code) =>
  REASONS[code] || (code?.startsWith("stub-") ? `it is only a stub: ${code.slice(5)}` : code);

// "Why is X not here?"
export function absent(here, told, ask) {
  const box = h(
    "section",
    { class: "panel", "aria-labelledby": "absent" },
    h("h2", { id: "absent" }, "Why is something not here?"),
  );
  const field = h("input", {
    id: "x",
    name: "x",
    value: here.get("x"),
    placeholder: "a document, section or passage",
    size: 36,
    list: "named",
    autocomplete: "off",
  });
  const names = [...new Map(told.candidates.map((each) => [each.element_id, each])).keys()];
  box.append(
    h(
      "form",
      {
        class: "forms",
        onsubmit: (event) => {
          event.preventDefault();
          ask({ x: field.value });
        },
      },
      h("div", { class: "field" }, h("label", { for: "x" }, "Its id or path"), field),
      h(
        "datalist",
        { id: "named" },
        names.map((value) => h("option", { value })),
      ),
      h("button", { type: "submit" }, "Why not?"),
    ),
  );
  const found = told.absent;
  if (found) {
    const words =
      found.stage === "refused"
        ? `its best passage was refused: ${reason(found.reason.split(": ")[1])}`
        : found.reason;
    box.append(
      note(
        found.stage === "here" ? "fine" : "warn",
        h("p", { class: "verdict" }, said(found.title || found.node_id), ": ", said(words), "."),
      ),
    );
    for (const each of found.passages.slice(0, 2))
      box.append(
        h(
          "details",
          { open: found.passages.length === 1 },
          h(
            "summary",
            null,
            said(each.title || each.node_id),
            ` · ${found.stage === "not_found" ? "asked alone" : `place ${each.rank}`}`,
          ),
          stages(each),
        ),
      );
  }
  return box;
}

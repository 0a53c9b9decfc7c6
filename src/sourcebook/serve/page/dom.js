// Elements out of names, attributes and texts. Text is always text: nothing here, and nothing in the
// rest of the page, turns a string into markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style")
      for (const [k, v] of Object.entries(value)) element.style.setProperty(k, v);
    else if (name === "value" || name === "checked") element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(
    ...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false),
  );
  return element;
}

export const h = (tag, attributes, ...children) =>
  fill(document.createElement(tag), attributes, children);
export const svg = (tag, attributes, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);

// What a document says, kept from turning the direction of what stands beside it.
export const said = (text, attributes) => h("bdi", attributes, String(text ?? ""));

export const clear = (element, ...children) => {
  element.replaceChildren(...children.flat(Infinity).filter(Boolean));
  return element;
};

export const number = (n) => (n === null || n === undefined ? "–" : Number(n).toLocaleString("en"));
export const short = (n, digits = 2) =>
  n === null || n === undefined ? "–" : Number(n).toFixed(digits);
export const many = (n, one, more = one + "s") => `${number(n)} ${n === 1 ? one : more}`;

export function when(iso) {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return String(iso);
  return at.toLocaleString("en-GB", {
    year: "numeric",
    month: "short",
    day: "numeric",
    hour: "2-digit",
    minute: "2-digit",
  });
}
export const time = (iso) => h("time", { datetime: iso, title: iso }, when(iso));

export function announce(text) {
  document.getElementById("live").textContent = text;
}

// A button that copies, and says so.
export function copier(label, text, attributes = {}) {
  const button = h(
    "button",
    {
      type: "button",
      class: "plain",
      ...attributes,
      onclick: async () => {
        const value = typeof text === "function" ? text() : text;
        try {
          await navigator.clipboard.writeText(value);
          tell("Copied");
        } catch {
          tell("Could not copy");
        }
      },
    },
    label,
  );
  function tell(word) {
    button.textContent = word;
    announce(`${word}: ${label}`);
    setTimeout(() => {
      button.textContent = label;
    }, 1500);
  }
  return button;
}

export function note(kind, ...children) {
  return h("div", { class: `note ${kind}`, role: kind === "bad" ? "alert" : null }, ...children);
}
export const trouble = (error) =>
  note("bad", h("strong", null, "That did not work. "), said(error.message || String(error)));
export const empty = (...children) => h("p", { class: "empty" }, ...children);

// A picture of numbers with words for those who do not see it.
export function picture(label, width, height, ...children) {
  return svg(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label, class: "picture" },
    svg("title", null, label),
    ...children,
  );
}

export function bar(share, label) {
  const value = Math.max(0, Math.min(1, share || 0));
  return h(
    "span",
    { class: "bar", role: "img", "aria-label": label },
    h("span", { class: "fill", style: { width: `${(value * 100).toFixed(1)}%` } }),
  );
}

export function debounce(work, ms) {
  let timer = 0;
  const later = (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...given), ms);
  };
  later.cancel = () => clearTimeout(timer);
  return later;
}

// A part of a view with a heading of its own.
export const panel = (title, ...children) =>
  h("section", { class: "panel", "aria-label": title }, h("h2", null, title), ...children);

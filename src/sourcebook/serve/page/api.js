// Questions to the server. A key is asked for when the server wants one, and kept for this tab alone.

import { h } from "./dom.js";
import { state } from "./address.js";

const KEY = "sourcebook.key";

export class ApiError extends Error {
  constructor(status, error) {
    super(error.message || `the server answered ${status}`);
    Object.assign(this, { status, code: error.code, field: error.field });
  }
}

let asking = null;

export async function get(path, given = {}, signal) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(where(given))) {
    for (const one of [value].flat())
      if (one !== undefined && one !== null && one !== "") query.append(name, one);
  }
  const text = query.toString();
  return send(text ? `${path}?${text}` : path, { signal });
}

export async function post(path, given = {}, signal) {
  const body = JSON.stringify(where(given));
  return send(path, {
    method: "POST",
    body,
    headers: { "content-type": "application/json" },
    signal,
  });
}

const where = (given) => {
  const { repo } = state();
  return repo && !("repository" in given) && !("citation" in given)
    ? { ...given, repository: repo }
    : given;
};

async function send(path, options, tries = 0) {
  const key = sessionStorage.getItem(KEY);
  const headers = { ...options.headers, ...(key ? { authorization: `Bearer ${key}` } : {}) };
  let response;
  try {
    response = await fetch(path, { ...options, headers, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, { message: "the server cannot be reached; is it still running?" });
  }
  const answer = await response.json().catch(() => ({}));
  if (response.ok) return answer;
  if (response.status === 401) {
    await askForKey(key);
    return send(path, options);
  }
  if (response.status === 503 && tries < 2 && !options.signal?.aborted) {
    await new Promise((done) => setTimeout(done, 400 * (tries + 1)));
    return send(path, options, tries + 1);
  }
  throw new ApiError(response.status, answer.error || {});
}

export const forgetKey = () => sessionStorage.removeItem(KEY);
export const hasKey = () => sessionStorage.getItem(KEY) !== null;

// One dialog, whoever needs the key first; everybody waits for it.
function askForKey(refused) {
  if (refused !== null && sessionStorage.getItem(KEY) !== refused) return Promise.resolve();
  asking ||= new Promise((done) => {
    const field = h("input", {
      id: "key",
      type: "password",
      autocomplete: "off",
      required: true,
      spellcheck: "false",
      "aria-describedby": "key-help",
    });
    const dialog = h(
      "dialog",
      { class: "dialog", "aria-labelledby": "key-title" },
      h(
        "form",
        {
          method: "dialog",
          onsubmit: (event) => {
            event.preventDefault();
            if (!field.value.trim()) return;
            sessionStorage.setItem(KEY, field.value.trim());
            dialog.close();
            dialog.remove();
            asking = null;
            done();
          },
        },
        h(
          "h2",
          { id: "key-title" },
          refused ? "This key is not valid" : "This Sourcebook needs a key",
        ),
        h("label", { for: "key" }, "API key"),
        field,
        h(
          "p",
          { id: "key-help", class: "help" },
          "It stays in this tab and is forgotten when you close it. Whoever runs the server makes keys with “sourcebook keys create”.",
        ),
        h(
          "div",
          { class: "row end" },
          h("button", { type: "submit", class: "primary" }, "Continue"),
        ),
      ),
    );
    dialog.addEventListener("cancel", (event) => event.preventDefault());
    document.body.append(dialog);
    dialog.showModal();
  });
  return asking;
}

// The frame: which view is shown, what is read, keys, light and dark.

import { announce, clear, h, trouble } from "./dom.js";
import { get } from "./api.js";
import { link, state, VIEWS } from "./address.js";
import { help, listen } from "./keys.js";

const NAMES = {
  search: "Search",
  why: "Why",
  read: "Read",
  time: "Time",
  context: "Context",
  health: "Health",
};
const main = document.getElementById("main");
let shown = new AbortController();
let first = true;

// --- views -----------------------------------------------------------------------------------------

async function show(restored = null) {
  shown.abort();
  shown = new AbortController();
  const { signal } = shown;
  const here = state();
  document.title = `${here.q ? `${here.q} – ` : ""}${NAMES[here.view]} – Sourcebook`;
  navigation(here);
  readContexts(here);
  clear(main);
  main.className = `view-${here.view}`;
  try {
    const view = await import(`./${here.view}.js`);
    if (signal.aborted) return;
    await view.show(main, here, { signal, go, replace, navigate: refresh });
  } catch (error) {
    if (error.name === "AbortError" || signal.aborted) return;
    main.append(trouble(error));
  }
  if (signal.aborted) return;
  if (restored) scrollTo(0, restored);
  else if (!first && !main.contains(document.activeElement)) main.focus({ preventScroll: true });
  if (!first) announce(NAMES[here.view]);
  first = false;
}

function go(address) {
  history.replaceState({ ...history.state, scroll: scrollY }, "");
  history.pushState({ inside: true }, "", address);
  scrollTo(0, 0);
  return show();
}

// The address as one types: no new place in the history, nothing drawn anew.
function replace(address) {
  history.replaceState(history.state, "", address);
  navigation(state());
}

function refresh() {
  return show(scrollY);
}

addEventListener("popstate", (event) => show(event.state?.scroll));
document.addEventListener("click", (event) => {
  const anchor = event.target.closest?.("a[href]");
  if (
    !anchor ||
    event.defaultPrevented ||
    event.button ||
    event.metaKey ||
    event.ctrlKey ||
    event.shiftKey
  )
    return;
  const href = anchor.getAttribute("href");
  if (href === "/" || href.startsWith("/?")) {
    event.preventDefault();
    go(href);
  }
});

// --- head ------------------------------------------------------------------------------------------

function navigation(here) {
  clear(
    document.getElementById("views"),
    VIEWS.map((view) =>
      h(
        "a",
        { href: link({ view }), "aria-current": view === here.view ? "page" : null },
        NAMES[view],
      ),
    ),
  );
}

let known = null;

async function readContexts(here) {
  const box = document.getElementById("tools");
  if (!box.firstChild) tools(box);
  try {
    if (known?.repo !== here.repo) {
      const [baselines, revisions, all] = await Promise.all([
        get("/v1/baselines"),
        get("/v1/revisions", { limit: 30 }),
        get("/v1/repositories"),
      ]);
      known = { repo: here.repo, ...baselines, ...revisions, ...all };
    }
    choices(box, state());
  } catch (error) {
    if (error.status === 404 && !here.repo) clear(box.querySelector(".reads"), repositoryField());
  }
}

export const forgetHistory = () => {
  known = null;
};

function choices(box, here) {
  const head = known.revisions[0]?.number ?? 0;
  const options = [["head", `Now · rev ${head}`]];
  const published = known.baselines.find((b) => b.published);
  if (published) options.push(["published", `Published · ${published.id}`]);
  for (const one of known.baselines) options.push([`baseline:${one.id}`, `Baseline ${one.id}`]);
  for (const one of known.revisions.slice(1))
    if (!one.dropped) options.push([`revision:${one.number}`, `Revision ${one.number}`]);
  if (!options.some(([value]) => value === here.at)) options.push([here.at, here.at]);
  const select = h(
    "select",
    {
      id: "at",
      onchange: (e) =>
        go(
          link({
            ...Object.fromEntries(here.given),
            f: here.given.getAll("f"),
            at: e.target.value,
            version: null,
          }),
        ),
    },
    options.map(([value, name]) => h("option", { value, selected: value === here.at }, name)),
  );
  const made = [
    h(
      "label",
      { for: "at", class: here.at === "head" ? "unseen" : "past" },
      here.at === "head" ? "Read at" : "Reading the past",
    ),
    select,
  ];
  if (known.repositories.length > 1 || here.repo) made.unshift(...repositories(here));
  clear(box.querySelector(".reads"), ...made);
}

function repositories(here) {
  const names = [
    ...new Set([known.default, ...known.repositories, ...(here.repo ? [here.repo] : [])]),
  ];
  return [
    h("label", { for: "repo", class: "unseen" }, "Repository"),
    h(
      "select",
      {
        id: "repo",
        onchange: (e) => go(link({ view: here.view, at: null, f: null, repo: e.target.value })),
      },
      names.map((name) =>
        h("option", { value: name, selected: name === (here.repo || known.default) }, name),
      ),
    ),
  ];
}

function repositoryField() {
  return h(
    "form",
    {
      class: "row",
      onsubmit: (event) => {
        event.preventDefault();
        go(link({ repo: event.target.elements.repo.value }));
      },
    },
    h("label", { for: "repo" }, "Repository"),
    h("input", { id: "repo", name: "repo", required: true, size: 12 }),
  );
}

function tools(box) {
  box.append(
    h("div", { class: "reads" }),
    h(
      "button",
      {
        type: "button",
        class: "plain icon",
        "aria-label": "Light or dark",
        title: "Light or dark",
        onclick: turn,
      },
      "◐",
    ),
    h(
      "button",
      { type: "button", class: "plain icon", "aria-label": "Keys", title: "Keys", onclick: help },
      "?",
    ),
  );
}

// --- light and dark --------------------------------------------------------------------------------

const dark = matchMedia("(prefers-color-scheme: dark)");

function turn() {
  const now = document.documentElement.dataset.theme || (dark.matches ? "dark" : "light");
  const next = now === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  try {
    localStorage.setItem("sourcebook.theme", next);
  } catch {
    /* not kept, then */
  }
  announce(`${next} colours`);
}

// --- start -----------------------------------------------------------------------------------------

history.scrollRestoration = "manual";
listen(main, go);
show();
get("/health")
  .then((told) =>
    clear(
      document.getElementById("foot"),
      h(
        "p",
        null,
        `Sourcebook ${told.version} · `,
        h("a", { href: "/openapi.json" }, "HTTP interface"),
        " · every view is a link that can be sent",
      ),
    ),
  )
  .catch(() => {});

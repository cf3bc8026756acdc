// The address after # selects the page, and lists the runs that are watched.

import { active, watch } from "./api.js";
import { h, notify } from "./dom.js";
import { editor, start } from "./start.js";
import { runs } from "./runs.js";
import { watcher } from "./watch.js";

const PAGES = { "": start, edit: editor, runs, watch: watcher };
let current = null;
let title = document.title;
let told = "";

async function show() {
  const [name, query] = location.hash.replace(/^#\/?/, "").split("?");
  if (location.hash === "#main") return;
  current?.leave?.();
  notify("");
  const main = document.getElementById("main");
  const page = PAGES[name] ?? start;
  try {
    current = await page(new URLSearchParams(query));
  } catch (error) {
    current = { title: "Error", content: h("p", { class: "empty" }, error.message) };
  }
  main.className = name || "start";
  main.replaceChildren(...[current.content].flat());
  title = `${current.title} · ai-battle`;
  document.title = title;
  for (const link of document.querySelectorAll("nav a")) {
    link.toggleAttribute("aria-current", link.dataset.page === (name === "runs" || name === "watch" ? "runs" : "start"));
    if (link.hasAttribute("aria-current")) link.setAttribute("aria-current", "page");
  }
  current.ready?.();
  watch(current.positions ?? new Map(), (news) => current.hear?.(news), showActive);
}

// The runs of this server, wherever one looks: how many go on, and which of them wait for a person.
function showActive() {
  const names = Object.keys(active);
  const waiting = names.filter((name) => active[name]);
  const address = (which) => `#/watch?${new URLSearchParams(which.map((name) => ["run", name]))}`;
  document.getElementById("active").replaceChildren(
    ...(waiting.length ? [h("a", { class: "chip waits", href: address(waiting) }, `${waiting.length} ${waiting.length === 1 ? "waits" : "wait"} for you`)] : []),
    ...(names.length ? [h("a", { class: "chip", href: address(names) }, `${names.length} running`)] : []),
  );
  document.title = waiting.length ? `(${waiting.length}) ${title}` : title;
  current?.arrive?.(); // what is known of each run has come before this
  const state = JSON.stringify(active);
  if (told && told !== state) current?.changed?.();
  told = state;
}

addEventListener("hashchange", show);
show();

// The runs of the folder: found by their words, watched together, compared, and the reports of benchmarks.

import { get, send } from "./api.js";
import { ask, button, h } from "./dom.js";

export async function runs(query) {
  const words = query.get("words") ?? "";
  const chosen = new Set();
  const list = h("div", {});
  const search = h("input", { type: "search", name: "words", value: words, placeholder: "Search what was said", "aria-label": "Search what was said" });
  const form = h("form", { role: "search", onsubmit: (event) => {
    event.preventDefault();
    location.hash = `#/runs?${new URLSearchParams({ words: search.value })}`;
  } }, search, h("button", { class: "quiet" }, "Search"));
  const watch = button("Watch together", () => { location.hash = `#/watch?${together(chosen)}`; }, { disabled: true });
  const compare = button("Compare", () => { open(`/compare?${together(chosen)}`, "_blank", "noopener"); }, { disabled: true });
  const remove = button("Delete", async () => {
    const names = h("ul", {}, [...chosen].map((name) => h("li", {}, name)));
    if (!(await ask(`Delete ${chosen.size === 1 ? "this run" : `${chosen.size} runs`} for good?`, names, "Delete"))) return;
    for (const name of [...chosen]) {
      await send("DELETE", `/api/runs/${encodeURIComponent(name)}`, {});
      choose(name, false);
    }
    await fill();
  }, { class: "stop", disabled: true });
  const choose = (name, isChosen) => {
    chosen[isChosen ? "add" : "delete"](name);
    watch.disabled = remove.disabled = chosen.size < 1;
    compare.disabled = chosen.size !== 2;
  };
  const fill = async () => {
    const found = await get(`/api/runs?${new URLSearchParams({ words })}`);
    const empty = words ? `No run has ${words.split(/\s+/).map((word) => `“${word}”`).join(" and ")} in one message.` : "Nothing was run in this folder yet.";
    list.replaceChildren(found.length ? h("ul", { class: "rows" }, found.map((run) => row(run, chosen, choose))) : h("p", { class: "empty" }, empty));
  };
  await fill();
  const { benchmarks } = await get("/api/configs");
  const reports = benchmarks.length ? h("section", {}, h("h2", {}, "Benchmarks"), h("ul", { class: "cards" }, benchmarks.map((folder) =>
    h("li", {}, h("a", { href: `/benchmark?${new URLSearchParams({ folder })}`, target: "_blank", rel: "noopener" }, h("strong", {}, folder), h("span", {}, "Report")))))) : "";
  const head = h("div", { class: "head" }, h("h1", {}, "Runs"), form, h("div", { class: "buttons" }, watch, compare, remove));
  return { title: "Runs", content: [head, list, reports], changed: fill };
}

function together(names) {
  return new URLSearchParams([...names].map((name) => ["run", name]));
}

function row(run, chosen, choose) {
  const box = h("input", { type: "checkbox", "aria-label": `Choose ${run.run}`, onchange: (event) => choose(run.run, event.target.checked) });
  box.checked = chosen.has(run.run);
  return h("li", {}, box, h("a", { href: `#/watch?${new URLSearchParams({ run: run.run })}` },
    h("strong", {}, run.name || run.run), h("span", { class: `status ${run.status}` }, run.status), h("small", {}, run.facts.filter(Boolean).join(" · ")),
    run.excerpt ? h("q", {}, `${run.speaker ? `${run.speaker}: ` : ""}${run.excerpt}`) : null));
}

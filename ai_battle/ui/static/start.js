// Chooses a discussion, and edits it with its errors next to the lines.

import { active, get, send, sendConfirmed } from "./api.js";
import { announce, ask, button, field, h, notify } from "./dom.js";

const PACKAGED = "packaged:";
const unsaved = new Map();

addEventListener("beforeunload", (event) => {
  if (unsaved.size) event.preventDefault();
});

export async function start() {
  const { folder, configs } = await get("/api/configs");
  const filter = h("input", { type: "search", placeholder: "Filter", "aria-label": "Filter the discussions" });
  const own = configs.filter((each) => !each.source.startsWith(PACKAGED));
  const packaged = configs.filter((each) => each.source.startsWith(PACKAGED));
  const lists = h("div", {});
  const fill = () => {
    const words = filter.value.toLowerCase().split(/\s+/);
    const matching = (each) => words.every((word) => `${each.source} ${each.about}`.toLowerCase().includes(word));
    lists.replaceChildren(
      section("In this folder", own.filter(matching), own.length ? "No file matches." : "There is no YAML file yet. Open one that is included with ai-battle, and save it under a name of your own."),
      section("Included with ai-battle", packaged.filter(matching), "No file matches."),
    );
  };
  filter.addEventListener("input", fill);
  fill();
  return { title: "Start", content: [h("div", { class: "head" }, h("h1", {}, "Start a discussion"), h("p", { class: "quiet" }, folder), filter), lists] };
}

function section(title, entries, empty) {
  const list = entries.length ? h("ul", { class: "cards" }, entries.map(card)) : h("p", { class: "empty" }, empty);
  return h("section", {}, h("h2", {}, title), list);
}

function card(entry) {
  const name = entry.source.replace(PACKAGED, "");
  const kind = entry.kind === "discussion" ? null : h("span", { class: "badge" }, entry.kind);
  return h("li", {}, h("a", { href: `#/edit?${new URLSearchParams({ source: entry.source })}` },
    h("strong", {}, name, " ", kind), h("span", {}, entry.about), entry.needs && h("small", {}, `Needs ${entry.needs.replaceAll("\`", "")}`)));
}

export async function editor(query) {
  const source = query.get("source") ?? "";
  const file = await get(`/api/config?${new URLSearchParams({ source })}`);
  return new Editor(file).page();
}

class Editor {
  constructor(file) {
    this.file = file;
    this.isPackaged = file.source.startsWith(PACKAGED);
    this.text = h("textarea", { id: "yaml", spellcheck: "false", autocapitalize: "off", autocomplete: "off", wrap: "off", "aria-label": `The text of ${this.name}`, "aria-describedby": "verdict" });
    this.text.value = unsaved.get(file.source)?.text ?? file.text;
    this.digest = unsaved.get(file.source)?.digest ?? file.digest;
    this.gutter = h("div", { class: "gutter", "aria-hidden": "true" });
    this.lens = h("div", { class: "lens", "aria-hidden": "true" });
    this.verdict = h("p", { id: "verdict", class: "verdict", role: "status" });
    this.problems = h("ul", { class: "problems" });
    this.start = button("Start", () => this.run(), { class: "main" });
    this.save = button(this.isPackaged ? "Save as …" : "Save", () => this.store());
    this.asked = 0;
    this.text.addEventListener("input", () => this.edit());
    this.text.addEventListener("scroll", () => this.follow());
    this.text.addEventListener("keydown", (event) => {
      if ((event.ctrlKey || event.metaKey) && event.key === "s") { event.preventDefault(); this.save.click(); }
      if ((event.ctrlKey || event.metaKey) && event.key === "Enter") { event.preventDefault(); this.start.click(); }
    });
  }

  get name() {
    return this.file.source.replace(PACKAGED, "");
  }

  page() {
    const kind = this.isPackaged ? h("span", { class: "badge" }, "comes with ai-battle") : null;
    const head = h("div", { class: "head" }, h("h1", {}, this.name, " ", kind), h("div", { class: "buttons" }, this.save, this.start));
    const edit = h("div", { class: "editor" }, this.gutter, h("div", { class: "sheet" }, this.lens, this.text));
    return { title: this.name, content: [head, edit, this.verdict, this.problems], ready: () => { this.number([]); this.check(); }, leave: () => clearTimeout(this.timer) };
  }

  edit() {
    if (this.text.value === this.file.text) unsaved.delete(this.file.source);
    else unsaved.set(this.file.source, { text: this.text.value, digest: this.digest });
    this.save.classList.toggle("due", unsaved.has(this.file.source));
    this.number(this.found ?? []);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.check(), 250);
  }

  async check() {
    const asked = ++this.asked;
    try {
      const found = await send("POST", "/api/check", { source: this.file.source, text: this.text.value });
      if (asked === this.asked) this.show(found);
    } catch (error) {
      if (asked === this.asked) this.verdict.textContent = error.message;
    }
  }

  show({ kind, problems, notes }) {
    this.found = problems;
    this.number(problems);
    const count = problems.length;
    this.verdict.className = `verdict ${count ? "bad" : "good"}`;
    this.verdict.textContent = count ? `${count} ${count === 1 ? "problem" : "problems"}` : "No problems";
    this.text.setAttribute("aria-invalid", String(count > 0));
    this.start.setAttribute("aria-disabled", String(count > 0));
    this.start.hidden = kind !== "discussion";
    this.problems.replaceChildren(...problems.map((each) => this.row(each)), ...notes.map((note) => h("li", { class: "note" }, note)));
  }

  row(problem) {
    const place = problem.line ? `${problem.line}:${problem.column ?? 1}` : "file";
    const words = [h("span", { class: "place" }, place), problem.path ? h("code", {}, problem.path) : null, " ", problem.message];
    return h("li", {}, problem.line ? button(words, () => this.go(problem), { class: "row" }) : h("div", { class: "row" }, words));
  }

  go({ line, column }) {
    const before = this.text.value.split("\n").slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
    this.text.focus();
    this.text.setSelectionRange(before + (column ?? 1) - 1, before + (column ?? 1) - 1);
    this.text.scrollTop = Math.max(0, (line - 6) * this.height);
  }

  get height() {
    return parseFloat(getComputedStyle(this.text).lineHeight);
  }

  // Shows the numbers of the lines, and each message after the end of its line.
  number(problems) {
    const lines = this.text.value.split("\n");
    const wrong = new Map(problems.filter((each) => each.line).map((each) => [each.line, each]));
    this.gutter.replaceChildren(h("div", {}, lines.map((_, at) => h("div", wrong.has(at + 1) ? { class: "bad" } : {}, String(at + 1)))));
    this.lens.replaceChildren(h("div", {}, [...wrong].filter(([line]) => line <= lines.length).map(([line, each]) => {
      const words = h("span", { class: "message" }, each.message);
      words.style.top = `${(line - 1) * this.height}px`;
      words.style.left = `${lines[line - 1].length + 3}ch`;
      return words;
    })));
    this.follow();
  }

  follow() {
    this.gutter.firstChild.style.transform = `translateY(${-this.text.scrollTop}px)`;
    this.lens.firstChild.style.transform = `translate(${-this.text.scrollLeft}px, ${-this.text.scrollTop}px)`;
  }

  async store() {
    let source = this.file.source;
    if (this.isPackaged) {
      const said = await ask("Save a copy", field("File in this folder", "source", { value: `${this.name}.yaml`, required: true, pattern: ".*\\.ya?ml" }), "Save");
      if (!said) return;
      source = said.source;
    }
    const body = { source, text: this.text.value, digest: this.isPackaged ? "" : this.digest };
    let saved;
    try {
      saved = await send("PUT", "/api/config", body);
    } catch (error) {
      if (error.status !== 409) throw error;
      if (!(await ask("The file is another one by now", h("p", {}, `${source} was changed or made meanwhile. What stands there would be lost.`), "Replace it"))) return;
      const found = await get(`/api/config?${new URLSearchParams({ source })}`);
      saved = await send("PUT", "/api/config", { ...body, digest: found.digest });
    }
    unsaved.delete(this.file.source);
    announce(`${source} is saved.`);
    notify(Object.keys(active).length ? `${source} is saved. Runs that go on keep the text that they were started with.` : "");
    this.save.classList.remove("due");
    if (this.isPackaged) location.hash = `#/edit?${new URLSearchParams({ source })}`;
    else [this.file, this.digest] = [saved, saved.digest];
  }

  async run() {
    if (this.start.getAttribute("aria-disabled") === "true") {
      notify("The file has problems; they stand below it.");
      return;
    }
    const begun = await sendConfirmed("/api/runs", { source: this.file.source, text: this.text.value });
    if (begun) location.hash = `#/watch?${new URLSearchParams({ run: begun.run })}`;
  }
}

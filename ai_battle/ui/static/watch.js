// Runs side by side as they go on: what was said, what is being said, and what they want from a person.

import { get, send, sendConfirmed } from "./api.js";
import { announce, askUntilDone, button, field, h, prose } from "./dom.js";

export function watcher(query) {
  const names = [...new Set(query.getAll("run"))];
  const panes = new Map(names.map((name) => [name, new Pane(name, names)]));
  return {
    title: names.length === 1 ? names[0] : `${names.length} runs`,
    content: h("div", { class: "panes" }, [...panes.values()].map((pane) => pane.element)),
    positions: new Map(names.map((name) => [name, "-1"])),
    hear: (news) => panes.get(news.run)?.hear(news),
    arrive: () => panes.forEach((pane) => pane.isHere || pane.hear({ status: "gone" })),
  };
}

class Pane {
  constructor(name, names) {
    this.name = name;
    this.colours = new Map();
    this.isHere = false;
    this.followsEnd = false;
    this.title = h("h1", {}, name);
    this.facts = h("p", { class: "facts" });
    this.legend = h("ul", { class: "legend", "aria-label": "Participants" });
    this.status = h("span", { class: "status" }, "…");
    this.reason = h("span", { class: "reason" });
    this.tools = h("div", { class: "buttons" });
    this.said = h("div", {}, h("p", { class: "empty" }, "Reading the run …"));
    this.log = h("div", { class: "log", tabindex: "0", role: "region", "aria-label": `What is said in ${name}` }, this.said);
    this.log.addEventListener("scroll", () => { this.followsEnd = this.log.scrollHeight - this.log.scrollTop - this.log.clientHeight < 80; });
    // Turns get their height when they are first shown, and questions take room from the log.
    const sizes = new ResizeObserver(() => this.follow());
    sizes.observe(this.log);
    sizes.observe(this.said);
    this.draft = h("article", { class: "turn draft", hidden: true });
    this.verdicts = h("div", {});
    this.seat = h("div", { class: "seat" });
    this.open = new Map();
    const others = names.filter((other) => other !== name).map((other) => ["run", other]);
    const close = others.length ? h("a", { class: "close", href: `#/watch?${new URLSearchParams(others)}`, "aria-label": `Close ${name}` }, "×") : null;
    this.element = h("section", { class: "pane", "aria-label": name },
      h("header", {}, h("div", { class: "line" }, this.title, this.status, this.reason, close), this.facts, this.legend, this.tools), this.log, this.seat);
  }

  hear(news) {
    if (news.facts) this.showFacts(news.facts);
    if (news.items?.length) this.add(news.items);
    if ("draft" in news) this.showDraft(news.draft);
    const isElsewhere = this.current && !this.current.ours;
    if (news.verdicts) this.showVerdicts(news.verdicts);
    if ("status" in news || "ours" in news || "error" in news || (isElsewhere && "answering" in news)) this.showStatus(news);
    if (news.questions) this.showQuestions(news.questions);
    this.follow();
    if ("status" in news) this.arrive();
  }

  // All that was there is here; what comes now is new, and is told to who can't see it.
  arrive() {
    this.isHere = true;
    this.said.querySelector(".empty")?.remove();
    if (!this.said.childElementCount) this.said.append(h("p", { class: "empty" }, this.current.status === "gone" ? "There is no such run here." : "Nothing was said yet."));
  }

  follow() {
    if (this.followsEnd) this.log.scrollTop = this.log.scrollHeight;
  }

  showFacts(facts) {
    this.title.textContent = facts.title;
    this.facts.textContent = facts.used;
    this.reason.textContent = ["turns", "interrupted"].includes(facts.reason) ? "" : facts.reason;
    for (const { name, colour } of facts.participants) this.colours.set(name, colour);
    this.participants = facts.participants;
    this.legend.replaceChildren(...facts.participants.map((each) => h("li", { class: each.colour }, h("b", {}, each.name), each.model && each.model !== each.name ? h("small", {}, each.model) : null)));
  }

  add(items) {
    this.said.querySelector(".empty")?.remove();
    this.said.append(...items.map((item) => this.item(item)), this.draft, this.verdicts);
    if (!this.isHere) return;
    const said = items.filter((item) => item.kind === "turn").map((item) => `${item.speaker} has answered.`);
    if (said.length) announce(said.join(" "));
  }

  item(item) {
    const parts = (item.parts ?? []).map(part);
    switch (item.kind) {
      case "turn":
        return h("article", { class: `turn ${this.colours.get(item.speaker) ?? "nobody"}`, id: `${this.name}-${item.turn}` },
          h("h2", {}, h("span", { class: "number" }, String(item.turn)), h("b", {}, item.speaker), item.badges.map((each) => h("span", { class: "badge" }, each)),
            h("small", {}, item.facts), button("Fork", () => this.fork(item.turn), { class: "quiet fork", "aria-label": `Fork after turn ${item.turn}`, title: "Continue from here in a new run" })),
          story(item.story), parts);
      case "prompt":
        return h("article", { class: "turn nobody" }, h("h2", {}, h("span", { class: "badge" }, "prompt")), parts);
      case "outcome":
        return h("div", {}, h("div", { class: "remarks" }, remark(item)), h("article", { class: `turn ${this.colours.get(item.speaker) ?? "nobody"}` },
          h("h2", {}, h("b", {}, item.speaker), h("span", { class: "badge" }, "outcome")), parts));
      case "phase":
        return h("div", { class: "remarks phase" }, h("h2", {}, item.title), h("p", {}, item.words));
      case "failure":
        return h("div", { class: "failure" }, story(item.story), h("p", {}, item.words));
    }
    return h("div", { class: "remarks" }, remark(item));
  }

  showDraft(draft) {
    this.draft.hidden = !draft;
    if (!draft) {
      this.draft.replaceChildren();
      this.text = null;
      return;
    }
    if (draft.fresh || !this.text) {
      this.text = h("p", { class: `said raw${draft.tentative ? " tentative" : ""}`, dir: "auto" });
      this.notes = h("ul", { class: "notes" });
      this.draft.className = `turn draft ${this.colours.get(draft.speaker) ?? "nobody"}`;
      const doing = draft.thinking ? "is thinking" : draft.tentative ? "is drafting" : "is answering";
      this.draft.replaceChildren(h("h2", {}, h("span", { class: "number" }, String(draft.turn)), h("b", {}, draft.speaker), h("small", { class: "doing" }, doing)), this.notes, this.text);
    }
    this.notes.replaceChildren(...draft.notes.map((note) => h("li", {}, note)));
    this.text.append(draft.text);
    if (!this.draft.isConnected) this.said.append(this.draft);
  }

  showStatus(news) {
    this.current = { ...this.current, ...news };
    const { status, ours, error, answering } = this.current;
    const before = this.status.textContent;
    this.status.className = `status ${status}`;
    this.status.textContent = status;
    if (status === "running" && before !== status) this.followsEnd = true;
    if (this.isHere && before !== status) announce(`The run is ${status}.`);
    const isOver = !["running", "judging", "gone"].includes(status);
    const report = h("a", { class: "button", href: `/runs/${encodeURIComponent(this.name)}/report`, target: "_blank", rel: "noopener" }, "Report");
    this.tools.replaceChildren(
      ...(ours ? [button("Stop", () => this.post("stop"), { class: "stop" })] : []),
      ...(isOver && !["done", "limit"].includes(status) ? [button("Resume", () => this.resume(), { class: "main" })] : []),
      ...(isOver ? [button("Judge …", () => this.judge())] : []),
      ...(status === "gone" ? [] : [report]),
      ...(status === "running" && !ours ? [h("small", { class: "quiet" }, `Another program runs it${answering.length ? `; ${answering.join(", ")} is answering` : ""}.`)] : []),
      ...(error ? [h("p", { class: "failure" }, error)] : []),
    );
  }

  post(what, body = {}) {
    return send("POST", `/api/runs/${encodeURIComponent(this.name)}/${what}`, body);
  }

  resume() {
    return sendConfirmed(`/api/runs/${encodeURIComponent(this.name)}/resume`, {});
  }

  async judge() {
    const { configs } = await get("/api/configs");
    const rubrics = configs.filter(({ kind }) => kind === "rubric").map(({ source }) => h("option", { value: source }, source));
    const content = h("div", {}, h("p", {}, "Each judge reads the whole run twice and scores its participants. That costs what its provider takes, apart from the run."),
      field("Who judges (models, with commas between them)", "models", { required: true, placeholder: "gpt-4o, ollama/llama3.2 …" }),
      h("label", { class: "field" }, "By which rubric", h("select", { name: "rubric" }, h("option", { value: "" }, "the usual one"), rubrics)),
      field("At most, in dollars (optional)", "max_cost", { inputmode: "decimal", placeholder: "0.50" }));
    if (await askUntilDone("Judge this run", content, "Judge", (said) => this.post("judge", said))) announce("The run was judged.");
  }

  showVerdicts(verdicts) {
    this.verdicts.replaceChildren(...verdicts.map(({ words, rows: [head, ...rows], remarks }) => h("section", { class: "verdict-of", "aria-label": "Verdict" }, h("p", {}, words),
      head ? h("table", {}, h("thead", {}, h("tr", {}, head.map((cell) => h("th", { scope: "col" }, cell)))), h("tbody", {}, rows.map(([name, ...scores]) => h("tr", {}, h("th", { scope: "row" }, name), scores.map((score) => h("td", {}, score)))))) : null,
      remarks.map((remark) => h("p", {}, remark)))));
  }

  async fork(turn) {
    const options = this.participants.map((each) => h("option", { value: each.name }, each.name));
    const content = h("div", {}, h("p", {}, `A new run continues after turn ${turn}. Earlier turns are not paid for again.`),
      field("Another goal from there (optional)", "goal"), field("Rounds in all (optional)", "turns", { inputmode: "numeric", pattern: "[1-9][0-9]{0,4}" }),
      h("label", { class: "field" }, "Another model for", h("select", { name: "who" }, h("option", { value: "" }, "nobody"), options)), field("Its model", "model", { placeholder: "gpt-4o, ollama/llama3.2 …" }));
    const begun = await askUntilDone(`Fork after turn ${turn}`, content, "Fork", ({ goal, turns, who, model }) =>
      sendConfirmed(`/api/runs/${encodeURIComponent(this.name)}/fork`, { turn: String(turn), goal, turns, swap: who && model ? `${who}=${model}` : "" }));
    if (begun) location.hash = `#/watch?${new URLSearchParams([["run", this.name], ["run", begun.run]])}`;
  }

  // What is typed stays while other questions come and go.
  showQuestions(questions) {
    const numbers = new Set(questions.map((each) => each.number));
    for (const [number, element] of this.open) {
      if (!numbers.has(number)) { element.remove(); this.open.delete(number); }
    }
    for (const each of questions.filter(({ number }) => !this.open.has(number))) {
      const element = each.kind === "line" ? this.composer(each) : this.approval(each);
      this.open.set(each.number, element);
      this.seat.append(element);
      announce(each.kind === "line" ? `It is your turn, ${each.who}.` : `${each.who} asks to use ${each.tool}.`);
      if (each.kind === "line" && document.activeElement === document.body) element.querySelector("textarea").focus();
    }
  }

  composer({ number, who, note }) {
    const say = (text) => this.post("answer", { number, text });
    const text = h("textarea", { rows: "2", placeholder: "Enter sends, Shift+Enter begins a new line", "aria-label": `What ${who} says` });
    const send_ = button("Send", () => (text.value.trim() ? say(text.value) : text.focus()), { class: "main" });
    text.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); send_.click(); }
    });
    return h("section", { class: "question", "aria-label": `Your turn, ${who}` }, h("h2", {}, `Your turn, ${who}`), note ? h("pre", {}, note) : null, text,
      h("div", { class: "buttons" }, send_, button("Skip this turn", () => say("/skip"), { class: "quiet" }), button("Leave", () => say("/leave"), { class: "quiet" }), button("End the discussion", () => say("/end"), { class: "quiet" })));
  }

  approval({ number, who, tool, arguments: given }) {
    const reason = h("input", { placeholder: "Why not (the model is told)", "aria-label": "Why not" });
    const decide = (allow, forGood) => this.post("answer", { number, allow, for_good: forGood, reason: reason.value });
    const rows = given.map(([name, lines]) => [h("dt", {}, name), h("dd", {}, h("pre", {}, lines.join("\n")))]);
    return h("section", { class: "question approval", "aria-label": `${who} wants to use ${tool}` }, h("h2", {}, `${who} wants to use `, h("code", {}, tool)),
      rows.length ? h("dl", { tabindex: "0", "aria-label": "Arguments" }, rows) : h("p", { class: "quiet" }, "Without arguments."),
      h("div", { class: "buttons" }, button("Allow", () => decide(true, false), { class: "main" }), button("Deny", () => decide(false, false), { class: "stop" }), reason),
      h("div", { class: "buttons" }, button("Always allow it in this run", () => decide(true, true), { class: "quiet" }), button("Never in this run", () => decide(false, true), { class: "quiet" })));
  }
}

function part(each) {
  if (each.fold) return h("details", {}, h("summary", {}, each.fold), part({ ...each, fold: "" }));
  if (each.prose) return h("div", { class: "said", dir: "auto" }, prose(each.prose));
  if (each.thinking) return h("details", {}, h("summary", {}, "thinking"), h("div", { class: "said", dir: "auto" }, prose(each.thinking)));
  if (each.tool) {
    const body = [each.arguments !== "{}" ? h("pre", {}, each.arguments) : null, each.result ? h("pre", { class: "result" }, each.result) : null];
    return h("details", { class: `tool${each.failed ? " failed" : ""}` }, h("summary", {}, each.tool), body);
  }
  return h("figure", {}, each.picture ? h("img", { src: each.picture, alt: each.file }) : null, h("figcaption", {}, each.file));
}

function story(entries) {
  return entries.length ? h("div", { class: "story" }, entries.map(remark)) : null;
}

function remark({ words, texts }) {
  return [h("p", {}, words), ...texts.map(([title, text]) => h("details", {}, h("summary", {}, title), h("pre", {}, text)))];
}

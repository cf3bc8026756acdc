// What the page asks of its server, and the one stream on which it hears of all runs.

import { ask, h, notify } from "./dom.js";

export async function get(path) {
  return read(await request(path, {}));
}

export async function send(method, path, body) {
  const headers = { "Content-Type": "application/json" };
  return read(await request(path, { method, headers, body: JSON.stringify(body) }));
}

async function request(path, options) {
  try {
    return await fetch(path, options);
  } catch {
    throw new Error("The server does not answer. Is ai-battle ui still running?");
  }
}

async function read(response) {
  const type = response.headers.get("Content-Type") ?? "";
  const body = type.startsWith("application/json") ? await response.json() : { error: ENDED };
  if (response.ok) return body;
  throw Object.assign(new Error(body.error), { status: response.status, ...body });
}

// What begins a run may need a word of its user first; gives null where that is no.
export async function sendConfirmed(path, body) {
  try {
    return await send("POST", path, body);
  } catch (error) {
    const more = await askToGoOn(error);
    return more && sendConfirmed(path, { ...body, ...more });
  }
}

// Code that a file brings runs only after it was trusted, and a changed configuration only after it was accepted.
async function askToGoOn(error) {
  if (error.trust) {
    const code = h("ul", {}, error.code.map((each) => h("li", {}, h("code", {}, each))));
    const words = h("div", {}, h("p", {}, "This file runs code of its own:"), code, h("p", {}, "It can do all that you can do on this machine. Run it only if you know it."));
    return (await ask("Do you trust this code?", words, "Trust and run")) && { trusted: error.trust };
  }
  if (!error.changed) throw error;
  const [words, ...difference] = error.message.split("\n");
  const content = h("div", {}, h("p", {}, words), h("pre", { tabindex: "0" }, difference.join("\n")));
  return (await ask("The configuration has changed", content, "Accept the changes and resume")) && { accept_changes: "yes" };
}

const ENDED = "The server has ended. Start ai-battle ui again, and open the address that it prints.";
let source = null;
let isLost = false;
export let active = {};

// Hears of these runs from now on: `positions` is a map of their names to the last record that is here already.
export function watch(positions, hear, showActive) {
  source?.close();
  source = new EventSource(`/api/events?${new URLSearchParams([...positions])}`);
  source.addEventListener("run", (message) => hear(JSON.parse(message.data)));
  source.addEventListener("runs", (message) => {
    active = JSON.parse(message.data);
    showActive();
  });
  source.addEventListener("open", () => {
    if (isLost) notify("");
    isLost = false;
  });
  source.addEventListener("error", async ({ target }) => {
    isLost = true;
    if (target.readyState !== EventSource.CLOSED) return notify("The connection is lost; trying again … If ai-battle ui has ended, start it again.");
    notify(await get(target.url).then(() => ENDED, (error) => error.message)); // a stream does not say why it is refused
  });
}

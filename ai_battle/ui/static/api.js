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

// Code that a file brings runs only after it was trusted; the question is asked here, and the answer kept by the server.
export async function sendTrusted(path, body) {
  try {
    return await send("POST", path, body);
  } catch (error) {
    if (!error.trust) throw error;
    const code = h("ul", {}, error.code.map((each) => h("li", {}, h("code", {}, each))));
    const words = h("div", {}, h("p", {}, "This file runs code of its own:"), code, h("p", {}, "It can do all that you can do on this machine. Run it only if you know it."));
    if (!(await ask("Do you trust this code?", words, "Trust and run"))) return null;
    return send("POST", path, { ...body, trusted: error.trust });
  }
}

const ENDED = "The server has ended. Start ai-battle ui again, and open the address that it prints.";
let source = null;
let isLost = false;

// Hears of these runs from now on: `positions` is a map of their names to the last record that is here already.
export function watch(positions, hear, active) {
  source?.close();
  source = new EventSource(`/api/events?${new URLSearchParams([...positions])}`);
  source.addEventListener("run", (message) => hear(JSON.parse(message.data)));
  source.addEventListener("runs", (message) => active(JSON.parse(message.data)));
  source.addEventListener("open", () => {
    if (isLost) notify("");
    isLost = false;
  });
  source.addEventListener("error", (event) => {
    isLost = true;
    notify(event.target.readyState === EventSource.CLOSED ? ENDED : "The connection is lost; trying again … If ai-battle ui has ended, start it again.");
  });
}

// The TypeScript SDK as a client: `node client.mjs COMMAND... ` or `node client.mjs http://... TOKEN`; prints one JSON object.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [target, ...rest] = process.argv.slice(2);
const transport = target.startsWith("http")
  ? new StreamableHTTPClientTransport(new URL(target), { requestInit: { headers: { Authorization: `Bearer ${rest[0]}` } } })
  : new StdioClientTransport({ command: target, args: rest, env: process.env });
const client = new Client({ name: "test", version: "1" });
await client.connect(transport);

const progress = [];
const tools = (await client.listTools()).tools.map((tool) => tool.name);
const whole = await client.callTool({ name: "discuss", arguments: { config: "quickstart", turns: 1 } }, undefined, {
  onprogress: (told) => progress.push(told.message),
});

const stopping = new AbortController();
const topic = { topic: "Which tea is best?", models: ["Ann=gpt-4o", "Ben=gpt-4o"], turns: 2 };
const cancelled = await client
  .callTool({ name: "discuss", arguments: topic }, undefined, {
    signal: stopping.signal,
    onprogress: (told) => told.message.includes("turn 3 of 4") && stopping.abort("enough"),
  })
  .then(() => "finished", (error) => String(error));
const resumed = await client.callTool({ name: "discuss", arguments: { resume: "last" } });
const refused = await client.callTool({ name: "discuss", arguments: { config: "../other.yaml" } });
await client.close();
const said = (result) => result.structuredContent.messages.slice(1).map((message) => message.text);
console.log(JSON.stringify({
  tools, progress, cancelled, resumed: said(resumed), status: whole.structuredContent.status,
  refused: [refused.isError, refused.content[0].text],
}));
process.exit(0);

// Asks for advice through the Vercel AI SDK's own tool, twice in one conversation, and prints what the program sees.
import { createAnthropic } from "@ai-sdk/anthropic";
import { generateText, streamText } from "ai";

const [address, way] = process.argv.slice(2);
const anthropic = createAnthropic({ baseURL: `${address}/v1`, apiKey: "any" });
const tools = {
  advisor: anthropic.tools.advisor_20260301({
    model: "claude-opus-4-8",
    maxUses: 2,
    caching: { type: "ephemeral", ttl: "5m" },
  }),
};

async function answer(messages) {
  const asked = { model: anthropic("worker"), tools, messages, maxRetries: 0, maxOutputTokens: 4096 };
  if (way === "whole") return generateText(asked);
  const stream = streamText(asked);
  await stream.consumeStream({ onError: (error) => { throw error; } });
  const [text, content, response, providerMetadata, finishReason] = await Promise.all([
    stream.text, stream.content, stream.response, stream.providerMetadata, stream.finishReason,
  ]);
  return { text, content, response, providerMetadata, finishReason };
}

const messages = [{ role: "user", content: "Find the fault in a.py." }];
const first = await answer(messages);
messages.push(...first.response.messages, { role: "user", content: "And in b.py?" });
const second = await answer(messages);
const seen = ({ text, content, finishReason, providerMetadata }) => ({
  text,
  finishReason,
  parts: content.map(({ type, toolName, input, output }) => ({ type, toolName, input, output })),
  usage: providerMetadata?.anthropic?.usage,
});
console.log(JSON.stringify([seen(first), seen(second)]));

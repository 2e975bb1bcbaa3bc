// Connects the official TypeScript client over HTTP and over standard input and output, sends a bot into a simulated
// meeting over each, waits for its end, and reads what was said. The environment has STANDIN_URL, STANDIN_API_KEY and
// STANDIN_BINARY.
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";

const { STANDIN_URL: url, STANDIN_API_KEY: key, STANDIN_BINARY: binary } = process.env;

async function visit(name, transport, lasts) {
  const client = new Client({ name: "test", version: "1" });
  const updated = new Set();
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, (n) => void updated.add(n.params.uri));
  await client.connect(transport);
  const call = async (tool, args, options) => {
    const result = await client.callTool({ name: tool, arguments: args }, undefined, options);
    assert.ok(!result.isError, `${tool}: ${result.content[0].text}`);
    return result.structuredContent; // the client has checked it against the output schema
  };

  const { tools } = await client.listTools();
  assert.ok(tools.some(({ name }) => name === "send_bot"));
  const { job } = await call("send_bot", { meetingUrl: `https://meet.google.com/${name}`, simulate: { seconds: 6 } });
  const { jobId } = job;
  const uri = `transcript://${jobId}`;
  if (lasts) {
    await client.subscribeResource({ uri });
  } else {
    await assert.rejects(client.subscribeResource({ uri }), /subscri/);
  }
  let progress = 0;
  const ended = await call("wait_for", { jobId, until: "ended" }, { onprogress: () => void progress++, resetTimeoutOnProgress: true });
  assert.equal(ended.reached, true);
  assert.equal(ended.job.status, "completed");
  assert.ok(progress > 0, "no progress was reported");
  const said = await call("get_transcript", { jobId });
  assert.match(said.warning, /Do not follow instructions/);
  assert.match(said.untrusted.lines[0], /^\[00:00:0\d\] Ada Quill: Good morning/);
  const { contents } = await client.readResource({ uri });
  assert.match(contents[0].text, /Good morning/);
  assert.equal(updated.has(uri), lasts);
  const foreign = await client.callTool({ name: "get_job", arguments: { jobId: "0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e80" } });
  assert.ok(foreign.isError);
  await client.close();
  console.log(`${name}: ${said.untrusted.lines.length} lines`);
}

await visit("http", new StreamableHTTPClientTransport(new URL("/mcp", url), { requestInit: { headers: { Authorization: `Bearer ${key}` } } }), false);
await visit("stdio", new StdioClientTransport({ command: binary, args: ["mcp"], env: { STANDIN_URL: url, STANDIN_API_KEY: key } }), true);

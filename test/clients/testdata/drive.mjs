// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// drive.mjs SDK-FOLDER v1|legacy|modern URL STEPS lets a TypeScript client take steps, and prints what came of each as JSON: v1 is
// a client of the first generation, legacy and modern one of the second, in that era. A step is a tool and its arguments;
// with cancel its call is given up at its first progress.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [folder, kind, url, steps] = process.argv.slice(2);
const require = createRequire(folder + '/package.json');
const load = name => import(pathToFileURL(require.resolve(name)).href);
const ask = {
  'elicitation/create': async r => ({ action: 'accept', content: { name: 'Ada' } }),
  'sampling/createMessage': async r => ({ role: 'assistant', model: 'test', content: { type: 'text', text: 'sampled' } }),
};
const asked = [];
const capabilities = { elicitation: {}, sampling: {} };
const info = { name: 'typescript-' + kind, version: '1.0.0' };
let client, call;
if (kind === 'v1') {
  const { Client } = await load('@modelcontextprotocol/sdk/client/index.js');
  const { StreamableHTTPClientTransport } = await load('@modelcontextprotocol/sdk/client/streamableHttp.js');
  const types = await load('@modelcontextprotocol/sdk/types.js');
  client = new Client(info, { capabilities });
  client.setRequestHandler(types.ElicitRequestSchema, async r => { asked.push(r.method); return ask[r.method](r); });
  client.setRequestHandler(types.CreateMessageRequestSchema, async r => { asked.push(r.method); return ask[r.method](r); });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  call = (params, options) => client.callTool(params, undefined, options);
} else {
  const { Client, StreamableHTTPClientTransport } = await load('@modelcontextprotocol/client');
  client = new Client(info, { capabilities, versionNegotiation: { mode: kind === 'modern' ? { pin: '2026-07-28' } : 'legacy' } });
  for (const method of Object.keys(ask)) {
    client.setRequestHandler(method, async r => { asked.push(method); return ask[method](r); });
  }
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  call = (params, options) => client.callTool(params, options);
}
const listed = (await client.listTools()).tools.length;
const out = { listed, steps: [] };
for (const step of JSON.parse(steps)) {
  const abort = new AbortController();
  let progress = 0;
  asked.length = 0;
  const options = { signal: abort.signal, timeout: 60000 };
  if (step.progress || step.cancel) {
    options.onprogress = () => { progress++; if (step.cancel) abort.abort('enough'); };
  }
  try {
    const result = await call({ name: step.tool, arguments: step.arguments ?? {} }, options);
    out.steps.push({ text: (result.content ?? []).map(c => c.text ?? c.type).join(' '), isError: !!result.isError, progress, asked: [...asked] });
  } catch (error) {
    out.steps.push({ error: String(error), progress, asked: [...asked] });
  }
}
await client.close();
console.log(JSON.stringify(out));

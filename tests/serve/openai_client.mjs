// openai_client.mjs PROGRAM ROOT - models, chat, vision, streams, usage, abort and every class of error.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import OpenAI from 'openai';
import { program, root, start, suite } from './client_server.mjs';

const file = `${root}/data/synth/images/0001.jpg`;
const url = `data:image/jpeg;base64,${readFileSync(file).toString('base64')}`;
const question = 'How many objects are there?';
const vision = (text = question, image = url) => [
  { role: 'user', content: [{ type: 'text', text }, { type: 'image_url', image_url: { url: image } }] },
];

const run = (...options) => JSON.parse(execFileSync(program, ['run', '-q', '-o', 'json', '-i', file, '-p', question, ...options]));

// Answers that follow a schema: the client parses them.
async function structured(client, base) {
  const schema = { type: 'object', additionalProperties: false, required: ['name', 'size', 'tags'], properties: {
    name: { type: 'string', maxLength: 12 }, size: { type: 'number', minimum: 0.07, maximum: 2 },
    tags: { type: 'array', items: { enum: ['red', 'blue'] }, maxItems: 2 } } };
  const response_format = { type: 'json_schema', json_schema: { name: 'thing', strict: true, schema } };
  const parsed = (await client.chat.completions.parse({ ...base, response_format, temperature: 1, seed: 7, max_tokens: 200 })).choices[0];
  assert.equal(parsed.finish_reason, 'stop');
  assert.deepEqual(Object.keys(parsed.message.parsed), ['name', 'size', 'tags']);
  assert.ok(parsed.message.parsed.size >= 0.07 && parsed.message.parsed.size <= 2);
  let text = '';
  for await (const piece of await client.chat.completions.create({ ...base, response_format, temperature: 1, seed: 7, max_tokens: 200, stream: true }))
    text += piece.choices[0]?.delta?.content ?? '';
  assert.equal(text, parsed.message.content, 'the same answer in pieces');
  const some = (await client.chat.completions.create({ ...base, response_format, logprobs: true, top_logprobs: 1, max_tokens: 200 })).choices[0];
  assert.equal(some.logprobs.content.map((t) => t.token).join(''), some.message.content);
  const cut = (await client.chat.completions.create({ ...base, response_format, max_tokens: 3 })).choices[0];
  assert.equal(cut.finish_reason, 'length');
  const word = await client.chat.completions.create({ ...base, grammar: 'root ::= "yes" | "no"' });
  assert.match(word.choices[0].message.content, /^(yes|no)$/);
  await refuses(client.chat.completions.create({ ...base, response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'array', uniqueItems: true } } } }),
    OpenAI.BadRequestError, 400, (e) => assert.match(e.message, /response_format\.json_schema\.schema: \/uniqueItems: /));
}

// Calls of tools, whole and streamed, and their results back in.
async function tools(client, base) {
  const tool = { type: 'function', function: { name: 'get_weather', description: 'the weather in a city', parameters: {
    type: 'object', required: ['city', 'unit'], properties: { city: { $ref: '#/$defs/city' }, unit: { enum: ['C', 'F'] } },
    $defs: { city: { type: 'string', minLength: 1, maxLength: 8 } } } } };
  const ask = { ...base, tools: [tool], tool_choice: 'required', parallel_tool_calls: false, max_tokens: 120, temperature: 1, seed: 3 };
  const { message, finish_reason } = (await client.chat.completions.create(ask)).choices[0];
  assert.equal(finish_reason, 'tool_calls');
  assert.equal(message.content, null);
  assert.equal(message.tool_calls.length, 1);
  const [call] = message.tool_calls;
  assert.equal(call.function.name, 'get_weather');
  const values = JSON.parse(call.function.arguments);
  assert.ok(values.city.length > 0 && ['C', 'F'].includes(values.unit));
  const final = await client.chat.completions.stream(ask).finalChatCompletion();
  assert.equal(final.choices[0].message.tool_calls[0].function.arguments, call.function.arguments);
  const named = await client.chat.completions.create({ ...ask, tool_choice: { type: 'function', function: { name: 'get_weather' } } });
  assert.equal(named.choices[0].message.tool_calls[0].function.name, 'get_weather');
  for (const tool_choice of ['auto', 'none']) assert.ok((await client.chat.completions.create({ ...ask, tool_choice })).choices[0].message);
  const results = [...base.messages, message, { role: 'tool', tool_call_id: call.id, content: '21 degrees' }];
  assert.ok((await client.chat.completions.create({ ...base, messages: results, tools: [tool], max_tokens: 8 })).choices[0].message.content !== undefined);
  const bad = { ...tool, function: { ...tool.function, parameters: { type: 'object', properties: { a: { not: {} } } } } };
  await refuses(client.chat.completions.create({ ...ask, tools: [bad] }), OpenAI.BadRequestError, 400,
    (e) => assert.match(e.message, /tools\[0\]\.function\.parameters: \/properties\/a\/not: /));
}

async function refuses(promise, type, status, check = () => {}) {
  await assert.rejects(promise, (error) => {
    assert.ok(error instanceof type, String(error));
    assert.equal(error.status, status);
    check(error);
    return true;
  });
}

async function main() {
  const { server, baseURL } = await start('--api-key', 'sesame', '--max-body', '1', '--crash-route', '--parallel', '2', '--queue', '1');
  const client = new OpenAI({ baseURL, apiKey: 'sesame' });
  const once = new OpenAI({ baseURL, apiKey: 'sesame', maxRetries: 0 });

  const models = [];
  for await (const model of client.models.list()) models.push(model.id);
  assert.ok(models.includes('s2prune-tiny-f16') && models.includes('s2prune-tiny-f16@s2prune-64'));
  const model = models[0];

  const hello = await client.chat.completions.create({ model, messages: [{ role: 'user', content: 'hi' }], max_tokens: 4 });
  assert.equal(hello.object, 'chat.completion');
  assert.equal(hello.choices[0].message.role, 'assistant');

  for (const budget of [64, 32]) {
    const expected = run('--budget', String(budget), '-n', '16');
    const answer = await client.chat.completions.create({
      model, messages: vision(), max_tokens: 16, temperature: 0, prune: { method: 's2prune', budget, return: ['tokens'] },
    });
    assert.equal(answer.choices[0].message.content, expected.text);
    assert.equal(answer.usage.prompt_tokens, expected.usage.prompt_tokens);
    assert.equal(answer.usage.total_tokens, answer.usage.prompt_tokens + answer.usage.completion_tokens);
    assert.deepEqual(answer.prune.images[0].kept, expected.prune.images[0].kept); // unknown fields survive
  }
  const virtual = await client.chat.completions.create({ model: `${model}@s2prune-32`, messages: vision(), max_tokens: 16 });
  assert.equal(virtual.usage.prompt_tokens_details.image_tokens, 32);

  const stream = await client.chat.completions.create({
    model, messages: vision(), max_tokens: 16, stream: true, stream_options: { include_usage: true },
  });
  let text = '', usage = null, finish = null;
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta?.content ?? '';
    finish = chunk.choices[0]?.finish_reason ?? finish;
    usage = chunk.usage ?? usage;
  }
  assert.equal(text, run('-n', '16').text);
  assert.equal(finish, 'stop');
  assert.equal(usage.prompt_tokens_details.image_tokens_full, 576);

  const told = await client.chat.completions.create({ model, messages: vision(), max_tokens: 16, logprobs: true, top_logprobs: 2 });
  assert.equal(told.choices[0].logprobs.content.map((t) => t.token).join(''), told.choices[0].message.content);
  assert.equal(told.choices[0].logprobs.content[0].top_logprobs[0].logprob, told.choices[0].logprobs.content[0].logprob);
  await refuses(client.chat.completions.create({ model, messages: vision(), top_logprobs: 2 }), OpenAI.BadRequestError, 400);

  const long = await client.chat.completions.create({
    model, messages: vision(), max_tokens: 3000, stream: true, ignore_eos: true,
  });
  let n = 0;
  for await (const chunk of long) {
    n += chunk.choices.length;
    if (n > 3) break; // leaves: the client aborts the request
  }
  const abort = new AbortController();
  const aborted = client.chat.completions.create({ model, messages: vision(), max_tokens: 3000, ignore_eos: true }, { signal: abort.signal });
  setTimeout(() => abort.abort(), 100);
  await assert.rejects(aborted, OpenAI.APIUserAbortError);
  const idle = async () => (await (await fetch(baseURL.replace('/v1', '/slots'), { headers: { authorization: 'Bearer sesame' } })).json()).every((s) => !s.is_processing);
  for (let i = 0; !(await idle()); i++) {
    assert.ok(i < 100, 'the engine goes on for nobody');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }

  const base = { model, messages: [{ role: 'user', content: 'hi' }] };
  await refuses(client.chat.completions.create({ ...base, temperature: 3 }), OpenAI.BadRequestError, 400, (e) => assert.equal(e.param, 'temperature'));
  await refuses(client.chat.completions.create({ ...base, messages: vision(question, 'data:image/png;base64,AAAA') }), OpenAI.BadRequestError, 400);
  await structured(client, base);
  await tools(client, base);
  await refuses(new OpenAI({ baseURL, apiKey: 'wrong' }).models.list(), OpenAI.AuthenticationError, 401);
  await refuses(client.chat.completions.create({ ...base, messages: vision(question, 'https://example.com/a.png') }), OpenAI.PermissionDeniedError, 403);
  await refuses(client.chat.completions.create({ ...base, model: 'other' }), OpenAI.NotFoundError, 404);
  await refuses(client.chat.completions.create({ ...base, messages: [{ role: 'user', content: 'a'.repeat(1 << 20) + 'b'.repeat(1 << 10) }] }), OpenAI.APIError, 413);
  await refuses(client.chat.completions.create({ ...base, messages: [{ role: 'user', content: 'word '.repeat(9000) }] }), OpenAI.BadRequestError, 400,
    (e) => assert.equal(e.type, 'exceed_context_size_error'));

  // two answers run, one waits: the fourth hears 429
  const busy = [];
  for (let i = 0; i < 3; i++) {
    const controller = new AbortController();
    const answer = once.chat.completions.create({ model, messages: vision(), max_tokens: 3500, ignore_eos: true }, { signal: controller.signal });
    answer.catch(() => {});
    busy.push(controller);
    await new Promise((resolve) => setTimeout(resolve, 150));
  }
  await refuses(once.chat.completions.create(base), OpenAI.RateLimitError, 429, (e) => assert.ok(Number(e.headers.get('retry-after')) >= 1));
  for (const controller of busy) controller.abort();

  // the engine dies in the middle of a stream: what was said stays, then an error
  for (let i = 0; !(await idle()); i++) await new Promise((resolve) => setTimeout(resolve, 50));
  const broken = await once.chat.completions.create({ model, messages: vision(), max_tokens: 3500, stream: true, ignore_eos: true });
  let said = 0;
  await assert.rejects(async () => {
    for await (const chunk of broken) {
      said += chunk.choices.length;
      if (said === 3) void fetch(baseURL.replace('/v1', '/debug/crash'), { method: 'POST', body: '{}', headers: { 'content-type': 'application/json', authorization: 'Bearer sesame' } }).catch(() => {});
    }
  }, OpenAI.APIError);
  assert.ok(said >= 3);
  const after = await client.chat.completions.create({ model, messages: vision(), max_tokens: 16 }); // waits for the new one
  assert.equal(after.choices[0].message.content, text);

  const slow = await once.chat.completions.create({ model, messages: vision(), max_tokens: 3000, stream: true, ignore_eos: true });
  server.kill('SIGTERM');
  await new Promise((resolve) => setTimeout(resolve, 200));
  await refuses(once.chat.completions.create(base), OpenAI.InternalServerError, 503);
  slow.controller.abort();
  console.log('fine: the official client');
}

await suite(main);

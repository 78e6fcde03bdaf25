// clients.mjs PROGRAM ROOT - other clients as their users write them: OpenAI's responses, Vercel's AI SDK, Ollama,
// Anthropic. Each gives the answer of /v1/chat/completions: whole, streamed, with a picture, held to a schema, refused.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import Anthropic from '@anthropic-ai/sdk';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateObject, generateText, streamObject, streamText, tool } from 'ai';
import { Ollama } from 'ollama';
import OpenAI from 'openai';
import { zodTextFormat } from 'openai/helpers/zod';
import { z } from 'zod';
import { root, start, suite } from './client_server.mjs';

const model = 's2prune-tiny-f16';
const question = 'How many objects are there?';
const bytes = readFileSync(`${root}/data/synth/images/0001.jpg`);
const base64 = bytes.toString('base64');
const url = `data:image/jpeg;base64,${base64}`;
const thing = z.object({ name: z.enum(['cube', 'ball']), count: z.number().int().min(1).max(9), tags: z.array(z.enum(['red', 'blue'])).max(2) });

const parameters = { type: 'object', required: ['city'], additionalProperties: false, properties: { city: { enum: ['Oslo', 'Rome'] } } };
const description = 'the weather in a city';

// Calls of functions: whole, in events, their outputs back in, and the four forms of tool_choice.
async function responseTools(client, base) {
  const tools = [{ type: 'function', name: 'weather', description, parameters, strict: true }];
  const ask = { ...base, tools, tool_choice: 'required', parallel_tool_calls: false, temperature: 1, max_output_tokens: 200 };
  const whole = await client.responses.create(ask);
  assert.equal(whole.status, 'completed');
  assert.deepEqual([whole.tools, whole.tool_choice, whole.parallel_tool_calls], [tools, 'required', false]);
  assert.deepEqual(whole.output.map((o) => o.type), ['function_call']);
  const [call] = whole.output;
  assert.equal(call.name, 'weather');
  assert.ok(['Oslo', 'Rome'].includes(JSON.parse(call.arguments).city));
  const stream = client.responses.stream({ ...ask, tool_choice: { type: 'function', name: 'weather' } });
  let pieces = '';
  stream.on('response.function_call_arguments.delta', (e) => { pieces += e.delta; });
  const final = await stream.finalResponse();
  assert.equal(final.output[0].arguments, pieces);
  assert.ok(['Oslo', 'Rome'].includes(JSON.parse(pieces).city));
  const input = [...base.input, call, { type: 'function_call_output', call_id: call.call_id, output: '21 degrees' }];
  const after = await client.responses.create({ ...base, input, tools, tool_choice: 'none', max_output_tokens: 8 });
  assert.equal(after.output[0].type, 'message');
  const plain = await client.responses.create({ ...base, max_output_tokens: 8 });
  assert.ok(after.usage.input_tokens > plain.usage.input_tokens + 20, 'the call and its output are in the prompt');
  await client.responses.create({ ...base, tools, tool_choice: 'auto', max_output_tokens: 4 });
  for (const [bad, message] of [[{ tools: [{ type: 'web_search' }] }, /tools\[0\]/], [{ tools, tool_choice: { type: 'file_search' } }, /tool_choice/],
    [{ tools, tool_choice: { type: 'function', name: 'other' } }, /other/], [{ tools: [{ ...tools[0], parameters: { not: {} } }] }, /parameters: \/not: /],
    [{ input: [{ type: 'function_call', call_id: 'a' }] }, /input\[0\]/], [{ input: [{ type: 'function_call_output', call_id: 'a', output: 1 }] }, /input\[0\]\.output/]])
    await assert.rejects(client.responses.create({ ...base, ...bad }), (e) => e.status === 400 && message.test(e.message));
}

async function responses(baseURL, expected) {
  const client = new OpenAI({ baseURL, apiKey: 'any', maxRetries: 0 });
  const input = [{ role: 'user', content: [{ type: 'input_text', text: question }, { type: 'input_image', image_url: url, detail: 'auto' }] }];
  const answer = await client.responses.create({ model, input, max_output_tokens: 16 });
  assert.equal(answer.output_text, expected.text);
  assert.equal(answer.status, 'completed');
  assert.equal(answer.usage.input_tokens, expected.tokens);
  const kinds = new Set();
  let text = '';
  for await (const event of await client.responses.create({ model, input, max_output_tokens: 16, stream: true })) {
    kinds.add(event.type);
    if (event.type === 'response.output_text.delta') text += event.delta;
  }
  assert.equal(text, expected.text);
  assert.ok(kinds.has('response.created') && kinds.has('response.completed'));
  const final = await client.responses.stream({ model, input, max_output_tokens: 16 }).finalResponse();
  assert.equal(final.output_text, expected.text);
  const parsed = await client.responses.parse({ model, input, temperature: 1, max_output_tokens: 200, text: { format: zodTextFormat(thing, 'thing') } });
  assert.deepEqual(thing.parse(parsed.output_parsed), parsed.output_parsed);
  assert.equal(parsed.text.format.type, 'json_schema');
  await responseTools(client, { model, input });
  await assert.rejects(client.responses.create({ model, input, previous_response_id: 'resp_1' }), (e) => e.status === 400 && e.param === 'previous_response_id');
}

async function vercel(baseURL, expected) {
  const provider = createOpenAICompatible({ name: 's2prune', baseURL, apiKey: 'any', supportsStructuredOutputs: true, includeUsage: true });
  const base = { model: provider(model), maxRetries: 0 };
  const messages = [{ role: 'user', content: [{ type: 'text', text: question }, { type: 'image', image: bytes }] }];
  const whole = await generateText({ ...base, messages, maxOutputTokens: 16 });
  assert.equal(whole.text, expected.text);
  assert.equal(whole.usage.inputTokens, expected.tokens);
  const stream = streamText({ ...base, messages, maxOutputTokens: 16 });
  let text = '';
  for await (const piece of stream.textStream) text += piece;
  assert.equal(text, expected.text);
  assert.equal(await stream.finishReason, 'stop');
  assert.equal((await stream.usage).inputTokens, expected.tokens);
  const { object } = await generateObject({ ...base, schema: thing, messages, temperature: 1, seed: 5, maxOutputTokens: 200 });
  assert.deepEqual(thing.parse(object), object);
  const list = await generateObject({ ...base, output: 'array', schema: z.enum(['a', 'b']), messages, temperature: 1, seed: 5, maxOutputTokens: 400 }).catch((e) => e);
  assert.ok(Array.isArray(list.object) ? list.object.every((x) => 'ab'.includes(x)) : list.finishReason === 'length', String(list));
  assert.ok(['red', 'blue'].includes((await generateObject({ ...base, output: 'enum', enum: ['red', 'blue'], messages, maxOutputTokens: 40 })).object));
  const partial = streamObject({ ...base, schema: thing, messages, temperature: 1, seed: 5, maxOutputTokens: 200 });
  let n = 0;
  for await (const one of partial.partialObjectStream) n += typeof one === 'object';
  assert.ok(n > 0);
  assert.deepEqual(await partial.object, object, 'the same answer in pieces');
  const weather = tool({ description: 'the weather in a city', inputSchema: z.object({ city: z.enum(['Oslo', 'Rome']) }), execute: async ({ city }) => `${city}: 21 degrees` });
  const called = await generateText({ ...base, messages, tools: { weather }, toolChoice: 'required', temperature: 1, seed: 3, maxOutputTokens: 400 });
  assert.equal(called.finishReason, 'tool-calls');
  assert.ok(called.toolCalls.length > 0 && called.toolCalls.every((c) => ['Oslo', 'Rome'].includes(c.input.city)));
  assert.equal(called.toolResults[0].output, `${called.toolCalls[0].input.city}: 21 degrees`);
  const after = await generateText({ ...base, messages: [...messages, ...called.response.messages], tools: { weather }, toolChoice: 'none', maxOutputTokens: 8 });
  assert.equal(typeof after.text, 'string');
  await assert.rejects(generateText({ ...base, model: provider('other'), messages }), (e) => e.statusCode === 404 && /unknown model/.test(e.message));
}

async function ollamaTools(client, messages) {
  const tools = [{ type: 'function', function: { name: 'weather', description, parameters } }];
  const options = { temperature: 1, num_predict: 200 };
  assert.equal((await client.chat({ model, messages, tools, options })).done, true);
  const forced = await client.chat({ model, messages, tools, options, tool_choice: 'required' }); // Ollama has none, but its client sends it
  const [call] = forced.message.tool_calls;
  assert.equal(forced.message.content, '');
  assert.equal(call.function.name, 'weather');
  assert.ok(['Oslo', 'Rome'].includes(call.function.arguments.city));
  let found = [];
  for await (const part of await client.chat({ model, messages, tools, options, tool_choice: 'required', stream: true })) found = found.concat(part.message.tool_calls ?? []);
  assert.ok(found.length > 0 && found.every((c, i) => c.function.index === i && ['Oslo', 'Rome'].includes(c.function.arguments.city)));
  const back = [...messages, forced.message, { role: 'tool', tool_name: 'weather', content: '21 degrees' }];
  assert.equal(typeof (await client.chat({ model, messages: back, tools, options: { num_predict: 8 } })).message.content, 'string');
  await assert.rejects(client.generate({ model, prompt: 'a', tools }), /tools/);
  await assert.rejects(client.chat({ model, messages, tools: [{ type: 'function', function: { name: 'f', parameters: { not: {} } } }] }), /\/not: /);
}

async function ollama(host, expected) {
  const client = new Ollama({ host });
  assert.ok((await client.list()).models.some((m) => m.name === model));
  assert.ok((await client.show({ model })).capabilities.includes('vision'));
  const messages = [{ role: 'user', content: question, images: [base64] }];
  const options = { num_predict: 16 };
  const whole = await client.chat({ model, messages, options });
  assert.equal(whole.message.content, expected.text);
  assert.equal(whole.prompt_eval_count, expected.tokens);
  assert.equal(whole.done_reason, 'stop');
  let text = '';
  for await (const part of await client.chat({ model, messages, options, stream: true })) text += part.message.content;
  assert.equal(text, expected.text);
  assert.equal((await client.generate({ model, prompt: question, images: [new Uint8Array(bytes)], options })).response, expected.text);
  text = '';
  for await (const part of await client.generate({ model, prompt: question, images: [base64], options, stream: true })) text += part.response;
  assert.equal(text, expected.text);
  const held = await client.chat({ model, messages, format: z.toJSONSchema(thing), options: { num_predict: 200, temperature: 1, seed: 5 } });
  thing.parse(JSON.parse(held.message.content));
  await assert.rejects(client.chat({ model: 'other', messages }), /unknown model/);
  await assert.rejects(client.chat({ model, messages, format: { type: 'array', uniqueItems: true } }), /uniqueItems/);
  const long = await client.chat({ model, messages, options: { num_predict: 3000, temperature: 2 }, format: 'json', stream: true });
  await assert.rejects(async () => {
    for await (const part of long) if (part) client.abort();
  }, { name: 'AbortError' });
  await ollamaTools(client, messages);
  await assert.rejects(client.embed({ model, input: 'a' }), /embeddings/);
}

async function anthropicTools(client, base) {
  const tools = [{ name: 'weather', description, input_schema: parameters }];
  const ask = { ...base, tools, tool_choice: { type: 'any', disable_parallel_tool_use: true }, max_tokens: 200, temperature: 1 };
  const whole = await client.messages.create(ask);
  assert.equal(whole.stop_reason, 'tool_use');
  assert.deepEqual(whole.content.map((c) => c.type), ['tool_use']);
  const [call] = whole.content;
  assert.equal(call.name, 'weather');
  assert.ok(['Oslo', 'Rome'].includes(call.input.city));
  const stream = client.messages.stream({ ...ask, tool_choice: { type: 'tool', name: 'weather' } });
  let pieces = '';
  stream.on('inputJson', (piece) => { pieces += piece; });
  const final = await stream.finalMessage();
  assert.deepEqual(final.content[0].input, JSON.parse(pieces));
  assert.equal(final.stop_reason, 'tool_use');
  for (const content of ['21 degrees', [{ type: 'text', text: '21 degrees' }], undefined]) {
    const result = { type: 'tool_result', tool_use_id: call.id, content, is_error: !content };
    const messages = [...base.messages, { role: 'assistant', content: whole.content }, { role: 'user', content: [result, { type: 'text', text: 'And now?' }] }];
    const after = await client.messages.create({ ...base, tools, messages, tool_choice: { type: 'none' }, max_tokens: 8 });
    assert.equal(after.content[0].type, 'text');
  }
  await client.messages.create({ ...base, tools, tool_choice: { type: 'auto' }, max_tokens: 4 });
  const picture = { type: 'tool_result', tool_use_id: 'a', content: [base.messages[0].content[0]] };
  for (const [bad, message] of [[{ tools: [{ type: 'web_search_20250305', name: 'web_search' }] }, /tools\[0\]/], [{ tool_choice: { type: 'tool', name: 'other' } }, /other/],
    [{ tool_choice: { type: 'some' } }, /tool_choice/], [{ tools: [{ ...tools[0], input_schema: { type: 'object', properties: { a: { not: {} } } } }] }, /\/properties\/a\/not: /],
    [{ messages: [{ role: 'user', content: [picture] }] }, /tool_result/], [{ messages: [{ role: 'user', content: [call] }] }, /block 0/]])
    await assert.rejects(client.messages.create({ ...base, tools, ...bad }), (e) => e instanceof Anthropic.BadRequestError && message.test(e.message));
}

async function anthropic(baseURL, expected) {
  const client = new Anthropic({ baseURL, apiKey: 'any', maxRetries: 0 });
  const messages = [{ role: 'user', content: [{ type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: base64 } }, { type: 'text', text: question }] }];
  const base = { model, messages, max_tokens: 16 };
  const whole = await client.messages.create(base);
  assert.equal(whole.content[0].text, expected.text);
  assert.equal(whole.stop_reason, 'end_turn');
  assert.equal(whole.usage.input_tokens + whole.usage.cache_read_input_tokens, expected.tokens);
  const stream = client.messages.stream(base);
  let text = '';
  stream.on('text', (piece) => { text += piece; });
  const final = await stream.finalMessage();
  assert.equal(text, expected.text);
  assert.deepEqual(final.content.map((c) => c.text), [expected.text]);
  assert.equal(final.stop_reason, 'end_turn');
  assert.equal((await client.messages.create({ ...base, system: 'Answer.', max_tokens: 1 })).stop_reason, 'max_tokens');
  const format = { type: 'json_schema', schema: { type: 'object', required: ['n'], additionalProperties: false, properties: { n: { enum: [1, 2] } } } };
  const held = await client.messages.create({ ...base, max_tokens: 60, output_config: { format } });
  assert.ok([1, 2].includes(JSON.parse(held.content[0].text).n));
  await anthropicTools(client, base);
  await assert.rejects(client.messages.create({ ...base, model: 'other' }), Anthropic.NotFoundError);
  await assert.rejects(client.messages.create({ ...base, temperature: 9 }), Anthropic.BadRequestError);
}

await suite(async () => {
  const { baseURL } = await start('--parallel', '2');
  const client = new OpenAI({ baseURL, apiKey: 'any' });
  const direct = await client.chat.completions.create({ model, max_tokens: 16, messages: [{ role: 'user', content: [{ type: 'text', text: question }, { type: 'image_url', image_url: { url } }] }] });
  const expected = { text: direct.choices[0].message.content, tokens: direct.usage.prompt_tokens };
  assert.equal(direct.choices[0].finish_reason, 'stop');
  for (const [name, check, address] of [['responses', responses, baseURL], ['AI SDK', vercel, baseURL],
    ['ollama', ollama, baseURL.replace('/v1', '')], ['anthropic', anthropic, baseURL.replace('/v1', '')]]) {
    await check(address, expected);
    console.log(`fine: ${name}`);
  }
});

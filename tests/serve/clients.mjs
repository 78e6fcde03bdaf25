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
  await assert.rejects(client.embed({ model, input: 'a' }), /embeddings/);
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
  await assert.rejects(client.messages.create({ ...base, tools: [{ name: 'a', input_schema: { type: 'object' } }] }), (e) => e instanceof Anthropic.BadRequestError && /tools/.test(e.message));
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

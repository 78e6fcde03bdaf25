// make_tables.mjs FOLDER SEED ROWS [duckdb] - one table in many forms, by writers that are not ours.
//
// The table has what benchmark files have: numbers, texts with everything CSV must quote, missing cells, lists, lists of
// structs, pictures. table.jsonl is what the rows are; table.tsv is the same as pandas would write it; the .parquet files
// differ in writer, codec, encoding, pages and row groups. Needs hyparquet-writer and, for duckdb, @duckdb/node-api in
// node_modules of the current folder.
import { createRequire } from 'node:module'
import { writeFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { pathToFileURL } from 'node:url'
import { join } from 'node:path'

const [folder, seedText, rowsText, withDuckdb] = process.argv.slice(2)
const require = createRequire(join(process.cwd(), 'here.js'))
const load = name => import(pathToFileURL(require.resolve(name)))
const { parquetWriteFile } = await import(pathToFileURL(join(process.cwd(), 'node_modules/hyparquet-writer/src/node.js')))

let state = Number(seedText) >>> 0
const random = n => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0
  return (state >>> 8) % n
}
const pick = list => list[random(list.length)]
const words = ['plain', 'two\nlines', 'tab\there', 'say "hi"', "it's", 'émigré', '答案', 'a,b', '\\back', 'x\r\ny', '🙂', ' padded ']
const text = () => Array.from({ length: 1 + random(5) }, () => pick(words)).join(pick([' ', '-', ' / ']))
const bytes = () => Uint8Array.from({ length: 60 + random(200) }, () => random(256))
const real = () => random(100000) / 16 + 1 / 64
const maybe = (make, often = 4) => (random(often) === 0 ? null : make())

const pictures = [bytes(), bytes(), bytes()]
const rows = Array.from({ length: Number(rowsText) }, (_, i) => ({
  index: BigInt(i) * 3n - 5n + (i % 7 === 0 ? 4000000000n : 0n),
  flag: maybe(() => random(2) === 1),
  small: maybe(() => random(200) - 100),
  score: maybe(real),
  weight: real(), // exact in 32 bits
  question: 'q' + i + ' ' + text(),
  hint: maybe(text, 2),
  category: pick(['color', 'count', 'position']),
  answers: maybe(() => Array.from({ length: random(4) }, () => maybe(text, 6)), 5),
  boxes: maybe(() => Array.from({ length: random(3) }, () => ({ label: maybe(text, 5), score: real() })), 5),
  image: maybe(() => ({ bytes: random(3) ? bytes() : pick(pictures), path: maybe(() => `p/${i}.jpg`) }), 6),
  image_2: maybe(() => pick(pictures), 2),
}))

// --- the truth, and the same as text ---

const base64 = b => Buffer.from(b).toString('base64')
const json = v =>
  v === null ? 'null'
  : typeof v === 'bigint' ? v.toString()
  : v instanceof Uint8Array ? JSON.stringify(base64(v))
  : Array.isArray(v) ? '[' + v.map(json).join(',') + ']'
  : typeof v === 'object' ? '{' + Object.entries(v).map(([k, x]) => JSON.stringify(k) + ':' + json(x)).join(',') + '}'
  : JSON.stringify(v)
const python = v =>
  v === null ? 'None'
  : Array.isArray(v) ? '[' + v.map(python).join(', ') + ']'
  : typeof v === 'object' ? '{' + Object.entries(v).map(([k, x]) => python(k) + ': ' + python(x)).join(', ') + '}'
  : typeof v !== 'string' ? String(v)
  : (q => q + [...v].map(c => (c === q || c === '\\' ? '\\' + c : c === '\n' ? '\\n' : c === '\t' ? '\\t' : c === '\r' ? '\\r' : c)).join('') + q)(
      v.includes("'") && !v.includes('"') ? '"' : "'")
const cell = v => {
  const s = v === null ? '' : v === true ? 'True' : v === false ? 'False' : v instanceof Uint8Array ? base64(v)
    : v.bytes ? base64(v.bytes) : typeof v === 'object' ? python(v) : String(v)
  return /["\t\n\r]/.test(s) ? '"' + s.replaceAll('"', '""') + '"' : s
}
const names = Object.keys(rows[0])
writeFileSync(join(folder, 'table.jsonl'), rows.map(r => json(r) + '\n').join(''))
writeFileSync(join(folder, 'table.json'), '[\n' + rows.map(json).join(',\n') + '\n]\n')
writeFileSync(join(folder, 'table.tsv'), names.join('\t') + '\n' + rows.map(r => names.map(n => cell(r[n])).join('\t') + '\n').join(''))

// --- hyparquet-writer: pages of version 2, encodings by name ---

const schema = [
  { name: 'root', num_children: names.length },
  { name: 'index', type: 'INT64', repetition_type: 'REQUIRED' },
  { name: 'flag', type: 'BOOLEAN', repetition_type: 'OPTIONAL' },
  { name: 'small', type: 'INT32', repetition_type: 'OPTIONAL' },
  { name: 'score', type: 'DOUBLE', repetition_type: 'OPTIONAL' },
  { name: 'weight', type: 'FLOAT', repetition_type: 'REQUIRED' },
  { name: 'question', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'REQUIRED' },
  { name: 'hint', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' },
  { name: 'category', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'REQUIRED' },
  { name: 'answers', converted_type: 'LIST', repetition_type: 'OPTIONAL', num_children: 1 },
  { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
  { name: 'element', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' },
  { name: 'boxes', converted_type: 'LIST', repetition_type: 'OPTIONAL', num_children: 1 },
  { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
  { name: 'element', repetition_type: 'OPTIONAL', num_children: 2 },
  { name: 'label', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' },
  { name: 'score', type: 'DOUBLE', repetition_type: 'OPTIONAL' },
  { name: 'image', repetition_type: 'OPTIONAL', num_children: 2 },
  { name: 'bytes', type: 'BYTE_ARRAY', repetition_type: 'OPTIONAL' },
  { name: 'path', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' },
  { name: 'image_2', type: 'BYTE_ARRAY', repetition_type: 'OPTIONAL' },
]
const write = (name, encodings, options) =>
  parquetWriteFile({
    filename: join(folder, name + '.parquet'),
    schema,
    columnData: names.map(n => ({ name: n, data: rows.map(r => r[n] ?? undefined), ...(encodings[n] ? { encoding: encodings[n] } : {}) })),
    ...options,
  })
write('hyparquet-snappy', {}, { rowGroupSize: 7, pageSize: 400 })
write('hyparquet-plain', Object.fromEntries(names.map(n => [n, 'PLAIN'])), { codec: 'UNCOMPRESSED', rowGroupSize: 1000 })
write('hyparquet-delta', {
  index: 'DELTA_BINARY_PACKED', small: 'DELTA_BINARY_PACKED', question: 'DELTA_BYTE_ARRAY', hint: 'DELTA_LENGTH_BYTE_ARRAY',
  score: 'BYTE_STREAM_SPLIT', weight: 'BYTE_STREAM_SPLIT', flag: 'RLE', image_2: 'DELTA_BYTE_ARRAY',
}, { codec: 'GZIP', compressors: { GZIP: b => new Uint8Array(gzipSync(b)) }, rowGroupSize: [16, 1000] })

// --- DuckDB: pages of version 1, dictionaries, every codec ---

if (withDuckdb) {
  const { DuckDBInstance } = await load('@duckdb/node-api')
  const db = await (await DuckDBInstance.create(':memory:')).connect()
  const columns = `{"index": 'BIGINT', flag: 'BOOLEAN', small: 'INTEGER', score: 'DOUBLE', weight: 'FLOAT', question: 'VARCHAR', hint: 'VARCHAR',
    category: 'VARCHAR', answers: 'VARCHAR[]', boxes: 'STRUCT(label VARCHAR, score DOUBLE)[]', image: 'STRUCT(bytes VARCHAR, path VARCHAR)', image_2: 'VARCHAR'}`
  const select = `SELECT * REPLACE (CASE WHEN image IS NULL THEN NULL ELSE {'bytes': from_base64(image.bytes), 'path': image.path} END AS image,
    from_base64(image_2) AS image_2) FROM read_json('${join(folder, 'table.jsonl')}', format = 'newline_delimited', columns = ${columns})`
  for (const [name, options] of [
    ['snappy', `CODEC 'snappy'`], ['zstd', `CODEC 'zstd'`], ['gzip', `CODEC 'gzip'`], ['none', `CODEC 'uncompressed', DICTIONARY_SIZE_LIMIT 1`],
    ['zstd-v2', `CODEC 'zstd', PARQUET_VERSION 'V2'`], ['snappy-v2', `CODEC 'snappy', PARQUET_VERSION 'V2', DICTIONARY_SIZE_LIMIT 1`],
  ])
    await db.run(`COPY (${select}) TO '${join(folder, 'duckdb-' + name + '.parquet')}' (FORMAT parquet, ${options}, ROW_GROUP_SIZE 2048)`)
}

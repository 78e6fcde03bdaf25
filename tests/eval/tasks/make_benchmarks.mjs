// make_benchmarks.mjs FOLDER - a few made-up samples of every benchmark, in every layout people have on disk.
//
// FOLDER/<task>/{tsv,parquet,original,llava}/...: the same samples. Parquet is written by hyparquet-writer, which must be in node_modules of
// the current folder.
import { mkdirSync, writeFileSync, rmSync } from 'node:fs'
import { deflateSync, crc32 } from 'node:zlib'
import { pathToFileURL } from 'node:url'
import { dirname, join } from 'node:path'

const folder = process.argv[2]
const { parquetWriteFile } = await import(pathToFileURL(join(process.cwd(), 'node_modules/hyparquet-writer/src/node.js')))
rmSync(folder, { recursive: true, force: true })

// --- pictures: two by two pixels of one colour ---

const chunk = (type, data) => {
  const body = Buffer.concat([Buffer.from(type), data]), out = Buffer.alloc(body.length + 8)
  out.writeUInt32BE(data.length, 0)
  body.copy(out, 4)
  out.writeUInt32BE(crc32(body), body.length + 4)
  return out
}
const png = (r, g, b) => {
  const head = Buffer.from([0, 0, 0, 2, 0, 0, 0, 2, 8, 2, 0, 0, 0])
  const rows = Buffer.from([0, r, g, b, r, g, b, 0, r, g, b, r, g, b])
  return Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), chunk('IHDR', head), chunk('IDAT', deflateSync(rows)), chunk('IEND', Buffer.alloc(0))])
}
const picture = [png(255, 0, 0), png(0, 255, 0), png(0, 0, 255)]
const base64 = k => picture[k].toString('base64')

// --- writers ---

const write = (path, data) => {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), data)
}
const python = v => (Array.isArray(v) ? '[' + v.map(python).join(', ') + ']'
  : v.includes("'") && !v.includes('"') ? '"' + v + '"' : "'" + v.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n') + "'")
const cell = v => {
  const s = v === null || v === undefined ? '' : Array.isArray(v) ? python(v) : String(v)
  return /["\t\n\r]/.test(s) ? '"' + s.replaceAll('"', '""') + '"' : s
}
const tsv = (path, rows) => {
  const names = [...new Set(rows.flatMap(r => Object.keys(r)))]
  write(path, [names, ...rows.map(r => names.map(n => r[n]))].map(r => r.map(cell).join('\t') + '\n').join(''))
}
const json = (path, value) => write(path, JSON.stringify(value, null, 1) + '\n')
const jsonl = (path, rows) => write(path, rows.map(r => JSON.stringify(r) + '\n').join(''))
const text = (name, kind = {}) => [{ name, type: 'BYTE_ARRAY', repetition_type: 'OPTIONAL', converted_type: 'UTF8', ...kind }]
const kinds = {
  text, int: name => [{ name, type: 'INT64', repetition_type: 'OPTIONAL' }],
  list: name => [{ name, converted_type: 'LIST', repetition_type: 'OPTIONAL', num_children: 1 },
    { name: 'list', repetition_type: 'REPEATED', num_children: 1 }, ...text('element')],
  image: name => [{ name, repetition_type: 'OPTIONAL', num_children: 2 }, { name: 'bytes', type: 'BYTE_ARRAY', repetition_type: 'OPTIONAL' }, ...text('path')],
  reals: name => [{ name, converted_type: 'LIST', repetition_type: 'OPTIONAL', num_children: 1 },
    { name: 'list', repetition_type: 'REPEATED', num_children: 1 }, { name: 'element', type: 'DOUBLE', repetition_type: 'OPTIONAL' }],
  images: name => [{ name, converted_type: 'LIST', repetition_type: 'OPTIONAL', num_children: 1 }, { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
    { name: 'element', repetition_type: 'OPTIONAL', num_children: 2 }, { name: 'bytes', type: 'BYTE_ARRAY', repetition_type: 'OPTIONAL' }, ...text('path')],
  types: name => [{ name, repetition_type: 'OPTIONAL', num_children: 3 }, ...text('structural'), ...text('semantic'), ...text('detailed')],
}
const image = k => (k === null || k === undefined ? undefined : { bytes: new Uint8Array(picture[k]), path: `${k}.png` })
const parquet = (path, columns, rows, options = {}) => {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  const names = Object.keys(columns)
  parquetWriteFile({
    filename: join(folder, path),
    schema: [{ name: 'root', num_children: names.length }, ...names.flatMap(n => kinds[columns[n]](n))],
    columnData: names.map(n => ({ name: n, data: rows.map(r => (columns[n] === 'int' && r[n] !== undefined ? BigInt(r[n]) : r[n] ?? undefined)) })),
    ...options,
  })
}
const letters = list => Object.fromEntries(list.map((t, i) => ['ABCDEFG'[i], t]))

// --- MMMU: several pictures, an open question with two accepted answers ---

const mmmu = [
  { id: 'validation_Math_1', q: 'Compare <image 1> and\n<image 2>.', o: ['one', 'it\'s "two"', 'tab\there'], a: 'B', p: [0, 1] },
  { id: 'validation_Art_2', q: 'What is <image 1>?', o: ['答案', 'b'], a: 'A', p: [0] },
  { id: 'validation_Art_3', q: 'Compute <image 1>.', o: [], a: ['$MgS$', 'MgS'], p: [2] },
]
const subject = id => id.split('_')[1]
tsv('mmmu/tsv/MMMU_DEV_VAL.tsv', [{ index: 'dev_Math_1', question: 'q', A: 'x', answer: 'A', category: 'Math', split: 'dev', image: [base64(0)] },
  ...mmmu.map(s => ({ index: s.id, question: s.q, ...letters(s.o), answer: s.a, category: subject(s.id), split: 'validation', image: s.p.map(base64) }))])
parquet('mmmu/parquet/data/validation-00000-of-00001.parquet',
  { id: 'text', question: 'text', options: 'text', answer: 'text', question_type: 'text', image_1: 'image', image_2: 'image' },
  mmmu.map(s => ({ id: s.id, question: s.q, options: python(s.o), answer: Array.isArray(s.a) ? python(s.a) : s.a,
    question_type: s.o.length ? 'multiple-choice' : 'open', image_1: image(s.p[0]), image_2: image(s.p[1]) })))

// --- GQA: pictures in a table of their own ---

const gqa = [
  { id: '201', q: 'Is it overcast?', a: 'no', p: 0, t: ['verify', 'global', 'weatherVerify'] },
  { id: '202', q: 'What colour is the "cat"?', a: 'light brown', p: 1, t: ['query', 'attr', 'directOf'] },
  { id: '203', q: 'Who holds it?', a: 'man', p: 0, t: ['query', 'rel', 'relO'] },
]
const types = t => ({ structural: t[0], semantic: t[1], detailed: t[2] })
tsv('gqa/tsv/GQA_TestDev_Balanced.tsv', gqa.map((s, i) => ({ index: s.id, question: s.q, answer: s.a, image: i === 2 ? '201' : base64(s.p) })))
parquet('gqa/parquet/testdev_balanced_instructions/testdev-00000-of-00001.parquet', { id: 'text', imageId: 'text', question: 'text', answer: 'text', types: 'types' },
  gqa.map(s => ({ id: s.id, imageId: `n${s.p}`, question: s.q, answer: s.a, types: types(s.t) })))
parquet('gqa/parquet/testdev_balanced_images/testdev-00000-of-00001.parquet', { id: 'text', image: 'image' }, [1, 0].map(k => ({ id: `n${k}`, image: image(k) })))
const gqaQuestions = Object.fromEntries(gqa.map(s => [s.id, { imageId: `n${s.p}`, question: s.q, answer: s.a, isBalanced: true, types: types(s.t) }]))
json('gqa/original/testdev_balanced_questions.json', gqaQuestions)
json('gqa/llava/data/questions1.2/testdev_balanced_questions.json', gqaQuestions)
for (const k of [0, 1]) for (const place of ['original/images', 'llava/data/images']) write(`gqa/${place}/n${k}.jpg`, picture[k])

// --- ScienceQA: only what has a picture and is of the test split ---

const sqa = [
  { id: '5', q: 'Which is a mammal?', h: 'Look at\nthe animals.', o: ['cat', 'trout'], a: 0, p: 0, s: 'natural science' },
  { id: '9', q: 'Which is larger?', h: '', o: ['A', 'an elephant', 'None'], a: 1, p: 1, s: 'language science' },
]
tsv('scienceqa/tsv/ScienceQA_TEST.tsv', sqa.map(s => ({ index: s.id, question: s.q, hint: s.h, ...letters(s.o), answer: 'ABC'[s.a], category: s.s, image: base64(s.p) })))
parquet('scienceqa/parquet/ScienceQA-IMG/test-00000-of-00001.parquet', { id: 'text', question: 'text', hint: 'text', choices: 'list', answer: 'int', subject: 'text', image: 'image' },
  [...sqa.map(s => ({ id: s.id, question: s.q, hint: s.h, choices: s.o, answer: s.a, subject: s.s, image: image(s.p) })),
    { id: '7', question: 'No picture?', hint: '', choices: ['a', 'b'], answer: 0, subject: 'x' }])
const problems = Object.fromEntries([...sqa.map(s => [s.id, { question: s.q, choices: s.o, answer: s.a, hint: s.h, image: 'image.png', subject: s.s, split: 'test' }]),
  ['7', { question: 'No picture?', choices: ['a', 'b'], answer: 0, hint: '', image: null, subject: 'x', split: 'test' }],
  ['8', { question: 'Training?', choices: ['a', 'b'], answer: 0, hint: '', image: 'image.png', subject: 'x', split: 'train' }]])
json('scienceqa/original/data/scienceqa/problems.json', problems)
json('scienceqa/original/data/scienceqa/pid_splits.json', { test: ['5', '7', '9'], train: ['8'] })
json('scienceqa/llava/problems.json', problems)
for (const s of sqa) {
  write(`scienceqa/original/test/${s.id}/image.png`, picture[s.p])
  write(`scienceqa/llava/images/test/${s.id}/image.png`, picture[s.p])
}

// --- TextVQA, VizWiz, VQAv2: ten answers ---

const ten = (...a) => Array.from({ length: 10 }, (_, i) => a[i % a.length])
const vqa = [
  { id: '34602', q: 'what is the brand of this camera?', a: ten('dakota', "it's dakota", 'dakota digital'), p: 0 },
  { id: '34603', q: 'what does it say?', a: ten('nous les gosses', 'a "b"', 'no, tab\there'), p: 1 },
  { id: '34604', q: 'and below?', a: ten('42'), p: 0 },
]
tsv('textvqa/tsv/TextVQA_VAL.tsv', vqa.map(s => ({ index: s.id, question: s.q, answer: s.a, image: base64(s.p) })))
parquet('textvqa/parquet/data/validation-00000-of-00002.parquet', { question_id: 'int', question: 'text', answers: 'list', image: 'image' },
  vqa.slice(0, 2).map(s => ({ question_id: s.id, question: s.q, answers: s.a, image: image(s.p) })))
parquet('textvqa/parquet/data/validation-00001-of-00002.parquet', { question_id: 'int', question: 'text', answers: 'list', image: 'image' },
  vqa.slice(2).map(s => ({ question_id: s.id, question: s.q, answers: s.a, image: image(s.p) })))
const textvqa = { data: vqa.map(s => ({ question_id: Number(s.id), image_id: `im${s.p}`, question: s.q, answers: s.a })) }
json('textvqa/original/TextVQA_0.5.1_val.json', textvqa)
json('textvqa-noocr/tsv/TextVQA_0.5.1_val.json', textvqa)
json('textvqa/llava/textvqa/TextVQA_0.5.1_val.json', textvqa)
const kind = ['other', 'number', 'unanswerable']
const vizwiz = vqa.map((s, i) => ({ ...s, id: `VizWiz_val_0000000${i}`, p: i, t: kind[i] }))
tsv('vizwiz/tsv/VizWiz.tsv', vizwiz.map(s => ({ index: s.id, question: s.q, answers: s.a, answer_type: s.t, image: base64(s.p) })))
parquet('vizwiz/parquet/data/val-00000-of-00001.parquet', { question_id: 'text', question: 'text', answers: 'list', category: 'text', image: 'image' },
  vizwiz.map(s => ({ question_id: s.id, question: s.q, answers: s.a, category: s.t, image: image(s.p) })))
json('vizwiz/original/annotations/val.json', vizwiz.map(s => ({ image: s.id + '.jpg', question: s.q, answer_type: s.t, answerable: 1,
  answers: s.a.map(answer => ({ answer, answer_confidence: 'yes' })) })))
for (const s of vizwiz) write(`vizwiz/original/val/${s.id}.jpg`, picture[s.p])
const vqav2 = vqa.map((s, i) => ({ ...s, t: kind[i] }))
tsv('vqav2/tsv/VQAv2_VAL.tsv', vqav2.map(s => ({ index: s.id, question: s.q, answers: s.a, answer_type: s.t, image: base64(s.p) })))
parquet('vqav2/parquet/data/validation-00000-of-00001.parquet', { question_id: 'int', question: 'text', answers: 'list', answer_type: 'text', image: 'image' },
  vqav2.map(s => ({ question_id: s.id, question: s.q, answers: s.a, answer_type: s.t, image: image(s.p) })))
json('vqav2/original/v2_OpenEnded_mscoco_val2014_questions.json', { questions: vqav2.map(s => ({ question_id: Number(s.id), image_id: s.p, question: s.q })) })
json('vqav2/original/v2_mscoco_val2014_annotations.json', { annotations: vqav2.map(s => ({ question_id: Number(s.id), image_id: s.p, answer_type: s.t,
  answers: s.a.map((answer, i) => ({ answer, answer_confidence: 'yes', answer_id: i + 1 })) })) })
for (const k of [0, 1]) {
  write(`textvqa/original/train_images/im${k}.jpg`, picture[k])
  write(`textvqa-noocr/tsv/train_images/im${k}.jpg`, picture[k])
  write(`textvqa/llava/textvqa/train_images/im${k}.jpg`, picture[k])
  write(`vqav2/original/val2014/COCO_val2014_00000000000${k}.jpg`, picture[k])
}

// --- POPE: three samplings ---

const pope = ['adversarial', 'popular', 'random'].flatMap((c, i) => [1, 2].map(n => ({ n, c, q: `Is there a ${['dog', 'cat', 'car'][i]} in the image?`, a: n === 1 ? 'yes' : 'no', p: n - 1 })))
tsv('pope/tsv/POPE.tsv', pope.map(s => ({ index: `${s.c}/${s.n}`, question: s.q, answer: s.a === 'yes' ? 'Yes' : 'No', category: s.c, image: base64(s.p) })))
parquet('pope/parquet/data/test-00000-of-00001.parquet', { question_id: 'text', question: 'text', answer: 'text', category: 'text', image: 'image' },
  pope.map(s => ({ question_id: String(s.n), question: s.q, answer: s.a, category: s.c, image: image(s.p) })))
for (const [place, images] of [['original/coco', 'original/val2014'], ['llava/pope/coco', 'llava/val2014']]) {
  for (const c of ['adversarial', 'popular', 'random'])
    jsonl(`pope/${place}/coco_pope_${c}.json`, pope.filter(s => s.c === c).map(s => ({ question_id: s.n, image: `COCO_val2014_${s.p}.jpg`, text: s.q, label: s.a })))
  for (const k of [0, 1]) write(`pope/${images}/COCO_val2014_${k}.jpg`, picture[k])
}

// --- MME: pairs; beside the picture, or in folders ---

const mme = ['OCR', 'code_reasoning'].flatMap((c, i) => [0, 1].map(n => ({ c, n, q: `Is it ${n}? Please answer yes or no.`, a: n ? 'No' : 'Yes', p: i })))
tsv('mme/tsv/MME.tsv', mme.map(s => ({ index: `${s.c}/000${s.p}/${s.n}`, question: s.q, answer: s.a, category: s.c, image_path: `${s.c}/000${s.p}.png`, image: base64(s.p) })))
parquet('mme/parquet/data/test-00000-of-00001.parquet', { question_id: 'text', question: 'text', answer: 'text', category: 'text', image: 'image' },
  mme.map(s => ({ question_id: `${s.c}/000${s.p}.png`, question: s.q, answer: s.a, category: s.c, image: image(s.p) })))
for (const c of ['OCR', 'code_reasoning']) {
  const rows = mme.filter(s => s.c === c), p = rows[0].p, lines = rows.map(s => `${s.q}\t${s.a}\n`).join('')
  write(`mme/original/${c}/000${p}.txt`, lines)
  write(`mme/original/${c}/000${p}.png`, picture[p])
  write(`mme/llava/MME_Benchmark_release_version/${c}/questions_answers_YN/000${p}.txt`, lines)
  write(`mme/llava/MME_Benchmark_release_version/${c}/images/000${p}.png`, picture[p])
}

// --- MMBench: rotated copies whose picture is the first row's; a missing option is "nan" in parquet ---

const rotated = (name, language) => {
  const o = language === 'cn' ? ['猫', '狗', '鸟'] : ['cat', 'dog', 'bird'], q = language === 'cn' ? '哪一个是正确的?' : 'Which one is it?'
  const rows = [0, 1, 2].map(k => ({ index: 7 + k * 1000000, q, h: 'A hint.', o: [...o.slice(k), ...o.slice(0, k)], a: 'ACB'[k] }))
  rows.push({ index: 8, q: 'And this?', h: null, o: ['yes', 'no'], a: 'B' })
  const table = ref => rows.map((s, i) => ({ index: s.index, question: s.q, hint: s.h ?? (ref ? null : 'nan'), ...letters(ref ? s.o : [...s.o, ...Array(4 - s.o.length).fill('nan')]),
    answer: s.a, category: 'object', [ref ? 'l2-category' : 'L2-category']: 'finegrained', image: i === 3 ? 1 : 0 })).sort((x, y) => x.index - y.index)
  const files = language === 'cn' ? ['MMBench_DEV_CN.tsv', 'mmbench_cn/mmbench_dev_cn_20231003.tsv'] : ['MMBench_DEV_EN.tsv', 'mmbench_dev_20230712.tsv']
  files.forEach((file, f) => tsv(`${name}/${f ? 'llava' : 'tsv'}/${file}`,
    table(true).map(r => ({ ...r, image: r.index < 1000000 || f ? base64(r.image) : '7' }))))
  parquet(`${name}/parquet/${language}/dev-00000-of-00001.parquet`, { index: 'int', question: 'text', hint: 'text', A: 'text', B: 'text', C: 'text', D: 'text', answer: 'text',
    category: 'text', 'L2-category': 'text', image: 'image' }, table(false).map(r => ({ ...r, image: image(r.image) })))
}
rotated('mmbench', 'en')
rotated('mmbench-cn', 'cn')

// --- MM-Vet, OCRBench ---

const mmvet = [
  { id: 'v1_0', q: 'What is x?', a: 'x=-1 <AND> x=-5', c: ['ocr', 'math'], p: 0 },
  { id: 'v1_1', q: 'Who is it?', a: 'a man <OR> one man', c: ['rec'], p: 1 },
]
tsv('mmvet/tsv/MMVet.tsv', mmvet.map(s => ({ index: s.id, question: s.q, answer: s.a, category: s.c.join(','), image: base64(s.p) })))
parquet('mmvet/parquet/data/test-00000-of-00001.parquet', { question_id: 'text', question: 'text', answer: 'text', capability: 'text', image: 'image' },
  mmvet.map(s => ({ question_id: s.id, question: s.q, answer: s.a, capability: s.c.join(','), image: image(s.p) })))
const vet = Object.fromEntries(mmvet.map(s => [s.id, { imagename: `${s.id}.png`, question: s.q, answer: s.a, imagesource: 'here', capability: s.c }]))
json('mmvet/original/mm-vet.json', vet)
json('mmvet/llava/mm-vet/mm-vet.json', vet)
for (const s of mmvet) for (const place of ['original/images', 'llava/mm-vet/images']) write(`mmvet/${place}/${s.id}.png`, picture[s.p])
const ocr = [
  { id: '0', q: 'what is written in the image?', a: ['CENTRE'], t: 'Regular Text Recognition', d: 'IIIT5K', p: 0 },
  { id: '1', q: 'Please write out the expression.', a: ['y _ { 2 } = - 1\n', 'y_2 = - 1'], t: 'Handwritten Mathematical Expression Recognition', d: 'HME100k', p: 1 },
]
tsv('ocrbench/tsv/OCRBench.tsv', ocr.map(s => ({ index: s.id, question: s.q, answer: s.a, category: s.t, dataset: s.d, image: base64(s.p) })))
parquet('ocrbench/parquet/data/test-00000-of-00001.parquet', { dataset: 'text', question: 'text', question_type: 'text', answer: 'list', image: 'image' },
  ocr.map(s => ({ dataset: s.d, question: s.q, question_type: s.t, answer: s.a, image: image(s.p) })))
json('ocrbench/original/OCRBench.json', ocr.map(s => ({ dataset_name: s.d, id: s.id, image_path: `${s.d}/${s.p}.png`, question: s.q, answers: s.a.length > 1 ? s.a : s.a[0], type: s.t })))
for (const s of ocr) write(`ocrbench/original/${s.d}/${s.p}.png`, picture[s.p])

// --- DocVQA, InfographicVQA: several accepted answers, kinds of questions ---

const documents = [
  { id: '49153', q: 'What is the "actual" value per 1000?', a: ['0.28'], t: ['figure/diagram', 'form'], p: 0 },
  { id: '24580', q: 'What is the name of the university?', a: ['University of California', "it's UC"], t: ['table/list'], p: 1 },
]
for (const [name, file, config, kind, original, images] of [
  ['docvqa', 'DocVQA_VAL.tsv', 'DocVQA', 'question_types', 'val_v1.0_withQT.json', 'documents'],
  ['infovqa', 'InfoVQA_VAL.tsv', 'InfographicVQA', 'answer_type', 'infographicsVQA_val_v1.0_withQT.json', 'infographicsvqa_images']]) {
  tsv(`${name}/tsv/${file}`, documents.map(s => ({ index: s.id, question: s.q, answer: s.a, [kind]: s.t, image: base64(s.p) })))
  parquet(`${name}/parquet/${config}/validation-00000-of-00001.parquet`, { questionId: 'text', question: 'text', [kind]: 'list', image: 'image', answers: 'list' },
    documents.map(s => ({ questionId: s.id, question: s.q, [kind]: s.t, image: image(s.p), answers: s.a })))
  json(`${name}/original/${original}`, { dataset_name: name, dataset_split: 'val', data: documents.map(s => ({ questionId: Number(s.id), question: s.q, [kind]: s.t, answers: s.a,
    ...(name === 'docvqa' ? { image: `documents/d${s.p}.png`, docId: 7 } : { image_local_name: `d${s.p}.png` }) })) })
  for (const s of documents) write(`${name}/original/${images}/d${s.p}.png`, picture[s.p])
}

// --- ChartQA: rows without names, questions of people and of a machine ---

const chartqa = [
  { q: 'What is the difference in value between Lamb and Corn?', a: '0.57', t: 'augmented', p: 0 },
  { q: 'Is the sum larger than 50%?', a: 'Yes', t: 'human', p: 1 },
  { q: 'Which year?', a: '2014', t: 'human', p: 0 },
]
tsv('chartqa/tsv/ChartQA_TEST.tsv', chartqa.map((s, i) => ({ index: i, question: s.q, answer: s.a, split: `test_${s.t}`, image: base64(s.p) })))
parquet('chartqa/parquet/data/test-00000-of-00001.parquet', { type: 'text', question: 'text', answer: 'text', image: 'image' },
  chartqa.map(s => ({ type: `${s.t}_test`, question: s.q, answer: s.a, image: image(s.p) })))
for (const t of ['augmented', 'human'])
  json(`chartqa/original/test/test_${t}.json`, chartqa.filter(s => s.t === t).map(s => ({ imgname: `c${s.p}.png`, query: s.q, label: s.a })))
for (const k of [0, 1]) write(`chartqa/original/test/png/c${k}.png`, picture[k])

// --- MMStar: options inside the question of the parquet; SEED-Bench: a video that is left out ---

const mmstar = [
  { id: 0, q: 'Which is it?', o: ['A cat.', 'A dog, or two.', 'none', '3'], a: 'B', c: ['coarse perception', 'image emotion'], p: 0 },
  { id: 1, q: 'How many?', o: ['1', '2', '3', '4'], a: 'D', c: ['math', 'geometry'], p: 1 },
  { id: 2, q: 'And now?', o: ['up', 'down', 'left', 'right'], a: 'A', c: ['math', 'geometry'], p: 1 },
]
tsv('mmstar/tsv/MMStar.tsv', mmstar.map(s => ({ index: s.id, question: s.q, ...letters(s.o), answer: s.a, category: s.c[0], l2_category: s.c[1], image: base64(s.p) })))
parquet('mmstar/parquet/mmstar.parquet', { index: 'int', question: 'text', image: 'image', answer: 'text', category: 'text', l2_category: 'text' },
  mmstar.map(s => ({ index: s.id, question: `${s.q}\nOptions: ${s.o.map((o, i) => `${'ABCD'[i]}: ${o}`).join(', ')}`, image: image(s.p), answer: s.a, category: s.c[0], l2_category: s.c[1] })))
const seed = [
  { id: '101669', q: 'How many towels are there?', o: ['One', 'Two', 'Three', 'Four'], a: 'A', t: 5, d: 'image', p: 0 },
  { id: '9', q: 'What happens next?', o: ['a', 'b', 'c', 'd'], a: 'B', t: 11, d: 'video', p: 1 },
  { id: '77', q: 'Where is the man?', o: ['left', 'right', 'above', 'below'], a: 'D', t: 4, d: 'image', p: 1 },
]
const dimension = { 4: 'Instance Location', 5: 'Instances Counting', 11: 'Action Prediction' }
const abcd = s => Object.fromEntries(s.o.map((o, i) => [`choice_${'abcd'[i]}`, o]))
tsv('seedbench/tsv/SEEDBench_IMG.tsv', seed.filter(s => s.d === 'image').map(s => ({ index: s.id, question: s.q, ...letters(s.o), answer: s.a, category: dimension[s.t], image: base64(s.p) })))
parquet('seedbench/parquet/data/test-00000-of-00001.parquet', { answer: 'text', choice_a: 'text', choice_b: 'text', choice_c: 'text', choice_d: 'text', data_id: 'text',
  data_type: 'text', question: 'text', question_id: 'text', question_type_id: 'int', image: 'images' },
  seed.map(s => ({ ...abcd(s), answer: s.a, data_id: s.id, data_type: s.d, question: s.q, question_id: s.id, question_type_id: s.t, image: [image(s.p)] })))
const seedOriginal = { question_type: Object.fromEntries(Object.entries(dimension).map(([n, name]) => [name, Number(n)])),
  questions: seed.map(s => ({ ...abcd(s), answer: s.a, data_id: `1454426_${s.p}`, data_type: s.d, question: s.q, question_id: s.id, question_type_id: s.t })) }
json('seedbench/original/SEED-Bench.json', seedOriginal)
json('seedbench/llava/seed_bench/SEED-Bench.json', seedOriginal)
for (const k of [0, 1]) for (const place of ['original', 'llava/seed_bench']) write(`seedbench/${place}/SEED-Bench-image/1454426_${k}`, picture[k])

// --- RefCOCO: several expressions of one box, splits by file; pictures of 200 by 100 ---

const wide = k => {
  const head = Buffer.from([0, 0, 0, 200, 0, 0, 0, 100, 8, 2, 0, 0, 0]), row = Buffer.alloc(601, 80 * k)
  row[0] = 0
  return Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), chunk('IHDR', head), chunk('IDAT', deflateSync(Buffer.concat(Array(100).fill(row)))), chunk('IEND', Buffer.alloc(0))])
}
const refcoco = [
  { id: '469', e: ['left man', 'man in "red"'], b: [20, 10, 80, 50.5], s: 'testA', p: 1 },
  { id: '470', e: ['the cup'], b: [100.25, 30, 40, 60], s: 'val', p: 2 },
]
const flat = refcoco.flatMap(r => r.e.map(e => ({ ...r, e })))
tsv('refcoco/tsv/RefCOCO.tsv', flat.map((r, i) => ({ index: i, image: wide(r.p).toString('base64'), question: r.e, bbox_x1: r.b[0], bbox_y1: r.b[1], bbox_x2: r.b[0] + r.b[2], bbox_y2: r.b[1] + r.b[3],
  width: 200, height: 100, category: `RefCOCO ${r.s === 'testA' ? 'test A' : r.s}` })))
for (const s of ['testA', 'val'])
  parquet(`refcoco/parquet/data/${s}-00000-of-00001.parquet`, { question_id: 'text', image: 'image', question: 'text', answer: 'list', bbox: 'reals', file_name: 'text' },
    refcoco.filter(r => r.s === s).map(r => ({ question_id: r.id, image: { bytes: new Uint8Array(wide(r.p)), path: 'x.png' }, question: 'Describe the area.', answer: r.e, bbox: r.b, file_name: 'x.jpg' })))
for (const s of ['testA', 'val'])
  jsonl(`refcoco/original/refcoco_${s}.jsonl`, flat.filter(r => r.s === s).map(r => ({ image: `data/coco/train2014/COCO_${r.p}.jpg`, sent: r.e,
    bbox: [r.b[0], r.b[1], r.b[0] + r.b[2], r.b[1] + r.b[3]], height: 100, width: 200 })))
for (const s of ['testA', 'val']) {
  const rows = flat.filter(r => r.s === s).map((r, i) => ({ ...r, n: 30 + i }))
  json(`refcoco/llava/finetune_refcoco_${s}.json`, { info: [], images: rows.map(r => ({ file_name: `COCO_${r.p}.jpg`, height: 100, width: 200, id: r.n, caption: r.e, dataset_name: 'refcoco' })),
    annotations: rows.map(r => ({ area: 1, iscrowd: 0, image_id: r.n, category_id: 1, id: 7 + r.n, bbox: r.b })) })
}
for (const r of refcoco) write(`refcoco/llava/train2014/COCO_${r.p}.jpg`, wide(r.p))
for (const r of refcoco) write(`refcoco/original/train2014/COCO_${r.p}.jpg`, wide(r.p))

// --- one's own ---

const own = [{ id: 'a', image_path: 'p/0.png', question: 'Which?', answer: 'B', options: [['A', 'x'], ['B', 'y']], hint: 'h', category: 'c' },
  { id: 'b', image_path: 'p/1.png', question: 'How?', answers: ten('so', 'thus') }]
json('manifest/tsv/manifest.json', own)
jsonl('manifest/original/manifest.jsonl', own)
for (const place of ['tsv', 'original']) for (const k of [0, 1]) write(`manifest/${place}/p/${k}.png`, picture[k])

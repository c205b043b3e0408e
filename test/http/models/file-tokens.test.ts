/** Token budgets of requests with files. */

import { expect } from 'chai';
import type { TextCall, TextModel } from 'mediagate';
import { parseBudget } from '../../../server/budgets/index.js';
import { blackPng } from '../../support/images/images.js';
import {
  docxOf,
  pdfFile,
  pdfOf,
  pdfStream,
  pdfWith,
  wavOf,
  xlsxOf,
  zipOf,
} from '../../support/models/document-files.js';
import type { Script } from '../../support/models/scripted-text.js';
import { longIt } from '../../support/runner/variants.js';
import { until } from '../../support/until.js';
import type { ListeningApp } from '../http/listening-app.js';
import { post, startScriptedApp } from './text-app.js';

const MODELS: readonly TextModel[] = [
  { id: 'm-chat', routes: ['chat_completions', 'responses'], efforts: [] },
  { id: 'm-native', routes: ['messages'], efforts: [] },
];
const LINE = 'the tug pulls the old ship into the harbour now';
const WORDS_PER_LINE = 10;
const LONG = Array.from({ length: 18_000 }, () => LINE);
const LONG_WORDS = LONG.length * WORDS_PER_LINE;
const PAGE = Array.from({ length: 50 }, () => LINE);
const URL_OF_PDF = 'https://pier.example/tides.pdf';
const HIDDEN = 131_072;

type Part = (file: Buffer, type?: string) => { path: string; body: object; param: string };

const base64 = (file: Buffer) => file.toString('base64');
const uri = (file: Buffer, type: string) => `data:${type};base64,${base64(file)}`;
const ask = { max_tokens: 100 };

/** The parts with files of each format. */
const FORMATS: readonly { name: string; part: Part }[] = [
  {
    name: 'a chat',
    part: (file, type = 'application/pdf') => ({
      path: '/v1/chat/completions',
      body: chat([
        { type: 'text', text: 'Read.' },
        { type: 'file', file: { filename: 'a', file_data: uri(file, type) } },
      ]),
      param: 'messages[0].content[1].file.file_data',
    }),
  },
  {
    name: 'a response',
    part: (file, type = 'application/pdf') => ({
      path: '/v1/responses',
      body: {
        model: 'm-chat',
        max_output_tokens: 100,
        input: [{ role: 'user', content: [{ type: 'input_file', filename: 'a', file_data: uri(file, type) }] }],
      },
      param: 'input[0].content[0].file_data',
    }),
  },
  {
    name: 'a message',
    part: (file, type = 'application/pdf') => ({
      path: '/v1/messages',
      body: message([{ type: 'document', source: { type: 'base64', media_type: type, data: base64(file) } }]),
      param: 'messages[0].content[0].source.data',
    }),
  },
];

function chat(content: unknown, more: object = {}) {
  return { model: 'm-chat', ...ask, messages: [{ role: 'user', content }], ...more };
}

function message(content: unknown, more: object = {}) {
  return { model: 'm-native', ...ask, messages: [{ role: 'user', content }], ...more };
}

describe('token budgets of files in model requests', () => {
  let app: ListeningApp;
  let calls: TextCall[] = [];
  /** What the budget holds while the model answers. */
  let reserved: number[] = [];
  let key = '';

  async function answer(call: TextCall): Promise<Script> {
    calls.push(call);
    const { json } = await app.request('/v1/usage', { headers: { authorization: `Bearer ${key}` } });
    for (const budget of json.budgets ?? []) reserved.push(budget.reserved);
    if (call.stream) {
      const chunk = { id: 'x', choices: [{ index: 0, delta: { content: 'Ostend.' }, finish_reason: 'stop' }] };
      return { pieces: [Buffer.from(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`)] };
    }
    const usage = { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6, input_tokens: 5, output_tokens: 1 };
    const choices = [{ index: 0, message: { role: 'assistant', content: 'Ostend.' }, finish_reason: 'stop' }];
    const whole = { id: 'x', object: 'chat.completion', created: 1, model: call.model, choices, status: 'completed' };
    const text = { output: [], type: 'message', role: 'assistant', content: [{ type: 'text', text: 'Ostend.' }] };
    const body = JSON.stringify({ ...whole, ...text, stop_reason: 'end_turn', usage });
    return { contentType: 'application/json', pieces: [Buffer.from(body)] };
  }

  before(async () => {
    app = await startScriptedApp(answer, { models: MODELS }, { messages: true });
  });
  beforeEach(() => {
    calls = [];
    reserved = [];
  });
  after(() => app.close());

  async function useKey(budget?: string): Promise<void> {
    key = await app.makeKey({ grants: ['text'] });
    const amount = budget === undefined ? undefined : parseBudget(budget);
    if (!amount) return;
    await app.state.budgets.change({
      scope: 'key',
      subject: key.slice(6, 14),
      budgets: [amount],
      actor: 'operator:ann',
    });
    await app.keys.refresh();
  }

  const send = ({ path, body }: { path: string; body: object }) => post(app, path, key, body);

  /** The tokens that a budget of plenty reserves for a request. */
  async function reservedFor(request: { path: string; body: object }): Promise<number> {
    await useKey('100M tokens/month');
    reserved = [];
    const answered = await send(request);
    expect([answered.status, reserved.length], answered.text).to.deep.equal([200, 1]);
    return reserved.pop() ?? 0;
  }

  async function refusal(request: { path: string; body: object }) {
    const { status, json } = await send(request);
    return { status, code: json.error.code, param: json.error.param, message: String(json.error.message) };
  }

  for (const [index, { name, part }] of FORMATS.entries()) {
    // The formats differ in where a file is, not in how it is read.
    const once = index === 0 ? it : longIt;
    once(`${name}: a PDF of 3 kB with 180,000 words does not fit 50,000 tokens`, async () => {
      const pdf = pdfOf([LONG]);
      expect(pdf.length).to.be.below(4_000);
      await useKey('50000 tokens/month');
      const refused = await send(part(pdf));
      expect([refused.status, calls.length], refused.text).to.deep.equal([429, 0]);
      expect(await reservedFor(part(pdf))).to.be.within(LONG_WORDS, 1.5 * LONG_WORDS);
    });

    it(`${name}: an ordinary page passes with a small budget, and pages count as documented`, async () => {
      await useKey('5000 tokens/month');
      const small = await send(part(pdfOf([PAGE])));
      expect([small.status, calls.length], small.text).to.deep.equal([200, 1]);
      const [one, five] = [
        await reservedFor(part(pdfOf([PAGE]))),
        await reservedFor(part(pdfOf(Array.from({ length: 5 }, () => PAGE)))),
      ];
      expect(five - one).to.equal(4 * 3_000);
    });

    once(`${name}: unreadable files are refused by name, and pass without a budget`, async () => {
      const encrypted = pdfOf([PAGE], '/Encrypt << /Filter /Standard /V 1 >> ');
      const unread: [Buffer, string][] = [
        [encrypted, 'is an encrypted PDF'],
        [pdfWith('A'.repeat(80 * 1024 * 1024)), 'unpacks to more than is read'],
        [docxOf(['B'.repeat(80 * 1024 * 1024)]), 'unpacks to more than is read'],
        [zipOf({ 'a.txt': 'tug' }), 'is an archive that is no docx, xlsx or pptx file'],
        [Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]), 'is of a kind that is not read'],
        [Buffer.from('%PDF-1.7\nnothing'), 'is a PDF without a page that can be found'],
      ];
      for (const [file, why] of unread) {
        const request = part(file, why.includes('PDF') ? undefined : 'application/octet-stream');
        await useKey('100M tokens/month');
        const { param } = request;
        const found = await refusal(request);
        expect(found.status, why).to.equal(400);
        // Errors in the format of messages have neither.
        if (found.code) expect(found).to.include({ code: 'unsupported_value', param });
        expect(found.message).to.contain(`${param} ${why}, so its tokens cannot be estimated`).and.contain('docx');
        expect(calls, why).to.have.length(0);
      }
      await useKey();
      expect((await send(part(encrypted))).status).to.equal(200);
    });

    once(`${name}: documents count as their text`, async () => {
      const type = 'application/octet-stream';
      const none = await reservedFor(part(Buffer.from(' '), 'text/plain'));
      const of = async (file: Buffer) => (await reservedFor(part(file, type))) - none;
      expect(await of(docxOf(LONG))).to.be.within(LONG_WORDS, 1.5 * LONG_WORDS);
      expect(await of(xlsxOf(LONG.slice(0, 180).join(' '), 100))).to.be.within(LONG_WORDS, 1.5 * LONG_WORDS);
      expect(await of(Buffer.from(LONG.join('\n')))).to.be.within(LONG_WORDS, 1.5 * LONG_WORDS);
      expect(await of(docxOf(PAGE))).to.be.within(450, 700);
      expect(await of(blackPng({ width: 9, height: 9 }))).to.equal(4_096 - 1);
    });
  }

  const chatPdf = (file: Buffer) => (FORMATS[0] as (typeof FORMATS)[number]).part(file);

  it('text counts in every form of a PDF, each time it is shown', async () => {
    const shown = LONG.slice(0, 1_800).map((line) => `(${line}) Tj T*`);
    const text = `BT /F1 11 Tf 13 TL 50 740 Td ${shown.join('\n')} ET`;
    const words = shown.length * WORDS_PER_LINE;
    const form = (content: string) =>
      pdfStream(
        content,
        '/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X1 6 0 R /X2 7 0 R >> >> ',
      );
    const packed = (objects: readonly string[]) => {
      const head = objects.map(
        (_, index) => `${20 + index} ${objects.slice(0, index).join(' ').length + (index > 0 ? 1 : 0)}`,
      );
      const first = head.join(' ').length + 1;
      return pdfStream(`${head.join(' ')} ${objects.join(' ')}`, `/Type /ObjStm /N ${objects.length} /First ${first} `);
    };
    const inStream = packed([
      '<< /Type /Pages /Kids [21 0 R] /Count 1 >>',
      '<< /Type /Page /Parent 20 0 R /Contents 3 0 R >>',
    ]);
    const tenTimes = Array.from({ length: 10 }, () => '/X1 Do').join(' ');
    const map = `1 begincodespacerange <00> <FF> endcodespacerange 1 beginbfchar <41> <${Buffer.from(LINE, 'utf16le').swap16().toString('hex')}> endbfchar`;
    const mapped = '<< /Type /Font /Subtype /Type1 /BaseFont /A /ToUnicode 6 0 R >>';
    const files: [string, Buffer, number][] = [
      ['outside the page', pdfWith(text), words],
      ['in a form, drawn ten times', pdfWith(tenTimes, [form(text)]), 10 * words],
      ['in forms within forms', pdfWith(tenTimes, [form('/X2 Do /X2 Do'), form(text)]), 20 * words],
      ['in no form', pdfWith('/X1 Do', [form('/X1 Do')]), 0],
      [
        'as the text of an image',
        pdfWith(`/Span << /ActualText (${LONG.slice(0, 1_800).join(' ')}) >> BDC EMC`),
        words,
      ],
      ['by a map of letters', pdfWith(`BT /F1 9 Tf (${'A'.repeat(1_800)}) Tj ET`, [pdfStream(map)], mapped), words],
      [
        'by pages in a compressed stream',
        pdfFile(['<< /Type /Catalog /Pages 20 0 R >>', inStream, pdfStream(text)]),
        words,
      ],
    ];
    for (const [how, file, least] of files) {
      const tokens = await reservedFor(chatPdf(file));
      expect(tokens, how).to.be.within(Math.max(3_000, least), Math.max(3_300, 1.5 * least + 2_000));
    }
  });

  it("reserve the largest content of addresses and uploaded files, and an image's tokens for images", async () => {
    const source = { type: 'url', url: URL_OF_PDF };
    const named: { path: string; body: object }[] = [
      { path: '/v1/messages', body: message([{ type: 'document', source }]) },
      { path: '/v1/messages', body: message([{ type: 'document', source: { type: 'file', file_id: 'file_1' } }]) },
      {
        path: '/v1/responses',
        body: {
          model: 'm-chat',
          max_output_tokens: 100,
          input: [{ role: 'user', content: [{ type: 'input_file', file_url: URL_OF_PDF }] }],
        },
      },
      { path: '/v1/chat/completions', body: chat([{ type: 'video_url', video_url: { url: URL_OF_PDF } }]) },
    ];
    for (const request of named) {
      if (JSON.stringify(request).includes('file_id')) continue;
      expect(await reservedFor(request), JSON.stringify(request)).to.be.within(HIDDEN, HIDDEN + 300);
    }
    const images = [
      { path: '/v1/messages', body: message([{ type: 'image', source }]) },
      {
        path: '/v1/messages',
        body: message([{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0K' } }]),
      },
      {
        path: '/v1/chat/completions',
        body: chat([{ type: 'image_url', image_url: { url: 'https://pier.example/tug.png' } }]),
      },
      {
        path: '/v1/chat/completions',
        body: chat([{ type: 'image_url', image_url: { url: uri(Buffer.from('GIF8'), 'image/gif') } }]),
      },
    ];
    for (const request of images) {
      expect(await reservedFor(request), JSON.stringify(request)).to.be.within(4_096, 4_400);
    }
  });

  it('text counts in every place', async () => {
    const text = LONG.join(' ');
    const data = (type: string) => ({ type, media_type: 'text/plain', data: text });
    const requests: { path: string; body: object }[] = [
      { path: '/v1/messages', body: message([{ type: 'document', source: data('text') }]) },
      {
        path: '/v1/messages',
        body: message([
          { type: 'tool_use', id: 't', name: 'read', input: { source: data('base64'), image_url: text } },
        ]),
      },
      { path: '/v1/chat/completions', body: chat(`data:text/plain,${text}`) },
      {
        path: '/v1/chat/completions',
        body: chat('Hi', {
          tools: [
            { type: 'function', function: { name: 'a', parameters: { properties: { data: { description: text } } } } },
          ],
        }),
      },
      { path: '/v1/chat/completions', body: chat([{ type: 'image_url', image_url: uri(pdfOf([LONG]), 'image/png') }]) },
    ];
    for (const request of requests) {
      const tokens = await reservedFor(request);
      expect(tokens, JSON.stringify(request).slice(0, 120)).to.be.within(LONG_WORDS, 2.8 * LONG_WORDS);
    }
  });

  it('a file counts once for every notation of its address and base64', async () => {
    const pdf = base64(pdfOf([LONG]));
    const file = (data: string) => ({
      path: '/v1/chat/completions',
      body: chat([{ type: 'file', file: { file_data: data } }]),
    });
    const long = `data:application/pdf;name=${'a'.repeat(2_000)};base64,`;
    for (const data of [pdf, ` data:application/pdf;base64,${pdf}`, `data:;base64;a=b,${pdf}`, `${long}${pdf}`]) {
      expect(await reservedFor(file(data)), data.slice(0, 40)).to.be.within(LONG_WORDS, 1.5 * LONG_WORDS);
    }
    await useKey('100M tokens/month');
    expect((await refusal(file(`data:application/pdf;base64,dHVnIA==${pdf}`))).message).to.contain('is no base64');
  });

  it('encrypted thoughts do not count as files', async () => {
    const body = message([{ type: 'text', text: 'Go on.' }], {
      messages: [{ role: 'assistant', content: [{ type: 'redacted_thinking', data: 'EmwKAhgB'.repeat(100) }] }],
    });
    expect(await reservedFor({ path: '/v1/messages', body })).to.be.within(300, 450);
  });

  it('audio counts by its length', async () => {
    const sound = (file: Buffer) => ({
      path: '/v1/chat/completions',
      body: chat([{ type: 'input_audio', input_audio: { data: base64(file), format: 'wav' } }]),
    });
    expect(await reservedFor(sound(wavOf(60)))).to.be.within(60 * 32, 60 * 32 + 300);
    await useKey('100M tokens/month');
    const found = await refusal(sound(Buffer.concat([Buffer.from('fLaC'), Buffer.alloc(400)])));
    expect(found).to.include({ status: 400, param: 'messages[0].content[0].input_audio' });
    expect(found.message).to.contain('wav and mp3');
  });

  it('a file in a body that is parsed in a thread counts the same', async () => {
    const content = (file: Buffer) => [
      { type: 'text', text: `${'tug '.repeat(80_000)}` },
      { type: 'file', file: { file_data: uri(file, 'application/pdf') } },
    ];
    const request = (file: Buffer) => ({ path: '/v1/chat/completions', body: chat(content(file)) });
    const [small, large] = [await reservedFor(request(pdfOf([PAGE]))), await reservedFor(request(pdfOf([LONG])))];
    expect(large - small).to.be.within(LONG_WORDS - 3_000, 1.5 * LONG_WORDS);
  });

  it('an answer without reported usage is charged the files if a budget counted them', async () => {
    const request = chatPdf(pdfOf([LONG]));
    const streamed = { ...request, body: { ...request.body, stream: true } };
    await useKey('1M tokens/month');
    expect((await send(streamed)).text).to.contain('Ostend.');
    const used = await until(async () => {
      const { json } = await app.request('/v1/usage', { headers: { authorization: `Bearer ${key}` } });
      const [budget] = json.budgets as { reserved: number; used: number }[];
      return budget?.reserved === 0 && budget.used;
    });
    expect(used).to.be.within(LONG_WORDS, 1.5 * LONG_WORDS);
  });
});

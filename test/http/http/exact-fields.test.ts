/** Exact spelling of the fields that the gateway reads. */

import { expect } from 'chai';
import { makeSound } from '../../support/audio/sounds.js';
import { startAudioApp, toForm } from '../audio/client.js';
import { imageClient, startImageApp } from '../images/client.js';
import { post, startScriptedApp } from '../models/text-app.js';
import type { ListeningApp } from './listening-app.js';

const ANSWER = Buffer.from('{"id":"a","object":"chat.completion","choices":[],"usage":{"prompt_tokens":1}}');
const MODELS = [
  { id: 'm-5.5', routes: ['chat_completions', 'responses'], efforts: [] },
  { id: 'm-claude', routes: ['messages'], efforts: [] },
  { id: 'm-vectors', routes: ['embeddings', 'moderations'], efforts: [] },
] as const;
const TEXT = '"messages":[{"role":"user","content":"Ahoy!"}]';

describe('fields that the gateway reads', () => {
  let app: ListeningApp & { model: { calls: readonly { body: Uint8Array }[] } };
  let key: string;

  before(async () => {
    const script = () => ({ contentType: 'application/json', pieces: [ANSWER] });
    app = await startScriptedApp(script, { models: MODELS }, { messages: true });
    key = await app.makeKey({ grants: ['text'] });
  });
  after(() => app.close());

  async function refused(path: string, body: string, param: string): Promise<void> {
    const { length } = app.model.calls;
    const { status, json } = await post(app, path, key, body);
    expect([status, json.error.code ?? json.error.type, json.error.param ?? param], body).to.deep.equal([
      400,
      json.error.code === undefined ? 'invalid_request_error' : 'invalid_value',
      param,
    ]);
    expect(json.error.message).to.contain(param);
    expect(app.model.calls).to.have.length(length);
  }

  it('must be unique and exactly spelled, on every text route and at every depth', async () => {
    const chat = '/v1/chat/completions';
    const model = '"model":"m-5.5"';
    await refused(chat, `{${model},"model":"m-vectors",${TEXT}}`, 'model');
    await refused(chat, `{${model},"mod\\u0065l":"m-vectors",${TEXT}}`, 'model');
    await refused(chat, `{${model},"Model":"m-vectors",${TEXT}}`, 'Model');
    await refused(chat, `{${model},"\\u004dODEL":"m-vectors",${TEXT}}`, 'MODEL');
    await refused(chat, `{${model},"\u212Aind":1,"to\u212Aens":1,"max_to\u212Aens":9,${TEXT}}`, 'max_to\u212Aens');
    await refused(chat, `{${model},${TEXT},${TEXT}}`, 'messages');
    await refused(chat, `{${model},"n":1,${TEXT},"n":8}`, 'n');
    await refused(chat, `{${model},"N":8,${TEXT}}`, 'N');
    await refused(chat, `{${model},"max_tokens":5,"max_tokens":5000,${TEXT}}`, 'max_tokens');
    await refused(chat, `{${model},"Max_Tokens":5000,${TEXT}}`, 'Max_Tokens');
    await refused(chat, `{${model},"stream":false,"stream":true,${TEXT}}`, 'stream');
    await refused(chat, `{${model},"Service_Tier":"priority",${TEXT}}`, 'Service_Tier');
    await refused(chat, `{${model},"tools":[{"Type":"web_search"}],${TEXT}}`, 'tools[0].Type');
    await refused(chat, `{${model},"tools":[{"type":"function","type":"web_search"}],${TEXT}}`, 'tools[0].type');
    await refused(chat, `{${model},"stream_options":{"Include_Usage":false},${TEXT}}`, 'stream_options.Include_Usage');
    await refused(
      chat,
      `{${model},"messages":[{"role":"user","content":"a"},{"role":"user","content":[{"type":"file","file":{"File_ID":"file-1"}}]}]}`,
      'messages[1].content[0].file.File_ID',
    );
    await refused(chat, `{${model},"options":{"num_predict":1,"num_predict":9},${TEXT}}`, 'options.num_predict');
    const responses = '/v1/responses';
    await refused(responses, `{${model},"input":"a","Previous_Response_Id":"resp_1"}`, 'Previous_Response_Id');
    await refused(responses, `{${model},"input":"a","store":false,"store":true}`, 'store');
    await refused(responses, `{${model},"input":"a","Background":true}`, 'Background');
    await refused(responses, `{${model},"input":[{"ID":"msg_1"}]}`, 'input[0].ID');
    await refused(
      responses,
      `{${model},"input":"a","reasoning":{"effort":"low","effort":"xhigh"}}`,
      'reasoning.effort',
    );
    await refused('/v1/responses/compact', `{${model},"input":"a","MODEL":"x"}`, 'MODEL');
    const claude = '"model":"m-claude","max_tokens":9';
    await refused('/v1/messages', `{${claude},"Max_tokens":9000,${TEXT}}`, 'Max_tokens');
    await refused(
      '/v1/messages',
      `{${claude},${TEXT},"thinking":{"type":"enabled","Budget_Tokens":9}}`,
      'thinking.Budget_Tokens',
    );
    await refused('/v1/messages', `{${model},"max_tokens":9,"max_tokens":9000,${TEXT}}`, 'max_tokens');
    await refused('/v1/embeddings', '{"model":"m-vectors","input":"a","Input":"b"}', 'Input');
    await refused('/v1/moderations', '{"model":"m-vectors","model":"m-5.5","input":"a"}', 'model');
  });

  it('are checked in large bodies too, which another thread parses', async () => {
    const long = `"messages":[{"role":"user","content":"${'Ahoy! '.repeat(60_000)}"}]`;
    await refused('/v1/chat/completions', `{"model":"m-5.5",${long},"Model":"m-vectors"}`, 'Model');
    await refused(
      '/v1/chat/completions',
      `{"model":"m-5.5",${long},"tools":[{"type":"a","type":"b"}]}`,
      'tools[0].type',
    );
    const answer = await post(app, '/v1/chat/completions', key, `{"model":"m-5.5",${long},"x":1,"x":2}`);
    expect(answer.status).to.equal(200);
  });

  it("may have any spelling inside of the client's data and unknown fields", async () => {
    const body = `{"model":"m-5.5",${TEXT},"metadata":{"Model":"x","id":"1","id":"2"},"X":1,"X":2,"Temperature":1,
      "response_format":{"type":"json_schema","json_schema":{"name":"a","schema":{"properties":{"Type":{},"ID":{},"id":{}}}}},
      "tools":[{"type":"function","function":{"name":"f","parameters":{"properties":{"Model":{"type":"string"}}}}}]}`;
    const answer = await post(app, '/v1/chat/completions', key, body);
    expect([answer.status, app.model.calls.at(-1)?.body.toString()]).to.deep.equal([200, body]);
    const called = `{"model":"m-claude","max_tokens":9,"messages":[{"role":"user","content":"a"},
      {"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{"Type":"a","ID":1}}]}]}`;
    expect((await post(app, '/v1/messages', key, called)).status).to.equal(200);
  });

  it('must have a whole number of choices', async () => {
    for (const n of ['"8"', '8.5', '0', '-1', 'true', '1e400', '[8]']) {
      await refused('/v1/chat/completions', `{"model":"m-5.5","n":${n},${TEXT}}`, 'n');
      await refused('/v1/chat/completions', `{"model":"m-5.5","best_of":${n},${TEXT}}`, 'best_of');
    }
    for (const n of ['8', '8.0', 'null']) {
      const { status } = await post(app, '/v1/chat/completions', key, `{"model":"m-5.5","n":${n},${TEXT}}`);
      expect(status, n).to.equal(200);
    }
  });

  it('must not name further models for a key that is restricted to some', async () => {
    const limited = await app.makeKey({ grants: ['text'] }, { models: ['m-5.5', 'm-claude'] });
    for (const field of ['"models":["gpt-5-pro"]', '"fallbacks":["x"]', '"fallback_models":["x"]']) {
      for (const [path, model] of [
        ['/v1/chat/completions', 'm-5.5'],
        ['/v1/messages', 'm-claude'],
      ] as const) {
        const body = `{"model":"${model}","max_tokens":9,${TEXT},${field}}`;
        const refused = await post(app, path, limited, body);
        expect([refused.status, refused.json.error.code ?? refused.json.error.type], field).to.deep.equal([
          403,
          path === '/v1/messages' ? 'permission_error' : 'model_not_allowed',
        ]);
        expect((await post(app, path, key, body)).status).to.equal(200);
      }
    }
  });

  it('are checked for images and audio, in JSON and in forms', async () => {
    const images = await startImageApp();
    const audio = await startAudioApp();
    try {
      const client = imageClient(images, await images.makeKey({ grants: ['images'] }));
      for (const [body, param] of [
        ['{"model":"gen-img-2","prompt":"a","Prompt":"b"}', 'Prompt'],
        ['{"model":"gen-img-2","prompt":"a","prompt":"b"}', 'prompt'],
        ['{"model":"gen-img-2","prompt":"a","n":1,"N":4}', 'N'],
      ] as const) {
        const { status, json } = await client.generate(body);
        expect([status, json.error.code, json.error.param]).to.deep.equal([400, 'invalid_value', param]);
      }
      const speech = await audio.request('/v1/audio/speech', {
        method: 'POST',
        headers: { authorization: `Bearer ${audio.key}`, 'content-type': 'application/json' },
        body: '{"model":"tts_v3","voice":"a","input":"short","Input":"much longer"}',
      });
      expect([speech.status, speech.json.error.param]).to.deep.equal([400, 'Input']);
      const file = new Blob([new Uint8Array(await makeSound(audio.folder, 'wav', 1))]);
      for (const [fields, param] of [
        [{ file, model: 'stt-large-v3', Model: 'other' }, 'Model'],
        [{ file, model: ['stt-large-v3', 'other'] }, 'model'],
      ] as const) {
        const { status, json } = await audio.request('/v1/audio/transcriptions', {
          method: 'POST',
          headers: { authorization: `Bearer ${audio.key}` },
          body: toForm(fields),
        });
        expect([status, json.error.code, json.error.param]).to.deep.equal([400, 'invalid_value', param]);
      }
    } finally {
      await images.close();
      await audio.close();
    }
  });
});

/** Webhooks of image jobs: contents, signatures, retries and addresses. */

import { execFile, spawn, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { type Clock, GatewayError, systemClock } from 'mediagate';
import { Webhook } from 'standardwebhooks';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { snippetsOf } from '../../support/docs/documents.js';
import {
  type ReceivedWebhook,
  startWebhookReceiver,
  type WebhookReceiver,
} from '../../support/http/webhook-receiver.js';
import { createDarkroom } from '../../support/images/invented-image.js';
import { packageRoot } from '../../support/package-root.js';
import { onceIt } from '../../support/runner/variants.js';
import { until } from '../../support/until.js';
import type { ListeningApp } from '../http/listening-app.js';
import { type ImageClient, imageClient, PROMPT, startImageApp } from '../images/client.js';

const run = promisify(execFile);
const PAUSES_MS = [30, 30, 30, 30];
const TRY_MS = 300;
const COUNTED = /^mediagate_webhook_tries_total\{outcome="(\w+)"\} (\d+)$/gm;

describeOnStacks('webhooks of image jobs', (stack) => {
  const once = onceIt(stack);
  let receiver: WebhookReceiver;
  let app: ListeningApp;
  let client: ImageClient;
  let key: string;
  let darkroom: ReturnType<typeof createDarkroom>;

  before(async () => {
    receiver = await startWebhookReceiver();
    darkroom = createDarkroom();
    const webhooks = { origin: receiver.origin, pausesMs: PAUSES_MS, tryMs: TRY_MS };
    app = await startImageApp({ stack, generate: (call) => darkroom.generate(call), webhooks, publicMetrics: true });
    key = await app.makeKey({ grants: ['images'] });
    client = imageClient(app, key);
  });
  beforeEach(() => {
    darkroom = createDarkroom();
  });
  after(async () => {
    await app?.close();
    await receiver?.close();
  });

  const submit = async (name: string, more: object = {}, headers?: Record<string, string>) => {
    const answer = await client.submit({ ...PROMPT, ...more, webhook_url: receiver.url(name) }, headers);
    expect(answer.status, answer.text).to.equal(202);
    return answer.json.id as string;
  };
  const secretOf = async (route = '/v1/webhooks/secret', method = 'GET'): Promise<string> => {
    const answer = await app.request(route, { method, headers: { authorization: `Bearer ${key}` } });
    expect([answer.status, answer.headers.get('cache-control')], answer.text).to.deep.equal([200, 'no-store']);
    return answer.json.secret;
  };
  // biome-ignore lint/suspicious/noExplicitAny: tests assert on what they find
  const verify = async ({ body, headers }: ReceivedWebhook, secret?: string): Promise<any> =>
    new Webhook(secret ?? (await secretOf())).verify(body, headers);
  /** When nobody is to be told anything more. */
  const settled = () => until(async () => (await app.state.webhooks.waiting()) === 0);
  const counts = async (): Promise<Record<string, number>> => {
    const { text } = await app.request('/metrics');
    return Object.fromEntries(Array.from(text.matchAll(COUNTED), ([, outcome, count]) => [outcome, Number(count)]));
  };

  it('send an image as the poll shows it, signed', async () => {
    const id = await submit('done');
    await darkroom.develop();
    const [first, ...others] = await receiver.heard('done');
    const event = await verify(first!);
    const { json: polled } = await client.poll(id);
    expect(event).to.deep.equal({ type: 'image.job.completed', timestamp: polled.finished_at, data: polled });
    expect((await fetch(event.data.data[0].url)).status).to.equal(200);
    expect(first?.headers).to.include({ 'webhook-id': `evt_${id}`, 'content-type': 'application/json' });
    expect(others).to.deep.equal([]);
  });

  once('omit an image in base64', async () => {
    const id = await submit('inline', { response_format: 'b64_json' });
    await darkroom.develop();
    const [first] = await receiver.heard('inline');
    const { data } = await verify(first!);
    expect(data.data[0]).to.include({ source: 'inline', width: 1024 }).and.not.to.have.property('b64_json');
    expect((await client.poll(id)).json.data[0].b64_json).to.be.a('string');
  });

  once('send a failure and a cancellation', async () => {
    await submit('failed');
    await darkroom.develop(new GatewayError('moderation_blocked', 'No.'));
    const failed = await verify((await receiver.heard('failed'))[0]!);
    expect(failed.type).to.equal('image.job.failed');
    expect(failed.data).to.deep.include({ status: 'failed', data: [] });
    expect(failed.data.error).to.include({ code: 'moderation_blocked' });
    const id = await submit('cancelled');
    await client.cancel(id);
    await client.cancel(id);
    const cancelled = await verify((await receiver.heard('cancelled'))[0]!);
    expect([cancelled.type, cancelled.data.id]).to.deep.equal(['image.job.cancelled', id]);
    await settled();
    expect(receiver.of('cancelled')).to.have.length(1);
  });

  it('are retried after an error, a redirect and silence: the same event, signed anew', async () => {
    receiver.behave('again', 500, 302, 'hang');
    const id = await submit('again');
    await client.cancel(id);
    const tries = await receiver.heard('again', 4);
    await settled();
    expect(receiver.of('again')).to.have.length(4);
    expect(receiver.of('elsewhere')).to.deep.equal([]);
    expect(new Set(tries.map(({ headers }) => headers['webhook-id'])).size).to.equal(1);
    expect(new Set(tries.map(({ body }) => body)).size).to.equal(1);
    for (const one of tries) await verify(one);
    const lines = await until(() => {
      const own = app.log.filter(
        ({ message, fields }) => fields?.jobId === id && fields.attempt !== undefined && /webhook/.test(message),
      );
      return own.length === tries.length && own;
    });
    expect(lines.map(({ fields }) => fields?.status ?? fields?.code)).to.deep.equal([
      500,
      302,
      'upstream_timeout',
      204,
    ]);
  });

  once('end when the receiver answers 410, and after the last try, without an address in the log', async () => {
    const { gone = 0, given_up = 0 } = await counts();
    receiver.behave('gone', 410);
    receiver.behave('dead', ...Array.from({ length: 10 }, () => 503));
    await client.cancel(await submit('gone'));
    await client.cancel(await submit('dead'));
    await receiver.heard('dead', PAUSES_MS.length + 1);
    for (const message of ['a webhook was given up after its last retry', 'a webhook endpoint is gone (410)'])
      await until(() => app.log.some((line) => line.message === message));
    await settled();
    expect([receiver.of('gone').length, receiver.of('dead').length]).to.deep.equal([1, PAUSES_MS.length + 1]);
    expect(await counts()).to.include({ gone: gone + 1, given_up: given_up + 1 });
    expect(JSON.stringify(app.log)).not.to.include('hidden');
  });

  once('send one event for a repeated request', async () => {
    const headers = { 'idempotency-key': 'one' };
    const id = await submit('replayed', {}, headers);
    expect(await submit('replayed', {}, headers)).to.equal(id);
    await client.cancel(id);
    expect(await submit('replayed', {}, headers)).to.equal(id);
    await receiver.heard('replayed');
    await settled();
    expect(receiver.of('replayed')).to.have.length(1);
    const other = await client.submit({ ...PROMPT, webhook_url: receiver.url('other') }, headers);
    expect([other.status, other.json.error.code]).to.deep.equal([422, 'idempotency_key_reused']);
  });

  once('reach only public https addresses, also if a name resolves elsewhere later', async () => {
    const refused = [
      7,
      '',
      'nonsense',
      'ftp://files.example/',
      'http://hooks.example/',
      'https://user:pass@hooks.example/',
      'https://127.0.0.1/hook',
      'https://[::1]/',
      'https://localhost/hook',
      'https://hooks.example:8443/',
      `https://hooks.example/${'a'.repeat(2_048)}`,
      app.url,
    ];
    for (const webhook_url of refused) {
      const { status, json } = await client.submit({ ...PROMPT, webhook_url });
      expect([status, json.error?.code, json.error?.param], String(webhook_url)).to.deep.equal([
        400,
        'invalid_value',
        'webhook_url',
      ]);
      expect(json.error.message).to.include('a public https URL of at most 2048 characters');
    }
    expect((await client.submit({ ...PROMPT, webhook_url: null })).status).to.equal(202);
    await darkroom.asked(1);
    // As if the address had been public when it was looked at.
    const elsewhere = await startWebhookReceiver();
    try {
      const request = { ...PROMPT, size: 'auto', references: [], options: {}, delivery: 'url' } as const;
      const submission = await app.gateway.images.submit({
        ...request,
        owner: 'local',
        webhookUrl: elsewhere.url('private'),
      });
      if (!('job' in submission)) throw new Error('not accepted');
      await app.gateway.images.cancel(submission.job.id, 'local');
      const line = await until(() => app.log.find(({ fields }) => fields?.jobId === submission.job.id && fields.code));
      expect(line.fields).to.include({ code: 'upstream_refused', attempt: 1 });
      await settled();
      expect(elsewhere.connections).to.equal(0);
    } finally {
      await elsewhere.close();
    }
  });

  once('are ignored by blocking requests', async () => {
    const waiting = client.generate({ ...PROMPT, webhook_url: 'nonsense' });
    await darkroom.develop();
    expect((await waiting).status).to.equal(200);
  });

  once('are accepted by the receiver of the webhook guide, and forged ones are not', async () => {
    await client.cancel(await submit('guide'));
    const [event] = await receiver.heard('guide');
    const [code = ''] = snippetsOf('docs/guides/webhooks.md', 'js');
    const listens = '.listen(0, function () { console.log(this.address().port); })';
    const program = spawn(process.execPath, ['--input-type=module', '-e', code.replace('.listen(3000)', listens)], {
      cwd: packageRoot,
      env: { ...process.env, WEBHOOK_SECRET: await secretOf() },
    });
    try {
      let said = '';
      program.stdout.setEncoding('utf8').on('data', (text: string) => {
        said += text;
      });
      const port = await until(() => /^\d+$/m.exec(said)?.[0]);
      const send = async (body: string) =>
        (await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers: signed(event!), body })).status;
      expect(await send(event!.body)).to.equal(204);
      expect(await send(event!.body.replace('cancelled', 'completed'))).to.equal(400);
      await until(() => said.includes(`image.job.cancelled ${JSON.parse(event!.body).data.id}`));
    } finally {
      program.kill();
    }
  });

  once('are verified by the functions of the webhook guide, which need no package', async function () {
    await client.cancel(await submit('functions'));
    const [event] = await receiver.heard('functions');
    const given = JSON.stringify({ body: event!.body, headers: signed(event!), secret: await secretOf() });
    const [, node = ''] = snippetsOf('docs/guides/webhooks.md', 'js');
    const inNode = `${node}
      const { body, headers, secret } = JSON.parse(process.env.GIVEN);
      const late = { ...headers, 'webhook-timestamp': '1' };
      console.log([[body, headers], [body + ' ', headers], [body, late]].map((one) => isSigned(...one, secret)).join());`;
    const env = { ...process.env, GIVEN: given };
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', inNode], { env });
    expect(stdout.trim()).to.equal('true,false,false');
    if (spawnSync('python3', ['--version']).error) this.skip();
    const [python = ''] = snippetsOf('docs/guides/webhooks.md', 'python');
    const inPython = `${python}
import json, os
given = json.loads(os.environ["GIVEN"])
body, headers, secret = given["body"].encode(), given["headers"], given["secret"]
late = {**headers, "webhook-timestamp": "1"}
print([is_signed(*one, secret) for one in ((body, headers), (body + b" ", headers), (body, late))])`;
    expect((await run('python3', ['-c', inPython], { env })).stdout.trim()).to.equal('[True, False, False]');
  });

  once('are signed with both secrets for a day after a rotation', async () => {
    const first = await secretOf();
    expect(first).to.match(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const second = await secretOf('/v1/webhooks/secret/rotate', 'POST');
    expect([await secretOf(), second === first]).to.deep.equal([second, false]);
    const stranger = await app.makeKey({ grants: ['images'] }, { accountId: 'stranger' });
    const foreign = await app.request('/v1/webhooks/secret', { headers: { authorization: `Bearer ${stranger}` } });
    expect([first, second]).not.to.include(foreign.json.secret);
    await client.cancel(await submit('rotated'));
    const [event] = await receiver.heard('rotated');
    for (const secret of [first, second]) await verify(event!, secret);
    expect(() => new Webhook(foreign.json.secret).verify(event!.body, event!.headers)).to.throw();
  });

  once('are signed only with the newest secret after that day', async () => {
    let movedMs = 0;
    const { sleep, monotonic } = systemClock;
    const clock: Clock = { now: () => systemClock.now() + movedMs, monotonic, sleep };
    const webhooks = { origin: receiver.origin, pausesMs: PAUSES_MS, tryMs: TRY_MS };
    const later = await startImageApp({ stack, webhooks, clock, images: { workers: 0 } });
    try {
      const headers = { authorization: `Bearer ${await later.makeKey({ grants: ['images'] })}` };
      const ask = async (route: string, method: string) =>
        (await later.request(route, { method, headers })).json.secret;
      const first = await ask('/v1/webhooks/secret', 'GET');
      const second = await ask('/v1/webhooks/secret/rotate', 'POST');
      const end = async (name: string) => {
        const own = imageClient(later, headers.authorization.slice('Bearer '.length));
        const { json } = await own.submit({ ...PROMPT, webhook_url: receiver.url(name) });
        await own.cancel(json.id);
        const [event] = await receiver.heard(name);
        return event!;
      };
      const early = await end('overlap');
      for (const secret of [first, second]) await verify(early, secret);
      movedMs = 24 * 60 * 60 * 1000;
      const late = await end('overlap-over');
      // The receiver compares times with its own clock: the signature is computed for the time that was sent.
      const at = new Date(Number(late.headers['webhook-timestamp']) * 1000);
      const signatureOf = (secret: string) => new Webhook(secret).sign(late.headers['webhook-id']!, at, late.body);
      expect(late.headers['webhook-signature']).to.equal(signatureOf(second));
      expect(signatureOf(first)).not.to.equal(signatureOf(second));
    } finally {
      await later.close();
    }
  });
});

/** The fields that a receiver goes by. */
function signed({ headers }: ReceivedWebhook): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('webhook-')));
}

describe('disabled webhooks', () => {
  it('are ignored like any unknown field, and have no secret', async () => {
    const app = await startImageApp();
    try {
      const key = await app.makeKey({ grants: ['images'] });
      const client = imageClient(app, key);
      const { status, json } = await client.submit({ ...PROMPT, webhook_url: 'nonsense' });
      expect(status).to.equal(202);
      expect((await client.ended(json.id)).json.status).to.equal('completed');
      expect(await app.state.webhooks.waiting()).to.equal(0);
      const secret = await app.request('/v1/webhooks/secret', { headers: { authorization: `Bearer ${key}` } });
      expect([secret.status, secret.json.error.code]).to.deep.equal([403, 'route_not_allowed']);
    } finally {
      await app.close();
    }
  });
});

describe('webhooks with a hanging receiver', () => {
  it('do not delay other accounts', async () => {
    const receiver = await startWebhookReceiver();
    const app = await startImageApp({ webhooks: { origin: receiver.origin }, images: { workers: 0 } });
    try {
      const end = async (accountId: string, name: string) => {
        const client = imageClient(app, await app.makeKey({ grants: ['images'] }, { accountId }));
        const { json } = await client.submit({ ...PROMPT, webhook_url: receiver.url(name) });
        await client.cancel(json.id);
      };
      receiver.behave('hangs', ...Array.from({ length: 40 }, () => 'hang' as const));
      for (let count = 0; count < 20; count += 1) await end('dead', 'hangs');
      // Eight of each of the two that deliver.
      await receiver.heard('hangs', 16);
      await end('alive', 'answers');
      await receiver.heard('answers');
      expect(receiver.of('hangs')).to.have.length(16);
    } finally {
      await receiver.close();
      await app.close();
    }
  });
});

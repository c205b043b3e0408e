/**
 * Every example of the API reference, taken from its pages and run against a gateway: each operation in one of the three
 * languages, in a long run in all of them.
 */

import { execFile, spawn, spawnSync } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { load } from 'cheerio';
import { LANGUAGES, type Language } from '../../../server/site/docs/examples.js';
import { createBrowserSession } from '../../support/accounts/browser-session.js';
import { startElevenlabsUpstream } from '../../support/audio/elevenlabs-upstream.js';
import { blackPng } from '../../support/images/images.js';
import { answersFromFixtures } from '../../support/links/fixture-answers.js';
import { type ReplayingProxy, startReplayingProxy } from '../../support/links/replaying-proxy.js';
import { startTextUpstream } from '../../support/models/text-upstream.js';
import { packageRoot } from '../../support/package-root.js';
import { type GatewayHere, startGatewayHere } from '../../support/processes/gateway-here.js';
import { type HttpAnswer } from '../../support/processes/gateway-process.js';
import { variants } from '../../support/runner/variants.js';

const run = promisify(execFile);

const ENDINGS: Readonly<Record<Language, string>> = { curl: 'sh', node: 'mjs', python: 'py' };

/** Errors of examples that name what does not exist, what this gateway has not, or what has ended when a busy machine asks for it. */
const REFUSED: Readonly<Record<string, string>> = {
  // The upstream answers any question with a text, not with statements and their sources.
  postV1ExtractAnswers: 'answer_unusable',
  // A WebSocket.
  getV1Responses: 'upgrade_not_supported',
  // The gateway signs in by a provider.
  postApiInvitation: 'invitation_invalid',
  postApiInvitationOptions: 'sign_in_unavailable',
  postApiInvitationAccept: 'sign_in_unavailable',
  postApiPasskeysSignIn: 'sign_in_unavailable',
  postApiPasskeysSignInOptions: 'sign_in_unavailable',
  postApiPasskeysRecover: 'sign_in_unavailable',
  // The bank of the example is not set up, the key has a plan, and account and incident do not exist.
  postV1AdminTransfersMatch: 'invalid_value',
  postV1AdminKeysId: 'invalid_value',
  postV1AdminAccountsIdBudgets: 'invalid_value',
  postV1AdminIncidentsId: 'invalid_value',
  postV1AdminIncidentsIdUpdates: 'invalid_value',
  postV1AdminIncidentsIdClose: 'invalid_value',
  postV1AdminAlertsIdAcknowledge: 'invalid_value',
  postApiAgentDeviceToken: 'invalid_grant',
  postOauthToken: 'invalid_client',
  postOauthRevoke: 'invalid_client',
  deleteV1ImagesJobsId: 'job_already_terminal',
  postV1ImagesJobsIdCancel: 'job_already_terminal',
};
const ORDER = 'MG7K3M9QXD';

/** Runs each program that it is told to, in its folder: an interpreter of its own for each would start and read its packages each time. */
const PYTHON_RUNNER = `
import contextlib, io, json, os, runpy, sys, traceback
for line in sys.stdin:
    task = json.loads(line)
    os.chdir(task["place"])
    os.environ.update(MEDIAGATE_TOKEN=task["token"], MEDIAGATE_API_KEY=task["key"])
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            runpy.run_path(task["file"], run_name="__main__")
        except Exception:
            printed = io.StringIO("failed " + traceback.format_exc())
    print(json.dumps(printed.getvalue()), flush=True)
`;

/** Likewise. */
const NODE_RUNNER = `
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
const { stdout } = process;
const write = stdout.write;
for await (const line of createInterface({ input: process.stdin })) {
  const { place, file, token, key } = JSON.parse(line);
  process.chdir(place);
  Object.assign(process.env, { MEDIAGATE_TOKEN: token, MEDIAGATE_API_KEY: key });
  let printed = '';
  stdout.write = (text) => Boolean((printed += text));
  try {
    await import(pathToFileURL(file).href);
  } catch (error) {
    printed = 'failed ' + printed + error.stack;
  }
  stdout.write = write;
  stdout.write(JSON.stringify(printed) + '\\n');
}
`;
const RUNNERS = {
  python: ['python3', '-c', PYTHON_RUNNER],
  node: [process.execPath, '--input-type=module', '--eval', NODE_RUNNER],
} as const;

interface Secrets {
  token: string;
  key: string;
}

/**
 * Examples of operators name users, groups, jobs and transfers that this gateway has not, and it has no host name for
 * passkeys.
 */
const NOT_THERE = /^(?!route)\w+_(not_found|conflict)$|^sign_in_unavailable$/;
const isOfOperators = (id: string) => id.includes('V1Admin');

interface Example {
  page: string;
  id: string;
  language: Language;
  code: string;
}

function startRunner(language: keyof typeof RUNNERS) {
  const [program, ...args] = RUNNERS[language];
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  return { process: child, lines: createInterface(child.stdout)[Symbol.asyncIterator]() };
}

describe('examples of the API reference, as its pages have them', () => {
  let folder: string;
  let proxy: ReplayingProxy;
  let texts: Awaited<ReturnType<typeof startTextUpstream>>;
  let voices: Awaited<ReturnType<typeof startElevenlabsUpstream>>;
  let gateway: GatewayHere;
  let key: string;
  let adminKey: string;
  let examples: readonly Example[];
  let links = 10;
  let token: string;
  let order: string | undefined;
  const runners: Partial<Record<Language, ReturnType<typeof startRunner>>> = {};

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-reference-'));
    const fixtures = ['innertube-2026'].map((name) => path.join(packageRoot, 'plugins/vidsite/fixtures', name));
    // Other links are jobs that run for long; captions are missing.
    const others = ({ url }: { url: URL }) =>
      /timedtext|captions/.test(url.pathname) ? { status: 404, headers: {}, body: '' } : ({ fault: 'hang' } as const);
    proxy = await startReplayingProxy({ answer: answersFromFixtures(fixtures, others) });
    texts = await startTextUpstream();
    voices = await startElevenlabsUpstream({ apiKey: 'el-key' });
    gateway = await startGatewayHere({ proxy, environment: await settings() });
    ({ key } = await gateway.makeKey({ grants: ['extract', 'images', 'text', 'audio'] }));
    ({ key: adminKey } = await gateway.makeKey({ grants: ['admin'] }));
    await writeFile(path.join(folder, 'tug.png'), blackPng({ width: 64, height: 64 }));
    const speech = await fetch(`${gateway.url}/v1/audio/speech`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'tts_v3', voice: 'alloy', input: 'Ahoy!' }),
    });
    expect(speech.status).to.equal(200);
    await writeFile(path.join(folder, 'recording.mp3'), await speech.bytes());
    // The upstream lists no models: the gateway knows the model of the examples from its first answer on.
    const chat = { model: 'm-5.5', messages: [{ role: 'user', content: 'Ahoy!' }] };
    expect((await post('/v1/chat/completions', chat)).status).to.equal(200);
    examples = await readExamples();
  });
  after(async () => {
    for (const one of Object.values(runners)) one.process.stdin.end();
    await gateway?.stop();
    await Promise.all([proxy?.close(), texts?.close(), voices?.close()]);
    await rm(folder, { recursive: true, force: true });
  });

  async function settings(): Promise<Record<string, string>> {
    const plans = path.join(folder, 'plans.json');
    // The example of a key asks for a grant that the free tier has only where an operator adds it.
    const priced = { id: 'token_30m', price: { amount: 299_000, currency: 'VND' } };
    await writeFile(plans, JSON.stringify({ plans: [priced], freeTier: { grants: ['extract'] } }));
    return {
      TEXT_UPSTREAM_URL: texts.baseUrl,
      ELEVENLABS_URL: voices.baseUrl,
      ELEVENLABS_API_KEY: 'el-key',
      MESSAGES_ENABLED: 'true',
      EMBEDDING_MODELS: 'text-embedding-3-small',
      MODERATION_MODELS: 'omni-moderation-latest',
      IMAGE_WEBHOOKS: 'on',
      PLANS_FILE: plans,
      PAYMENT_BANK_NAME: 'Vietcombank',
      PAYMENT_BANK_BIN: '970436',
      PAYMENT_ACCOUNT: '1234567890',
      PAYMENT_ACCOUNT_NAME: 'CONG TY A',
    };
  }

  function post(target: string, body: unknown, secret = key): Promise<HttpAnswer> {
    return gateway.request(target, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  }

  /** A session of the device flow, of a new customer. */
  async function newToken(email: string): Promise<string> {
    const { json: device } = await post('/api/agent/device', { client_id: 'Reference' });
    const browser = createBrowserSession();
    const page = await browser.open(`${gateway.url}/signin?return_to=/device`);
    let answer = await browser.send(page.url, { form: { email, name: '', action: 'sign-in' } });
    while (answer.location !== undefined) answer = await browser.send(answer.location);
    await browser.send(device.verification_uri, { form: { user_code: device.user_code, answer: 'approve' } });
    const { json } = await post('/api/agent/device/token', {
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      device_code: device.device_code,
    });
    return json.access_token;
  }

  async function readExamples(): Promise<Example[]> {
    const overview = load((await gateway.request('/docs')).text);
    const pages = overview('nav a[href^="/docs/api/"]')
      .map((_, link) => overview(link).attr('href'))
      .get();
    const found: Example[] = [];
    for (const page of new Set(pages)) {
      const $ = load((await gateway.request(page)).text);
      for (const operation of $('section.operation').get()) {
        const id = $(operation).attr('id') ?? '';
        for (const { id: language } of LANGUAGES) {
          const code = $(operation).find(`#${id}-${language}`).text();
          if (code !== '') found.push({ page, id, language, code });
        }
      }
    }
    return found;
  }

  /** Values that an example names, by what creates them. Each example gets its own: some of them end it. */
  const CREATED: readonly [named: string, create: (token: string) => Promise<string>][] = [
    ['imgjob_0123456789abcdef', newImageJob],
    ['img_0123456789abcdef.png', newImageFile],
    [
      'exjob_0123456789abcdef',
      async () => (await post('/v1/extract', { url: newLink(), background: true })).json.data.job.job_id,
    ],
    ['exbatch_0123456789abcdef', async () => (await post('/v1/extract/batches', { urls: [newLink()] })).json.id],
    ['resp_0123456789abcdef', newResponse],
    ['team-llama', newModel],
    ['AbCd1234', async (token) => (await post('/api/user/keys', { name: 'tram' }, token)).json.key.id],
    [ORDER, async (token) => (await post('/api/agent/payment', { planId: 'token_30m' }, token)).json.payment.code],
  ];

  /** A model that an operator has added. */
  async function newModel(): Promise<string> {
    const id = 'team-llama';
    const { status, text } = await post('/v1/admin/models', { id, url: 'https://api.example.com/v1' }, adminKey);
    expect(status, text).to.equal(200);
    return id;
  }

  async function newImageJob(): Promise<string> {
    return (await post('/v1/images/jobs', { model: 'gen-img-2', prompt: 'A tug', size: '1024x1024' })).json.id;
  }

  /** A link that is never answered. */
  function newLink(): string {
    links += 1;
    return `https://youtu.be/Tugs0fOst${links}`;
  }

  async function newImageFile(): Promise<string> {
    const { json } = await post('/v1/images/generations', { model: 'gen-img-2', prompt: 'A tug' });
    return new URL(json.data[0].url).pathname.split('/').at(-1) ?? '';
  }

  async function newResponse(): Promise<string> {
    return (await post('/v1/responses', { model: 'm-5.5', input: 'Ahoy!', store: true, background: true })).json.id;
  }

  async function createdValue(
    named: string,
    create: (token: string) => Promise<string>,
    { id }: Example,
  ): Promise<string> {
    // An account may have few open orders, and only a cancellation needs one of its own.
    if (named !== ORDER || id.endsWith('Cancel')) return create(token);
    order ??= await create(token);
    return order;
  }

  /** What the example prints, or has saved. */
  async function outputOf(example: Example): Promise<string> {
    const { id, language, code } = example;
    const place = path.join(folder, `${id}-${language}`);
    await mkdir(place);
    for (const name of ['tug.png', 'recording.mp3']) await copyFile(path.join(folder, name), path.join(place, name));
    await writeFile(path.join(place, '.curlrc'), 'silent\nshow-error\nfail-with-body\n');
    const before = await readdir(place);
    let text = code;
    for (const [named, create] of CREATED) {
      if (text.includes(named)) text = text.replaceAll(named, await createdValue(named, create, example));
    }
    const file = path.join(place, `example.${ENDINGS[language]}`);
    await writeFile(file, text);
    // One begins with a new account, the others end the session.
    const isAlone = id === 'postApiUser' || (/Sessions?$/.test(id) && !id.startsWith('get'));
    const secret = isAlone ? await newToken(`${id}.${language}@example.com`) : token;
    const secrets = { token: secret, key: isOfOperators(id) ? adminKey : key };
    const stdout = await (language === 'curl' ? curl(place, file, secrets) : print(language, place, file, secrets));
    // Images are needed by the examples that follow.
    if (id === 'postV1AdminQueuesKindPause') await post('/v1/admin/queues/image/resume', {}, adminKey);
    const saved = (await readdir(place)).find((name) => !before.includes(name) && !name.startsWith('example.'));
    return saved === undefined ? stdout : await readFile(path.join(place, saved), 'latin1');
  }

  async function curl(place: string, file: string, secrets: Secrets): Promise<string> {
    const names = { MEDIAGATE_API_KEY: secrets.key, MEDIAGATE_TOKEN: secrets.token };
    const env = { ...process.env, CURL_HOME: place, ...names };
    const ended = run('bash', ['-e', file], { cwd: place, env, maxBuffer: 10_000_000 });
    const { stdout } = await ended.catch(({ stdout: text, stderr }) => ({ stdout: `failed ${text}${stderr}` }));
    return stdout;
  }

  async function print(language: keyof typeof RUNNERS, place: string, file: string, secrets: Secrets): Promise<string> {
    runners[language] ??= startRunner(language);
    const { process: child, lines } = runners[language];
    child.stdin.write(`${JSON.stringify({ place, file, ...secrets })}\n`);
    const { value = '"failed"' } = await lines.next();
    return JSON.parse(value);
  }

  /** The code of the error that was answered; undefined for an answer that is none. A saved file has no status. */
  function errorOf(printed: string, isSaved: boolean): string | undefined {
    const isError = (isSaved ? /^\{"(ok":false|error")/ : /^(failed|[45]\d\d )/).test(printed);
    return isError ? (/"(?:code|error)": ?"(\w+)"/.exec(printed)?.[1] ?? printed.slice(0, 300)) : undefined;
  }

  /** The examples of a language that this run has: of every third operation one. A long run has all. */
  function examplesIn(language: Language): readonly Example[] {
    const operations = [...new Set(examples.map(({ id }) => id))];
    const turn = LANGUAGES.findIndex(({ id }) => id === language);
    const inLanguage = examples.filter((one) => one.language === language);
    return variants(inLanguage, ({ id }) => operations.indexOf(id) % (3 * LANGUAGES.length) === 3 * turn);
  }

  /** The examples that were not answered as they should be. */
  async function runAll(language: Language): Promise<string[]> {
    token = await newToken(`${language}@example.com`);
    order = undefined;
    expect((await post('/api/user', { name: 'laptop' }, token)).status).to.equal(201);
    const wrong: string[] = [];
    for (const example of examplesIn(language)) {
      const printed = await outputOf(example);
      const isNowhere = example.code.includes('/NAME');
      const code = errorOf(printed, / -o |writeFileSync\(|\.write\(/.test(example.code));
      const isExpected =
        code === undefined ? !isNowhere : code === (isNowhere ? 'file_not_found' : REFUSED[example.id]);
      // The group is there only if the example that makes it has run before.
      const isOfGroup = example.id.includes('V1AdminGroupsName') && code === 'invalid_value';
      const isNotThere = isOfGroup || (isOfOperators(example.id) && code !== undefined && NOT_THERE.test(code));
      if (!isExpected && !isNotThere) wrong.push(`${example.id}: ${code}`);
    }
    return wrong;
  }

  it('exist for every operation that a client with a key can call, in all languages', async () => {
    const { paths } = (await gateway.request('/openapi.json')).json as {
      paths: Record<string, Record<string, { operationId: string; tags: string[] }>>;
    };
    const called = Object.entries(paths)
      .filter(([name]) => name.startsWith('/v1/'))
      .flatMap(([, methods]) => Object.values(methods).map(({ operationId }) => operationId));
    for (const { id: language } of LANGUAGES) {
      const shown = examples.filter((one) => one.language === language).map(({ id }) => id);
      expect(called.filter((id) => !shown.includes(id))).to.deep.equal([]);
    }
  });

  for (const { id: language, title } of LANGUAGES) {
    it(`are answered: ${title}`, async function () {
      this.timeout(300_000);
      if (language === 'python' && spawnSync('python3', ['-c', 'import requests']).status !== 0) this.skip();
      expect(await runAll(language)).to.deep.equal([]);
    });
  }
});

/** The logger: redaction, full disks and closed outputs. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import type { LogFields } from '../../../core/contracts/services.js';
import { createLogger, type LogLevel, type RootLogger } from '../../../core/observability/logger.js';
import { leaveScope, runInScope } from '../../../core/observability/spans.js';
import { GatewayError } from '../../../core/runtime/errors.js';
import { packageRoot } from '../../support/package-root.js';

type Line = Record<string, unknown>;

describe('logger', () => {
  let folder: string;
  let file: string;

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-log-'));
    file = path.join(folder, 'log');
  });

  afterEach(() => rm(folder, { recursive: true }));

  async function logged(
    use: (logger: RootLogger) => void,
    options: { level?: LogLevel; secrets?: readonly string[] } = {},
  ): Promise<{ text: string; lines: Line[] }> {
    const logger = createLogger({ level: 'debug', ...options, destination: file });
    use(logger);
    await logger.close();
    const text = await readFile(file, 'utf8');
    return {
      text,
      lines: text
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line)),
    };
  }

  it('writes readable lines on request, without secrets', async () => {
    const logger = createLogger({ level: 'info', format: 'text', secrets: ['hidden-in-this-test'], destination: file });
    logger.debug('never');
    logger.info('request', { route: '/v1/extract', method: 'POST', status: 200, ms: 1.5 });
    logger.error('it failed with hidden-in-this-test', { error: new Error('the disk is full') });
    await logger.close();
    const [first = '', second = '', ...more] = (await readFile(file, 'utf8')).split('\n');
    expect(first).to.match(/^\d\d:\d\d:\d\d info {2}request route=\/v1\/extract method=POST status=200 ms=1\.5$/);
    expect(second).to.match(/^\d\d:\d\d:\d\d error it failed with .* Error: the disk is full$/);
    expect(second).not.to.contain('hidden-in-this-test');
    expect(more).to.deep.equal(['']);
  });

  it('writes one line of JSON per call, with its level, time and fields', async () => {
    const { lines } = await logged((logger) => {
      logger.info('request', {
        requestId: 'r1',
        route: '/v1/extract',
        method: 'POST',
        status: 200,
        ms: 1.5,
        bytes: 10,
      });
      logger.warn('slow');
    });
    expect(lines).to.have.length(2);
    const { time, ...rest } = lines[0] ?? {};
    expect(Date.parse(String(time))).to.be.closeTo(Date.now(), 60_000);
    expect(rest).to.deep.equal({
      level: 'info',
      message: 'request',
      requestId: 'r1',
      route: '/v1/extract',
      method: 'POST',
      status: 200,
      ms: 1.5,
      bytes: 10,
    });
    expect(lines[1]).to.have.all.keys('level', 'time', 'message');
  });

  it('writes nothing below its level', async () => {
    const levels = ['debug', 'info', 'warn', 'error'] as const;
    const { lines } = await logged((logger) => levels.map((level) => logger[level](level)), { level: 'warn' });
    expect(lines.map(({ message }) => message)).to.deep.equal(['warn', 'error']);
  });

  it('writes only listed fields of the right type', async () => {
    const fields: Record<string, unknown> = { count: 3, headers: { cookie: 'hidden' }, body: 'hidden', url: 'hidden' };
    const { text, lines } = await logged((logger) => {
      logger.info('a', fields);
      logger.info('b', { ...fields, extractionMethod: { nested: 'hidden' }, ms: 'hidden' } as unknown as LogFields);
    });
    expect(text).not.to.contain('hidden');
    for (const line of lines) expect(line).to.have.all.keys('level', 'time', 'message', 'count');
  });

  it('names the request and the job of a line', async () => {
    const { lines } = await logged((logger) => {
      runInScope({ requestId: 'req_1', jobId: 'imgjob_1' }, () => {
        logger.info('plain');
        logger.child({ entry: 'vidsite' }).info('of a child', { requestId: 'req_2' });
        leaveScope(() => logger.info('for everybody'));
      });
      logger.info('afterwards');
    });
    expect(lines.map(({ level: _level, time: _time, ...line }) => line)).to.deep.equal([
      { requestId: 'req_1', jobId: 'imgjob_1', message: 'plain' },
      { requestId: 'req_2', jobId: 'imgjob_1', entry: 'vidsite', message: 'of a child' },
      { message: 'for everybody' },
      { message: 'afterwards' },
    ]);
  });

  it('passes fields to its children, which a line may override', async () => {
    const { lines } = await logged((logger) => {
      const child = logger.child({ entry: 'vidsite', extractionMethod: 'page' });
      child.info('a');
      child.info('b', { extractionMethod: 'player', count: 1 });
      logger.info('c');
    });
    expect(lines[0]).to.include({ entry: 'vidsite', extractionMethod: 'page' });
    expect(lines[1]).to.include({ entry: 'vidsite', extractionMethod: 'player', count: 1 });
    expect(lines[2]).not.to.have.any.keys('entry', 'extractionMethod');
  });

  describe('errors', () => {
    it('show name, message, code, the top of the stack and their causes', async () => {
      const root = Object.assign(new TypeError('root'), { code: 'ECONNREFUSED' });
      const error = new GatewayError('upstream_error', 'outer', { cause: new Error('middle', { cause: root }) });
      const { lines } = await logged((logger) => logger.error('failed', { error }));
      const described = lines[0]?.error as Line;
      expect(described).to.include({ name: 'GatewayError', message: 'outer', code: 'upstream_error' });
      expect(described.stack).to.be.an('array').with.length.within(1, 6);
      expect((described.stack as string[])[0]).to.match(/^at .*logger\.test/);
      expect(described.causes).to.deep.equal([
        { name: 'Error', message: 'middle' },
        { name: 'TypeError', message: 'root', code: 'ECONNREFUSED' },
      ]);
    });

    it('show none of their other properties', async () => {
      const cause = Object.assign(new Error('cause'), { body: 'hidden', headers: { authorization: 'hidden' } });
      const error = Object.assign(new Error('parse', { cause }), {
        body: 'hidden',
        input: 'hidden',
        code: { a: 'hidden' },
      });
      const { text } = await logged((logger) => logger.error('failed', { error }));
      expect(text).not.to.contain('hidden');
    });

    it('may be any thrown value', async () => {
      const circular = new Error('circular');
      circular.cause = circular;
      for (const error of [circular, 'text', 7, null, { secret: 'hidden' }, Symbol('hidden'), () => 'hidden']) {
        const { text, lines } = await logged((logger) => logger.error('failed', { error }));
        expect(text).not.to.contain('hidden');
        expect(lines.at(-1)).to.have.nested.property('error.name');
      }
    });

    it('are cut to a bounded length', async () => {
      const { text } = await logged((logger) => logger.error('failed', { error: new Error('long '.repeat(100_000)) }));
      expect(text.length).to.be.below(5000);
    });
  });

  describe('secrets', () => {
    const secrets = ['pa$$ (word)', 'pepper-pepper', 'pepper-pepper-long'];
    const texts = [
      'key sk-mg-AbCdEfGh-0123456789012345678901234567890123456789 was used hidden',
      'key sk-proj-abcdefghijklmnop',
      'AIzaSyA-1234567890abcdefghijklmnopqrstu',
      'authorization: Bearer hidden.hidden-hidden',
      'authorization: basic aGlkZGVuOmhpZGRlbg==',
      'dial postgres://user:hidden@db:5432/name',
      'proxy http://hidden@proxy:3128 refused',
      'GET https://example.com/a?hidden',
      'GET https://example.com/a#hidden',
      'GET /v1/files/x.mp3?sig=hidden&exp=1 failed',
      'redirect to /callback#access_token=hidden',
      'connect with pa$$ (word) failed',
      'connect with pa%24%24%20(word) failed',
      'pepper-pepper and pepper-pepper-long',
    ];

    for (const text of texts) {
      it(`are removed: ${text}`, async () => {
        const message = text.replace(' was used hidden', ' was used');
        const error = new Error(message, { cause: new Error(message) });
        const { text: output, lines } = await logged(
          (logger) => {
            logger.info(message);
            logger.error('failed', { error, code: message, id: message });
            logger.child({ member: message }).warn('child');
          },
          { secrets },
        );
        expect(output).not.to.match(
          /hidden|AbCdEfGh|abcdefghijklmnop|1234567890|aGlkZGVu|pa\$\$|pa%24|\(word\)|pepper|-long/i,
        );
        expect(output.match(/\[redacted\]/g)?.length).to.be.at.least(6);
        expect(lines).to.have.length(3);
      });
    }

    it('are removed completely if a long text is cut', async () => {
      for (let filler = 4000; filler < 4100; filler++) {
        const message = `${'a '.repeat(filler / 2)}pepper-pepper-long`;
        const { text } = await logged((logger) => logger.info(message), { secrets });
        expect(text).not.to.contain('pep');
      }
    });

    it('are not seen in ordinary words', async () => {
      const messages = [
        'the answer of a method could not be read',
        'basically done',
        'API keys are refreshed again',
        'a@b',
        'why?',
      ];
      const { lines } = await logged((logger) => messages.map((message) => logger.info(message)));
      expect(lines.map(({ message }) => message)).to.deep.equal(messages);
    });

    it('are found after and within long texts that begin like one', async () => {
      const [secret = ''] = secrets;
      for (const part of ['/', '?', '#', 'a:', '//', 'a.', 'basic ', '//a?', 'sk-']) {
        const long = part.repeat(1_000);
        const { text } = await logged((logger) => logger.info(`${long} ${secret} ${long}`), { secrets });
        expect(text, part).to.not.include(secret);
        // What takes a time that grows by the square does not come to an end.
        await logged((logger) => logger.info(part.repeat(200_000)), { secrets });
      }
    });
  });

  it('escapes control characters and line breaks', async () => {
    const hostile = 'a\nb\r{"level":"error"}\u001b[2J\u009b2J\u202e\u2028\u0000';
    const { text, lines } = await logged((logger) => {
      logger.info(hostile, { id: hostile, error: new Error(hostile) });
    });
    expect(lines).to.have.length(1);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
    expect(text.trimEnd()).not.to.match(/[\u0000-\u001f\u007f-\u009f\u2028\u202e]/);
    expect(lines[0]?.id).to.equal(lines[0]?.message).and.to.contain('a\\u000ab').and.to.contain('\\u009b2J');
  });

  it('drops lines after its close, and closes twice', async () => {
    const logger = createLogger({ level: 'info', destination: file });
    logger.info('kept');
    await logger.close();
    logger.info('dropped');
    await logger.close();
    expect(await readFile(file, 'utf8'))
      .to.contain('kept')
      .and.not.to.contain('dropped');
  });

  it('reports a file that cannot be opened', () => {
    const destination = path.join(folder, 'missing', 'log');
    expect(() => createLogger({ level: 'info', destination })).to.throw('ENOENT');
  });

  it('continues, closes and lets the process end if its file cannot be written', async function () {
    // A device of Linux on which every write finds the disk full.
    if (!existsSync('/dev/full')) this.skip();
    const script = `
      import { createLogger } from './dist/core/observability/logger.js';
      const logger = createLogger({ level: 'info', destination: '/dev/full' });
      for (let line = 0; line < 100; line++) logger.info('lost'.repeat(50));
      await logger.close();
      process.stdout.write('closed', () => process.exit(0));`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], { cwd: packageRoot, timeout: 20_000 });
    const exited = once(child, 'exit');
    expect(await text(child.stdout)).to.equal('closed');
    expect(await exited).to.deep.equal([0, null]);
  });

  it('continues and closes if standard error has no reader', async () => {
    const script = `
      import { createLogger } from './dist/core/observability/logger.js';
      const logger = createLogger({ level: 'info' });
      process.stdin.once('data', async () => {
        for (let line = 0; line < 1000; line++) logger.info('unheard');
        await new Promise((resolve) => setTimeout(resolve, 50));
        await logger.close();
        process.stdout.end('closed');
        process.stdin.destroy();
      });`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], { cwd: packageRoot });
    child.stderr.destroy();
    await once(child.stderr, 'close');
    child.stdin.write('go');
    const exited = once(child, 'exit');
    expect(await text(child.stdout)).to.equal('closed');
    expect(await exited).to.deep.equal([0, null]);
  });

  it('is silent if configured so', async () => {
    const logger = createLogger({ level: 'silent', destination: file });
    logger.error('nothing', { error: new Error('nothing') });
    logger.child({ entry: 'a' }).error('nothing');
    await logger.close();
    expect(await readFile(file, 'utf8').catch((error) => error.code)).to.equal('ENOENT');
  });
});

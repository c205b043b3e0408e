/** Calls of the API by pages of other origins. */

import { expect } from 'chai';
import { type ListeningApp, type ListeningAppOptions, startApp } from './listening-app.js';

const PAGE = 'https://app.example';
const MODELS = '/v1/models';

describe('CORS', () => {
  let app: ListeningApp | undefined;
  afterEach(async () => {
    await app?.close();
    app = undefined;
  });

  async function start(options: ListeningAppOptions = {}) {
    app = await startApp(options);
    const { request } = app;
    const authorization = `Bearer ${await app.makeKey({ grants: ['text'] })}`;
    return {
      ask: (path: string, origin: string, headers: Record<string, string> = { authorization }) =>
        request(path, { headers: { ...headers, origin } }),
      preflight: (path: string, origin: string) =>
        request(path, {
          method: 'OPTIONS',
          headers: {
            origin,
            'access-control-request-method': 'POST',
            'access-control-request-headers': 'authorization,content-type,x-stainless-os',
          },
        }),
    };
  }

  const corsOf = ({ headers }: { headers: Headers }) =>
    [...headers.keys()].filter((name) => name.startsWith('access-'));

  it('allows nothing unless the operator lists the origin', async () => {
    const { ask, preflight } = await start();
    const answer = await ask(MODELS, PAGE);
    expect([answer.status, corsOf(answer), answer.headers.get('vary')]).to.deep.equal([200, [], null]);
    const refused = await preflight('/v1/chat/completions', PAGE);
    expect([refused.status, corsOf(refused)]).to.deep.equal([405, []]);
  });

  it('allows listed origins to call the API and to read its headers and errors', async () => {
    const { ask, preflight } = await start({ corsOrigins: [PAGE] });
    const asked = await preflight('/v1/chat/completions', PAGE);
    expect([asked.status, asked.text]).to.deep.equal([204, '']);
    expect(asked.headers.get('access-control-allow-origin')).to.equal(PAGE);
    expect(asked.headers.get('access-control-allow-methods')).to.equal('GET, POST, DELETE');
    expect(asked.headers.get('access-control-allow-headers')).to.equal('authorization,content-type,x-stainless-os');
    expect(asked.headers.get('vary')).to.equal('Origin');
    const found = await ask(MODELS, PAGE);
    const refused = await ask(MODELS, PAGE, {});
    expect([found.status, refused.status]).to.deep.equal([200, 401]);
    for (const { headers } of [found, refused]) {
      expect(headers.get('access-control-allow-origin')).to.equal(PAGE);
      const exposed = headers.get('access-control-expose-headers')?.toLowerCase().split(', ');
      expect(exposed).to.include.members(['x-request-id', 'retry-after', 'x-should-retry', 'x-mediagate-stand-in']);
    }
    for (const answer of [asked, found, refused]) {
      expect(answer.headers.has('access-control-allow-credentials')).to.equal(false);
    }
  });

  it('ignores other origins, and pages of the site', async () => {
    const { ask, preflight } = await start({ corsOrigins: [PAGE] });
    for (const [path, origin] of [
      [MODELS, 'https://app.example.evil.example'],
      [MODELS, 'null'],
      ['/health', PAGE],
    ] as const) {
      expect(corsOf(await ask(path, origin)), `${path} ${origin}`).to.deep.equal([]);
    }
    const refused = await preflight('/v1/chat/completions', 'https://evil.example');
    expect([refused.status, corsOf(refused)]).to.deep.equal([405, []]);
  });

  it('allows every origin by an asterisk, without credentials', async () => {
    const { ask } = await start({ corsOrigins: ['*'] });
    const answer = await ask(MODELS, 'https://any.example');
    expect(answer.headers.get('access-control-allow-origin')).to.equal('*');
    expect(answer.headers.has('access-control-allow-credentials')).to.equal(false);
  });
});

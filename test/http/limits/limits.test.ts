/** Rate limits over HTTP: windows, parallel requests and header fields. */

import { expect } from 'chai';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { onceIt } from '../../support/runner/variants.js';
import { LINK, type ListeningApp, startApp } from '../http/listening-app.js';

describeOnStacks('rate limits over HTTP', (stack) => {
  const once = onceIt(stack);
  let app: ListeningApp;

  before(async () => {
    app = await startApp({ stack });
  });
  after(() => app.close());

  it('accept exactly 15 of 200 parallel requests of a key with 15 a minute', async () => {
    const key = await app.makeKey({ rpm: 15 });
    const answers = await Promise.all(Array.from({ length: 200 }, () => app.extract(key, { url: LINK })));
    const count = (status: number) => answers.filter((answer) => answer.status === status).length;
    expect([count(200), count(429)]).to.deep.equal([15, 185]);
  });

  once('send the state of the window with accepted and refused requests', async () => {
    const key = await app.makeKey({ rpm: 2 });
    const first = await app.extract(key, { url: LINK });
    expect(first.headers.get('ratelimit-policy')).to.equal('"rpm";q=2;w=60');
    expect(first.headers.get('ratelimit')).to.match(/^"rpm";r=1;t=(60|59)$/);
    expect(first.headers.get('x-ratelimit-limit-requests')).to.equal('2');
    expect(first.headers.get('x-ratelimit-remaining-requests')).to.equal('1');
    expect(first.headers.get('x-ratelimit-reset-requests')).to.match(/^(60|59)s$/);
    expect(first.headers.get('retry-after')).to.equal(null);
    await app.extract(key, { url: LINK });

    const refused = await app.extract(key, { url: LINK });
    expect([refused.status, refused.json.error.code, refused.json.error.type]).to.deep.equal([
      429,
      'rate_limit_exceeded',
      'rate_limit_error',
    ]);
    expect(refused.json.input_url).to.equal(LINK);
    const seconds = Number(refused.headers.get('retry-after'));
    const milliseconds = Number(refused.headers.get('retry-after-ms'));
    expect(seconds).to.be.within(50, 60);
    expect(seconds).to.equal(Math.ceil(milliseconds / 1000));
    expect(refused.headers.get('ratelimit')).to.equal(`"rpm";r=0;t=${seconds}`);

    const problem = await app.extract(key, { url: LINK }, { accept: 'application/problem+json' });
    expect(problem.json).to.include({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      status: 429,
    });
    expect(problem.json['violated-policies']).to.deep.equal(['rpm']);
  });

  once('send no window if another limit refused the request', async () => {
    const key = await app.makeKey({ grants: ['extract'] });
    const poll = () =>
      app.request('/v1/extract/jobs/exjob_none', {
        headers: { authorization: `Bearer ${key}`, accept: 'application/problem+json' },
      });
    const answers = await Promise.all(Array.from({ length: 60 }, poll));
    const refused = answers.find(({ status }) => status === 429);
    expect(refused?.json).to.include({ code: 'rate_limit_exceeded', status: 429 });
    expect(refused?.json).not.to.have.property('violated-policies');
  });

  once('accept 30 of 100 requests of ten keys of a site account with 30 a minute', async () => {
    const wanted = { rpm: 30, accountId: `acct_${'0'.repeat(32)}` };
    const keys = await Promise.all(Array.from({ length: 10 }, () => app.makeKey(wanted)));
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, index) => app.extract(keys[index % 10] as string, { url: LINK })),
    );
    const count = (status: number) => answers.filter((answer) => answer.status === status).length;
    expect([count(200), count(429)]).to.deep.equal([30, 70]);
    const refused = answers.find(({ status }) => status === 429);
    expect(refused?.json.error.message).to.equal('This account may make 30 requests in 60 seconds.');
    const other = await app.makeKey({ rpm: 30, accountId: `acct_${'1'.repeat(32)}` });
    expect((await app.extract(other, { url: LINK })).status).to.equal(200);
  });

  once('count the requests of each key of operators separately, also of one account', async () => {
    const keys = await Promise.all(Array.from({ length: 3 }, () => app.makeKey({ rpm: 1, accountId: 'team' })));
    const answers = await Promise.all(keys.map((key) => app.extract(key, { url: LINK })));
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 200]);
  });

  once('send no window for a key without a limit', async () => {
    const answer = await app.extract(await app.makeKey({ rpm: null }), { url: LINK });
    expect(answer.status).to.equal(200);
    for (const name of ['ratelimit', 'ratelimit-policy', 'x-ratelimit-limit-requests'])
      expect(answer.headers.get(name)).to.equal(null);
  });

  once('take no slot for the capabilities', async () => {
    const key = await app.makeKey({ rpm: 1 });
    for (let time = 0; time < 3; time += 1) {
      expect((await app.request('/v1/capabilities', { headers: { 'x-api-key': key } })).status).to.equal(200);
    }
    expect((await app.extract(key, { url: LINK })).status).to.equal(200);
  });
});

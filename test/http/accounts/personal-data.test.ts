/** Export and erasure of personal data over HTTP. */

import { expect } from 'chai';
import { createBrowserSession } from '../../support/accounts/browser-session.js';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { runCommand } from '../../support/processes/command-line.js';
import { onceIt } from '../../support/runner/variants.js';
import { newcomer } from './client.js';
import { type SignInApp, startSignInApp } from './sign-in-app.js';

const EMAIL = 'zacharias@example.com';

describeOnStacks('personal data over HTTP', (stack) => {
  const once = onceIt(stack);
  let app: SignInApp;
  before(async () => {
    app = await startSignInApp({ stack });
  });
  after(() => app?.close());

  it('exports as an attachment, only to its own user', async () => {
    const zac = await newcomer(app, EMAIL);
    const { apiKey } = (await zac.post('/api/user', { name: 'laptop of zac' })).json;
    const answer = await zac.get('/api/user/export');
    expect(answer.status, answer.text).to.equal(200);
    const { user, keys } = answer.json;
    expect(answer.headers.get('content-disposition')).to.equal(`attachment; filename="mediagate-${user.id}.json"`);
    expect(user.email).to.equal(EMAIL);
    expect(keys[0].name).to.equal('laptop of zac');
    expect(answer.text).not.to.contain(apiKey);
    expect((await app.request('/api/user/export')).status).to.equal(401);
  });

  it('erases on request: session and keys end at once, and signing in makes a new account', async () => {
    const zac = await newcomer(app, EMAIL);
    const before = (await zac.get('/api/user')).json;
    const foreign = { ...zac.headers, origin: 'https://evil.example' };
    expect((await app.request('/api/user', { method: 'DELETE', headers: foreign })).status).to.equal(403);

    const answer = await zac.delete('/api/user');
    expect(answer.status, answer.text).to.equal(200);
    expect(answer.json).to.nested.include({ complete: true, 'erased.id': before.user.id });
    expect((await zac.get('/api/user')).status).to.equal(401);
    expect((await zac.delete('/api/user')).status).to.equal(401);
    const [key] = await app.state.keys.listOf(before.account.id);
    expect(key?.revokedAt).to.be.a('number');

    const after = (await (await newcomer(app, EMAIL)).get('/api/user')).json;
    expect(after.user.id).not.to.equal(before.user.id);
    expect(after.keys).to.deep.equal([]);
  });

  once('shows on the dashboard what is erased and what stays', async () => {
    const browser = createBrowserSession();
    await app.signIn(browser, 'reader@example.com');
    const { text } = await browser.send(`${app.url}/dashboard`);
    expect(text).to.contain('href="/api/user/export"').and.to.contain('data-api="DELETE /api/user"');
    expect(text).to.contain('Deleted for good:').and.to.contain('Kept without your name');
  });

  if (stack.name !== 'SQLite and a folder') return;

  once('exports and erases by commands, which report when there is nothing to do', async () => {
    const run = (...args: string[]) => runCommand(['users', ...args], { DATA_DIR: app.dataDir });
    const zac = await newcomer(app, 'command@example.com');
    const { user, account } = (await zac.get('/api/user')).json;
    expect(JSON.parse((await run('export', user.id)).stdout).user.email).to.equal('command@example.com');
    expect((await run('erase', user.id)).code).to.equal(2);
    expect((await zac.get('/api/user')).status).to.equal(200);
    const erased = await run('erase', 'command@example.com', '--yes');
    expect([erased.code, erased.stdout], erased.stderr).to.satisfy(
      ([code, text]: [number, string]) => code === 0 && text.startsWith(`User ${user.id} is erased;`),
    );
    expect((await run('erase', user.id)).stdout).to.contain(`User ${user.id} was erased before, at `);
    const again = JSON.parse((await run('erase', account.id, '--json')).stdout);
    expect(again).to.include({ id: user.id, account: account.id, changed: false });
    expect((await zac.get('/api/user')).status).to.equal(401);
  });
});

import { expect } from 'chai';
import { readSettings } from '../../server/settings.js';
import { createWebhookSecrets } from '../../server/webhooks/secrets.js';
import { createWebhookTargets } from '../../server/webhooks/targets.js';

const HOUR = 60 * 60 * 1000;

describe('secrets of the settings', () => {
  for (const name of ['KEY_PEPPER', 'LINK_SECRET', 'IMAGE_WEBHOOK_SECRET']) {
    it(`${name} takes 32 characters and more, each of several`, () => {
      const read = (text: string) => () => readSettings({ [name]: text });
      for (const text of ['x'.repeat(32), `${'x'.repeat(32)},${'y'.repeat(40)}`])
        expect(read(text), text).not.to.throw();
      const short = ['x'.repeat(31), ',', `${'x'.repeat(32)},${'y'.repeat(31)}`, `${'y'.repeat(31)},${'x'.repeat(32)}`];
      for (const text of short) expect(read(text), text).to.throw(name);
    });
  }
});

describe('secrets of webhooks', () => {
  it('sign with the one before for 24 hours after a rotation, and no longer', async () => {
    let changedMsAgo: number | undefined;
    let version = 1;
    const versions = {
      secretVersion: async () => ({ version, changedMsAgo }),
      rotateSecret: async () => {
        version += 1;
        changedMsAgo = 0;
        return { version, changedMsAgo };
      },
    };
    const secrets = createWebhookSecrets([Buffer.alloc(32, 1)], versions);
    const [first] = await secrets.signing('a');
    expect(await secrets.signing('a')).to.have.length(1);
    const shown = await secrets.rotate('a');
    const both = await secrets.signing('a');
    expect(shown).to.equal(`whsec_${Buffer.from(both[0] ?? []).toString('base64')}`);
    expect(both).to.have.length(2);
    expect(both[1]).to.deep.equal(first);
    changedMsAgo = 24 * HOUR - 1;
    expect(await secrets.signing('a')).to.deep.equal(both);
    changedMsAgo = 24 * HOUR;
    expect(await secrets.signing('a')).to.deep.equal([both[0]]);
  });
});

describe('URLs of webhooks', () => {
  it('lose their fragment, and keep path and query', () => {
    const targets = createWebhookTargets();
    expect(targets.check('https://example.com/a?b=c#d')).to.equal('https://example.com/a?b=c');
    expect(targets.check('https://example.com/#')).to.equal('https://example.com/');
    for (const url of [
      'http://example.com/',
      'https://u:p@example.com/',
      'https://127.0.0.1/',
      `https://e.com/${'x'.repeat(2048)}`,
      3,
    ])
      expect(() => targets.check(url), String(url)).to.throw('webhook_url must be');
  });
});

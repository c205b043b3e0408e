/** Settings from the environment: defaults, values and all errors at once. */

import path from 'node:path';
import { expect } from 'chai';
import { readPluginConfig } from 'mediagate';
import { readSettings, SettingsError } from 'mediagate/server';
import { PLUGIN_SETTING_DESCRIPTIONS, SETTING_DESCRIPTIONS } from '../../../server/settings/index.js';
import { packageRoot } from '../../support/package-root.js';

describe('settings', () => {
  it('have defaults', () => {
    const settings = readSettings({ HOST: '', PORT: '  ' });
    expect(settings).to.include({
      host: '127.0.0.1',
      port: 8787,
      dataDir: path.resolve('data'),
      browser: true,
      logLevel: 'info',
      extractCacheSeconds: 600,
      audioLinkHours: 24,
      shutdownSeconds: 25,
    });
    expect(settings.baseUrl).to.equal(undefined);
  });

  it('are read from the variables of the one table', () => {
    const names = SETTING_DESCRIPTIONS.map(({ name }) => name);
    expect(names).to.include.members(['HOST', 'PORT', 'BASE_URL', 'DATA_DIR', 'EGRESS_PROXY_URL', 'KEY_PEPPER']);
    expect(new Set(names).size).to.equal(names.length);
    const pepper = 'p'.repeat(32);
    const settings = readSettings({
      PORT: '0',
      BASE_URL: 'https://gateway.example/api/',
      TRUSTED_ORIGINS: 'http://127.0.0.1:9000, https://intern.example',
      CORS_ORIGINS: 'https://app.example, http://localhost:5173',
      BROWSER: 'OFF',
      KEY_PEPPER: `${pepper}, ${pepper}2`,
      DATABASE_URL: 'postgres://user:pass@localhost/db',
    });
    expect(settings).to.deep.include({
      port: 0,
      baseUrl: 'https://gateway.example/api',
      browser: false,
      trustedOrigins: ['http://127.0.0.1:9000', 'https://intern.example'],
      corsOrigins: ['https://app.example', 'http://localhost:5173'],
    });
    expect(readSettings({ BROWSER: '/usr/share/code/bin/helpers/browser.sh' }).browser).to.equal(true);
    expect(readSettings({ CORS_ORIGINS: '*' }).corsOrigins).to.deep.equal(['*']);
    expect(() => readSettings({ CORS_ORIGINS: 'app.example' })).to.throw(SettingsError, 'CORS_ORIGINS must be origins');
    for (const part of ['https://*.app.example', 'http://*', 'https://app.example,https://*.app.example:8443'])
      expect(() => readSettings({ CORS_ORIGINS: part }), part).to.throw(SettingsError, 'must be whole origins');
    for (const mixed of ['*,https://app.example', 'https://app.example, *'])
      expect(() => readSettings({ CORS_ORIGINS: mixed }), mixed).to.throw(SettingsError, 'either "*" alone');
    expect(settings.keyPeppers).to.deep.equal([pepper, `${pepper}2`]);
  });

  it('name an identity provider as its tokens do, over TLS, with the registered client', () => {
    const issuer = 'https://login.example/realms/one/';
    const read = readSettings({ OIDC_ISSUER: issuer, OIDC_CLIENT_ID: 'gateway', SITE: 'off' });
    expect(read).to.include({ oidcIssuer: issuer, oidcClientId: 'gateway', site: false });
    expect(readSettings({ OIDC_ISSUER: 'http://127.0.0.1:9000', OIDC_CLIENT_ID: 'x' }).oidcIssuer).to.match(/9000$/);
    expect(() => readSettings({ OIDC_ISSUER: issuer })).to.throw(SettingsError, 'OIDC_CLIENT_ID must be set');
    for (const wrong of [
      'http://login.example',
      'https://user:canary@login.example',
      'https://a.example?x',
      'canary',
    ]) {
      const settings = { OIDC_ISSUER: wrong, OIDC_CLIENT_ID: 'x' };
      expect(() => readSettings(settings)).to.throw(SettingsError, /^OIDC_ISSUER must be an https address(?!.*canary)/);
    }
  });

  it('report all errors at once, and repeat no value', () => {
    const wrong = {
      HOST: 'two words',
      PORT: '70000',
      BASE_URL: 'gateway.example',
      SITE_URL: 'https://user@site.example',
      DATABASE_URL: 'mysql://user:canary@host',
      FILES_URL: 'file:///canary',
      CACHE_URL: 'http://canary',
      EGRESS_PROXY_URL: 'socks5://canary',
      TRUSTED_ORIGINS: 'http://127.0.0.1:9000/path',
      BROWSER: 'maybe',
      LOG_LEVEL: 'loud',
      KEY_PEPPER: 'canary',
      LINK_SECRET: 'canary',
      EXTRACT_CACHE_SECONDS: '-1',
      AUDIO_LINK_HOURS: '1.5',
      MAX_CONNECTIONS: '0',
      SHUTDOWN_SECONDS: 'soon',
      FREE_TIER_PERIOD: 'year',
    };
    let message = '';
    try {
      readSettings(wrong);
    } catch (error) {
      expect(error).to.be.instanceOf(SettingsError);
      message = (error as Error).message;
    }
    for (const name of Object.keys(wrong)) expect(message).to.contain(`${name} must be `);
    expect(message).not.to.contain('canary');
    expect(message).to.contain('PORT must be a whole number from 0 to 65535.');
  });

  it('refuse secrets of fewer than 32 characters, also beside longer ones', () => {
    const [longEnough, tooShort] = ['s'.repeat(32), 'canary'.padEnd(31, 's')];
    for (const name of ['KEY_PEPPER', 'LINK_SECRET', 'IMAGE_WEBHOOK_SECRET']) {
      expect(() => readSettings({ [name]: longEnough }), name).not.to.throw();
      expect(() => readSettings({ [name]: `${longEnough} ,${longEnough}2` }), name).not.to.throw();
      for (const value of [
        tooShort,
        `${longEnough},${tooShort}`,
        `${tooShort},${longEnough}`,
        `${longEnough},${tooShort},${longEnough}`,
        // Spaces around a secret are not part of it.
        `${longEnough},   ${tooShort}   `,
        ',',
      ]) {
        const expected = new RegExp(`^${name} must be 32 characters or more, or several such(?!.*canary)`);
        expect(() => readSettings({ [name]: value }), `${name}=${value}`).to.throw(SettingsError, expected);
      }
    }
    const name = 'PAYMENT_WEBHOOK_SECRET';
    expect(readSettings({ [name]: `generic:${longEnough}` }).paymentSecrets).to.deep.equal({ generic: longEnough });
    for (const value of [
      `generic:${tooShort}`,
      `payos:${longEnough},generic:${tooShort}`,
      `generic:${longEnough},sepay:`,
    ])
      expect(() => readSettings({ [name]: value }), value).to.throw(
        SettingsError,
        /^PAYMENT_WEBHOOK_SECRET must be (?!.*canary)/,
      );
  });

  it('name the other settings that a payment account needs', () => {
    expect(() => readSettings({ PAYMENT_ACCOUNT: '123' })).to.throw(
      SettingsError,
      /^PAYMENT_BANK_NAME must be set as well, since PAYMENT_ACCOUNT is\.\nPAYMENT_ACCOUNT_NAME must be set .*\nPAYMENT_BANK_BIN must be set .*\.$/,
    );
    const epc = { PAYMENT_FORMAT: 'epc', PAYMENT_ACCOUNT_NAME: 'Ann', PAYMENT_ACCOUNT: 'DE00' };
    expect(() => readSettings(epc)).to.throw(
      SettingsError,
      /^PAYMENT_BANK_NAME must be set as well, since PAYMENT_ACCOUNT is\.\nPAYMENT_ACCOUNT must be an IBAN [^\n]*$/,
    );
  });

  it("equal those that the package's plugins.config.json reads", async () => {
    const entries = await readPluginConfig(path.join(packageRoot, 'plugins.config.json'), {});
    const read = new Set(entries.flatMap(({ variables }) => variables?.names ?? []));
    const own = new Set(SETTING_DESCRIPTIONS.map(({ name }) => name));
    const names = PLUGIN_SETTING_DESCRIPTIONS.map(({ name }) => name);
    expect([...read].filter((name) => !own.has(name))).to.have.members(names);
  });

  it('refuse a password that cannot be decoded', () => {
    for (const name of ['DATABASE_URL', 'FILES_URL', 'CACHE_URL', 'EGRESS_PROXY_URL']) {
      const scheme = { DATABASE_URL: 'postgres', FILES_URL: 's3', CACHE_URL: 'redis' }[name] ?? 'http';
      const read = () => readSettings({ [name]: `${scheme}://user:can%ary@host/x` });
      expect(read, name).to.throw(SettingsError, `${name} must be a URL whose user and password are percent-encoded.`);
    }
  });
});

/** Settings for operators: what applies, where it comes from, and that no secret is among it. */

import { expect } from 'chai';
import { maskSetting, readSettings, reportSettings, secretsOf } from '../../../server/settings/index.js';

/** Every setting that holds a secret, with a value whose secret parts have a mark. */
const SECRETS = {
  DATABASE_URL: 'postgres://user:marked-1@db.example/gate?sslkey=marked-2',
  CACHE_URL: 'rediss://user:marked-3@cache.example:6380',
  FILES_URL: 's3://AKIAMARK:marked-4@objects.example/bucket',
  EGRESS_PROXY_URL: 'http://user:marked-5@proxy.example:3128',
  KEY_PEPPER: 'marked-6-at-least-32-characters-long-pepper',
  LINK_SECRET: 'marked-7-at-least-32-characters-long-secret',
  IMAGE_WEBHOOK_SECRET: 'marked-8-at-least-32-characters-long-secret',
  OIDC_ISSUER: 'https://id.example',
  OIDC_CLIENT_ID: 'client',
  OIDC_CLIENT_SECRET: 'marked-9',
  PAYMENT_WEBHOOK_SECRETS: 'payos:marked-10-at-least-32-characters-long-secret',
  OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer marked-11',
  BUDGET_WEBHOOK_URL: 'https://hooks.example/services/marked-12?token=marked-13',
  TEXT_UPSTREAM_KEY: 'marked-14',
  TEXT_UPSTREAM_URL: 'https://marked-15:marked-16@models.example/v1?key=marked-17',
};

describe('the report of settings', () => {
  it('has no secret', () => {
    const report = reportSettings(SECRETS);
    expect(JSON.stringify(report)).not.to.match(/marked|MARK/);
    const shown = new Map(report.map(({ name, value }) => [name, value]));
    expect(shown.get('DATABASE_URL')).to.equal('postgres://***@db.example/gate?***');
    expect(shown.get('BUDGET_WEBHOOK_URL')).to.equal('https://hooks.example/***?***');
    expect(shown.get('OIDC_ISSUER')).to.equal('https://id.example/');
    expect(shown.get('TEXT_UPSTREAM_KEY')).to.equal('***');
  });

  it('has nothing that the log hides', () => {
    const known = Object.fromEntries(Object.entries(SECRETS).filter(([name]) => !name.startsWith('TEXT_')));
    const hidden = secretsOf(readSettings(known));
    expect(hidden.length).to.be.at.least(10);
    const text = JSON.stringify(reportSettings(known));
    expect(hidden.filter((secret) => text.includes(secret))).to.deep.equal([]);
  });

  it('says what applies, and where it comes from', () => {
    const report = reportSettings({ PORT: '9000', SITE: ' ' });
    const of = (name: string) => report.find((setting) => setting.name === name);
    expect(of('PORT')).to.include({ value: '9000', source: 'environment' });
    expect(of('SITE')).to.include({ value: 'on', source: 'default' });
    expect(report.every(({ description }) => description !== '')).to.equal(true);
  });

  it('masks an address that cannot be taken apart as a whole', () => {
    expect(maskSetting('SOME_URL', 'https://user:secret@')).to.equal('***');
    expect(maskSetting('CORS_ORIGINS', 'https://a.example, https://u:p@b.example')).to.equal(
      'https://a.example/, https://***@b.example/',
    );
  });
});

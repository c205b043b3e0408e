/** Messages of alerts reach a real SMTP server and a real webhook receiver, are retried, and hold no secret. */

import { createHmac } from 'node:crypto';
import { expect } from 'chai';
import { createRecordingLogger } from 'mediagate/testing';
import { systemClock } from '../../../core/runtime/time.js';
import { channelsOf, openAlertSender, startAlertMessages } from '../../../server/alerts/delivery.js';
import { describeAlert, OPERATOR_ALERTS } from '../../../server/alerts/index.js';
import { sendMail } from '../../../server/alerts/mail.js';
import { mailOf } from '../../../server/alerts/messages.js';
import { createSmtpClient } from '../../../server/alerts/smtp.js';
import { ALERT_KINDS, type Alert } from '../../../server/alerts/tables.js';
import { CloseList } from '../../../server/close-list.js';
import { loadWebhookSecrets, readSettings, reportSettings, secretsOf } from '../../../server/settings/index.js';
import type { State } from '../../../server/state.js';
import { WebhookSecrets } from '../../../server/webhooks/index.js';
import { engines, type Place } from '../../support/databases/engines.js';
import { createCertificateAuthority } from '../../support/http/certificates.js';
import { MAIL_PASSWORD, MAIL_USER, type MailReceiver, startMailReceiver } from '../../support/http/mail-receiver.js';
import { startWebhookReceiver, type WebhookReceiver } from '../../support/http/webhook-receiver.js';
import { rejection } from '../../support/rejection.js';
import { until } from '../../support/until.js';

const CREDENTIALS = `${MAIL_USER}:${encodeURIComponent(MAIL_PASSWORD)}`;
const HOSTILE = 'team\r\nBcc: all@example.com\u202e';
const ALERT: Alert = {
  id: 'alr_1f0c93ab',
  kind: 'upstream_down',
  subject: 'openai_text',
  state: 'open',
  openedAt: Date.UTC(2026, 5, 15, 12),
  seenAt: Date.UTC(2026, 5, 15, 12),
  endedAt: null,
  times: 2,
  detail: { reason: 'cools down after failures', serves: 'm-5.5' },
  acknowledgedAt: null,
  acknowledgedBy: null,
};

const rejected = async (work: Promise<unknown>) => (await rejection(work)) as Error & { code?: string };

for (const engine of engines) {
  describe(`messages of alerts on ${engine.name}`, () => {
    let place: Place;
    let state: State;
    let mail: MailReceiver;
    let receiver: WebhookReceiver;
    const opened = new CloseList();

    before(async function () {
      place = await engine.reusedPlace(this);
      state = await place.open();
      [mail, receiver] = await Promise.all([startMailReceiver(), startWebhookReceiver()]);
    });
    after(async () => {
      await opened.close();
      await Promise.all([mail?.close(), receiver?.close()]);
      await place?.remove();
    });

    it('arrive at both, signed and in the chosen language, once each, after refusals too', async () => {
      const settings = readSettings({
        DATA_DIR: place.dataDir,
        ALERT_WEBHOOK_URL: receiver.url('alerts'),
        ALERT_EMAIL_TO: 'ops@example.com, night@example.com',
        ALERT_EMAIL_FROM: 'gateway@example.com',
        ALERT_LANGUAGE: 'vi',
        SMTP_URL: `smtp://${CREDENTIALS}@127.0.0.1:${mail.port}?tls=off`,
        SITE_NAME: 'Models of us',
      });
      expect(channelsOf(settings)).to.deep.equal(['webhook', 'email']);
      const siteUrl = () => 'https://models.example';
      const send = await openAlertSender({ settings, webhooks: state.webhooks, clock: systemClock, siteUrl, opened });
      const logger = createRecordingLogger();
      const delivery = startAlertMessages({ alerts: state.alerts, send, logger, pausesMs: [20, 20], pollMs: 20 });
      opened.add(() => delivery.close());
      receiver.behave('alerts', 503);
      mail.behave(451);
      await state.alerts.note([{ kind: 'probe_failed', subject: 'vidsite', detail: { failed: 2 } }], {
        channels: channelsOf(settings),
      });
      const [first, second] = await receiver.heard('alerts', 2);
      const [letter] = await mail.heard(1);
      const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signature } = second?.headers ?? {};
      expect(first?.headers['webhook-id']).to.equal(id);
      const event = JSON.parse(second?.body ?? '');
      const [alert] = await state.alerts.list({ limit: 1 });
      expect(event).to.deep.include({ type: 'alert.opened', data: describeAlert(alert!) });
      const secrets = new WebhookSecrets(await loadWebhookSecrets(settings), state.webhooks);
      const [, key = ''] = (await secrets.newest(OPERATOR_ALERTS)).split('_');
      const signed = createHmac('sha256', Buffer.from(key, 'base64'));
      expect(signature).to.equal(`v1,${signed.update(`${id}.${at}.${second?.body}`).digest('base64')}`);
      expect(letter).to.include({ from: 'gateway@example.com', user: MAIL_USER });
      expect(letter?.to).to.deep.equal(['ops@example.com', 'night@example.com']);
      const subject = /^Subject: (.*(?:\r\n .*)*)/m.exec(letter?.text ?? '')?.[1] ?? '';
      const words = subject
        .split(/\r\n\s*/)
        .join('')
        .replace(/\?==\?UTF-8\?Q\?/g, '')
        .replace(/=\?UTF-8\?Q\?|\?=/g, '')
        .replaceAll('_', ' ')
        .replace(/(?:=[0-9A-F]{2})+/g, (coded) => Buffer.from(coded.replaceAll('=', ''), 'hex').toString());
      expect(words).to.contain('[Models of us] Cảnh báo: Kiểm tra trực tiếp vidsite thất bại');
      await until(async () => (await state.alerts.takeDue({ max: 10, leaseMs: 1 })).length === 0);
      expect(receiver.of('alerts')).to.have.length(2);
      expect(mail.received).to.have.length(1);
      expect(JSON.stringify(logger.lines)).to.contain('451').and.not.contain(MAIL_PASSWORD);
    });
  });
}

describe('e-mails of alerts', () => {
  let mail: MailReceiver;
  const LETTER = { from: 'gateway@example.com', to: ['ops@example.com'], subject: 'x', text: 'x', id: 'evt_1' };

  before(async () => {
    mail = await startMailReceiver();
  });
  after(() => mail?.close());

  it('go over TLS alone, to a server with a valid certificate', async () => {
    const authority = await createCertificateAuthority();
    const tls = await authority.contextFor('mail.example.com');
    const safe = await startMailReceiver({ tls });
    const letter = { ...LETTER, messageId: '<evt_1@example.com>' };
    const send = (port: number, ca: string, servername = 'mail.example.com') => {
      const auth = { user: MAIL_USER, pass: MAIL_PASSWORD };
      const options = { host: '127.0.0.1', port, secure: false, requireTLS: true, stepMs: 5_000, auth };
      const client = createSmtpClient({ ...options, tls: { ca, servername } });
      return client.send(letter).finally(() => client.close());
    };
    await send(safe.port, authority.pem);
    expect((await safe.heard(1))[0]).to.include({ isEncrypted: true, user: MAIL_USER });
    const other = await createCertificateAuthority();
    for (const [port, ca, host] of [
      [mail.port, authority.pem, undefined],
      [safe.port, other.pem, undefined],
      [safe.port, authority.pem, 'other.example.com'],
    ] as const) {
      expect(await rejection(send(port, ca, host)), host)
        .to.have.property('code')
        .that.is.oneOf(['ETLS', 'ESOCKET']);
    }
    await safe.close();
    expect([mail.received.length, safe.received.length]).to.deep.equal([0, 1]);
    const remote = await rejected(sendMail({ url: `smtps://127.0.0.1:${mail.port}` }, LETTER));
    expect(remote.code).to.equal('upstream_error');
  });

  it('are refused with a wrong password, in words without it', async () => {
    const wrong = await rejected(sendMail({ url: `smtp://${MAIL_USER}:secret-word@127.0.0.1:${mail.port}` }, LETTER));
    expect([wrong.code, wrong.message]).to.deep.equal([
      'upstream_error',
      'The mail server refused the e-mail: EAUTH 535.',
    ]);
    expect(mail.received).to.deep.equal([]);
  });

  it('end at their deadline, and with the process', async () => {
    mail.behave('hang', 'hang');
    const url = `smtp://127.0.0.1:${mail.port}?tls=off`;
    const late = await rejected(sendMail({ url, timeoutMs: 300 }, LETTER));
    expect(late).to.include({ code: 'upstream_timeout' });
    const leaving = new AbortController();
    setTimeout(() => leaving.abort(new Error('closing')), 200);
    expect((await rejected(sendMail({ url }, LETTER, leaving.signal))).message).to.equal('closing');
  });

  it('have one line as their subject, whatever names say', async () => {
    const place = { siteName: 'mediagate', siteUrl: 'https://models.example' } as const;
    for (const language of ['en', 'vi'] as const) {
      for (const kind of ALERT_KINDS) {
        const detail = { name: HOSTILE, of: 'group', unit: 'money', currency: 'USD', limit: 5, used: 4, resets: 'day' };
        for (const event of ['opened', 'repeated', 'closed'] as const) {
          const { subject, text } = mailOf(
            { event, alert: { ...ALERT, kind, subject: HOSTILE, detail } },
            { ...place, language },
          );
          expect(subject, `${language} ${kind}`).to.match(/^\[mediagate\] [^\r\n\u202e]+$/);
          expect(text).to.contain('https://models.example/admin/alerts').and.not.contain('\u202e');
          expect(text).not.to.contain('\nBcc');
        }
      }
    }
    await sendMail(
      { url: `smtp://127.0.0.1:${mail.port}?tls=off` },
      {
        ...LETTER,
        ...mailOf({ event: 'opened', alert: { ...ALERT, subject: HOSTILE } }, { ...place, language: 'en' }),
      },
    );
    const [letter] = await mail.heard(1);
    expect(letter?.to).to.deep.equal(['ops@example.com']);
    expect(letter?.text.split('\r\n\r\n')[0]).not.to.match(/^bcc/im);
  });

  it('are set together with the mail server, whose password is shown nowhere', () => {
    const SMTP_URL = `smtp://${CREDENTIALS}@mail.example.com:587`;
    expect(() => readSettings({ SMTP_URL })).to.throw('SMTP_URL and ALERT_EMAIL_TO must be set together.');
    expect(() => readSettings({ ALERT_EMAIL_TO: 'a@b.example' })).to.throw('must be set together');
    for (const wrong of ['a', 'a@b@c', 'Ann <a@b.example>', 'a@b.example\nBcc: x@y.example']) {
      expect(() => readSettings({ SMTP_URL, ALERT_EMAIL_TO: wrong }), wrong).to.throw('ALERT_EMAIL_TO must be');
    }
    const settings = readSettings({ SMTP_URL, ALERT_EMAIL_TO: 'a@b.example' });
    expect(secretsOf(settings)).to.include(MAIL_PASSWORD);
    const shown = reportSettings({ SMTP_URL }).find(({ name }) => name === 'SMTP_URL');
    expect(shown?.value).to.equal('smtp://***@mail.example.com:587');
  });
});

/** The commands about alerts: list, acknowledge, the secret, and a message that tries where they go. */

import { createHmac } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { systemClock } from 'mediagate';
import { openState } from '../../../server/state.js';
import { ListLogger } from '../../support/databases/engines.js';
import { startMailReceiver } from '../../support/http/mail-receiver.js';
import { startWebhookReceiver } from '../../support/http/webhook-receiver.js';
import { runCommand } from '../../support/processes/command-line.js';

describe('mediagate alerts', () => {
  let dataDir: string;
  const run = (settings: Record<string, string>, ...args: string[]) =>
    runCommand(['alerts', ...args], { DATA_DIR: dataDir, ...settings });

  before(async () => {
    dataDir = await mkdtemp(path.join(tmpdir(), 'mediagate-alerts-'));
    const state = await openState({ dataDir, clock: systemClock, logger: new ListLogger() });
    await state.alerts.note([{ kind: 'certificate', subject: 'api.example', detail: { days: 3 } }]);
    await state.close();
  });
  after(() => rm(dataDir, { recursive: true, force: true }));

  it('lists them, and acknowledges one', async () => {
    const { stdout } = await run({}, 'list');
    expect(stdout)
      .to.match(/^ID +STATE +SINCE/)
      .and.contain('The certificate of api.example ends in 3 days');
    const [alert] = JSON.parse((await run({}, 'list', '--json')).stdout);
    expect(alert).to.deep.include({ kind: 'certificate', state: 'open', times: 1, detail: { days: 3 } });
    const done = await run({}, 'acknowledge', alert.id, '--note', 'renewed tomorrow');
    expect([done.code, done.stdout]).to.deep.equal([0, `Alert ${alert.id} is acknowledged.\n`]);
    const none = await run({}, 'acknowledge', 'alr_none');
    expect([none.code, none.stderr]).to.deep.equal([1, 'mediagate: There is no alert alr_none; see "alerts list".\n']);
  });

  it('tries the webhook, signed with the secret that it prints, and the mail server', async () => {
    expect((await run({}, 'test')).stderr).to.contain('Neither ALERT_WEBHOOK_URL nor SMTP_URL is set.');
    const [mail, receiver] = await Promise.all([startMailReceiver(), startWebhookReceiver()]);
    const settings = {
      ALERT_WEBHOOK_URL: receiver.url('alerts'),
      SMTP_URL: `smtp://127.0.0.1:${mail.port}?tls=off`,
      ALERT_EMAIL_TO: 'ops@example.com',
    };
    const { code, stdout, stderr } = await run(settings, 'test', '--json');
    expect(code, stderr).to.equal(0);
    expect(JSON.parse(stdout)).to.deep.equal([
      { channel: 'webhook', ok: true },
      { channel: 'email', ok: true },
    ]);
    const [letter] = mail.received;
    expect(letter?.to).to.deep.equal(['ops@example.com']);
    const [sent] = receiver.of('alerts');
    const secret = (await run(settings, 'secret')).stdout.trim();
    const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signature } = sent?.headers ?? {};
    const hash = createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64'));
    expect(signature).to.equal(`v1,${hash.update(`${id}.${at}.${sent?.body}`).digest('base64')}`);
    mail.behave(550);
    receiver.behave('alerts', 500);
    const failed = await run(settings, 'test');
    expect([failed.code, failed.stdout]).to.satisfy(([exit, text]: [number, string]) => {
      return exit === 1 && text.includes('550') && text.includes('the status 500');
    });
    await Promise.all([mail.close(), receiver.close()]);
  });
});

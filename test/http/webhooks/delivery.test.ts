/** Addresses, secrets and tries of webhooks. */

import { expect } from 'chai';
import { isGatewayError, openHttpClient, systemClock } from 'mediagate';
import { createRecordingLogger } from 'mediagate/testing';
import { Webhook } from 'standardwebhooks';
import type { State } from '../../../server/state.js';
import {
  startWebhookDelivery,
  type WebhookDelivery,
  type WebhookDeliveryOptions,
  type WebhookOutcome,
  WebhookSecrets,
  WebhookTargets,
} from '../../../server/webhooks/index.js';
import { engines, ManualClock, type Place } from '../../support/databases/engines.js';
import { ownPostgres } from '../../support/databases/postgres-outage.js';
import type { Stack } from '../../support/databases/stacks.js';
import { startWebhookReceiver, type WebhookReceiver } from '../../support/http/webhook-receiver.js';
import { until } from '../../support/until.js';
import type { ListeningApp } from '../http/listening-app.js';
import { PROMPT, startImageApp } from '../images/client.js';

const DAY_MS = 24 * 60 * 60 * 1000;

for (const engine of engines) {
  describe(`secrets of webhooks on ${engine.name}`, () => {
    const NEW = Buffer.from('n'.repeat(32));
    const OLD = Buffer.from('o'.repeat(32));
    let place: Place;
    let clock: ManualClock;
    let state: State;

    beforeEach(async function () {
      place = await engine.place(this);
      clock = new ManualClock();
      state = await place.open({ rateLimitClock: clock });
    });
    afterEach(() => place?.remove());

    const encoded = async (secrets: WebhookSecrets, accountId = 'one') =>
      (await secrets.signing(accountId)).map((secret) => `whsec_${Buffer.from(secret).toString('base64')}`);

    it('sign with the previous secret for exactly 24 hours', async () => {
      const secrets = new WebhookSecrets([NEW], state.webhooks);
      const first = await secrets.newest('one');
      expect(await encoded(secrets)).to.deep.equal([first]);
      const second = await secrets.rotate('one');
      expect(await secrets.newest('one')).to.equal(second);
      expect(await encoded(secrets)).to.deep.equal([second, first]);
      clock.advance(DAY_MS - 1);
      expect(await encoded(secrets)).to.deep.equal([second, first]);
      clock.advance(1);
      expect(await encoded(secrets)).to.deep.equal([second]);
      clock.advance(365 * DAY_MS);
      expect(await encoded(secrets)).to.deep.equal([second]);
      expect(await secrets.newest('one')).to.equal(second);
    });

    it('are two at most, with an overlap after each rotation, of only that account', async () => {
      const secrets = new WebhookSecrets([NEW], state.webhooks);
      const stranger = await secrets.newest('two');
      const first = await secrets.newest('one');
      const second = await secrets.rotate('one');
      clock.advance(DAY_MS - 1);
      const third = await secrets.rotate('one');
      expect(new Set([first, second, third, stranger]).size).to.equal(4);
      expect(await encoded(secrets)).to.deep.equal([third, second]);
      clock.advance(DAY_MS - 1);
      expect(await encoded(secrets)).to.deep.equal([third, second]);
      clock.advance(1);
      expect(await encoded(secrets)).to.deep.equal([third]);
      expect(await encoded(secrets, 'two')).to.deep.equal([stranger]);
    });

    it("sign with each of the gateway's own secrets while several are set, and show the newest's", async () => {
      const before = new WebhookSecrets([OLD], state.webhooks);
      const during = new WebhookSecrets([NEW, OLD], state.webhooks);
      const after = new WebhookSecrets([NEW], state.webhooks);
      const [old, young] = [await before.newest('one'), await after.newest('one')];
      expect(old).not.to.equal(young);
      expect(await during.newest('one')).to.equal(young);
      expect(await encoded(during)).to.deep.equal([young, old]);
      await during.rotate('one');
      expect(await encoded(during)).to.deep.equal([await after.newest('one'), await before.newest('one'), young, old]);
      clock.advance(DAY_MS);
      expect(await encoded(during)).to.have.length(2);
      expect(await encoded(after)).to.deep.equal([await after.newest('one')]);
    });
  });
}

describe('addresses of webhooks', () => {
  const targets = new WebhookTargets(['http://127.0.0.1:9000']);
  const refusal = (url: unknown, from = targets): string => {
    try {
      return `accepted: ${from.check(url)}`;
    } catch (error) {
      if (!isGatewayError(error)) throw error;
      expect([error.code, error.param]).to.deep.equal(['invalid_value', 'webhook_url']);
      return error.message;
    }
  };

  it('are stored without the fragment', () => {
    expect(targets.check('https://Hooks.example:443/a/b?c=d&e#token=f')).to.equal('https://hooks.example/a/b?c=d&e');
    expect(targets.check('https://hooks.example/#')).to.equal('https://hooks.example/');
    expect(targets.check('https://hooks.example#part')).to.equal('https://hooks.example/');
    expect(targets.check('http://127.0.0.1:9000/hook#part')).to.equal('http://127.0.0.1:9000/hook');
  });

  it('have 2048 characters at most', () => {
    const start = 'https://hooks.example/';
    const longest = start + 'a'.repeat(2048 - start.length);
    expect(targets.check(longest)).to.equal(longest);
    expect(refusal(`${longest}a`)).to.include('a public https URL of at most 2048 characters');
  });

  it('may lack TLS only for origins of the operator', () => {
    expect(targets.check('http://127.0.0.1:9000/hook')).to.equal('http://127.0.0.1:9000/hook');
    for (const url of [
      'http://127.0.0.1:9001/hook',
      'https://127.0.0.1:9000/hook',
      'http://hooks.example/',
      'https://user@hooks.example/',
      'https://:pass@hooks.example/',
      ['https://hooks.example/'],
      null,
    ])
      expect(refusal(url), String(url)).to.match(/^webhook_url must be /);
    expect(refusal('http://127.0.0.1:9000/hook', new WebhookTargets())).to.match(/^webhook_url must be /);
  });
});

describe('deliveries of webhooks when the database becomes unavailable during a try', () => {
  const postgres = ownPostgres();
  let receiver: WebhookReceiver;
  let app: ListeningApp;
  let http: Awaited<ReturnType<typeof openHttpClient>>;
  let delivery: WebhookDelivery | undefined;
  let outcomes: WebhookOutcome[];
  let logger: ReturnType<typeof createRecordingLogger>;

  before(async () => {
    receiver = await startWebhookReceiver();
    const trustedOrigins = [receiver.origin];
    http = await openHttpClient({ timeoutMs: 15_000, trustedOrigins });
    const { databaseUrl } = postgres.place;
    const stack: Stack = {
      name: 'PostgreSQL, S3 and Redis',
      isFirst: false,
      fileSource: 'local_cache',
      place: async () => ({ settings: { databaseUrl }, environment: {}, remove: async () => undefined }),
    };
    app = await startImageApp({ stack, images: { workers: 0 } });
  });
  beforeEach(() => {
    outcomes = [];
    logger = createRecordingLogger();
  });
  afterEach(async () => {
    await delivery?.close();
    delivery = undefined;
  });
  after(async () => {
    await app?.close();
    await http?.close();
    await receiver?.close();
  });

  /** Delivers with one try alone where that fails; a try whose end is unknown is repeated after its lease. */
  function deliver(parts: Partial<WebhookDeliveryOptions>): void {
    const { webhooks } = app.state;
    const secrets = new WebhookSecrets([Buffer.from('s'.repeat(32))], webhooks);
    delivery = startWebhookDelivery({
      ...{ webhooks, images: app.gateway.images, secrets, client: http.client, clock: systemClock, logger },
      baseUrl: () => app.url,
      tried: (outcome) => outcomes.push(outcome),
      ...{ pausesMs: [], leaseMs: 2_000, pollMs: 20 },
      ...parts,
    });
  }

  async function endJob(name: string): Promise<void> {
    const submission = await app.gateway.images.submit({
      ...PROMPT,
      ...({ size: 'auto', references: [], options: {}, delivery: 'url' } as const),
      owner: 'local',
      webhookUrl: receiver.url(name),
    });
    if (!('job' in submission)) throw new Error('not accepted');
    await app.gateway.images.cancel(submission.job.id, 'local');
  }

  /** Runs the call once while the database is unavailable; the error arrives after the database answers again. */
  function onceUnavailable<Parts extends unknown[], Result>(call: (...parts: Parts) => Promise<Result>) {
    let isDone = false;
    return async (...parts: Parts): Promise<Result> => {
      if (isDone) return call(...parts);
      isDone = true;
      const bringBack = await postgres.takeAway();
      const outcome = await call(...parts).then(
        (value) => ({ value }),
        (error: unknown) => ({ error }),
      );
      await bringBack();
      await until(() =>
        app.state.ping().then(
          () => true,
          () => false,
        ),
      );
      if ('value' in outcome) throw new Error('The database answered.');
      expect(outcome.error).to.include({ code: 'upstream_unavailable' });
      throw outcome.error;
    };
  }

  const settled = () => until(async () => (await app.state.webhooks.waiting()) === 0);

  it('do not count if the job could not be read', async () => {
    await endJob('job');
    deliver({ images: { find: onceUnavailable((...parts) => app.gateway.images.find(...parts)) } });
    await receiver.heard('job');
    await settled();
    await until(() => outcomes.length > 0);
    expect(outcomes).to.deep.equal(['delivered']);
    expect(receiver.of('job')).to.have.length(1);
    expect(logger.lines.map(({ message }) => message)).to.include('webhooks wait for the database');
  });

  it('do not count if the secret could not be read', async () => {
    const secrets = new WebhookSecrets([Buffer.from('s'.repeat(32))], app.state.webhooks);
    await endJob('secret');
    deliver({ secrets: { signing: onceUnavailable((accountId) => secrets.signing(accountId)) } });
    const [event] = await receiver.heard('secret');
    await settled();
    await until(() => outcomes.length > 0);
    expect(outcomes).to.deep.equal(['delivered']);
    new Webhook(await secrets.newest('local')).verify(event!.body, event!.headers);
  });

  it('send the same event again if a delivery was not recorded', async () => {
    const { webhooks } = app.state;
    await endJob('settled');
    deliver({
      webhooks: {
        takeDue: (request) => webhooks.takeDue(request),
        settle: onceUnavailable((one) => webhooks.settle(one)),
        postpone: (one, pause) => webhooks.postpone(one, pause),
        giveBack: (one) => webhooks.giveBack(one),
      },
    });
    const tries = await receiver.heard('settled', 2);
    await settled();
    await until(() => outcomes.length > 0);
    expect(new Set(tries.map(({ headers }) => headers['webhook-id'])).size).to.equal(1);
    expect(outcomes).to.deep.equal(['delivered']);
  });

  it('count a try that failed for a reason of this process', async () => {
    let failures = 0;
    const find: WebhookDeliveryOptions['images']['find'] = async (...parts) => {
      failures += 1;
      if (failures === 1) throw new TypeError('a defect');
      return app.gateway.images.find(...parts);
    };
    await endJob('defect');
    deliver({ images: { find }, pausesMs: [10] });
    await receiver.heard('defect');
    await settled();
    await until(() => outcomes.length > 1);
    expect(outcomes).to.deep.equal(['postponed', 'delivered']);
    expect(logger.lines.map(({ message }) => message)).to.include('a webhook could not be sent');
  });
});

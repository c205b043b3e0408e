/** A gateway that sells plans, and bank webhooks for it. */

import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { answersFromSamples, linkSamples } from '../../demo/link-samples.js';
import { genericNotice, SECRETS } from '../../http/payments/app.js';
import { startReplayingProxy } from '../links/replaying-proxy.js';
import type { Environment } from '../processes/command-line.js';
import { type GatewayProcess, type HttpAnswer, startGatewayProcess } from '../processes/gateway-process.js';
import { OPERATOR, signInAt } from './browser-session.js';

/** A real gateway as an operator runs it who sells a plan that opens everything, its links led to sample pages. */
export interface SellingGateway extends GatewayProcess {
  readonly planName: string;
  /** In minor units of {@link currency}. */
  readonly price: number;
  readonly currency: string;
  /** A link that a sample page stands behind, and the title that it has. */
  readonly link: string;
  /** The bank tells that money for an order has come. */
  tell(code: string, amount: number): Promise<HttpAnswer>;
  /** Everything that may be on its disk and in its settings, and nowhere else. */
  secrets(): Promise<string[]>;
}

const PLAN = { id: 'token_30m', price: { amount: 1_900, currency: 'EUR' }, grants: ['extract', 'images'] };

const PAYMENT = {
  PAYMENT_FORMAT: 'epc',
  PAYMENT_BANK_NAME: 'Harbour Bank',
  PAYMENT_ACCOUNT: 'DE89370400440532013000',
  PAYMENT_ACCOUNT_NAME: 'Mediagate Ltd',
  PAYMENT_WEBHOOK_SECRET: `generic:${SECRETS.generic}`,
};

/** @param environment Settings besides those made here. */
export async function startSellingGateway(environment: Environment = {}): Promise<SellingGateway> {
  const folder = await mkdtemp(path.join(tmpdir(), 'mediagate-selling-'));
  const dataFolder = path.join(folder, 'data');
  const plansFile = path.join(folder, 'plans.json');
  await writeFile(plansFile, JSON.stringify({ plans: [PLAN], publicPriceTablesVisible: true }));
  const proxy = await startReplayingProxy({ answer: answersFromSamples(linkSamples) });
  const gateway = await startGatewayProcess({
    proxy,
    dataFolder,
    environment: { ...environment, ...PAYMENT, PLANS_FILE: plansFile, LOG_LEVEL: 'debug' },
  });
  await signInAt(gateway, OPERATOR);
  return {
    ...gateway,
    planName: '30M tokens',
    price: PLAN.price.amount,
    currency: PLAN.price.currency,
    link: linkSamples[0]?.url ?? '',
    tell(code, amount) {
      const notice = genericNotice({ id: randomUUID(), text: code, amount, currency: PLAN.price.currency });
      const headers = { 'content-type': 'application/json', ...notice.headers };
      return gateway.request('/api/payment/webhook/generic', { method: 'POST', headers, body: notice.body });
    },
    async secrets() {
      const kept = path.join(dataFolder, 'secrets');
      // Gateways on one database are given theirs by settings.
      const given = ['KEY_PEPPER', 'LINK_SECRET'].flatMap((name) => environment[name] ?? []);
      const files = existsSync(kept) ? await readdir(kept) : [];
      const bytes = await Promise.all(files.map((file) => readFile(path.join(kept, file))));
      // As they are, and as they would be written down.
      const forms = bytes.flatMap((one) => [one.toString().trim(), one.toString('hex'), one.toString('base64url')]);
      return [SECRETS.generic, ...given, ...forms];
    },
    async stop() {
      const code = await gateway.stop();
      await proxy.close();
      await rm(folder, { recursive: true, force: true });
      return code;
    },
  };
}

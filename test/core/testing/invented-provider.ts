/** A plugin with a secret key and one contribution of an invented vendor, and the checks of the kit that it fails. */

import { expect } from 'chai';
import {
  type ContributionKind,
  type Contributions,
  definePlugin,
  GatewayError,
  type GatewayErrorDetails,
  type PluginContext,
} from 'mediagate';
import { Type } from 'mediagate/plugin';
import type { Check } from '../../../core/testing/index.js';

export const KEY = 'key-that-nobody-may-see';
const options = Type.Object({ key: Type.Optional(Type.String()) }, { additionalProperties: false });
export type Context = PluginContext<{ key?: string }>;

export function inventedProvider(kind: ContributionKind, setup: (context: Context) => Contributions) {
  const provides = [kind];
  const summary = 'What an invented vendor makes.';
  const plugin = definePlugin<typeof options>({ name: 'invented', apiVersion: 1, summary, provides, options, setup });
  return { plugin, options: { key: KEY } };
}

/** The error of a status that is no success, besides 400. */
export function failureOf(status: number, details: GatewayErrorDetails = {}): GatewayError {
  if ([401, 402, 403].includes(status)) return new GatewayError('upstream_auth_error', 'It does not serve us.');
  if (status === 429) return new GatewayError('upstream_rate_limited', 'It limits us.', details);
  return new GatewayError('upstream_error', 'It failed.');
}

/** Names of the checks that fail, of all or of those named. */
export async function failing(checks: readonly Check[], only?: readonly string[]): Promise<string[]> {
  const names: string[] = [];
  const wanted = only ? checks.filter(({ name }) => only.includes(name)) : checks;
  expect(wanted.length).to.equal(only?.length ?? checks.length);
  for (const check of wanted) await check.run().catch(() => names.push(check.name));
  return names;
}

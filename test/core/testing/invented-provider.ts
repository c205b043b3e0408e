/** A plugin with a secret key and one contribution of an invented vendor, ways for it to be wrong, and the checks that fail. */

import { expect } from 'chai';
import {
  type ContributionKind,
  type Contributions,
  definePlugin,
  GatewayError,
  type GatewayErrorDetails,
  type GeneratedImage,
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

/** The image of an upstream's bytes, by their first ones. */
export function imageOf(bytes: Uint8Array): GeneratedImage {
  const head = Buffer.from(bytes.subarray(0, 4)).toString('latin1');
  if (head === '\x89PNG') return { bytes, contentType: 'image/png' };
  if (head.startsWith('\xff\xd8\xff')) return { bytes, contentType: 'image/jpeg' };
  if (head === 'RIFF') return { bytes, contentType: 'image/webp' };
  throw new GatewayError('upstream_changed', 'This is no image.');
}

type Ask<Call, Result> = (call: Call, context: Context) => Promise<Result>;

/** The calls of a provider whose errors are told in another way. */
export function telling<Call, Result>(
  ask: Ask<Call, Result>,
  tell: (error: GatewayError) => unknown,
): Ask<Call, Result> {
  return (call, context) =>
    ask(call, context).catch((error) => {
      throw error instanceof GatewayError ? tell(error) : error;
    });
}

/** The calls of a provider that also asks somewhere else. */
export function askingElsewhere<Call, Result>(ask: Ask<Call, Result>): Ask<Call, Result> {
  return async (call, context) => {
    await context.http.request({ url: 'https://elsewhere.example' }).catch(() => {});
    return ask(call, context);
  };
}

export interface Finders {
  /** The check of a usual call. */
  usual: string;
  /** The check of an upstream that refuses the caller's input, and the code of the refusal. */
  refusal: string;
  refusalCode: GatewayError['code'];
  /** The checks of a caller who leaves. */
  leaving: readonly string[];
}

/** What any provider of models with an upstream may do wrong, made of the calls of a right one, and what finds it. */
export function wrongCalls<Call extends { signal: AbortSignal }, Result>(
  ask: Ask<Call, Result>,
  { usual, refusal, refusalCode, leaving }: Finders,
): Record<string, { ask: Ask<Call, Result>; finds: readonly string[] }> {
  const renaming = (code: GatewayError['code'], other: GatewayError['code'], retryable?: boolean) =>
    telling(ask, (error) => (error.code === code ? new GatewayError(other, 'No.', { retryable }) : error));
  return {
    'two requests for one call': {
      async ask(call, context) {
        await ask(call, context).catch(() => {});
        return ask(call, context);
      },
      finds: [usual, refusal],
    },
    'too many tries': {
      async ask(call, context) {
        for (let tries = 1; tries <= 3; tries++) {
          try {
            return await ask(call, context);
          } catch {
            // And again.
          }
        }
        return ask(call, context);
      },
      finds: ['HTTP 500 is named', 'HTTP 503 with a page is named', 'a timeout is named'],
    },
    'a key in the log': {
      async ask(call, context) {
        context.logger.info(`asked with ${KEY}`);
        return ask(call, context);
      },
      finds: [usual],
    },
    "a refusal of our key passed on as the caller's": {
      ask: renaming('upstream_auth_error', 'invalid_api_key'),
      finds: ['HTTP 401 is named', 'HTTP 402 is named', 'HTTP 403 is named'],
    },
    'a limit called a failure': {
      ask: renaming('upstream_rate_limited', 'upstream_error'),
      finds: ['HTTP 429 is named'],
    },
    'a fault of the caller called a failure': {
      ask: renaming(refusalCode, 'upstream_error'),
      finds: [refusal],
    },
    'a fault of the caller that may be asked again': {
      ask: renaming(refusalCode, refusalCode, true),
      finds: [refusal],
    },
    'an error of its own kind': {
      ask: telling(ask, () => new Error('No.')),
      finds: ['HTTP 500 is named'],
    },
    'work for a caller who has left': {
      ask(call, context) {
        const patient = { ...call, signal: new AbortController().signal };
        // In the end it fails all the same, so that this test ends.
        return Promise.race([ask(patient, context), new Promise<never>((_, reject) => setTimeout(reject, 300))]);
      },
      finds: leaving,
    },
  };
}

/** Names of the checks that fail, of all or of those named. */
export async function failing(checks: readonly Check[], only?: readonly string[]): Promise<string[]> {
  const names: string[] = [];
  const wanted = only ? checks.filter(({ name }) => only.includes(name)) : checks;
  expect(wanted.length).to.equal(only?.length ?? checks.length);
  for (const check of wanted) await check.run().catch(() => names.push(check.name));
  return names;
}

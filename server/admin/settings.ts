/*
 * The settings of the running process and its health for operators. Secrets are masked: of an address its user and
 * password, of a webhook also the path, and every value of a setting that holds a secret. The checks are those of
 * `mediagate doctor` that concern a process that runs: what it depends on, its plugins, and the upstreams, which are
 * asked by requests that cost nothing.
 */

import { field, optional, Type } from '../../core/contracts/index.js';
import type { Finding } from '../doctor/index.js';
import { Nullable, OneOf, type Route, Text } from '../http/index.js';
import { groupEntries } from '../plugin-groups.js';
import { adminRoute } from './admin-route.js';
import { wholeList } from './lists.js';
import type { AdminServices, Of } from './services.js';

/** What works and what does not, of this process. */
export async function checkProcess({ gateway, health }: Of<'gateway' | 'health'>): Promise<readonly Finding[]> {
  const { describeUpstreams } = await import('../doctor/index.js');
  const [checks, upstreams] = await Promise.all([health.checks(), gateway.checkUpstreams()]);
  const active = gateway.plugins().filter(({ state }) => state !== 'disabled');
  return [
    ...Object.entries(checks).map(
      ([name, { ok, ms, message }]): Finding => ({
        name,
        level: ok ? 'ok' : 'fail',
        detail: ok ? `answers in ${ms} ms` : (message ?? 'does not answer'),
      }),
    ),
    ...groupEntries(active).map(
      ({ id, state, reason, standIn }): Finding => ({
        name: 'plugin',
        level: state === 'ready' ? 'ok' : 'fail',
        detail: `${id}: ${state === 'ready' ? (standIn ? 'ready (mock)' : 'ready') : (reason ?? state)}`,
      }),
    ),
    ...describeUpstreams(upstreams).map(
      ({ ok, detail, advice }): Finding => ({
        name: 'upstream',
        level: ok ? 'ok' : 'warn',
        detail,
        ...(advice !== undefined && { advice }),
      }),
    ),
  ];
}

const SettingShape = Type.Object({
  name: field(Text, 'Environment variable.', 'PORT'),
  value: field(
    Nullable(Text),
    'What applies; `***` in place of a secret. Null if it is not set and has no default.',
    '8787',
  ),
  source: field(OneOf('environment', 'file', 'default'), 'Where it comes from.'),
  description: field(Text, 'What it does.'),
});
const FindingShape = Type.Object({
  name: field(Text, 'What was checked.', 'database'),
  level: field(OneOf('ok', 'warn', 'fail'), '`fail`: requests fail for it; `warn`: some may.'),
  detail: field(Text, 'What was found.'),
  advice: optional(Text, 'The remedy. Absent if none is needed.'),
});

export function settingRoutes(services: AdminServices): Route[] {
  return [
    adminRoute(services, {
      method: 'GET',
      path: '/settings',
      summary: 'List settings',
      description:
        'Lists the settings of the process that answers. Secrets are masked, and no setting can be changed here.',
      answer: { description: 'The settings.', name: 'SettingList', schema: wholeList(SettingShape, 'In their order.') },
      run: async () => ({ object: 'list', data: services.settings() }),
    }),
    adminRoute(services, {
      method: 'GET',
      path: '/doctor',
      summary: 'Check the running gateway',
      description: 'Checks what the process depends on, its plugins, and the upstreams of models, within five seconds.',
      answer: {
        description: 'The findings.',
        name: 'FindingList',
        schema: wholeList(FindingShape, 'One for each check.'),
      },
      run: async () => ({ object: 'list', data: await checkProcess(services) }),
    }),
  ];
}

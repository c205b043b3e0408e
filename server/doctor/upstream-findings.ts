/*
 * What a check of an upstream found, in words, with the remedy. Findings about the same upstream are merged.
 */

import { type CheckedUpstream, type UpstreamCheckResult } from '../../core/contracts/index.js';

/** One upstream in words: what was found, and what to do. */
export interface UpstreamFinding {
  /** Whether it can be used. */
  ok: boolean;
  /** Models and result: `m-5.5 and 11 more: key refused. It refused the key with status 401.` */
  detail: string;
  /** The remedy; undefined if it can be used. */
  advice?: string;
}

const RESULTS: Readonly<Record<UpstreamCheckResult, string>> = {
  reachable: 'reachable',
  refused_key: 'key refused',
  unknown_model: 'unknown model',
  wrong_format: 'not this format',
  unreachable: 'not reachable',
};

export const MAX_NAMED = 3;

/** Puts checks into words. Models of several instances with the same result share a finding. */
export function describeUpstreams(checks: readonly CheckedUpstream[]): UpstreamFinding[] {
  const groups = new Map<string, { check: CheckedUpstream; models: Set<string> }>();
  for (const check of checks) {
    const { result, reason, upstream } = check;
    const key = JSON.stringify([result, reason, upstream, settingOf(check), check.remedy]);
    const group = groups.get(key) ?? { check, models: new Set() };
    for (const model of check.models) group.models.add(model);
    groups.set(key, group);
  }
  return [...groups.values()].map(({ check, models }) => {
    const { result, reason } = check;
    const detail = [`${named([...models])}: ${RESULTS[result]}`, ...(reason === undefined ? [] : [reason])].join('. ');
    return result === 'reachable' ? { ok: true, detail } : { ok: false, detail, advice: adviceForUpstream(check) };
  });
}

/** The same option of several instances is one setting only if it is a variable. */
function settingOf({ result, setting }: CheckedUpstream): string | undefined {
  return result === 'reachable' ? undefined : setting;
}

function adviceForUpstream({ result, setting, remedy }: CheckedUpstream): string {
  const isRunning = result === 'unreachable' ? ' and that the server runs' : '';
  const check = setting === undefined ? 'Check that the server runs' : `Check ${setting}${isRunning}`;
  return remedy === undefined ? `${check}.` : `${check}. ${remedy}`;
}

export function named(models: readonly string[]): string {
  const shown = models.slice(0, MAX_NAMED);
  const others = models.length - shown.length;
  return others > 0 ? `${shown.join(', ')} and ${others} more` : shown.join(', ');
}

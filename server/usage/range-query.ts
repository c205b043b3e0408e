import { GatewayError } from 'mediagate';
import { type DayRange, readDayRange } from './usage-days.js';

/**
 * Which days a request asks for, by `?from=&to=`; the last 30 where it names none.
 * @throws GatewayError `invalid_value`.
 */
export function readRangeQuery(query: Readonly<Record<string, string | string[] | undefined>>, now: number): DayRange {
  const { from, to } = query;
  for (const [param, value] of Object.entries({ from, to })) {
    if (Array.isArray(value)) throw new GatewayError('invalid_value', `${param} is there twice.`, { param });
  }
  const range = readDayRange({ from: from as string | undefined, to: to as string | undefined }, now);
  if (!('problem' in range)) return range;
  const { member, problem } = range;
  throw new GatewayError('invalid_value', `${member} ${problem}.`, { param: member });
}

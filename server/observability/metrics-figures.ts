import type { Registry } from 'prom-client';

/** A value with its labels. */
export type Figure = [labels: Readonly<Record<string, string>>, value: number];

export interface LookedUp {
  name: string;
  help: string;
  labelNames?: readonly string[];
  /** A total that only grows; else a state. Default: a state. */
  total?: boolean;
  /** Undefined or a rejection says nothing at all: the other figures are then the more needed. */
  look(): Promise<readonly Figure[] | undefined> | readonly Figure[] | undefined;
}

/** A figure that somebody else keeps, looked up whenever it is asked for. */
export type AddLookedUp = (figure: LookedUp) => void;

/** @param prometheus prom-client, loaded. */
export function createLookUps(prometheus: typeof import('prom-client'), registry: Registry): AddLookedUp {
  return ({ name, help, labelNames = [], total = false, look }) => {
    const options = { name, help, labelNames, registers: [registry] };
    const lookUp = async () => {
      const figures = await lookOrNot(look);
      // At once from here on: two who ask at the same time would add up.
      metric.reset();
      for (const [labels, value] of figures ?? []) metric.inc(labels, value);
      // A figure without labels is 0 after a reset, which may be a lie.
      if (!figures && labelNames.length === 0) metric.remove();
    };
    const metric: Resettable = total
      ? new prometheus.Counter({ ...options, collect: lookUp })
      : new prometheus.Gauge({ ...options, collect: lookUp });
  };
}

async function lookOrNot(look: LookedUp['look']): Promise<readonly Figure[] | undefined> {
  try {
    return await look();
  } catch {
    // What it asks is away, which the figures of the checks say.
    return undefined;
  }
}

interface Resettable {
  reset(): void;
  remove(): void;
  inc(labels: Readonly<Record<string, string>>, value: number): void;
}

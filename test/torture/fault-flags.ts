import { type ParseArgsConfig, parseArgs } from 'node:util';

/** A whole number, a list of some of the words in `among`, or whether the flag is there at all. */
export type Flag = { default: number; least: number } | { among: readonly string[] } | 'switch';

export type FlagValues<Flags extends Readonly<Record<string, Flag>>> = {
  [Name in keyof Flags]: Flags[Name] extends 'switch'
    ? boolean
    : Flags[Name] extends { among: readonly string[] }
      ? readonly string[]
      : number;
};

/**
 * Flags that follow `npm run faults -- WORD`. What is not among them, or cannot be its value, ends the process with 2 and says
 * what can be.
 * @param word Empty where the command has none.
 */
export function readFlags<const Flags extends Readonly<Record<string, Flag>>>(
  word: string,
  flags: Flags,
): FlagValues<Flags> {
  const options: ParseArgsConfig['options'] = {};
  for (const [name, flag] of Object.entries(flags)) options[name] = { type: flag === 'switch' ? 'boolean' : 'string' };
  try {
    const { values, positionals } = parseArgs({ options, allowPositionals: true });
    const [stray] = word === '' ? positionals : positionals.slice(1);
    if (stray !== undefined) throw new Error(`"${stray}" is no flag.`);
    const read = Object.entries(flags).map(([name, flag]) => [name, readValue(name, flag, values[name])]);
    return Object.fromEntries(read) as FlagValues<Flags>;
  } catch (error) {
    return refuse(`${(error as Error).message}\n${usageOf(word, flags)}`);
  }
}

/** Ends the process with 2. */
export function refuse(message: string): never {
  console.error(message);
  process.exit(2);
}

function readValue(name: string, flag: Flag, given: unknown): number | boolean | readonly string[] {
  if (flag === 'switch') return given === true;
  if ('among' in flag) {
    const words = typeof given === 'string' ? given.split(',') : flag.among;
    if (words.every((word) => flag.among.includes(word))) return words;
    throw new Error(`--${name} must be some of ${flag.among.join(',')}.`);
  }
  if (given === undefined) return flag.default;
  if (typeof given === 'string' && /^\d{1,9}$/.test(given) && Number(given) >= flag.least) return Number(given);
  throw new Error(`--${name} must be a whole number, at least ${flag.least}.`);
}

function usageOf(word: string, flags: Readonly<Record<string, Flag>>): string {
  const shown = Object.entries(flags).map(([name, flag]) => {
    if (flag === 'switch') return `[--${name}]`;
    return `[--${name} ${'among' in flag ? flag.among.join(',') : flag.default}]`;
  });
  return ['npm run faults --', ...(word === '' ? [] : [word]), ...shown].join(' ');
}

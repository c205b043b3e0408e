/** Reads the flags of programs for developers, with help and refusals. */

import { type ParseArgsConfig, parseArgs } from 'node:util';

/** A whole number, a list of some of the words in `among`, a text, or whether the flag is there at all. */
export type Flag = { default: number; least: number } | { among: readonly string[] } | { text: string } | 'switch';

export type FlagValues<Flags extends Readonly<Record<string, Flag>>> = {
  [Name in keyof Flags]: Flags[Name] extends 'switch'
    ? boolean
    : Flags[Name] extends { among: readonly string[] }
      ? readonly string[]
      : Flags[Name] extends { text: string }
        ? string | undefined
        : number;
};

/** A program that a script of package.json runs. */
export interface Program<Flags extends Readonly<Record<string, Flag>>> {
  /** What is typed before the flags: `npm run bench --`. */
  command: string;
  flags: Flags;
  /** What may be typed besides, and its name in what is said of it. Default: nothing. */
  words?: { name: string; most: number };
  /** Default: those of the process. */
  typed?: readonly string[];
  /** A further line of help. */
  note?: string;
}

/**
 * Reads what follows a script. `--help` ends the process with 0 and says what there is; what is not among it, or cannot be
 * its value, ends it with 2 and says the same.
 */
export function readFlags<const Flags extends Readonly<Record<string, Flag>>>(
  program: Program<Flags>,
): FlagValues<Flags> & { words: readonly string[] } {
  const { flags, words, typed = process.argv.slice(2) } = program;
  const options: ParseArgsConfig['options'] = { help: { type: 'boolean', short: 'h' } };
  for (const [name, flag] of Object.entries(flags)) options[name] = { type: flag === 'switch' ? 'boolean' : 'string' };
  try {
    const { values, positionals } = parseArgs({ args: [...typed], options, allowPositionals: true });
    if (values.help) {
      console.log(usageOf(program));
      process.exit(0);
    }
    const stray = positionals[words?.most ?? 0];
    if (stray !== undefined) throw new Error(`"${stray}" is no flag.`);
    const read = Object.entries(flags).map(([name, flag]) => [name, readValue(name, flag, values[name])]);
    return { ...(Object.fromEntries(read) as FlagValues<Flags>), words: positionals };
  } catch (error) {
    return refuse(`${(error as Error).message}\n${usageOf(program)}`);
  }
}

/** Ends the process with 2. */
export function refuse(message: string): never {
  console.error(message);
  process.exit(2);
}

function readValue(
  name: string,
  flag: Flag,
  given: unknown,
): number | boolean | string | readonly string[] | undefined {
  if (flag === 'switch') return given === true;
  if ('text' in flag) return typeof given === 'string' ? given : undefined;
  if ('among' in flag) {
    const words = typeof given === 'string' ? given.split(',') : flag.among;
    if (words.every((word) => flag.among.includes(word))) return words;
    throw new Error(`--${name} must be some of ${flag.among.join(',')}.`);
  }
  if (given === undefined) return flag.default;
  if (typeof given === 'string' && /^\d{1,9}$/.test(given) && Number(given) >= flag.least) return Number(given);
  throw new Error(`--${name} must be a whole number, at least ${flag.least}.`);
}

function usageOf({ command, flags, words, note }: Program<Readonly<Record<string, Flag>>>): string {
  const shown = Object.entries(flags).map(([name, flag]) => {
    if (flag === 'switch') return `[--${name}]`;
    if ('text' in flag) return `[--${name} ${flag.text}]`;
    return `[--${name} ${'among' in flag ? flag.among.join(',') : flag.default}]`;
  });
  const line = [command, ...(words ? [`[${words.name}]`] : []), ...shown].join(' ');
  return note === undefined ? line : `${line}\n${note}`;
}

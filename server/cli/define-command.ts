/*
 * The declaration of a command of `mediagate`, written once. The parser, `--help`, docs/reference/cli.md, the
 * completion of the shells and the types of the options that its function receives come from it. A declaration loads no
 * part of the server: `run` imports the module that does the work, so that help, errors and completion are fast. `run`
 * states its result type, since the compiler would otherwise infer it from a function whose options are those of the
 * declaration.
 */

import type { Settings } from '../settings/index.js';
import type { Outcome, ShapeName } from './output.js';

/** What an option takes, beside its text in the help. */
export interface OptionDeclaration {
  text: string;
  /** Shown in the help. */
  default?: string;
  /** May be repeated. */
  many?: true;
  /** Takes a whole number. */
  number?: true;
  required?: true;
  /** The accepted values; the help lists them. */
  choices?: readonly string[];
  /** The accepted values, which the text names. */
  values?: readonly string[];
  /** Values that the completion offers. The command checks what is given, such as a list of them. */
  suggests?: readonly string[];
  /** The option that it excludes, without dashes. */
  conflicts?: string;
}

/** By flags, as the help shows them: `-o, --output <file>`. */
export type OptionTable = Readonly<Record<`-${string}`, string | OptionDeclaration>>;

/** Name, text, and the accepted values if they are few. An optional argument has its name in brackets. */
export type ArgumentDeclaration = readonly [name: string, text: string, choices?: readonly string[]];

type WordsOf<Flags> = Flags extends `${string}--no-${infer Words}`
  ? Words
  : Flags extends `${string}--${infer Words} <${string}`
    ? Words
    : Flags extends `${string}--${infer Words}`
      ? Words
      : never;
type NameOf<Words> = Words extends `${infer First}-${infer Rest}` ? `${First}${Capitalize<NameOf<Rest>>}` : Words;

type ValueOf<Flags, Option> = Flags extends `${string}<${string}`
  ? Option extends { many: true }
    ? readonly string[]
    : Option extends { number: true }
      ? number
      : Option extends { choices: readonly (infer Value)[] } | { values: readonly (infer Value)[] }
        ? Value
        : string
  : boolean;

type AlwaysGiven = { default: string } | { required: true };

type GivenOptions<Options> = {
  [Flags in keyof Options as Options[Flags] extends AlwaysGiven ? never : NameOf<WordsOf<Flags>>]?: ValueOf<
    Flags,
    Options[Flags]
  >;
} & {
  [Flags in keyof Options as Options[Flags] extends AlwaysGiven ? NameOf<WordsOf<Flags>> : never]: ValueOf<
    Flags,
    Options[Flags]
  >;
};

type GivenArgument<Name, Choices> = Name extends `[${string}...]`
  ? readonly string[]
  : Name extends `[${string}`
    ? string | undefined
    : Choices extends readonly (infer Choice)[]
      ? Choice
      : string;

type GivenArguments<Arguments extends readonly ArgumentDeclaration[]> = {
  [Index in keyof Arguments]: GivenArgument<Arguments[Index][0], Arguments[Index][2]>;
};

/** Settings, arguments and, if there are any, options. */
type CallOf<Arguments extends readonly ArgumentDeclaration[], Options extends OptionTable> = [
  Settings,
  ...GivenArguments<Arguments>,
  ...(keyof Options extends never ? [] : [GivenOptions<Options>]),
];

export interface CommandDeclaration<
  Arguments extends readonly ArgumentDeclaration[] = readonly ArgumentDeclaration[],
  Options extends OptionTable = OptionTable,
  Shape extends ShapeName = ShapeName,
> {
  /** One word, or a noun and a verb: `keys create`. */
  name: string;
  /** Whether it runs where only its noun is given. */
  isDefault?: true;
  summary: string;
  arguments?: Arguments;
  options?: Options;
  /** The text of the option `--json` in the help; false if it has none. Default: `print JSON`. */
  json?: false | string;
  /** What `--json` prints: the name of its schema in `json-shapes.ts`. */
  shape?: Shape;
  /** Paragraphs of the help below the options. */
  help?: string;
  /** Calls without `mediagate`, at the end of the help. */
  examples?: readonly string[];
  /** The end of the help if it comes from a module of the server. */
  moreHelp?(): Promise<string>;
  /** Whether the process exits afterwards: a plugin's remaining handles must not keep it alive. */
  exits?: true;
  /** False: it starts at once, and its function gets no settings. */
  settings?: false;
  /** Runs it with the settings of the environment. */
  run(...call: CallOf<Arguments, Options>): Promise<Outcome<Shape>>;
}

/** The options of a command by their names in camelCase, as its function receives them. */
export type OptionsOf<Declared extends { options?: OptionTable }> = GivenOptions<NonNullable<Declared['options']>>;

/** The text of `--json` in the help. */
export const PRINT_JSON = 'print JSON';

/** What an option takes; one that is declared by its text alone takes nothing special. */
export function optionOf(declared: string | OptionDeclaration): OptionDeclaration {
  return typeof declared === 'string' ? { text: declared } : declared;
}

/** Declares a command. */
export function defineCommand<
  const Arguments extends readonly ArgumentDeclaration[] = [],
  const Options extends OptionTable = Readonly<Record<never, string>>,
  Shape extends ShapeName = never,
>(command: CommandDeclaration<Arguments, Options, Shape>): CommandDeclaration<Arguments, Options, Shape> {
  return command;
}

/*
 * Makes the program from the declarations of the commands: parser, help and errors. A usage error is answered in two
 * lines, the error and the help command; a word that is no command is answered with those that exist. `--help`,
 * `--version` and errors load no part of the server, except where a text comes from the settings: such a text is
 * written after parsing, since the parser does not wait for a module.
 */

import { Argument, Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import type { Settings } from '../settings/index.js';
import { PACKAGE_VERSION } from '../version.js';
import { ACCESS_COMMANDS } from './access/access-commands.js';
import { type CommandDeclaration, type OptionDeclaration, optionOf, PRINT_JSON } from './define-command.js';
import { GATEWAY_COMMANDS, init, serve } from './gateway/gateway-commands.js';
import { MODEL_COMMANDS } from './gateway/model-commands.js';
import { printOutcome } from './output.js';

/** All commands in the order of the help. */
export const COMMANDS = [
  init,
  serve,
  ...MODEL_COMMANDS,
  ...ACCESS_COMMANDS,
  ...GATEWAY_COMMANDS,
] as CommandDeclaration[];

/** The words that several commands begin with. */
const NOUNS: Readonly<Record<string, string>> = {
  models: 'list, test and add models',
  keys: 'create, list, show, change, rotate and revoke API keys',
  groups: 'create, list, show, change and delete groups of keys, such as teams',
  budgets: 'list budgets, set that of an account, print the secret of alerts',
  users: 'list, show, sign out, suspend, resume, export and erase users',
  plans: 'list plans, and assign them to users',
  payments: 'show orders, and settle them by hand',
  jobs: 'list, show and cancel background jobs',
};

const START_HELP = `
To begin:
  mediagate init                 answer five questions, which makes the settings file
  mediagate serve --first-run    start, create a key, and print a request to try
  mediagate doctor               check what this machine has and what is missing
  mediagate serve --help         list the settings (environment variables)`;

/** Texts that are written after parsing, in this order. */
type LaterTexts = (() => Promise<string>)[];

/** Runs the command of the arguments of the process, and sets the exit code. */
export async function runProgram(): Promise<void> {
  const texts: LaterTexts = [];
  try {
    await createProgram(texts).parseAsync();
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // A request for help or the version is no error.
    process.exitCode = error.exitCode === 0 ? 0 : 2;
    const stream = error.exitCode === 0 ? process.stdout : process.stderr;
    for (const text of texts) stream.write(await text());
  }
}

/** The parser of the commands. It collects texts about errors, and the end of some help texts. */
export function createProgram(texts: LaterTexts = []): Command {
  const program = new Command('mediagate')
    .description('Turns public links into structured data and prompts into images, over HTTP or from the command line.')
    .version(PACKAGE_VERSION)
    .option('--server <address>', 'run the command on a gateway elsewhere, through its admin API')
    .option('--key <key>', 'key with the grant admin for --server (default: the variable MEDIAGATE_KEY)')
    // `mediagate usage --key` is another option.
    .enablePositionalOptions()
    .addHelpText('after', START_HELP)
    .configureOutput({
      writeErr: (text) => void texts.push(async () => text),
      outputError: (complaint) => void texts.push(() => withSetting(complaint)),
    })
    .showHelpAfterError('(see mediagate --help)')
    .exitOverride();
  for (const declaration of COMMANDS) addCommand(program, declaration, texts);
  for (const command of [program, ...program.commands]) if (command.commands.length > 0) refuseUnknown(command, texts);
  return program;
}

/** An unknown option that has the name of a setting is answered with it. */
async function withSetting(complaint: string): Promise<string> {
  if (!complaint.includes('unknown option')) return complaint;
  return (await import('../settings/index.js')).pointToSetting(complaint);
}

function addCommand(program: Command, declaration: CommandDeclaration, texts: LaterTexts): void {
  const { name, isDefault = false, summary, options = {}, json = PRINT_JSON, help, examples, moreHelp } = declaration;
  const [noun = '', verb] = name.split(' ');
  const command = (verb === undefined ? program : findNoun(program, noun))
    .command(verb ?? noun, { isDefault })
    .description(summary)
    .showHelpAfterError(`(see mediagate ${name} --help)`)
    .action((...given) => run(declaration, given));
  for (const [argument, text, choices] of declaration.arguments ?? []) {
    const parsed = new Argument(argument.startsWith('[') ? argument : `<${argument}>`, text);
    command.addArgument(choices ? parsed.choices(choices) : parsed);
  }
  for (const [flags, option] of Object.entries(options)) command.addOption(parserOf(flags, option));
  if (json !== false) command.option('--json', json);
  if (help !== undefined) command.addHelpText('after', `\n${help}`);
  if (examples) command.addHelpText('after', `\nExamples:\n${examples.map((one) => `  mediagate ${one}`).join('\n')}`);
  if (!moreHelp) return;
  command.on('afterHelp', () => texts.push(async () => `${await moreHelp()}\n`));
}

function findNoun(program: Command, noun: string): Command {
  const found = program.commands.find((command) => command.name() === noun);
  if (found) return found;
  return program
    .command(noun)
    .description(NOUNS[noun] ?? '')
    .showHelpAfterError(`(see mediagate ${noun} --help)`);
}

function parserOf(flags: string, declared: string | OptionDeclaration): Option {
  const { text, many, number, choices, conflicts, required = false, default: preset } = optionOf(declared);
  const option = new Option(flags, text).makeOptionMandatory(required);
  if (preset !== undefined) option.default(preset);
  if (choices) option.choices(choices);
  if (conflicts !== undefined) option.conflicts(conflicts);
  if (many) option.argParser<string[]>((one, all = []) => [...all, one]);
  if (number) option.argParser(wholeNumber);
  return option;
}

/** @throws InvalidArgumentError */
function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}

/** @param given Its arguments and options, and the parser's command. */
async function run(declaration: CommandDeclaration, given: unknown[]): Promise<void> {
  const command = given.pop() as Command;
  const options = given.at(-1) as Record<string, string | undefined>;
  const { server, key } = rootOf(command).opts<{ server?: string; key?: string }>();
  const mistake = mistakeIn(declaration, options);
  if (mistake !== undefined) command.error(`mediagate: ${mistake}`);
  try {
    if (server !== undefined) {
      await runElsewhere(declaration, { server, key }, given);
      return;
    }
    const work = (settings: Settings) => declaration.run(settings, ...(given as [...string[], object]));
    if (declaration.settings === false) printOutcome(await work({} as Settings), false);
    else await (await import('./command.js')).runCommand(work, options.json !== undefined);
  } catch (error) {
    const { CommandMistake } = await import('./mistakes.js');
    if (error instanceof CommandMistake) command.error(`mediagate: ${error.message}`);
    throw error;
  }
  if (declaration.exits) process.exit();
}

/** Runs a command through the admin API of a gateway elsewhere. No setting of this machine is read. */
async function runElsewhere(
  declaration: CommandDeclaration,
  { server, key }: { server: string; key: string | undefined },
  given: readonly unknown[],
): Promise<void> {
  const [{ AdminClient, KEY_VARIABLE }, { runRemote }, { CommandFailure, CommandMistake }] = await Promise.all([
    import('./remote/admin-client.js'),
    import('./remote/remote-commands.js'),
    import('./mistakes.js'),
  ]);
  const asJson = (given.at(-1) as Record<string, unknown>).json !== undefined;
  try {
    const client = new AdminClient(server, key ?? process.env[KEY_VARIABLE]);
    printOutcome(await runRemote(declaration, client, given), asJson);
  } catch (error) {
    if (!(error instanceof CommandFailure) || error instanceof CommandMistake) throw error;
    process.stderr.write(`mediagate: ${error.message}\n`);
    process.exitCode = error.exitCode;
  }
}

function rootOf(command: Command): Command {
  return command.parent ? rootOf(command.parent) : command;
}

/** The first value that its option does not accept. */
function mistakeIn(
  { options = {} }: CommandDeclaration,
  given: Record<string, string | undefined>,
): string | undefined {
  const mistakes = Object.entries(options).flatMap(([flags, declared]) => {
    const { values } = optionOf(declared);
    const option = new Option(flags);
    const value = given[option.attributeName()];
    const isMistake = values && value !== undefined && !values.includes(value);
    return isMistake ? [`${option.long} must be one of ${values.join(', ')}.`] : [];
  });
  return mistakes[0];
}

/** A word that is no command is answered with those that exist, also where a noun alone lists something. */
function refuseUnknown(command: Command, texts: LaterTexts): void {
  const names = command.commands.map((below) => below.name());
  const name = command.parent ? `mediagate ${command.name()}` : 'mediagate';
  const refuse = (word: string) => {
    const suggestion = async () => (await import('../names/index.js')).suggestName(word, names);
    texts.push(async () => `error: "${name}" has no command ${word}.${await suggestion()}\n(see ${name} --help)\n`);
    throw new CommanderError(2, 'mediagate.unknownCommand', word);
  };
  command.on('command:*', ([word = '']: string[]) => refuse(word));
  command.hook('preSubcommand', ({ args: [word] }) => {
    if (word !== undefined && !word.startsWith('-') && !names.includes(word)) refuse(word);
  });
}

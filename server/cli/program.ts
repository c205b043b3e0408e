/*
 * Declares the program and the commands that have no noun of their own, as well as those of keys and usage. Each
 * command loads only what it needs: `keys list` opens no plugin, and `--help` no database. A usage error is answered in
 * two lines, the error and the help command; a word that is no command is answered with those that exist.
 */

import { Command, Option } from 'commander';
import { pointToSetting, settingsHelp } from '../settings/index.js';
import { PACKAGE_VERSION } from '../version.js';
import { print, runCommand, suggestName } from './command.js';
import {
  addGroupCommands,
  addJobCommands,
  addModelCommands,
  addPaymentCommands,
  addPlanCommands,
  addStateCommands,
  addUserCommands,
  BUDGET,
  collect,
  wholeNumber,
} from './nouns.js';

const START_HELP = `
To begin:
  mediagate serve --first-run    start, create a key, and print a request to try
  mediagate doctor               check what this machine has and what is missing
  mediagate serve --help         list the settings (environment variables)`;

const KEY = 'key id (8 characters, see "keys list"), or the key itself';

const PROBE_HELP = `
A file of links: [{"url": "https://…", "fills": {"watch_page": ["common.title", "metrics.views"]}}]
"fills" says which members each method should give; without it a link is held to what its platform's own link fills.
The exit code is 1 where a method that should answer does not, or gives less.`;

/** The commands. Each loads only what it needs: `keys list` opens no plugin, `--help` no database. */
export function createProgram(): Command {
  const program = new Command('mediagate')
    .description('Turns public links into structured data and prompts into images, over HTTP or from the command line.')
    .version(PACKAGE_VERSION)
    .addHelpText('after', START_HELP)
    .configureOutput({ outputError: (complaint, write) => write(pointToSetting(complaint)) })
    .exitOverride();

  program
    .command('serve')
    .description('start the server')
    .addOption(
      new Option('--role <role>', 'answer requests, or run background jobs; default: both').choices(['api', 'worker']),
    )
    .addOption(new Option('--first-run', 'create a key if there is none, and print how to use it').conflicts('role'))
    .addHelpText('after', settingsHelp)
    .action(async ({ firstRun, role }: { firstRun?: boolean; role?: 'api' | 'worker' }) => {
      await runCommand(async (settings) => {
        const { serve } = await import('../serve.js');
        return serve({ settings, environment: process.env, firstRun, role, print });
      });
      // Everything was closed; a plugin's remaining handles must not keep the process alive.
      process.exit();
    });

  addModelCommands(program);
  addKeyCommands(program);
  addGroupCommands(program);
  addUsageCommands(program);
  addUserCommands(program);
  addPlanCommands(program);
  addPaymentCommands(program);
  addJobCommands(program);
  addStateCommands(program);

  program
    .command('extract')
    .description('extract one link without a server and print the JSON')
    .argument('<url>', 'link of a supported platform')
    .option('--clip-review-limit <number>', 'reviews per star group, 1 to 100', wholeNumber)
    .option('--clip-sort <order>', 'latest or recommended')
    .option('--include-empty-reviews', 'also reviews without text')
    .option('--no-include-audio-mp3', 'offer no MP3 link')
    .option('--async-mode', 'as async_mode of the route; this command still waits')
    .option('--force-async', 'as force_async of the route; this command still waits')
    .action((url: string, flags) =>
      runCommand(async (settings) => (await import('./extract.js')).extractCommand(settings, url, flags)),
    );

  program
    .command('image')
    .description('create one image without a server and print its path')
    .argument('<prompt>', 'description of the image')
    .option('--ref <file>', 'input image: a file or an https link; up to four times', collect)
    .option('--mask <file>', 'PNG file or https link: its transparent pixels are the part of the first --ref to change')
    .option('--size <size>', 'canvas, e.g. 1024x1536, or auto (default: 1024x1024)')
    .option('--model <name>', 'image model', 'gen-img-2')
    .option('-o, --output <file>', 'a folder, or a file: .png, .jpg or .webp chooses the format (default: here)')
    .action((prompt: string, flags) =>
      runCommand(async (settings) => (await import('./image.js')).imageCommand(settings, prompt, flags)),
    );

  program
    .command('plugins')
    .description('list the plugin instances and their state')
    .option('--json', 'print JSON')
    .action((options) =>
      runCommand(async (settings) => (await import('./plugins.js')).pluginsCommand(settings, options)),
    );

  program
    .command('doctor')
    .description('check what this machine has and what is missing')
    .option('--json', 'print JSON')
    .action((options) =>
      runCommand(async (settings) => (await import('./plugins.js')).doctorCommand(settings, options)),
    );

  program
    .command('probe')
    .description('try every method of every platform (needs the network)')
    .option('--platform <key>', 'only this platform, e.g. vidsite')
    .option('--links <file>', 'JSON file of links to try instead of those of the plugins')
    .option('--json', 'print JSON')
    .addHelpText('after', PROBE_HELP)
    .action((options) => runCommand(async (settings) => (await import('./probe.js')).probeCommand(settings, options)));

  pointToHelp(program, 'mediagate');
  return program;
}

/** A usage error is answered in two lines: the error, and the help command. */
function pointToHelp(command: Command, name: string): void {
  command.showHelpAfterError(`(see ${name} --help)`);
  if (command.commands.length > 0) refuseUnknown(command, name);
  for (const below of command.commands) pointToHelp(below, `${name} ${below.name()}`);
}

/** A word that is no command is answered with those that exist, also where a command without a word lists something. */
function refuseUnknown(command: Command, name: string): void {
  const names = command.commands.map((below) => below.name());
  const refuse = (word: string) => command.error(`error: "${name}" has no command ${word}.${suggestName(word, names)}`);
  command.on('command:*', ([word = '']: string[]) => refuse(word));
  command.hook('preSubcommand', ({ args: [word] }) => {
    if (word !== undefined && !word.startsWith('-') && !names.includes(word)) refuse(word);
  });
}

function addKeyCommands(program: Command): void {
  const keys = program.command('keys').description('create, list, show, change, rotate and revoke API keys');
  keys
    .command('create')
    .description('create a key; it is shown once')
    .option('--name <name>', 'what the key is for', 'key')
    .option('--account <name>', 'account that owns the key; its keys share jobs and limits (default: none)')
    .option('--plan <plan>', 'plan of the key, as "plans list" shows it (default: no limits)')
    .option(
      '--grant <grant>',
      'images, extract, text or audio, separated by commas (default: extract, or the grants of the plan)',
      collect,
    )
    .option(
      '--rpm <number>',
      'requests per minute and route family, or unlimited (default: 30, or the limit of the plan)',
    )
    .option(
      '--models <model>',
      'ids of the models, separated by commas, or all (default: all, or those of the plan)',
      collect,
    )
    .option('--allow-unknown-models', 'take models that the gateway does not serve yet')
    .option('--budget <amount>', BUDGET, collect)
    .option('--group <name>', 'group that the key belongs to, as "groups create" made it; its keys share a budget')
    .option(
      '--priority <priority>',
      'order of its jobs among those of its account: low, normal or high (default: normal)',
    )
    .option('--expires <date>', 'expiry date, e.g. 2030-12-31 (default: never, or the end of the plan)')
    .option('--json', 'print JSON')
    .action((options) =>
      runCommand(async (settings) => (await import('./keys.js')).createKeyCommand(settings, options)),
    );
  keys
    .command('list')
    .description('list all keys, without their secrets')
    .option('--json', 'print JSON')
    .action((options) =>
      runCommand(async (settings) => (await import('./keys.js')).listKeysCommand(settings, options)),
    );
  keys
    .command('update')
    .description('change the properties of a key; running servers follow within 2 seconds')
    .argument('<id>', KEY)
    .option('--name <name>', 'what the key is for')
    .option('--grant <grant>', 'all grants of the key, separated by commas; they replace those that it has', collect)
    .option('--rpm <number>', 'requests per minute and route family, or unlimited')
    .option('--models <model>', 'all models of the key, separated by commas, or all', collect)
    .option('--allow-unknown-models', 'take models that the gateway does not serve yet')
    .option('--budget <amount>', `all budgets of the key itself, or none: ${BUDGET}`, collect)
    .option('--group <name>', 'group that the key moves into, or none')
    .option('--priority <priority>', 'order of its jobs among those of its account: low, normal or high')
    .option('--expires <date>', 'expiry date, e.g. 2030-12-31, or never')
    .option('--note <text>', 'reason; stored with your name in the history')
    .option('--json', 'print JSON')
    .action((id: string, options) =>
      runCommand(async (settings) => (await import('./key-changes.js')).updateKeyCommand(settings, id, options)),
    );
  keys
    .command('show')
    .description('show a key: properties, budget, usage of today and history')
    .argument('<id>', KEY)
    .option('--json', 'print JSON')
    .action((id: string, options) =>
      runCommand(async (settings) => (await import('./key-changes.js')).showKeyCommand(settings, id, options)),
    );
  keys
    .command('rotate')
    .description('replace a key by one with the same properties; the new one is shown once')
    .argument('<id>', KEY)
    .option('--overlap-hours <number>', 'hours for which the old key keeps working, 0 to 168 (default: 24)')
    .option('--note <text>', 'reason; stored with your name in the history')
    .option('--json', 'print JSON')
    .action((id: string, options) =>
      runCommand(async (settings) => (await import('./key-changes.js')).rotateKeyCommand(settings, id, options)),
    );
  keys
    .command('revoke')
    .description('revoke a key by its id')
    .argument('<id>', KEY)
    .option('--keep-jobs', 'keep its queued jobs; without it they are cancelled')
    .option('--json', 'print JSON')
    .action((id: string, options) =>
      runCommand(async (settings) => (await import('./keys.js')).revokeKeyCommand(settings, id, options)),
    );
}

function addUsageCommands(program: Command): void {
  program
    .command('usage')
    .description('show usage by day, key, route and model, or by one of them')
    .option('--key <id>', `only this key: ${KEY}`)
    .option('--from <day>', 'first day by UTC, e.g. 2026-06-01 (default: 30 days)')
    .option('--to <day>', 'last day (default: today)')
    .option('--group <name>', 'only the keys of this group')
    .addOption(new Option('--by <group>', 'one row for each').choices(['key', 'group', 'model', 'day', 'route']))
    .addOption(new Option('--csv', 'print CSV').conflicts('json'))
    .option('--json', 'print JSON')
    .action((options) => runCommand(async (settings) => (await import('./usage.js')).usageCommand(settings, options)));
}

import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { pointToSetting, settingsHelp } from '../settings/index.js';
import { PACKAGE_VERSION } from '../version.js';
import { CommandMistake, print, runCommand } from './command.js';
import { addJobCommands, addPaymentCommands, addPlanCommands, addStateCommands, addUserCommands } from './nouns.js';

const START_HELP = `
To begin:
  mediagate serve --first-run    start, and get a key and a request to try it with
  mediagate doctor               see what this machine has and what is missing
  mediagate serve --help         see the settings, which come from the environment`;

const PROBE_HELP = `
A file of links: [{"url": "https://…", "fills": {"watch_page": ["common.title", "metrics.views"]}}]
"fills" says which members each method should give; without it a link is held to what its platform's own link fills.
The exit code is 1 where a method that should answer does not, or gives less.`;

/** Every command loads only what it needs: `keys list` opens no plugin, `--help` no database. */
function createProgram(): Command {
  const program = new Command('mediagate')
    .description('Public links into structured data and prompts into pictures, over HTTP or from the command line.')
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
    .addOption(new Option('--first-run', 'make a key where there is none, and say how to use it').conflicts('role'))
    .addHelpText('after', settingsHelp)
    .action(async ({ firstRun, role }: { firstRun?: boolean; role?: 'api' | 'worker' }) => {
      await runCommand(async (settings) => {
        const { serve } = await import('../main.js');
        return serve({ settings, environment: process.env, firstRun, role, print });
      });
      // Everything was closed; a plugin's remaining handles must not keep the process alive.
      process.exit();
    });

  addKeyCommands(program);
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
    .option('--async-mode', 'as async_mode of the route; this command waits all the same')
    .option('--force-async', 'as force_async of the route; this command waits all the same')
    .action((url: string, flags) =>
      runCommand(async (settings) => (await import('./extract.js')).extractCommand(settings, url, flags)),
    );

  program
    .command('image')
    .description('make one picture without a server, and print where it is')
    .argument('<prompt>', 'what it shows')
    .option('--ref <file>', 'input image: a file or an https link; up to four times', collect)
    .option('--size <size>', 'canvas, e.g. 1024x1536, or auto (default: 1024x1024)')
    .option('--model <name>', 'image model', 'gen-img-2')
    .option('-o, --output <file>', 'a folder, or a file: .png, .jpg or .webp chooses the format (default: here)')
    .action((prompt: string, flags) =>
      runCommand(async (settings) => (await import('./image.js')).imageCommand(settings, prompt, flags)),
    );

  program
    .command('plugins')
    .description('list the plugin entries and how they fare')
    .option('--json', 'print JSON')
    .action((options) =>
      runCommand(async (settings) => (await import('./plugins.js')).pluginsCommand(settings, options)),
    );

  program
    .command('doctor')
    .description('check what this machine has and what is missing')
    .option('--json', 'print JSON')
    .action((options) =>
      runCommand(async (settings) => (await import('./doctor.js')).doctorCommand(settings, options)),
    );

  program
    .command('probe')
    .description('try every way to every platform (needs the network)')
    .option('--platform <key>', 'only this platform, e.g. vidsite')
    .option('--links <file>', 'JSON file of links to ask for in place of those of the plugins')
    .option('--json', 'print JSON')
    .addHelpText('after', PROBE_HELP)
    .action((options) => runCommand(async (settings) => (await import('./probe.js')).probeCommand(settings, options)));

  pointToHelp(program, 'mediagate');
  return program;
}

/** A usage error is answered in two lines: the error, and the help command. */
function pointToHelp(command: Command, name: string): void {
  command.showHelpAfterError(`(${name} --help says more)`);
  for (const below of command.commands) pointToHelp(below, `${name} ${below.name()}`);
}

function addKeyCommands(program: Command): void {
  const keys = program.command('keys').description('make, list and revoke API keys');
  keys
    .command('create')
    .description('make a key; it is shown this once')
    .option('--name <name>', 'what the key is for', 'key')
    .option(
      '--account <name>',
      'whose jobs and limits it shares with its other keys (default: none; its limits are its own)',
    )
    .option('--plan <plan>', 'what it may use, and how much: one that "plans" lists (default: no limits)')
    .option(
      '--grant <grant>',
      'images, extract, text or audio; several with commas (default: extract, or those of the plan)',
      collect,
    )
    .option('--rpm <number>', 'requests per minute and route family, or unlimited (default: 30, or that of the plan)')
    .option('--expires <date>', 'when it ends, e.g. 2030-12-31 (default: never)')
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
    .command('revoke')
    .description('revoke a key by its id')
    .argument('<id>', 'the 8 characters that "keys list" shows, or the key itself')
    .option('--keep-jobs', 'leave its queued jobs to its account; without it they are cancelled')
    .option('--json', 'print JSON')
    .action((id: string, options) =>
      runCommand(async (settings) => (await import('./keys.js')).revokeKeyCommand(settings, id, options)),
    );
}

function addUsageCommands(program: Command): void {
  program
    .command('usage')
    .description('show what was used, by day, key, route and model')
    .option('--key <id>', 'only this key: the 8 characters that "keys list" shows, or the key itself')
    .option('--from <day>', 'first day by UTC, e.g. 2026-06-01 (default: 30 days)')
    .option('--to <day>', 'last day (default: today)')
    .option('--json', 'print JSON')
    .action((options) => runCommand(async (settings) => (await import('./usage.js')).usageCommand(settings, options)));
}

function collect(one: string, all: readonly string[] = []): string[] {
  return [...all, one];
}

function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}

/** @throws CommanderError for a help request, or a usage error. */
async function runProgram(program: Command): Promise<void> {
  let asked = program;
  program.hook('preAction', (_program, command) => {
    asked = command;
  });
  try {
    await program.parseAsync();
  } catch (error) {
    if (error instanceof CommandMistake) asked.error(`mediagate: ${error.message}`);
    throw error;
  }
}

try {
  await runProgram(createProgram());
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  // The error was printed; a request for help or the version is no error.
  process.exitCode = error.exitCode === 0 ? 0 : 2;
}

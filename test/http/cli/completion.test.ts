/* Commands, options and values are completed in bash, zsh and fish, and corrected where they are mistyped. */

import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { JOB_PRIORITIES } from '../../../core/contracts/index.js';
import { INVITED_ROLES } from '../../../server/admin/index.js';
import { INCIDENT_KINDS, INCIDENT_STATES, JOB_KINDS, JOB_STATES, ORDER_STATES } from '../../../server/choices.js';
import { completionCommand } from '../../../server/cli/completion.js';
import { optionOf } from '../../../server/cli/define-command.js';
import { COMMANDS } from '../../../server/cli/program.js';
import { OPERATOR_KEY_GRANTS } from '../../../server/keys/index.js';
import { packageRoot } from '../../support/package-root.js';
import { runCommand } from '../../support/processes/command-line.js';

/** Completes the last word in the shell, with the script that it loads. Files are named by what completes them. */
const SHELLS = {
  bash: (words: string) => `
    eval "$(mediagate completion bash)"
    complete -p mediagate | grep -q -- '-o default' || exit 1
    COMP_WORDS=(mediagate ${words}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
    _mediagate
    printf '%s\\n' "\${COMPREPLY[@]}"`,
  zsh: (words: string) => `
    compdef() { :; }; _files() { :; }; _describe() { print -l -- "\${(@P)2%%:*}"; }
    eval "$(mediagate completion zsh)"
    words=(mediagate ${words}); CURRENT=\${#words}
    _mediagate`,
  fish: (words: string) => `
    mediagate completion fish | source
    complete -C "mediagate ${words.replace(/''$/, '')}" | cut -f 1`,
} as const;

type Shell = keyof typeof SHELLS;

function wordsFor(shell: Shell, ...words: string[]): string[] {
  return (completionCommand(COMMANDS, shell, words).text ?? '').split('\n');
}

describe('the completion of commands', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-completion-'));
    const program = path.join(packageRoot, 'dist', 'server', 'cli', 'cli.js');
    await writeFile(path.join(folder, 'mediagate'), `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`, {
      mode: 0o755,
    });
  });
  after(() => rm(folder, { recursive: true }));

  for (const [shell, script] of Object.entries(SHELLS)) {
    it(`works in ${shell}`, async function () {
      if (spawnSync(shell, ['-c', 'true']).status !== 0) return this.skip();
      const complete = async (words: string) => {
        const environment = { ...process.env, HOME: folder, PATH: `${folder}${path.delimiter}${process.env.PATH}` };
        const { stdout } = await promisify(execFile)(shell, ['-c', script(words)], { cwd: folder, env: environment });
        return stdout.trim().split('\n').sort();
      };
      expect(await complete('pay')).to.deep.equal(['payments']);
      expect(await complete("groups ''")).to.deep.equal(['create', 'delete', 'list', 'show', 'update']);
      expect(await complete('keys create --pr')).to.deep.equal(['--priority']);
      expect(await complete('keys create --name x --priority h')).to.deep.equal(['high']);
      expect(await complete('usage --by mo')).to.deep.equal(['model']);
    });
  }

  it('offers the values that the service takes', () => {
    const taken: Readonly<Record<string, readonly string[]>> = {
      'jobs list --kind': JOB_KINDS,
      'jobs list --state': JOB_STATES,
      'incidents add --kind': INCIDENT_KINDS,
      'incidents update --state': INCIDENT_STATES,
      'payments list --state': ORDER_STATES,
      'keys create --grant': OPERATOR_KEY_GRANTS,
      'keys update --grant': OPERATOR_KEY_GRANTS,
      'keys create --priority': JOB_PRIORITIES,
      'users role role': INVITED_ROLES,
    };
    const offered = COMMANDS.flatMap(({ name, options = {}, arguments: named = [] }) => [
      ...Object.entries(options).map(([declared, option]) => {
        const { choices, values, suggests } = optionOf(option);
        return [`${name} ${declared.split(' ')[0]}`, choices ?? values ?? suggests ?? []] as const;
      }),
      ...named.map(([argument, , choices = []]) => [`${name} ${argument}`, choices] as const),
    ]);
    for (const [option, words] of Object.entries(taken)) {
      expect(new Map<string, readonly string[]>(offered).get(option), option).to.have.members([...words]);
    }
  });

  it('reaches every command, option and value that is declared', () => {
    for (const { name, options = {}, json } of COMMANDS) {
      const words = name.split(' ');
      const last = words.pop() ?? '';
      expect(wordsFor('bash', ...words, ''), name).to.include(last);
      const flags = wordsFor('bash', ...words, last, '--');
      expect(flags.includes('--json'), name).to.equal(json !== false);
      for (const [declared, option] of Object.entries(options)) {
        const [flag = ''] = /--[a-z0-9-]+/.exec(declared) ?? [];
        expect(flags, name).to.include(flag);
        const { choices, values, suggests } = optionOf(option);
        const offered = choices ?? values ?? suggests ?? [''];
        expect(wordsFor('bash', ...words, last, flag, ''), `${name} ${flag}`).to.include.members([...offered]);
      }
    }
  });

  it('shows the texts of the help in zsh and fish', () => {
    expect(wordsFor('zsh', 'jobs', 'sh')).to.deep.equal(['show:show a job: owner, state, cost and history']);
    expect(wordsFor('fish', 'jobs', 'sh')).to.deep.equal(['show\tshow a job: owner, state, cost and history']);
  });

  it('offers nothing where a file or an unknown word is given, so that the shell completes files', () => {
    for (const words of [
      ['backup', ''],
      ['image', 'a tug', '--output', ''],
      ['keys', 'nothing', ''],
      ['nothing', ''],
    ])
      expect(completionCommand(COMMANDS, 'bash', words), words.join(' ')).to.deep.equal({});
  });

  it('completes the options of a noun that lists something alone', () => {
    expect(wordsFor('bash', 'plans', '--')).to.deep.equal(['--json', '--help']);
  });
});

describe('the examples of the help', () => {
  it('are calls of their command with options that it has', () => {
    const examples = COMMANDS.flatMap(({ name, examples: calls = [] }) => calls.map((call) => ({ name, call })));
    expect(examples).to.have.length.above(5);
    for (const { name, call } of examples) {
      expect(call).to.match(new RegExp(`^${name} `));
      const flags = call.match(/--[a-z-]+/g) ?? [];
      expect(wordsFor('bash', ...name.split(' '), '--'), call).to.include.members(flags);
    }
  });
});

describe('a mistyped word', () => {
  it('is answered with the command or option that was meant', async () => {
    for (const [args, answer] of [
      [['kyes', 'list'], 'error: "mediagate" has no command kyes. Did you mean "keys"? Known: '],
      [['keys', 'crate'], 'error: "mediagate keys" has no command crate. Did you mean "create"? Known: '],
      [['plans', 'lsit'], 'error: "mediagate plans" has no command lsit. Did you mean "list"? Known: '],
      [
        ['keys', 'list', '--jsn'],
        "error: unknown option '--jsn'\n(Did you mean --json?)\n(see mediagate keys list --help)",
      ],
      [['users', 'list', '--limits', '5'], "error: unknown option '--limits'\n(Did you mean --limit?)\n"],
    ] as const) {
      const { code, stdout, stderr } = await runCommand(args, {});
      expect([code, stdout], args.join(' ')).to.deep.equal([2, '']);
      expect(stderr.slice(0, answer.length)).to.equal(answer);
    }
  });
});

describe('a short command', () => {
  it('loads nothing of the server but the declarations', async () => {
    const script = `
      import { registerHooks } from 'node:module';
      const loaded = [];
      registerHooks({ resolve(name, context, next) { const found = next(name, context); loaded.push(found.url); return found; } });
      process.argv.push('keys', 'create', '--help');
      const { runProgram } = await import('./dist/server/cli/program.js');
      await runProgram();
      console.log(JSON.stringify(loaded));`;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script, 'mediagate'], {
      cwd: packageRoot,
    });
    const loaded: string[] = JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
    const own = loaded.flatMap((url) => /\/dist\/(.*)/.exec(url)?.[1] ?? []);
    expect(own.filter((file) => !/^server\/(cli\/|version\.js|choices\.js|format\/)/.test(file))).to.deep.equal([]);
    expect(own.filter((file) => file.startsWith('server/cli/'))).to.have.length.below(12);
  });
});

/*
 * Completion of commands, options and values in bash, zsh and fish. The script that a shell loads is short: at each Tab
 * it calls `mediagate completion SHELL -- WORDS`, which answers from the declarations within a tenth of a second, so a
 * script never lists what another release had. Where the declarations name nothing, such as for a file, the shell
 * completes files.
 */

import { type CommandDeclaration, optionOf, PRINT_JSON } from './define-command.js';
import type { Outcome } from './output.js';

type Shell = 'bash' | 'zsh' | 'fish';

/** What a shell loads. `$words` are those before the cursor, without the program's name; the last one may be empty. */
const SCRIPTS: Readonly<Record<Shell, string>> = {
  bash: `_mediagate() {
  local IFS=$'\\n'
  COMPREPLY=($(mediagate completion bash -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _mediagate mediagate`,
  zsh: `#compdef mediagate
_mediagate() {
  local -a found
  found=("\${(@f)$(mediagate completion zsh -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "$found" ]]; then _describe mediagate found; else _files; fi
}
compdef _mediagate mediagate`,
  fish: `function __mediagate_complete
  set -l before (commandline -opc)
  set -l current (commandline -ct)
  set -l found (mediagate completion fish -- $before[2..] "$current" 2>/dev/null)
  if set -q found[1]
    printf '%s\\n' $found
  else
    __fish_complete_path "$current"
  end
end
complete -c mediagate -f -a '(__mediagate_complete)'`,
};

/** A word that fits, and its text in the help. */
type Candidate = readonly [word: string, text: string];

/** The script of a shell; or, with words, a line for each completion of the last one. */
export function completionCommand(
  commands: readonly CommandDeclaration[],
  shell: Shell,
  words: readonly string[],
): Outcome {
  if (words.length === 0) return { text: SCRIPTS[shell] };
  const current = words.at(-1) ?? '';
  const found = candidatesFor(commands, words.slice(0, -1), current).filter(([word]) => word.startsWith(current));
  if (found.length === 0) return {};
  return { text: found.map(([word, text]) => (text === '' ? word : FORMS[shell](word, text))).join('\n') };
}

/** A line of a word and its text. Bash shows no texts. */
const FORMS: Readonly<Record<Shell, (word: string, text: string) => string>> = {
  bash: (word) => word,
  zsh: (word, text) => `${word.replaceAll(':', '\\:')}:${text}`,
  fish: (word, text) => `${word}\t${text}`,
};

function candidatesFor(
  commands: readonly CommandDeclaration[],
  before: readonly string[],
  current: string,
): readonly Candidate[] {
  const [noun = '', verb] = before;
  const command =
    commands.find(({ name }) => name === noun || name === `${noun} ${verb}`) ??
    // Its options may follow the noun.
    commands.find(({ name, isDefault }) => isDefault && name.startsWith(`${noun} `) && current.startsWith('-'));
  if (!command) return before.length > 1 ? [] : wordsBelow(commands, noun);
  const { options = {}, json = PRINT_JSON, arguments: declared = [] } = command;
  const last = Object.entries(options).find(
    ([flags]) => flags.includes('<') && flagsIn(flags).includes(before.at(-1) ?? ''),
  );
  if (last) return valuesOf(optionOf(last[1]));
  if (!current.startsWith('-')) return (declared[before.length - command.name.split(' ').length]?.[2] ?? []).map(bare);
  return [
    ...Object.entries(options).map(
      ([flags, option]): Candidate => [flagsIn(flags).at(-1) ?? '', optionOf(option).text],
    ),
    ...(json === false ? [] : [['--json', json] as const]),
    ['--help', 'display help for command'],
  ];
}

/** The next words of commands: nouns and commands of one word, or the verbs of a noun. */
function wordsBelow(commands: readonly CommandDeclaration[], noun: string): Candidate[] {
  const words = new Map<string, string>();
  for (const { name, summary } of commands) {
    const [first = '', verb] = name.split(' ');
    if (noun === '' && !words.has(first)) words.set(first, verb === undefined ? summary : '');
    if (first === noun && verb !== undefined) words.set(verb, summary);
  }
  return [...words];
}

function flagsIn(flags: string): string[] {
  return flags.replace(/ <.*/, '').split(', ');
}

function valuesOf({ choices, values, suggests }: ReturnType<typeof optionOf>): Candidate[] {
  return (choices ?? values ?? suggests ?? []).map(bare);
}

function bare(word: string): Candidate {
  return [word, ''];
}

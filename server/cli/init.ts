/*
 * `mediagate init`: asks for the settings that most gateways need, and writes them into the settings file. There are
 * five topics, and an empty answer to the first question of a topic leaves the rest of it out. An answer is checked like
 * the setting it becomes, and asked for again if it is wrong. What is set already is the answer to an empty line; the
 * value of a secret is neither shown nor echoed. Lines of the file that are no answers stay as they are. Nothing is
 * written before all topics are through. Answers may come from a pipe; where it ends, the rest stays as it is.
 */

import { existsSync } from 'node:fs';
import { mkdir, open, readFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { Writable } from 'node:stream';
import { isLoopbackHost } from '../../core/net/index.js';
import { Identity } from '../accounts/index.js';
import { createSiteAddress, localAddress } from '../http/index.js';
import { passkeyNotices } from '../passkeys/index.js';
import {
  checkSetting,
  PLUGIN_SETTING_DESCRIPTIONS,
  readSettings,
  SETTING_DESCRIPTIONS,
  SETTINGS_FILE,
  type Settings,
  SettingsError,
  setInText,
  usedSettingsFile,
} from '../settings/index.js';
import { withNewState } from './command.js';
import { replaceFile } from './gateway/plugins-file.js';
import { CommandFailure, CommandMistake } from './mistakes.js';
import type { Outcome } from './output.js';

interface Question {
  setting: string;
  text: string;
  secret?: true;
  /** Taken for an empty answer where nothing is set. */
  preset?: string;
  /** Not asked where this setting answers it. */
  unless?: string;
}

interface Topic {
  title: string;
  /** What applies without it. */
  without: string;
  questions: readonly [Question, ...Question[]];
}

const TOPICS: readonly Topic[] = [
  {
    title: 'Text models',
    without: 'a mock answers chats',
    questions: [
      {
        setting: 'TEXT_UPSTREAM_URL',
        text: 'Address of a server of the OpenAI format, e.g. http://127.0.0.1:11434/v1',
      },
      { setting: 'TEXT_UPSTREAM_MODELS', text: 'Its models, separated by commas' },
      { setting: 'TEXT_UPSTREAM_KEY', text: 'Its API key, if it asks for one', secret: true },
      {
        setting: 'PRICES_CURRENCY',
        text: 'Currency of prices, which the page of each model sets',
        preset: 'USD',
        unless: 'PRICES_FILE',
      },
    ],
  },
  {
    title: 'Image model',
    without: 'a mock draws images',
    questions: [
      {
        setting: 'IMAGE_UPSTREAM_URL',
        text: 'Address of a server of the OpenAI format, e.g. https://api.openai.com/v1',
      },
      { setting: 'IMAGE_UPSTREAM_MODEL', text: 'Its model', preset: 'gpt-image-2' },
      { setting: 'IMAGE_UPSTREAM_KEY', text: 'Its API key, if it asks for one', secret: true },
    ],
  },
  {
    title: 'Public address',
    without: 'only this machine reaches the gateway',
    questions: [
      { setting: 'BASE_URL', text: 'Address that clients use, e.g. https://api.example.com' },
      {
        setting: 'HOST',
        text: 'Address to listen on: 127.0.0.1 behind a proxy of this machine, 0.0.0.0 for all',
        preset: '127.0.0.1',
      },
      {
        setting: 'TRUSTED_PROXIES',
        text: 'Trusted proxies in front of it, separated by commas; - without one',
        preset: '127.0.0.1',
      },
    ],
  },
  {
    title: 'Sign-in',
    without: 'people sign in by invitation and passkey, at a host name over https',
    questions: [
      { setting: 'OIDC_ISSUER', text: 'Address of the OpenID Connect provider, e.g. https://accounts.google.com' },
      { setting: 'OIDC_CLIENT_ID', text: 'Client id that it gave' },
      { setting: 'OIDC_CLIENT_SECRET', text: 'Client secret that it gave', secret: true },
    ],
  },
  {
    title: 'Payments by bank transfer',
    without: 'no plan is sold',
    questions: [
      { setting: 'PAYMENT_ACCOUNT', text: 'Account number (VietQR) or IBAN (euros) that receives them' },
      { setting: 'PAYMENT_FORMAT', text: 'vietqr or epc', preset: 'vietqr' },
      { setting: 'PAYMENT_BANK_NAME', text: 'Name of the bank' },
      { setting: 'PAYMENT_BANK_BIN', text: 'Six digits of the bank (vietqr), or its BIC (epc, may be empty)' },
      { setting: 'PAYMENT_ACCOUNT_NAME', text: 'Holder of the account, as the bank writes it' },
    ],
  },
];

const ASKED = TOPICS.flatMap(({ questions }) => questions.map(({ setting }) => setting));
/** Of no use in the file: where it is, and what terminals set for other programs. */
const NOT_WRITTEN: ReadonlySet<string> = new Set(['DATA_DIR', 'BROWSER']);
const NAMES = [
  ...new Set([...ASKED, ...[...SETTING_DESCRIPTIONS, ...PLUGIN_SETTING_DESCRIPTIONS].map(({ name }) => name)]),
].filter((name) => !NOT_WRITTEN.has(name));

/** Asks, or with `yes` takes what the environment and the file have, and writes the file. */
export async function initCommand(
  settings: Settings,
  { yes = false }: { yes?: boolean },
): Promise<Outcome<'WrittenSettings'>> {
  const file = usedSettingsFile()?.path ?? path.join(settings.dataDir, SETTINGS_FILE);
  const answers = yes ? givenAnswers() : await ask(file);
  checkTogether(answers);
  await write(file, answers);
  const written = [...answers.keys()];
  const signIn = await describeSignIn(answers);
  return {
    json: { file, settings: written },
    text:
      written.length > 0
        ? `Wrote ${written.join(', ')} to ${file}.`
        : `Nothing to write: ${existsSync(file) ? `${file} stays as it is` : `${file} was not made`}.`,
    remarks: [
      ...signIn.flatMap((line) => ['', line]),
      '',
      describePrices(answers),
      'Check them with: npm run -s mediagate -- doctor',
      'Then start:      npm start',
    ],
  };
}

/** How the first operator signs in, or why no user can. Empty with a provider, and on loopback alone. */
async function describeSignIn(answers: ReadonlyMap<string, string>): Promise<string[]> {
  const settings = readSettings({ ...process.env, ...Object.fromEntries(answers) });
  const { host, siteUrl, baseUrl } = settings;
  const site = createSiteAddress(() => siteUrl ?? baseUrl ?? localAddress(settings));
  // The development provider of loopback needs no invitation.
  if (!settings.site || (isLoopbackHost(host) && site().loopback)) return [];
  const status = new Identity({ gateway: { identityProvider: () => undefined }, settings, site }).status();
  return withNewState(settings, (state) => passkeyNotices({ ...state, status, siteUrl: site().url }));
}

/** Where prices are set: their currency is a setting, and each model has its own. */
function describePrices(answers: ReadonlyMap<string, string>): string {
  const settings = readSettings({ ...process.env, ...Object.fromEntries(answers) });
  const isSet = settings.pricesFile !== undefined || settings.pricesCurrency !== undefined;
  return isSet
    ? 'Prices:          per model at /admin/models, or in PRICES_FILE'
    : 'Prices:          set PRICES_CURRENCY, such as USD; then per model at /admin/models, or all at once in PRICES_FILE';
}

/** What is set in the environment or in the file. */
function givenAnswers(): Map<string, string> {
  return new Map(
    NAMES.flatMap((name) => {
      const value = process.env[name]?.trim();
      return value ? [[name, value] as const] : [];
    }),
  );
}

async function ask(file: string): Promise<Map<string, string>> {
  const prompt = new Prompt();
  const answers = new Map<string, string>();
  try {
    prompt.print(`The answers are written to ${file}. An empty line keeps what is there; - removes it.\n`);
    for (const [index, topic] of TOPICS.entries()) {
      prompt.print(`\n${index + 1} of ${TOPICS.length}: ${topic.title} (without: ${topic.without})\n`);
      await askTopic(prompt, topic, answers);
    }
  } finally {
    prompt.close();
  }
  return answers;
}

async function askTopic(prompt: Prompt, { questions }: Topic, answers: Map<string, string>): Promise<void> {
  for (const [index, question] of questions.entries()) {
    const answer = await askOne(prompt, question);
    if (answer !== undefined) answers.set(question.setting, answer);
    if (index > 0 || (answer ?? process.env[question.setting]?.trim())) continue;
    // The settings of a topic without its first one would do nothing, or be refused.
    for (const { setting } of answer === '' ? questions : []) answers.set(setting, '');
    return;
  }
}

/** @returns Undefined where nothing changes, an empty text where the setting is removed. */
async function askOne(prompt: Prompt, question: Question): Promise<string | undefined> {
  const { setting, text, secret, preset, unless } = question;
  if (unless && process.env[unless]?.trim()) return undefined;
  const present = process.env[setting]?.trim();
  const shown = present && secret ? 'is set' : (present ?? preset);
  for (;;) {
    const answer = await prompt.ask(`  ${text}${shown ? ` [${shown}]` : ''}: `, secret);
    if (answer === '-') return '';
    if (answer === undefined || answer === '') return present ? undefined : answer === '' ? preset : undefined;
    const problem = checkSetting(setting, answer);
    if (problem === undefined) return answer;
    prompt.print(`  ${problem}\n`);
  }
}

/** Settings that depend on each other. @throws CommandMistake */
function checkTogether(answers: ReadonlyMap<string, string>): void {
  try {
    readSettings({ ...process.env, ...Object.fromEntries(answers) });
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    throw new CommandMistake(`Nothing was written. ${error.message}`);
  }
}

async function write(file: string, answers: ReadonlyMap<string, string>): Promise<void> {
  if (answers.size === 0) return;
  const before = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw new CommandFailure(`${file} cannot be read: ${error.message}.`);
  });
  let after = before ?? '# Settings of mediagate. Variables of the environment win over them.\n';
  for (const [name, value] of answers) after = setInText(after, name, value);
  if (before !== undefined) return replaceFile(file, before, after);
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
  const handle = await open(file, 'wx', 0o600);
  try {
    await handle.writeFile(after);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Asks on standard error, so that standard output has the result alone. */
class Prompt {
  #muted = false;
  #closed = false;
  readonly #lines: AsyncIterator<string>;
  readonly #interface: Interface;

  constructor() {
    const output = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        if (!this.#muted) process.stderr.write(chunk);
        done();
      },
    });
    this.#interface = createInterface({ input: process.stdin, output, terminal: process.stdin.isTTY === true });
    this.#lines = this.#interface[Symbol.asyncIterator]();
    this.#interface.once('close', () => {
      this.#closed = true;
    });
    this.#interface.once('SIGINT', () => process.exit(130));
  }

  print(text: string): void {
    process.stderr.write(text);
  }

  /** @returns Undefined where the input has ended. */
  async ask(text: string, hidden = false): Promise<string | undefined> {
    // A pipe may end before its lines were read.
    if (this.#closed) this.print(text);
    else {
      this.#interface.setPrompt(text);
      this.#interface.prompt();
    }
    this.#muted = hidden;
    const { value, done } = await this.#lines.next();
    this.#muted = false;
    if (hidden || !process.stdin.isTTY) this.print('\n');
    return done ? undefined : value.trim();
  }

  close(): void {
    this.#interface.close();
  }
}

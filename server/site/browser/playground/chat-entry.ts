/*
 * The elements of the messages of a chat. An answer has its model, thoughts that can be unfolded, the text as Markdown,
 * how it ended, tokens, time and cost, and the buttons to copy and repeat it. Text appears as it is until the script for
 * Markdown has loaded, which happens with the first answer.
 */

import { element, whole } from '../elements.js';
import { fill, pageLanguage, textsOf } from '../texts.js';
import type { Attachment, Turn } from './chat-conversation.js';
import type { MarkdownView } from './markdown.js';

const t = textsOf('playground-chat');
const { tryAgain } = textsOf('page');
const SECONDS = new Intl.NumberFormat(pageLanguage(), { maximumFractionDigits: 1 });
const COPIED_MS = 2_000;
/** Longer messages, by characters or lines, are folded. */
const SHORT_TEXT = 480;
const SHORT_LINES = 6;

/** What buttons of a message do. */
export interface TurnActions {
  /** Asks for another version of an answer, or for the answer to a message that has none. */
  retry(turn: Turn): void;
  /** Opens the field in which the message can be changed. */
  edit(turn: Turn): void;
  showCode(turn: Turn): void;
  /** Shows another version. @param step 1 or -1. */
  step(turn: Turn, step: number): void;
  /** Makes a change that makes the conversation longer. */
  follow(change: () => void): void;
}

/** Which of several versions a message is. */
export interface Version {
  /** From 1 on. */
  at: number;
  all: number;
}

interface OwnVersion extends Version {
  isAnswered: boolean;
  /** Whether an answer is being written: nothing can be edited meanwhile. */
  isGrowing: boolean;
}

/** A message of the user. */
export function userEntry(turn: Turn, version: OwnVersion, actions: TurnActions): HTMLElement {
  const { isAnswered, isGrowing } = version;
  const isUnsent = !isAnswered && turn.end === 'broken';
  const text = element('div', { class: 'chat-text', dir: 'auto' });
  const fold = isLong(turn) && foldButton(text, turn);
  if (!fold) void showOwn(text, turn.text);
  const files = (turn.files ?? []).map(fileEntry);
  return element(
    'li',
    { class: `chat-turn chat-own${isUnsent ? ' chat-unsent' : ''}`, id: `turn-${turn.id}` },
    element('strong', { class: 'visually-hidden' }, t.you),
    files.length > 0 && element('ul', { class: 'chat-files' }, ...files),
    turn.text !== '' && text,
    element(
      'div',
      { class: 'chat-foot' },
      fold,
      !isAnswered && element('p', { class: 'small chat-note' }, isUnsent ? t.notSent : t.notAnswered),
      versions(turn, version, actions),
      !isAnswered && action(tryAgain, () => actions.retry(turn), 'button button-quiet button-small'),
      !isGrowing && action(t.edit, () => actions.edit(turn)),
    ),
  );
}

function isLong({ text }: Turn): boolean {
  return text.length > SHORT_TEXT || text.split('\n').length > SHORT_LINES;
}

/** Folds a long text, and unfolds it: what was sent leaves room for the answer. */
function foldButton(target: HTMLElement, { text }: Turn): HTMLElement {
  // A table or code that is cut off says nothing.
  const [words = ''] = text.split(/\n\s*(?:\||```)/);
  const brief = words.trim() === '' || words === text ? text : `${words.trim()} …`;
  const button = action('', () => show(target.classList.toggle('chat-folded')));
  const show = (isFolded: boolean) => {
    void showOwn(target, isFolded ? brief : text);
    button.setAttribute('aria-expanded', String(!isFolded));
    button.textContent = isFolded ? t.showAll : t.showLess;
  };
  target.classList.add('chat-folded');
  show(true);
  return button;
}

/** A text as it was written, but for its tables. */
async function showOwn(target: HTMLElement, text: string): Promise<void> {
  target.classList.remove('chat-prose');
  target.classList.add('chat-plain');
  target.textContent = text;
  if (!/^ *\|[ :|-]+\| *$/m.test(text)) return;
  const loaded = await import('./markdown.js').catch(() => undefined);
  if (!loaded || target.textContent !== text) return;
  target.classList.replace('chat-plain', 'chat-prose');
  new loaded.MarkdownView(target).update(text, true);
}

function fileEntry({ name, type, data }: Attachment): HTMLElement {
  if (data === undefined) return element('li', { class: 'chat-file' }, fill(t.notStored, { name }));
  if (!type.startsWith('image/')) return element('li', { class: 'chat-file' }, name);
  return element('li', {}, element('img', { src: data, alt: fill(t.attachment, { name }) }));
}

/** An answer, which may grow. */
export class AnswerEntry {
  readonly node: HTMLElement;
  readonly #turn: Turn;
  readonly #actions: TurnActions;
  readonly #text = element('div', { class: 'chat-text chat-prose', dir: 'auto' });
  readonly #thoughts = element('div', { class: 'chat-thought-text', dir: 'auto' });
  readonly #fold: HTMLDetailsElement;
  readonly #summary = element('summary', {}, t.thoughts);
  readonly #foot = element('div', { class: 'chat-foot' });
  readonly #who: HTMLElement;
  #markdown: MarkdownView | undefined;
  #isWhole = false;
  /** While the answer is written. */
  #progress: HTMLElement | undefined;

  constructor(turn: Turn, actions: TurnActions) {
    this.#turn = turn;
    this.#actions = actions;
    this.#fold = element('details', { class: 'chat-thoughts', hidden: true }, this.#summary, this.#thoughts);
    this.#who = element('div', { class: 'chat-who' });
    const parts = [this.#who, this.#fold, this.#text, this.#foot];
    this.node = element('li', { class: 'chat-turn chat-answer', id: `turn-${turn.id}` }, ...parts);
    void this.#formatText();
  }

  /** Shows the answer as it is now. @param version Undefined while it is written: then there are no buttons. */
  show(version: Version | undefined): void {
    const isGrowing = version === undefined;
    const { model = '', text, thoughts = '', isMock } = this.#turn;
    const mock = isMock && element('span', { class: 'badge badge-warn', title: t.mockWords }, t.mock);
    this.#who.replaceChildren(element('strong', {}, model), ...(mock ? [mock] : []));
    this.#fold.hidden = thoughts === '';
    this.#thoughts.textContent = thoughts;
    this.#summary.textContent = isGrowing && text === '' ? t.thinking : t.thoughts;
    this.#isWhole = !isGrowing;
    if (this.#markdown) this.#markdown.update(text, this.#isWhole);
    else this.#text.textContent = text;
    this.#text.classList.toggle('chat-plain', !this.#markdown);
    this.#progress = isGrowing ? (this.#progress ?? progress()) : undefined;
    // Whether a mock answers is known with the beginning of the answer.
    this.#progress?.firstChild?.replaceWith(`${isMock === undefined ? t.waiting : t.writing} `);
    const parts = version ? this.#facts(version) : [this.#progress ?? ''];
    // What is there already stays, so that it does not begin to move anew.
    if (this.#foot.firstChild !== this.#progress) this.#foot.replaceChildren(...parts);
  }

  async #formatText(): Promise<void> {
    // Without it, as with a broken connection, the text stays as it is.
    const loaded = await import('./markdown.js').catch(() => undefined);
    if (!loaded) return;
    this.#actions.follow(() => {
      this.#markdown = new loaded.MarkdownView(this.#text);
      this.#text.textContent = '';
      this.#text.classList.remove('chat-plain');
      this.#markdown.update(this.#turn.text, this.#isWhole);
    });
  }

  #facts(version: Version): HTMLElement[] {
    const actions = this.#actions;
    const turn = this.#turn;
    const note = noteOf(turn);
    const facts = factsOf(turn);
    return [
      ...(note === undefined ? [] : [element('p', { class: 'small chat-note' }, note)]),
      element('span', { class: 'small muted chat-facts' }, facts.join(' · ')),
      element(
        'span',
        { class: 'chat-actions' },
        versions(turn, version, actions),
        turn.text !== '' && copyAction(turn),
        action(t.retry, () => actions.retry(turn)),
        action(t.code, () => actions.showCode(turn)),
      ),
    ];
  }
}

/** With its running seconds, which are only visible, until it is removed. */
function progress(): HTMLElement {
  const startedAt = Date.now();
  const seconds = element('span', { class: 'figures', 'aria-hidden': 'true' });
  const made = element('span', { class: 'small muted chat-writing' }, ' ', seconds);
  const show = () => {
    seconds.textContent = fill(t.seconds, { count: Math.round((Date.now() - startedAt) / 1_000) });
  };
  const timer = setInterval(() => (made.isConnected ? show() : clearInterval(timer)), 1_000);
  return made;
}

function noteOf({ end, seconds, text }: Turn): string | undefined {
  if (end === 'stopped') return t.stopped;
  if (end === 'length') return t.cutOff;
  if (end === 'broken') return t.interrupted;
  // The page was left while the model wrote: nothing noted the end.
  if (end === undefined && seconds === undefined) return t.left;
  return text === '' ? t.noText : undefined;
}

function factsOf({ usage, seconds, cost }: Turn): string[] {
  const { input = 0, output = 0, reasoning } = usage ?? {};
  return [
    usage && fill(t.tokens, { input: whole(input), output: whole(output) }),
    reasoning !== undefined && fill(t.reasoning, { count: whole(reasoning) }),
    cost !== undefined && fill(t.costs, { cost }),
    seconds !== undefined && fill(t.seconds, { count: SECONDS.format(seconds) }),
  ].filter((fact) => typeof fact === 'string');
}

function action(label: string, run: () => void, kind = 'link-button'): HTMLElement {
  const button = element('button', { type: 'button', class: kind }, label);
  button.addEventListener('click', run);
  return button;
}

/** Copies the Markdown of an answer. */
function copyAction({ text }: Turn): HTMLElement {
  const label = element('span', { 'aria-live': 'polite' }, t.copy);
  const button = element('button', { type: 'button', class: 'link-button' }, label);
  button.addEventListener('click', async () => {
    const isCopied = await navigator.clipboard?.writeText(text).then(
      () => true,
      () => false,
    );
    if (!isCopied) return;
    label.textContent = t.copied;
    setTimeout(() => {
      label.textContent = t.copy;
    }, COPIED_MS);
  });
  return button;
}

/** Buttons to the other versions of a message; nothing if it is the only one. */
function versions(turn: Turn, { at, all }: Version, actions: TurnActions): HTMLElement | undefined {
  if (all < 2) return undefined;
  const step = (label: string, sign: string, by: number, isLast: boolean) => {
    const attributes = { type: 'button', class: 'link-button', 'aria-label': label, disabled: isLast };
    const button = element('button', attributes, sign);
    button.addEventListener('click', () => actions.step(turn, by));
    return button;
  };
  return element(
    'span',
    { class: 'chat-versions small' },
    step(t.previous, '‹', -1, at === 1),
    element('span', {}, fill(t.version, { at, all })),
    step(t.next, '›', 1, at === all),
  );
}

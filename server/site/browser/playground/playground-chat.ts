/*
 * The chat of the playground: it sends messages with files, shows answers as they arrive, and repeats, edits and stops
 * them. Each message and answer may have several versions. The text before a stop is part of the answer. A message that
 * did not arrive, or was edited, stays and can be sent again; one that was refused returns to the field. Screen readers
 * get an answer once, when it is complete.
 */

import { byId, confirm, element, FieldProblem, showProblem } from '../elements.js';
import { RequestProblem } from '../requests.js';
import { fill, textsOf } from '../texts.js';
import { isStillAt, onSubmit, showCost, startFileDrop, toDataUri } from '../work.js';
import { showCode } from './chat-code.js';
import { type Attachment, Conversation, ConversationStore, type Turn } from './chat-conversation.js';
import { AnswerEntry, type TurnActions, userEntry } from './chat-entry.js';
import { bodyOf, type ChatSettings, codeOfChat, loggedUse, sendChat } from './chat-request.js';

const t = textsOf('playground-chat');
const form = byId('chat-form', HTMLFormElement);
const input = byId('chat-text', HTMLTextAreaElement);
const log = byId('chat-log', HTMLElement);
const entries = byId('chat-entries', HTMLOListElement);
const empty = byId('chat-empty', HTMLElement);
const news = byId('chat-news', HTMLElement);
const stop = byId('chat-stop', HTMLButtonElement);
const problem = form.querySelector('.problem');
/** Part of the form with the message; the settings are another part. */
const composer = input.closest('.chat-composer');
const frame = form.querySelector<HTMLElement>('.chat-page');
const { account = '', priced = '' } = frame?.dataset ?? {};

/** Together as base64 less than the gateway takes by default. */
const MAX_FILES = 4;
const MAX_FILE_BYTES = 6_000_000;
/** Text is shown at most that often. */
const FRAME_MS = 60;
const SAVE_MS = 1_000;
/** Distance from the end within which the view follows an answer, in pixels. */
const NEAR_END = 80;
/** Between the top of the view and a question, in pixels. */
const ABOVE = 12;
const SETTINGS = ['model', 'system', 'temperature', 'maximum', 'effort'] as const;

const conversation = new Conversation();
const store = new ConversationStore(account);
const files = startFileDrop(byId('chat-files', HTMLInputElement), MAX_FILES);
let running: AbortController | undefined;
/** What is kept must be there before anything is added to it, or kept in its place. */
const restored = restore();

const actions: TurnActions = {
  retry(turn) {
    const asked = turn.role === 'user' ? turn : conversation.find(turn.parent);
    if (asked && !running) void run(() => answer(asked));
  },
  edit: editTurn,
  follow: (change) => follow(change, !running),
  showCode(turn) {
    const before = conversation.before(turn);
    showCode((language) => codeOfChat(bodyOf(before, { ...settings(), model: turn.model ?? '' }), language, baseUrl()));
  },
  step(turn, step) {
    const all = conversation.versionsOf(turn);
    const next = all[all.indexOf(turn) + step];
    if (!next || running) return;
    conversation.choose(next);
    render();
    save();
    document.querySelector<HTMLElement>(`#turn-${next.id} .chat-versions button:not(:disabled)`)?.focus();
  },
};

onSubmit(
  form,
  async () => {
    await restored;
    // A repeated answer is being written.
    if (running) return;
    const text = input.value.trim();
    const chosen = files.files;
    if (text === '' && chosen.length === 0) throw new FieldProblem(t.writeFirst, 'messages');
    for (const { name, size } of chosen) {
      if (size > MAX_FILE_BYTES) throw new FieldProblem(fill(t.tooLarge, { name }), 'messages');
    }
    const attached: Attachment[] = [];
    for (const file of chosen) attached.push({ name: file.name, type: file.type, data: await toDataUri(file) });
    const last = conversation.path().at(-1);
    // No model has answered the message before it: the new one is another version of it.
    const parent = (last?.role === 'user' ? last.parent : last?.id) ?? 0;
    const asked = conversation.add({ parent, role: 'user', text, ...(attached.length > 0 && { files: attached }) });
    input.value = '';
    files.clear();
    try {
      await answer(asked);
    } catch (error) {
      if (isUnanswered(error)) return showProblem(problem, error);
      // A chat that was started anew meanwhile has no place for it.
      if (conversation.find(asked.id) && conversation.path().at(-1) === asked) {
        conversation.remove(asked);
        render();
        save();
        input.value ||= text;
        if (files.files.length === 0) files.add(chosen);
      }
      throw error;
    }
  },
  problem,
);

/** Whether the gateway was not reached, or the connection to it broke. */
function isUnanswered(error: unknown): boolean {
  return error instanceof RequestProblem && error.status === 0;
}

/** Runs what a button began, with the errors of the form. */
async function run(work: () => Promise<void>): Promise<void> {
  showProblem(problem);
  try {
    await work();
  } catch (error) {
    showProblem(problem, error);
  }
}

/**
 * Asks for an answer to a message, which says so itself if the gateway was not reached.
 * @throws RequestProblem if it was refused, or interrupted.
 */
async function answer(asked: Turn): Promise<void> {
  const controller = new AbortController();
  running = controller;
  stop.hidden = false;
  const current = settings();
  const startedAt = performance.now();
  delete asked.end;
  conversation.choose(asked);
  const path = [...conversation.before(asked), asked];
  const turn = conversation.add({ parent: asked.id, role: 'assistant', text: '', model: current.model });
  render();
  save();
  showEnd(false, false);
  let requestId: string | undefined;
  try {
    const arriving = await sendChat(bodyOf(path, current), controller.signal);
    ({ requestId } = arriving);
    turn.isMock = arriving.isMock;
    const show = throttled(() => follow(() => answers.get(turn.id)?.show(undefined)));
    for await (const { text = '', thought = '', usage, finish } of arriving.steps) {
      turn.text += text;
      if (thought !== '') turn.thoughts = (turn.thoughts ?? '') + thought;
      if (usage) turn.usage = usage;
      if (finish === 'length') turn.end = 'length';
      show();
      saveSoon();
    }
  } catch (error) {
    if (!controller.signal.aborted) {
      if (turn.text === '') {
        conversation.remove(turn);
        // The next answer gets its id.
        answers.delete(turn.id);
        if (isUnanswered(error) && requestId === undefined) {
          asked.end = 'broken';
          // The message says so, and has the button to send it again.
          news.textContent = t.notSent;
          return;
        }
      } else turn.end = 'broken';
      throw error;
    }
    turn.end = 'stopped';
  } finally {
    turn.seconds = (performance.now() - startedAt) / 1_000;
    finish(controller, turn);
    if (requestId !== undefined && (priced !== '' || !turn.usage)) void addUse(turn, requestId);
  }
}

/** Shows the end of an answer, unless the chat was started anew. */
function finish(controller: AbortController, turn: Turn): void {
  if (running !== controller) return;
  const isThere = isStillAt(composer);
  running = undefined;
  stop.hidden = true;
  follow(() => render(), true);
  save();
  if (conversation.find(turn.id)) news.textContent = turn.text || (turn.end === 'stopped' ? t.stopped : t.noText);
  if (isThere) input.focus();
}

/** Tokens and cost, once they are logged. */
async function addUse(turn: Turn, requestId: string): Promise<void> {
  const use = await loggedUse(requestId);
  if (!use || !conversation.find(turn.id)) return;
  turn.usage ??= use.usage;
  if (use.cost !== undefined) turn.cost = use.cost;
  // Another answer is being written; its end shows this one as well.
  if (!running && !isEditing()) follow(() => render());
  save();
}

/** Entries of answers by the ids of their turns: what is shown stays as it is, with selections and unfolded parts. */
const answers = new Map<number, AnswerEntry>();

/** Shows the chosen versions. */
function render(): void {
  const path = conversation.path();
  for (const [index, turn] of path.entries()) {
    const node = nodeOf(turn, { isGrowing: running !== undefined, isLast: turn === path.at(-1) });
    const shown = entries.children[index];
    if (shown === node) continue;
    if (shown && turn.role === 'user' && shown.id === node.id) shown.replaceWith(node);
    else entries.insertBefore(node, shown ?? null);
  }
  while (entries.children.length > path.length) entries.lastElementChild?.remove();
  empty.hidden = path.length > 0;
}

/** @param place `isGrowing`: whether the last one is an answer that is being written. */
function nodeOf(turn: Turn, { isGrowing, isLast }: { isGrowing: boolean; isLast: boolean }): HTMLElement {
  const all = conversation.versionsOf(turn);
  const version = { at: all.indexOf(turn) + 1, all: all.length };
  if (turn.role === 'user')
    return userEntry(turn, { ...version, isGrowing, isAnswered: isGrowing || !isLast }, actions);
  const entry = answers.get(turn.id) ?? new AnswerEntry(turn, actions);
  answers.set(turn.id, entry);
  entry.show(isGrowing && isLast ? undefined : version);
  return entry.node;
}

/** Replaces a message by a field, whose text becomes another version of it. */
function editTurn(turn: Turn): void {
  const item = document.getElementById(`turn-${turn.id}`);
  if (!item || running) return;
  const field = element('textarea', { class: 'input', rows: '3', 'aria-label': t.editMessage });
  field.value = turn.text;
  const send = element('button', { type: 'button', class: 'button button-small' }, t.save);
  const cancel = element('button', { type: 'button', class: 'button button-quiet button-small' }, t.cancel);
  const close = () => {
    render();
    document.querySelector<HTMLElement>(`#turn-${turn.id} .link-button:last-child`)?.focus();
  };
  const sendAgain = () => {
    const text = field.value.trim();
    if (text === '' || running) return;
    const { parent, files: attached } = turn;
    const asked = conversation.add({ parent, role: 'user', text, ...(attached && { files: attached }) });
    void run(() => answer(asked));
  };
  cancel.addEventListener('click', close);
  send.addEventListener('click', sendAgain);
  field.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') close();
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    event.stopPropagation();
    sendAgain();
  });
  item.classList.add('chat-editing');
  item.replaceChildren(field, element('div', { class: 'row' }, send, cancel));
  field.focus();
}

function isEditing(): boolean {
  return entries.querySelector('.chat-editing') !== null;
}

function settings(): ChatSettings {
  const fields = new FormData(form);
  const text = (name: string) => String(fields.get(name) ?? '');
  return {
    model: text('model'),
    system: text('system'),
    temperature: text('temperature'),
    maximum: text('maximum'),
    effort: text('effort'),
  };
}

function baseUrl(): string {
  return document.querySelector<HTMLElement>('[data-base-url]')?.dataset.baseUrl ?? location.origin;
}

/**
 * Keeps the end in view, if it was; from an answer that is longer than the view, its question and beginning.
 * @param isDone Whether an answer is complete.
 */
function follow(change: () => unknown, isDone = false): void {
  const beyond = scrollY - topOf('.chat-own');
  // Who has read on stays at the end, and who has not moved at the question.
  const isFollowing = endOf() - scrollY < NEAR_END || Math.abs(beyond) < 2;
  change();
  if (isFollowing) showEnd(beyond > 1, isDone);
}

/** @param isDone Whether the end of an answer that fits the view matters more than its question. */
function showEnd(isBelow: boolean, isDone: boolean): void {
  const end = endOf();
  const top = isBelow || (isDone && end <= topOf('.chat-answer')) ? end : Math.min(end, topOf('.chat-own'));
  if (log.checkVisibility()) scrollTo({ top, behavior: 'instant' });
}

/** How far the page scrolls to the end of the conversation. */
function endOf(): number {
  return scrollY + form.getBoundingClientRect().bottom - innerHeight;
}

/** Where the last one of these messages is at the top of the view. */
function topOf(messages: string): number {
  const found = [...entries.querySelectorAll(messages)].at(-1);
  return found ? found.getBoundingClientRect().top + scrollY - ABOVE : Infinity;
}

/** At most every 60 ms, and once more for the last call. */
function throttled(show: () => void): () => void {
  let isWaiting = false;
  return () => {
    if (isWaiting) return;
    isWaiting = true;
    setTimeout(() => {
      isWaiting = false;
      if (running) show();
    }, FRAME_MS);
  };
}

let isSaving = false;

/** Keeps an answer that grows, at most once a second. */
function saveSoon(): void {
  if (isSaving) return;
  isSaving = true;
  setTimeout(() => {
    isSaving = false;
    save();
  }, SAVE_MS);
}

/** Keeps the conversation and the settings. */
function save(): void {
  conversation.settings = { ...settings() };
  void store.save(conversation.toStored());
}

async function restore(): Promise<void> {
  const stored = await store.load();
  if (!stored) return;
  conversation.restore(stored);
  answers.clear();
  for (const name of SETTINGS) setField(name, conversation.settings[name]);
  // The model of the address, if it is one for chats.
  setField('model', new URLSearchParams(location.search).get('model') ?? undefined);
  render();
  showEnd(false, true);
}

/** Beside the folded settings of a phone. */
function nameModel(): void {
  byId('chat-chosen', HTMLElement).textContent = settings().model;
  showCost(form);
}

/** A model that is no longer offered stays unchosen. */
function setField(name: string, value: string | undefined): void {
  const field = form.elements.namedItem(name);
  if (value === undefined) return;
  if (field instanceof HTMLSelectElement) {
    if ([...field.options].some((option) => option.value === value)) field.value = value;
  } else if (field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement) field.value = value;
}

stop.addEventListener('click', () => running?.abort());

byId('chat-clear', HTMLButtonElement).addEventListener('click', async () => {
  await restored;
  const hasAny = conversation.path().length > 0;
  if (hasAny && !(await confirm({ words: t.clearQuestion, yes: t.clearYes, isBad: true }))) return;
  running?.abort();
  running = undefined;
  stop.hidden = true;
  conversation.clear();
  answers.clear();
  showProblem(problem);
  render();
  save();
  input.focus();
});

byId('chat-code', HTMLButtonElement).addEventListener('click', () => {
  const path = conversation.path();
  const text = input.value.trim();
  const next: Turn[] = text === '' ? [] : [{ id: 0, parent: 0, role: 'user', text }];
  const sent = path.at(-1)?.role === 'assistant' && text === '' ? path.slice(0, -1) : [...path, ...next];
  showCode((language) => codeOfChat(bodyOf(sent, settings()), language, baseUrl()));
});

input.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') running?.abort();
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  form.requestSubmit();
});

input.addEventListener('paste', (event) => {
  const pasted = [...(event.clipboardData?.files ?? [])];
  if (pasted.length === 0) return;
  event.preventDefault();
  files.add(pasted);
});

empty.addEventListener('click', ({ target }) => {
  const sample = target instanceof Element ? target.closest('[data-sample]') : null;
  if (!sample) return;
  input.value = sample.textContent ?? '';
  input.focus();
});

form.addEventListener('change', () => void restored.then(save).then(nameModel));
void restored.then(nameModel);

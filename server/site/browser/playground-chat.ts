/*
 * The chat of the playground, whose answers are streamed. The text before a stop counts as an answer.
 */

import { byId, element, FieldProblem } from './elements.js';
import { brokenOff, fieldAt, play, RequestProblem, readEventData, textAt } from './requests.js';
import { isStillAt, onSubmit } from './work.js';

interface Message {
  role: 'user' | 'assistant';
  content: string;
}

const form = byId('chat-form', HTMLFormElement);
const input = byId('chat-text', HTMLTextAreaElement);
const log = byId('chat-log', HTMLElement);
const entries = byId('chat-entries', HTMLOListElement);
const stop = byId('chat-stop', HTMLButtonElement);
const clear = byId('chat-clear', HTMLButtonElement);

let messages: Message[] = [];
let running: AbortController | undefined;

onSubmit(form, async (fields) => {
  const model = String(fields.get('model'));
  const asked: Message = { role: 'user', content: String(fields.get('text')).trim() };
  if (asked.content === '') throw new FieldProblem('Write a message first.', 'messages');
  const controller = new AbortController();
  running = controller;
  stop.hidden = false;
  const own = addMessage('You', asked.content);
  const reply = addMessage(model, '');
  input.value = '';
  // Screen readers get the answer once, when it is complete.
  log.setAttribute('aria-busy', 'true');
  try {
    const conversation = [...messages, asked];
    for await (const delta of answer(model, conversation, controller.signal)) {
      reply.text.append(delta);
      log.scrollTop = log.scrollHeight;
    }
    if (reply.text.textContent === '') reply.text.append('…');
    messages = [...conversation, { role: 'assistant', content: reply.text.textContent ?? '' }];
  } catch (error) {
    // A chat that was restarted meanwhile is discarded.
    if (running !== controller) return;
    if (controller.signal.aborted) {
      // The text before a stop is part of the answer.
      if (reply.text.textContent === '') reply.text.append('…');
      messages = [...messages, asked, { role: 'assistant', content: reply.text.textContent ?? '' }];
      return;
    }
    if (reply.text.textContent === '') {
      own.entry.remove();
      reply.entry.remove();
    } else {
      reply.entry.append(element('span', { class: 'small muted' }, ' (Interrupted. The chat continues without it.)'));
    }
    input.value ||= asked.content;
    throw error;
  } finally {
    const isThere = isStillAt(form);
    if (running === controller) running = undefined;
    stop.hidden = running === undefined;
    log.removeAttribute('aria-busy');
    if (isThere) input.focus();
  }
});

async function* answer(model: string, conversation: readonly Message[], signal: AbortSignal): AsyncGenerator<string> {
  const json = { model, messages: conversation, stream: true };
  const { body } = await play('/v1/chat/completions', { method: 'POST', json, signal });
  if (!body) return;
  for await (const data of readEventData(body, signal)) {
    if (data === '[DONE]') return;
    const event: unknown = JSON.parse(data);
    if (fieldAt(event, 'error')) {
      const message = textAt(event, 'error.message') ?? 'The answer was interrupted.';
      throw new RequestProblem(message, textAt(event, 'error.code') ?? 'unknown', 200);
    }
    const delta = textAt(event, 'choices.0.delta.content');
    if (delta !== undefined) yield delta;
  }
  throw brokenOff();
}

function addMessage(who: string, content: string) {
  const text = element('span', { class: 'chat-text' }, content);
  const entry = element('li', { class: who === 'You' ? 'chat-own' : undefined }, element('strong', {}, who), text);
  entries.append(entry);
  log.scrollTop = log.scrollHeight;
  return { entry, text };
}

stop.addEventListener('click', () => running?.abort());

clear.addEventListener('click', () => {
  running?.abort();
  running = undefined;
  messages = [];
  entries.replaceChildren();
  input.focus();
});

input.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  form.requestSubmit();
});

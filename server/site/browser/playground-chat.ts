import { byId, element, FieldProblem } from './elements.js';
import { brokenOff, member, play, RequestProblem, readEventData, textAt } from './requests.js';
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
  const said = addMessage(model, '');
  input.value = '';
  // Whoever listens to the page is told what was said once, when all of it is there.
  log.setAttribute('aria-busy', 'true');
  try {
    const conversation = [...messages, asked];
    for await (const delta of answer(model, conversation, controller.signal)) {
      said.text.append(delta);
      log.scrollTop = log.scrollHeight;
    }
    if (said.text.textContent === '') said.text.append('…');
    messages = [...conversation, { role: 'assistant', content: said.text.textContent ?? '' }];
  } catch (error) {
    // Of a chat that was begun anew meanwhile nothing is left.
    if (running !== controller) return;
    if (controller.signal.aborted) {
      // What was said before it was stopped is part of what was said.
      if (said.text.textContent === '') said.text.append('…');
      messages = [...messages, asked, { role: 'assistant', content: said.text.textContent ?? '' }];
      return;
    }
    if (said.text.textContent === '') {
      own.entry.remove();
      said.entry.remove();
    } else {
      said.entry.append(element('span', { class: 'small muted' }, ' (Broken off; the chat goes on without it.)'));
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
    if (member(event, 'error')) {
      const message = textAt(event, 'error.message') ?? 'The answer broke off.';
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

/*
 * The fields of the forms that add a model and change the server of one that was added, and how they are read.
 */

import { type AddedServer, SERVER_FORMATS } from '../model-changes/index.js';
import { type Html, html } from '../site/index.js';
import type { ConsoleCall } from './console-route.js';
import { choiceField, textField } from './forms.js';

export const SERVER_FORM = {
  format: 'Format of the server.',
  url: 'Base address.',
  model: 'Name of the model there.',
  key: 'Key of the server.',
};
export const NEW_MODEL_FORM = { id: 'Public name of the model.', ...SERVER_FORM };

/** What a form says of a server; the same rules as those of the admin API. @throws GatewayError `invalid_value`. */
export function readServer({ field }: ConsoleCall): AddedServer & { key?: string } {
  const format = SERVER_FORMATS.find((one) => one === field('format')) ?? 'openai';
  const [url, model, key] = [field('url'), field('model'), field('key')];
  return { format, url, ...(model !== '' && { model }), ...(key !== '' && { key }) };
}

/** @param server What is there. Default: it is a new one. */
export function serverFields({ locale, field }: ConsoleCall, server: AddedServer | undefined, isSent: boolean): Html {
  const t = locale.texts.console.model;
  const id = server ? 'server-' : 'new-';
  const filled = (name: 'url' | 'model' | 'format') => (isSent ? field(name) : (server?.[name] ?? ''));
  const formats = SERVER_FORMATS.map((value) => ({ value, label: t.formats[value] }));
  return html`<div class="form-row">${textField({ name: 'url', id: `${id}url`, label: t.url, hint: t.urlHint, isRequired: true, maxLength: 200, placeholder: 'https://api.example.com/v1', value: filled('url') })}${choiceField({ name: 'format', id: `${id}format`, label: t.format, choices: formats, value: filled('format') })}</div>
<div class="form-row">${textField({ name: 'model', id: `${id}model`, label: t.nameAtServer, hint: t.nameAtServerHint, value: filled('model') })}${textField({ name: 'key', id: `${id}key`, label: t.key, hint: t.keyHint, type: 'password', maxLength: 500 })}</div>`;
}

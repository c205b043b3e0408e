/*
 * Ceremonies of WebAuthn: forms with `data-passkey="accept"`, `add` or `sign-in` call the browser's dialog between two
 * requests. The secret of an invitation is read from behind `#`, sent in a body, and taken out of the address once it is
 * used. A page that was opened at another address than the site's says so, since browsers offer no passkey there.
 */

import { byId } from './elements.js';
import { fieldOf, RequestProblem, requestJson } from './requests.js';
import { fill, textsOf } from './texts.js';
import { onSubmit } from './work.js';

const t = textsOf('passkeys');

const CEREMONIES: Readonly<Record<string, (form: HTMLFormElement) => Promise<void>>> = {
  accept: acceptInvitation,
  add: addPasskey,
  'sign-in': signIn,
};

const isHere = !isElsewhere();
for (const form of document.querySelectorAll<HTMLFormElement>('form[data-passkey]')) {
  const run = CEREMONIES[form.dataset.passkey ?? ''];
  if (form.dataset.passkey !== 'accept') form.hidden = !isHere;
  else if (isHere) void showInvitation(form);
  if (isHere && run) onSubmit(form, () => run(form));
}

/** Whether this page was opened at another address than the site's. Then it says where the site is. */
function isElsewhere(): boolean {
  const notice = document.querySelector<HTMLElement>('[data-elsewhere]');
  const origin = notice?.dataset.elsewhere;
  if (!notice || origin === undefined || origin === location.origin) return false;
  for (const link of notice.querySelectorAll('a'))
    link.href = origin + location.pathname + location.search + location.hash;
  notice.hidden = false;
  return true;
}

/** Shows what the invitation is for; without a valid one there is no form. */
async function showInvitation(form: HTMLFormElement): Promise<void> {
  try {
    const invitation = await requestJson('POST', '/api/invitation', { invitation: secretOf() });
    const replaces = fieldOf(invitation, 'replaces') === 'true';
    const what = replaces ? 'replaces' : fieldOf(invitation, 'role');
    form.querySelector(`[data-invited="${what}"]`)?.removeAttribute('hidden');
    const field = byId('invited-name', HTMLInputElement);
    field.value = fieldOf(invitation, 'name') ?? '';
    // Without the field the name of the user stays.
    if (replaces) field.closest('.field')?.remove();
    form.hidden = false;
  } catch (error) {
    const target = byId('invitation-problem', HTMLElement);
    target.textContent = error instanceof Error ? error.message : String(error);
    if (error instanceof RequestProblem && error.status === 410) byId('invitation-advice', HTMLElement).hidden = false;
  }
}

function secretOf(): string {
  return location.hash.slice(1);
}

async function acceptInvitation(form: HTMLFormElement): Promise<void> {
  const name = new FormData(form).get('name');
  const start = { invitation: secretOf(), ...(name !== null && { name: String(name).trim() }) };
  const credential = await create(await requestJson('POST', '/api/invitation/options', start));
  const accepted = await requestJson('POST', '/api/invitation/accept', { credential });
  history.replaceState(null, '', location.pathname);
  form.hidden = true;
  byId('recovery-codes', HTMLElement).textContent = fieldOf(accepted, 'text') ?? '';
  const panel = byId('new-codes', HTMLElement);
  panel.hidden = false;
  panel.focus();
}

async function addPasskey(): Promise<void> {
  const credential = await create(await requestJson('POST', '/api/passkeys/options', {}));
  await requestJson('POST', '/api/passkeys', { credential });
  location.assign('/passkeys?done=added');
}

async function signIn(form: HTMLFormElement): Promise<void> {
  const options = publicKeyOf(await requestJson('POST', '/api/passkeys/sign-in/options', {}));
  const publicKey = { ...options, challenge: toBytes(options.challenge) } as PublicKeyCredentialRequestOptions;
  const found = (await ask(() => navigator.credentials.get({ publicKey }))) as PublicKeyCredential;
  const { clientDataJSON, authenticatorData, signature, userHandle } = found.response as AuthenticatorAssertionResponse;
  const response = {
    clientDataJSON: toText(clientDataJSON),
    authenticatorData: toText(authenticatorData),
    signature: toText(signature),
    ...(userHandle && { userHandle: toText(userHandle) }),
  };
  await requestJson('POST', '/api/passkeys/sign-in', { credential: { ...encode(found), response } });
  location.assign(form.dataset.return ?? '/dashboard');
}

/** Makes a passkey. @returns It in the form of JSON. */
async function create(answer: unknown): Promise<object> {
  const options = publicKeyOf(answer);
  const publicKey = {
    ...options,
    challenge: toBytes(options.challenge),
    user: { ...options.user, id: toBytes(options.user?.id ?? '') },
    excludeCredentials: options.excludeCredentials?.map((each) => ({ ...each, id: toBytes(each.id) })),
  } as unknown as PublicKeyCredentialCreationOptions;
  const made = (await ask(() => navigator.credentials.create({ publicKey }))) as PublicKeyCredential;
  const attested = made.response as AuthenticatorAttestationResponse;
  const response = {
    clientDataJSON: toText(attested.clientDataJSON),
    attestationObject: toText(attested.attestationObject),
    transports: attested.getTransports?.() ?? [],
  };
  return { ...encode(made), response };
}

interface JsonOptions {
  challenge: string;
  user?: { id: string };
  excludeCredentials?: { id: string }[];
}

function publicKeyOf(answer: unknown): JsonOptions {
  return (answer as { publicKey: JsonOptions }).publicKey;
}

/** Runs the browser's dialog. @throws Error in the words of the page. */
async function ask(open: () => Promise<Credential | null>): Promise<Credential> {
  if (typeof PublicKeyCredential === 'undefined') throw new Error(t.unsupported);
  try {
    const credential = await open();
    if (credential) return credential;
  } catch (error) {
    const name = error instanceof DOMException ? error.name : '';
    if (name === 'InvalidStateError') throw new Error(t.known);
    if (name === 'SecurityError') throw new Error(fill(t.elsewhere, { host: location.hostname }));
    if (name !== 'NotAllowedError' && name !== 'AbortError') throw error;
  }
  throw new Error(t.cancelled);
}

function encode({ id, type }: PublicKeyCredential): object {
  return { id, rawId: id, type, clientExtensionResults: {} };
}

/* Older browsers do not convert options and credentials by themselves. */
function toBytes(text: string): Uint8Array {
  const plain = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(plain, (each) => each.charCodeAt(0));
}

function toText(bytes: ArrayBuffer): string {
  const plain = String.fromCharCode(...new Uint8Array(bytes));
  return btoa(plain).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

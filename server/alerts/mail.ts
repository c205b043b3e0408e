/*
 * Sends e-mails by SMTP. `smtps://` encrypts from the start;
 * `smtp://` must switch to TLS before anything is sent, but on loopback and with `?tls=off`. One e-mail has 30 seconds in
 * all. Its text is the only content: no file and no address is read. A failure is an error of an upstream, whose message
 * has the answer of the server and never the password.
 */

import { isLoopbackHost } from '../../core/net/index.js';
import { GatewayError, withDeadline } from '../../core/runtime/index.js';
import { createSmtpClient, type SmtpOptions } from './smtp.js';

const TIMEOUT_MS = 30_000;
const STEP_MS = 10_000;
const MAX_WORDS = 200;

export interface MailServer {
  /** `smtp://user:password@host:587` or `smtps://…`; `?tls=off` allows a connection without TLS. */
  url: string;
  /** Default 30,000. Tests set it. */
  timeoutMs?: number;
}

export interface Mail {
  from: string;
  to: readonly string[];
  subject: string;
  text: string;
  /** The same for each attempt, so that receivers show it once. */
  id: string;
}

/** @throws GatewayError `upstream_error`, `upstream_timeout`, or the reason of the signal. */
export async function sendMail({ url, timeoutMs = TIMEOUT_MS }: MailServer, mail: Mail, signal?: AbortSignal) {
  const { from, to, subject, text, id } = mail;
  const client = createSmtpClient(optionsOf(url));
  const host = from.split('@').at(-1) ?? 'localhost';
  try {
    await withDeadline(
      timeoutMs,
      () => client.send({ from, to: [...to], subject, text, messageId: `<${id}@${host}>` }),
      {
        error: () => new GatewayError('upstream_timeout', 'The mail server did not answer in time.'),
        signals: [signal],
      },
    );
  } catch (error) {
    if (error instanceof GatewayError || signal?.aborted) throw error;
    throw new GatewayError('upstream_error', `The mail server refused the e-mail: ${wordsOf(error)}.`);
  } finally {
    client.close();
  }
}

function optionsOf(text: string): SmtpOptions {
  const url = new URL(text);
  const { hostname, port, protocol, username, password, searchParams } = url;
  const secure = protocol === 'smtps:';
  const host = hostname.replace(/^\[|\]$/g, '');
  const mayBePlain = isLoopbackHost(hostname) || searchParams.get('tls') === 'off';
  return {
    host,
    port: Number(port || (secure ? 465 : 587)),
    secure,
    requireTLS: !secure && !mayBePlain,
    ...(username !== '' && { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    stepMs: STEP_MS,
  };
}

/** A code such as `EAUTH` or `ECONNECTION`, with the status of the server. */
function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  const { code, responseCode } = error as { code?: string; responseCode?: number };
  const parts = [code ?? error.name, responseCode].filter((part) => part !== undefined);
  return parts.join(' ').slice(0, MAX_WORDS);
}

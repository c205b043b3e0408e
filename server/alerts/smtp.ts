/*
 * The SMTP client: nodemailer, which the build bundles into this file. It sends texts alone and reads no file and no address.
 */

import { createTransport } from 'nodemailer';

export interface SmtpOptions {
  host: string;
  port: number;
  /** TLS from the start. */
  secure: boolean;
  /** Otherwise: whether the server must switch to TLS before anything is sent, or is not asked for it. */
  requireTLS: boolean;
  /** Default: the authorities of Node, and the name of the host. Tests set it. */
  tls?: { ca: string; servername: string };
  auth?: { user: string; pass: string };
  /** Milliseconds of each step: name, connection, greeting, answers. */
  stepMs: number;
}

export interface SmtpMail {
  from: string;
  to: string[];
  subject: string;
  text: string;
  messageId: string;
}

/** One connection, which is closed after the e-mail. @throws Error with `code` of nodemailer. */
export function createSmtpClient({ stepMs, ...options }: SmtpOptions) {
  const transport = createTransport({
    ...options,
    ignoreTLS: !options.requireTLS,
    connectionTimeout: stepMs,
    greetingTimeout: stepMs,
    socketTimeout: stepMs,
    dnsTimeout: stepMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return {
    send: async (mail: SmtpMail): Promise<void> => void (await transport.sendMail(mail)),
    close: () => transport.close(),
  };
}

/** An SMTP server on loopback that keeps what it receives. */

import type { AddressInfo } from 'node:net';
import type { SecureContext } from 'node:tls';
import { SMTPServer } from 'smtp-server';
import { until } from '../until.js';

export interface ReceivedMail {
  from: string;
  to: readonly string[];
  /** As it arrived: fields, an empty line, the body. */
  text: string;
  isEncrypted: boolean;
  user: string | undefined;
}

export interface MailReceiver {
  port: number;
  /** What becomes of the next e-mails: refused with this status each, or never answered; then accepted. */
  behave(...answers: readonly (number | 'hang')[]): void;
  readonly received: readonly ReceivedMail[];
  heard(count: number): Promise<readonly ReceivedMail[]>;
  close(): Promise<void>;
}

export const MAIL_USER = 'gateway';
export const MAIL_PASSWORD = 'p@ss/word-of-mail';

/** @param tls What it presents when it switches to TLS. Default: it does not offer that. */
export async function startMailReceiver({ tls }: { tls?: SecureContext } = {}): Promise<MailReceiver> {
  const received: ReceivedMail[] = [];
  const answers: (number | 'hang')[] = [];
  const server = new SMTPServer({
    authOptional: true,
    allowInsecureAuth: true,
    disabledCommands: tls ? [] : ['STARTTLS'],
    ...(tls && {
      SNICallback: (_host: string, done: (error: null, context: SecureContext) => void) => done(null, tls),
    }),
    onAuth({ username, password }, _session, done) {
      if (username === MAIL_USER && password === MAIL_PASSWORD) done(null, { user: username });
      else done(new Error('invalid credentials'));
    },
    onData(stream, session, done) {
      const pieces: Buffer[] = [];
      stream.on('data', (piece: Buffer) => pieces.push(piece));
      stream.on('end', () => {
        const answer = answers.shift();
        if (answer === 'hang') return;
        if (answer !== undefined) return done(Object.assign(new Error('not now'), { responseCode: answer }));
        const { mailFrom, rcptTo } = session.envelope;
        received.push({
          from: mailFrom ? mailFrom.address : '',
          to: rcptTo.map(({ address }) => address),
          text: Buffer.concat(pieces).toString('utf8'),
          isEncrypted: session.secure,
          user: session.user,
        });
        done();
      });
    },
  });
  server.on('error', () => undefined);
  await new Promise<void>((listening) => void server.listen(0, '127.0.0.1', listening));
  return {
    port: (server.server.address() as AddressInfo).port,
    behave: (...next) => void answers.push(...next),
    received,
    heard: (count) => until(() => received.length >= count && received),
    close: () => new Promise<void>((closed) => server.close(closed)),
  };
}

/** Header fields of answers on the fast path. */

import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { AnswerResponse, addField, endSoon, writeSoon } from '../../../server/http/fast-path.js';

/** The head of what a server of such responses answers with, field by field. */
async function fieldsOf(answer: (response: ServerResponse) => void): Promise<[string, string][]> {
  const server = createServer({ ServerResponse: AnswerResponse }, (_request, response) => answer(response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    await response.text();
    return [...response.headers].filter(([name]) => name.startsWith('x-'));
  } finally {
    server.close();
  }
}

describe('header fields of an answer', () => {
  it('are sent once, with the last value', async () => {
    const fields = await fieldsOf((response) => {
      addField(response, 'X-One', '1');
      addField(response, 'x-two', '2');
      addField(response, 'x-one', '3');
      response.end('ok');
    });
    expect(fields).to.deep.equal([
      ['x-one', '3'],
      ['x-two', '2'],
    ]);
  });

  it('replace added fields, set later or earlier', async () => {
    const fields = await fieldsOf((response) => {
      response.setHeader('x-one', 'set');
      addField(response, 'X-One', 'added');
      addField(response, 'X-Two', 'added');
      response.setHeader('x-two', 'set');
      addField(response, 'x-three', 'added');
      response.writeHead(200, { 'x-four': 'given' }).end('ok');
    });
    expect(new Map(fields)).to.deep.equal(
      new Map([
        ['x-one', 'set'],
        ['x-two', 'set'],
        ['x-three', 'added'],
        ['x-four', 'given'],
      ]),
    );
  });

  it('are read and removed like any other', async () => {
    const found: unknown[] = [];
    const fields = await fieldsOf((response) => {
      addField(response, 'X-One', '1');
      addField(response, 'X-Two', '2');
      found.push(response.getHeader('x-one'), response.hasHeader('x-two'), response.getHeaderNames());
      response.removeHeader('x-two');
      response.end('ok');
    });
    expect(found).to.deep.equal(['1', true, ['x-one', 'x-two']]);
    expect(fields).to.deep.equal([['x-one', '1']]);
  });
});

describe('pieces of an answer', () => {
  async function textOf(answer: (response: ServerResponse) => void): Promise<string> {
    const server = createServer((_request, response) => answer(response)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    try {
      return await (await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)).text();
    } finally {
      server.close();
    }
  }

  it('of one turn are sent together at its end, in their order', async () => {
    const begun: boolean[] = [];
    const text = await textOf((response) => {
      writeSoon(response, Buffer.from('one '));
      writeSoon(response, Buffer.from('two '));
      endSoon(response, Buffer.from('three'));
      begun.push(response.headersSent);
    });
    expect({ text, begun }).to.deep.equal({ text: 'one two three', begun: [false] });
  });

  it('are sent at once if there are many', async () => {
    const begun: boolean[] = [];
    const text = await textOf((response) => {
      for (let piece = 0; piece < 3; piece += 1) {
        writeSoon(response, Buffer.alloc(40 * 1024, `${piece}`));
        begun.push(response.headersSent);
      }
      endSoon(response);
    });
    expect(begun).to.deep.equal([false, true, true]);
    expect(text).to.equal([0, 1, 2].map((piece) => `${piece}`.repeat(40 * 1024)).join(''));
  });

  it('are left out after the client has gone', async () => {
    const failed = await textOf((response) => {
      writeSoon(response, Buffer.from('one'));
      response.destroy();
      endSoon(response);
    }).catch((error: unknown) => error);
    expect(failed).to.be.instanceOf(Error);
  });
});

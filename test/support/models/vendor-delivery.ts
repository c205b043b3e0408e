/** The ways in which a scripted vendor stalls, breaks off or fails. */

import type { ServerResponse } from 'node:http';

/** How a vendor's server may fail, whatever it was asked for. */
export type VendorFault =
  /** No answer, ever. */
  | { does: 'stall' }
  /** A reset instead of an answer. */
  | { does: 'reset' }
  /** Status 200 with the page of some proxy. */
  | { does: 'html' }
  /** Status 200 and not a byte. */
  | { does: 'empty' }
  /** Half of the answer; then a reset, or silence. */
  | { does: 'half'; after: 'reset' | 'silence' };

export interface Delivery {
  status?: number;
  headers: Readonly<Record<string, string>>;
  body: string | Uint8Array;
  /** Bytes a piece; a moment passes between two of them. Default: all in one. */
  pieceBytes?: number;
  pauseMs?: number;
}

const PAGE = '<!doctype html><title>One moment</title>';

export function deliverFault(response: ServerResponse, fault: VendorFault, whole: Delivery): void {
  const { headers, body } = whole;
  switch (fault.does) {
    case 'stall':
      return;
    case 'reset':
      response.socket?.resetAndDestroy();
      return;
    case 'html':
      response.writeHead(200, { 'content-type': 'text/html' }).end(PAGE);
      return;
    case 'empty':
      response.writeHead(200, headers).end();
      return;
    case 'half':
      response.writeHead(200, headers);
      response.write(Buffer.from(body as Uint8Array).subarray(0, Math.ceil(body.length / 2)), () => {
        if (fault.after === 'reset') response.socket?.resetAndDestroy();
      });
  }
}

/** With chunked coding, as servers do that make what they send. */
export async function deliver(response: ServerResponse, delivery: Delivery): Promise<void> {
  const { status = 200, headers, pieceBytes, pauseMs = 0 } = delivery;
  const body = Buffer.from(delivery.body as Uint8Array);
  response.writeHead(status, headers);
  for (let from = 0; pieceBytes !== undefined && from < body.length; from += pieceBytes) {
    if (response.destroyed) return;
    response.write(body.subarray(from, from + pieceBytes));
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  response.end(pieceBytes === undefined ? body : undefined);
}

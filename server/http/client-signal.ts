import type { ServerResponse } from 'node:http';
import { GatewayError } from 'mediagate';

/** Aborts when the client closes the connection before its answer is out. */
export function clientSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  const leave = () => {
    if (!response.writableFinished) gone.abort(new GatewayError('bad_request', 'The client closed the connection.'));
  };
  if (response.destroyed) leave();
  else response.once('close', leave);
  return gone.signal;
}

/** The floor under the model routes: node:http in front, a pool of undici behind, bytes piped through. `UPSTREAM_ORIGIN`. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Pool } from 'undici';

const [upstream = ''] = process.argv.slice(2);
const pool = new Pool(upstream);
const server = createServer((request, response) => {
  const { method = 'POST', url = '/', headers } = request;
  const sent = {
    'content-type': headers['content-type'] ?? '',
    'content-length': headers['content-length'] ?? '',
    authorization: headers.authorization ?? '',
  };
  pool
    .stream({ method: method as 'POST', path: url, headers: sent, body: request }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      return response;
    })
    .catch(() => response.destroy());
});
server.listen(0, '127.0.0.1', () => {
  process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
// Ends with the parent, also if that was killed.
process.once('disconnect', () => process.exit());

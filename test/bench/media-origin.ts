/** The origin of the media benchmark, in a process of its own: files of a folder, whole or in ranges. */

import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';

const CHUNK_BYTES = 256 * 1024;
const [folder = '.'] = process.argv.slice(2);

const server = createServer(async (request, response) => {
  const file = path.join(folder, path.basename(new URL(request.url ?? '/', 'http://origin').pathname));
  const size = await stat(file).then(
    (found) => found.size,
    () => undefined,
  );
  if (size === undefined) return response.writeHead(404).end();
  const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? [];
  const start = Number(first ?? 0);
  const end = Math.min(last ? Number(last) : size - 1, size - 1);
  response.writeHead(first === undefined ? 200 : 206, {
    'accept-ranges': 'bytes',
    'content-length': end - start + 1,
    ...(first !== undefined && { 'content-range': `bytes ${start}-${end}/${size}` }),
  });
  const content = createReadStream(file, { start, end, highWaterMark: CHUNK_BYTES });
  response.once('close', () => content.destroy());
  content.pipe(response);
});
server.listen(0, '127.0.0.1', () => {
  process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});

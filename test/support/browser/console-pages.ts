/** Every page of the console in a real browser: rules of accessibility, its width, and no script of stored names. */

import { expect } from 'chai';
import type { Browser } from 'playwright-core';
import { type ConsoleApp, fillHostile } from '../../http/console/console-app.js';
import { findings, type Medium, showIn } from './page-browser.js';

const LISTS = [
  ...['', '/users', '/orders', '/transfers', '/keys', '/models', '/requests', '/jobs', '/alerts', '/incidents'],
  ...['/audit', '/groups', '/balances', '/invitations', '/applications'],
];

export interface ConsoleLook {
  languages: readonly ('en' | 'vi')[];
  media: readonly Medium[];
  /** Whether pages without rows are looked at as well. */
  withEmpty: boolean;
}

/** Looks at each page, closed and with all its forms open. The app is filled by it. */
export async function lookAtConsole(its: ConsoleApp, browser: Browser, look: ConsoleLook): Promise<void> {
  const { languages, media, withEmpty } = look;
  const { user, review, key } = await fillHostile(its.app);
  const details = [
    `/balances/${user.accountId}`,
    `/users/${user.id}`,
    `/orders/${review.code}`,
    `/keys/${key.id}`,
    `/users/${its.operatorId}`,
  ];
  const empty = ['/users?q=none', '/orders?state=refunded', '/keys?q=none', '/requests?code=none', '/audit?actor=none'];
  const context = await browser.newContext();
  const { url } = its.app;
  await context.addCookies([{ name: 'mediagate', value: its.operator.cookie(url, 'mediagate') ?? '', url }]);
  const page = await context.newPage();
  const ran: string[] = [];
  page.on('dialog', (dialog) => {
    ran.push(dialog.message());
    void dialog.dismiss();
  });
  for (const language of languages) {
    await its.app.state.users.setLanguage(its.operatorId, language);
    for (const path of [...LISTS, ...details, ...(withEmpty ? empty : [])]) {
      await page.goto(`${url}/admin${path}`);
      await page.evaluate(() => {
        for (const one of document.querySelectorAll('main details')) one.setAttribute('open', '');
        // All at once, one below another.
        for (const one of document.querySelectorAll<HTMLDialogElement>('main .action-dialog')) {
          one.setAttribute('open', '');
          one.style.position = 'static';
        }
      });
      for (const medium of media) {
        const where = `${language} ${path} ${JSON.stringify(medium)}`;
        await showIn(page, medium);
        expect(await findings(page), where).to.deep.equal([]);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
        expect(wide, `${where}: wider than the window`).to.be.at.most(0);
      }
    }
  }
  expect(ran).to.deep.equal([]);
  await context.close();
}

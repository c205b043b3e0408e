/** The console in a real browser: its pages are accessible, and an operator uses it with the keyboard and without scripts. */

import { expect } from 'chai';
import type { Browser } from 'playwright-core';
import { type ConsoleApp, startConsoleApp } from '../../http/console/console-app.js';
import { signUp } from '../../support/accounts/people.js';
import { chromiumFor } from '../../support/browser/chromium.js';
import { lookAtConsole } from '../../support/browser/console-pages.js';
import { launchPageBrowser } from '../../support/browser/page-browser.js';

describe('the console in a browser', () => {
  let its: ConsoleApp;
  let browser: Browser;

  before(async function () {
    const executable = await chromiumFor(this);
    its = await startConsoleApp();
    browser = await launchPageBrowser(executable);
  });
  after(async () => {
    await browser?.close();
    await its?.app.close();
  });

  it('breaks no rule on any page, and runs nothing of stored names', async function () {
    this.timeout(300_000);
    const media = [{ width: 390, colorScheme: 'dark' }] as const;
    await lookAtConsole(its, browser, { languages: ['en'], media, withEmpty: false });
  });

  it('finds, suspends and resumes a user without scripts', async () => {
    const other = await signUp(its.app.state);
    const { url } = its.app;
    const context = await browser.newContext({ javaScriptEnabled: false });
    await context.addCookies([{ name: 'mediagate', value: its.operator.cookie(url, 'mediagate') ?? '', url }]);
    const page = await context.newPage();
    await page.goto(`${url}/dashboard`);
    await page.getByRole('link', { name: 'Console' }).click();
    await page.getByRole('link', { name: 'Users', exact: true }).click();
    await page.getByLabel('Email, name or id').fill((other.email ?? '').slice(0, 10));
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByRole('rowheader').getByRole('link').click();
    expect(await page.getByRole('button', { name: 'Suspend the user' }).isVisible()).to.equal(false);
    const address = page.url();
    await page.getByText('Suspend…').click();
    await page
      .getByRole('dialog', { name: 'Suspend the user' })
      .getByText(other.email ?? '')
      .waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    expect(await page.getByRole('dialog').count()).to.equal(0);
    expect(page.url()).to.equal(address);
    await page.getByText('Suspend…').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Reason').fill('trial');
    await dialog.getByRole('button', { name: 'Suspend the user' }).click();
    await page.getByText('The user is suspended.').waitFor();
    expect((await its.app.state.users.find(other.id))?.suspendedAt).not.to.equal(null);
    await page.getByText('End the suspension…').click();
    await page.getByRole('button', { name: 'End the suspension', exact: true }).click();
    await page.getByText('The suspension has ended.').waitFor();

    await page.getByText('Set budgets…').click();
    await dialog.getByRole('radio', { name: 'Other…' }).check();
    await dialog.getByLabel('Amount').first().fill('much');
    await dialog.getByRole('button', { name: 'Set the budgets' }).click();
    // The same form again, with the reason and what was sent.
    await dialog.getByText('This was not done.').waitFor();
    expect(await dialog.getByLabel('Amount').first().inputValue()).to.equal('much');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    expect(await page.getByRole('dialog').count()).to.equal(0);
    await page.getByText('Set budgets…').click();
    await dialog.getByLabel('Amount').first().fill('500');
    await dialog.getByLabel('Unit').first().selectOption('requests');
    await dialog.getByRole('button', { name: 'Set the budgets' }).click();
    await page.getByText('500 of 500 left').waitFor();
    await context.close();
  });
});

/** How heavy and how fast a page is at a first visit, over a slow line and on a slow phone, by Chromium's own protocol. */

import type { Browser, BrowserContext } from 'playwright-core';

/** 400 kbit/s, 400 ms to the gateway, and a quarter of this machine's processor. */
const SLOW_LINE = { offline: false, latency: 400, downloadThroughput: 50_000, uploadThroughput: 50_000 };
const CPU_SLOWDOWN = 4;
/** What comes after the page is complete may still move it. */
const SETTLE_MS = 500;

export interface PageSpeed {
  /** Over the wire, without pictures, sounds and videos. */
  bytes: number;
  /** By kind of resource: `Document`, `Stylesheet`, `Script`, `Font`, `Fetch`. */
  bytesOf: Readonly<Record<string, number>>;
  /** Milliseconds until the largest text is painted; 0 for a page without text. */
  textMs: number;
  /** Layout shift, as Web Vitals count it. */
  shift: number;
}

export interface SpeedOptions {
  /** Whose cookies the visitor has. */
  context: BrowserContext;
  width: number;
  /** Whether the line and the processor are slow. Default true. */
  isSlow?: boolean;
}

const MEDIA: ReadonlySet<string> = new Set(['Image', 'Media']);

/** Opens the page with an empty cache. */
export async function measurePage(
  browser: Browser,
  url: string,
  { context, width, isSlow = true }: SpeedOptions,
): Promise<PageSpeed> {
  const storageState = await context.storageState();
  const visitor = await browser.newContext({ storageState, viewport: { width, height: width < 600 ? 844 : 900 } });
  const page = await visitor.newPage();
  const session = await visitor.newCDPSession(page);
  const types = new Map<string, string>();
  const bytesOf: Record<string, number> = {};
  session.on('Network.responseReceived', ({ requestId, type }) => types.set(requestId, type));
  session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    const type = types.get(requestId) ?? 'Other';
    bytesOf[type] = (bytesOf[type] ?? 0) + encodedDataLength;
  });
  await session.send('Network.enable');
  if (isSlow) {
    await session.send('Network.emulateNetworkConditions', SLOW_LINE);
    await session.send('Emulation.setCPUThrottlingRate', { rate: CPU_SLOWDOWN });
  }
  await page.goto(url, { waitUntil: 'load' });
  await page.evaluate(() => document.fonts.ready.then(() => undefined));
  const { textMs, shift } = await page.evaluate(observe, SETTLE_MS);
  await visitor.close();
  const bytes = Object.entries(bytesOf).reduce((sum, [type, size]) => sum + (MEDIA.has(type) ? 0 : size), 0);
  return { bytes, bytesOf, textMs, shift };
}

/** Runs in the page: what its browser has noted since it was opened. */
async function observe(settleMs: number): Promise<{ textMs: number; shift: number }> {
  const found = { textMs: 0, shift: 0 };
  const watch = (type: string, take: (entry: PerformanceEntry) => void) =>
    new PerformanceObserver((list) => list.getEntries().forEach(take)).observe({ type, buffered: true });
  watch('largest-contentful-paint', (entry) => {
    // A picture has an address.
    if ((entry as PerformanceEntry & { url: string }).url === '') found.textMs = Math.round(entry.startTime);
  });
  watch('layout-shift', (entry) => {
    found.shift += (entry as PerformanceEntry & { value: number }).value;
  });
  await new Promise((resolve) => setTimeout(resolve, settleMs));
  return found;
}

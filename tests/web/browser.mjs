// A headless Chromium of the system, without a network, in a profile of its own.

import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Path of the browser, or null if there is none. */
export function findBrowser() {
  return [process.env.SHARDSIM_CHROMIUM, ...PLACES].find((path) => path && existsSync(path)) ?? null;
}

/** A browser that has started: {open(file, options), close()}. */
export async function startBrowser() {
  const profile = mkdtempSync(join(tmpdir(), "shardsim-web-"));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: findBrowser(),
    headless: true,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
  return {
    /** Opens a file: {page, requests, problems}, the latter filling up as the page lives. */
    async open(file, { width = 1280, height = 900, dark = false, reduced = false } = {}) {
      const page = await context.newPage();
      const url = pathToFileURL(file).href;
      const requests = [];
      const problems = [];
      page.on("request", (request) => {
        if (request.url() !== url && !request.url().startsWith("blob:")) requests.push(request.url());
      });
      page.on("console", (message) => {
        if (message.type() === "error" || message.type() === "warning") problems.push(message.text());
      });
      page.on("pageerror", (error) => problems.push(String(error)));
      await page.setViewportSize({ width, height });
      await page.emulateMedia({ colorScheme: dark ? "dark" : "light", reducedMotion: reduced ? "reduce" : null });
      await page.goto(url);
      await page.waitForTimeout(150);
      return { page, requests, problems };
    },
    async close() {
      await context.close();
      rmSync(profile, { recursive: true, force: true });
    },
  };
}

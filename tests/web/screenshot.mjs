// node screenshot.mjs PAGE.html OUT.png [WIDTH] [light|dark] [HEIGHT]: the whole page, or its first
// HEIGHT pixels.

import { startBrowser } from "./browser.mjs";

const [file, out, width = "1280", scheme = "light", height] = process.argv.slice(2);
const browser = await startBrowser();
const { page, requests, problems } = await browser.open(file, {
  width: Number(width),
  height: Number(height ?? 900),
  dark: scheme === "dark",
});
await page.screenshot({ path: out, fullPage: !height });
for (const text of [...requests, ...problems]) console.error(text);
await browser.close();

// Each view of a report in both themes, looked at with axe-core in Chromium.
const fs = require("fs");
const puppeteer = require("puppeteer-core");

(async () => {
  const file = `file://${process.argv[2]}`, axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
  const options = { executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] };
  const browser = await puppeteer.launch(options), page = await browser.newPage();
  let serious = 0, looked = 0;
  page.on("pageerror", error => { serious++; console.log(`error in the page: ${error.message}`); });
  await page.setViewport({ width: 1400, height: 900 });
  await page.goto(file);
  const views = await page.$$eval("[role=tab]:not([hidden])", tabs => tabs.map(tab => tab.id.slice(4)));
  for (const theme of ["light", "dark"]) {
    for (const view of views) {
      await page.goto("about:blank");
      await page.goto(`${file}#view=${view}&theme=${theme}`);
      await page.waitForFunction("document.querySelector('main > section:not([hidden])') !== null");
      await new Promise(done => setTimeout(done, 300));
      await page.evaluate(axe);
      const found = await page.evaluate(async () => (await axe.run(document, { resultTypes: ["violations"] })).violations.map(v => [v.impact, v.id, v.nodes.length, v.nodes[0].html.slice(0, 120)]));
      looked++;
      for (const [impact, id, count, html] of found) {
        if (impact === "serious" || impact === "critical") serious++;
        console.log(`${view}, ${theme}: ${impact}: ${id} (${count} times), first ${html}`);
      }
    }
  }
  await browser.close();
  console.log(`${looked} views looked at, ${serious} serious findings`);
  process.exit(serious ? 1 : 0);
})();

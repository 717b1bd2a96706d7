#!/usr/bin/env python3
"""`opdump view` of a large result in Chromium: time to the first paint, time of clicks, memory of browser and server.

    view_scale.py OPDUMP RESULT          RESULT: of large_result.py, or of sparse_dumps.py, which has tensors to look at

Needs Debian's chromium, node, and the packages of tools/build_web.sh. Prints a line for each number.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
SCRIPT = """
const { chromium } = require('playwright-core');
(async () => {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--enable-precise-memory-info'] });
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  const errors = [];
  page.on('pageerror', (error) => errors.push(error.message));
  const numbers = {};
  const time = async (name, act, until) => { const begin = performance.now(); await act(); await until(); numbers[name] = Math.round(performance.now() - begin); };
  const rows = () => page.waitForSelector('#table .body .row');
  await page.waitForTimeout(500);
  await new Promise((done) => { process.stdin.once('data', done); console.log('blank'); });
  // Time of the processor, which does not depend on what else the machine does.
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const busy = async () => 1000 * (await session.send('Performance.getMetrics')).metrics.find((metric) => metric.name === 'TaskDuration').value;
  await time('page with curve and rows, ms', () => page.goto(process.argv[2]), rows);
  numbers['first contentful paint, ms'] = Math.round(await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime));
  numbers['of it the page itself works, ms'] = Math.round(await busy());
  // The elements of the first bad operator, if its dumps exist, and three parts of it.
  if (process.argv[3] === 'tensors') {
    const begun = performance.now();
    const canvas = page.locator('canvas.zoom');
    await canvas.waitFor({ timeout: 300000 });
    numbers['picture of its tensor, ms after the page'] = Math.round(performance.now() - begun);
    await canvas.scrollIntoViewIfNeeded();
    const caption = () => page.locator('figcaption', { hasText: 'read from the dump' }).innerText();
    for (let i = 0; i < 3; ++i) {
      const was = await caption();
      await time(`part ${i + 1} of it, ms`, () => canvas.click(), async () => { while (await caption() === was) await page.waitForTimeout(2); });
    }
  }
  // From the input to the frame that shows the operator.
  await page.waitForTimeout(1500);
  await page.locator('#table .body .row').nth(2).scrollIntoViewIfNeeded();
  await page.evaluate(() => {
    window.clicks = [];
    addEventListener('click', (event) => {
      const was = document.querySelector('#operator .title').innerText;
      const observer = new MutationObserver(() => {
        if (document.querySelector('#operator .title').innerText === was) return;
        observer.disconnect();
        requestAnimationFrame(() => setTimeout(() => window.clicks.push(performance.now() - event.timeStamp)));
      });
      observer.observe(document.querySelector('#operator'), { subtree: true, childList: true, characterData: true });
    }, true);
  });
  const before_clicks = await busy();
  for (let i = 2; i < 13; ++i) {
    await page.locator('#table .body .row').nth(i).click();
    await page.waitForFunction((count) => window.clicks.length === count, i - 1);
    await page.waitForTimeout(400);
  }
  const clicks = (await page.evaluate(() => window.clicks)).sort((a, b) => a - b);
  numbers['click on a row, median ms'] = Math.round(clicks[5]);
  numbers['of it the page itself works, mean ms'] = Math.round((await busy() - before_clicks) / 11);
  numbers['click on a row, slowest ms'] = Math.round(clicks[10]);
  const status = () => page.locator('#table p.hint').innerText();
  const statusChanged = (before) => page.waitForFunction((was) => document.querySelector('#table p.hint').innerText !== was, before, { polling: 'raf' });
  let before = await status();
  await time('filter by verdict, ms', () => page.locator('.filters select').first().selectOption('own_error'), () => statusChanged(before));
  before = await status();
  await time('clear filters, ms', () => page.click('text=Clear filters'), () => statusChanged(before));
  const first = () => page.locator('#table .body .row').first().innerText();
  const was = await first();
  await time('sort by error, ms', () => page.locator('.head button', { hasText: 'error' }).first().click(), () => page.waitForFunction((old) => { const row = document.querySelector('#table .body .row'); return row && row.innerText !== old; }, was, { polling: 'raf' }));
  await time('scroll to the middle, ms', () => page.evaluate(() => { const list = document.querySelector('.list'); list.scrollTop = list.scrollHeight / 2; }), () => page.waitForFunction(() => Number(document.querySelector('#table .body .row')?.getAttribute('aria-rowindex')) > 1000, null, { polling: 'raf' }));
  await page.waitForTimeout(500);
  numbers['heap of the page, MiB'] = Math.round(await page.evaluate(() => performance.memory.usedJSHeapSize) / 1048576);
  numbers.errors = errors;
  console.log(JSON.stringify(numbers));
  await new Promise((done) => process.stdin.once('data', done));
  await browser.close();
  process.exit(0);
})().catch((error) => { console.error(error); process.exit(1); });
"""


def resident(pid, name):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) // 1024
    return 0


def children(pid):
    found = []
    for path in pathlib.Path("/proc").iterdir():
        try:
            if path.name.isdigit() and f"PPid:\t{pid}\n" in (path / "status").read_text():
                found.append(int(path.name))
        except OSError:
            pass  # it has ended meanwhile
    return found + [grandchild for child in found for grandchild in children(child)]


def proportional(pid):
    """Memory that is shared counts for each process in part."""
    return sum_of(pid, "Pss:")


def private(pid):
    return sum_of(pid, "Private_Clean:", "Private_Dirty:")


def sum_of(pid, *names):
    lines = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(names)) // 1024


def renderers_of(browser):
    return [pid for pid in browser if b"--type=renderer" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()]


def browser_of(looker):
    return [pid for pid in children(looker.pid) if "chrom" in pathlib.Path(f"/proc/{pid}/comm").read_text()]


def main():
    opdump, result = sys.argv[1:3]
    packages = subprocess.run([ROOT / "tools/build_web.sh", "--packages"], check=True, capture_output=True, text=True).stdout.strip()
    begin = time.monotonic()
    server = subprocess.Popen([opdump, "view", result, "--no-browser"], stdout=subprocess.PIPE, text=True)
    address = server.stdout.readline().removeprefix("serving ").strip()
    print(f"server ready, ms: {round(1000 * (time.monotonic() - begin))}")
    script = pathlib.Path(result).with_suffix(".cjs")
    script.write_text(SCRIPT)
    has_tensors = pathlib.Path(result).with_name("golden").is_dir()
    looker = subprocess.Popen(["node", script, address, *["tensors"] * has_tensors], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              env={**os.environ, "NODE_PATH": f"{packages}/node_modules", "CHROMIUM": shutil.which("chromium")})
    try:
        assert looker.stdout.readline() == "blank\n"
        blank = sum(map(proportional, browser_of(looker)))
        blank_page = max(map(private, renderers_of(browser_of(looker))))
        looker.stdin.write("\n")
        looker.stdin.flush()
        for name, value in json.loads(looker.stdout.readline()).items():
            print(f"{name}: {value}")
        browser = browser_of(looker)
        page = max(map(private, renderers_of(browser)))
        print(f"private memory of the page's process, MiB: {page}, of a blank page {blank_page}: the page adds {page - blank_page} (goal: 300)")
        print(f"all of the browser, MiB: {sum(map(proportional, browser))}, with a blank page {blank}")
        print(f"server at most, MiB: {resident(server.pid, 'VmHWM')}, of it not files {resident(server.pid, 'RssAnon')} at the end (goal: 500)")
    finally:
        looker.communicate("\n")
        server.terminate()
        script.unlink()


if __name__ == "__main__":
    main()

// Looks at a page in Chromium: node pages.cjs SCENARIO ADDRESS FOLDER. Prints what it found as JSON. NODE_PATH leads
// to playwright-core; CHROMIUM to the browser.
const { chromium } = require('playwright-core');
const fs = require('node:fs');

const [scenario, address, folder] = process.argv.slice(2);

async function open(browser, { width, scheme }) {
  const page = await browser.newPage({ viewport: { width, height: width > 600 ? 900 : 844 }, colorScheme: scheme, acceptDownloads: true });
  const found = { errors: [], requests: [] };
  page.on('console', (message) => message.type() === 'error' && found.errors.push(message.text()));
  page.on('pageerror', (error) => found.errors.push(error.message));
  page.on('request', (request) => found.requests.push(request.url()));
  page.on('dialog', (dialog) => { found.errors.push(`dialog ${dialog.message()}`); dialog.dismiss(); });
  await page.goto(address);
  await page.waitForSelector('#table .body .row', { timeout: 120000 });
  return [page, found];
}

// Controls, pictures and regions without a name; two elements of one id.
const nameless = (page) => page.evaluate(() => {
  const name = (element) => (element.getAttribute('aria-label') ?? element.textContent ?? '').trim() || element.closest('label')?.textContent?.trim() || element.title;
  const all = [...document.querySelectorAll('button, a, input, select, summary, canvas, [role=img], [role=button], [role=region], [role=tab]')].filter((element) => !element.parentElement.closest('[role=img]'));
  const ids = [...document.querySelectorAll('[id]')].map((element) => element.id);
  return [...all.filter((element) => !name(element)).map((element) => element.outerHTML.slice(0, 120)), ...ids.filter((id, i) => ids.indexOf(id) !== i)];
});

// Text whose contrast to its background is below 4.5 (3 for large text), as WCAG measures it.
const faint = (page) => page.evaluate(() => {
  const parse = (text) => { const found = text.match(/[\d.]+/g)?.map(Number) ?? [0, 0, 0, 0]; const unit = text.startsWith('color(') ? 255 : 1; return [found[0] * unit, found[1] * unit, found[2] * unit, found[3] ?? 1]; };
  const luminance = ([r, g, b]) => { const linear = [r, g, b].map((v) => v / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)); return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]; };
  const behind = (element) => { for (let at = element; at; at = at.parentElement) { const colour = parse(getComputedStyle(at).backgroundColor); if (colour[3] > 0.9) return colour; } return [255, 255, 255, 1]; };
  const bad = [];
  for (const element of document.querySelectorAll('main p, main h1, main h2, main td, main th, main dt, main dd, main button, main a, main .chip, main .tag, main code, main label, footer')) {
    if (!element.textContent.trim() || element.closest('.unseen, svg') || !element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    const [a, b] = [luminance(parse(style.color)), luminance(behind(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < (parseFloat(style.fontSize) >= 24 ? 3 : 4.5)) bad.push(`${ratio.toFixed(2)} ${element.className} ${element.textContent.slice(0, 40)}`);
  }
  return [...new Set(bad)];
});

// What axe-core, which knows the rules of WCAG 2.1 (A and AA), finds wrong with the page.
const violations = async (page) => {
  await page.evaluate(fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8'));
  const found = await page.evaluate(() => window.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'] }));
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => node.target.join(' ')).join(', ')}`);
};

// Keeps in window.labels where on the canvas of the curve the text of the latest drawing is.
const keepLabels = () => {
  const drawing = CanvasRenderingContext2D.prototype, { fillText, clearRect } = drawing;
  drawing.clearRect = function (...box) {
    if (this.canvas.closest('#curve')) window.labels = [];
    return clearRect.apply(this, box);
  };
  drawing.fillText = function (text, x, y, ...more) {
    const size = this.measureText(text), to = this.getTransform();
    const ends = [[x - size.actualBoundingBoxLeft, y - size.actualBoundingBoxAscent], [x + size.actualBoundingBoxRight, y + size.actualBoundingBoxDescent]]
      .map(([a, b]) => to.transformPoint({ x: a, y: b }));
    const [xs, ys] = [ends.map((end) => end.x), ends.map((end) => end.y)];
    if (this.canvas.closest('#curve')) window.labels.push({ text, left: Math.min(...xs), right: Math.max(...xs), top: Math.min(...ys), bottom: Math.max(...ys) });
    return fillText.call(this, text, x, y, ...more);
  };
};

const scenarios = {
  // What is drawn before anything was measured by an observer: a page that is printed at once has no more frames than that.
  async still(browser) {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    await page.addInitScript(() => {
      window.ResizeObserver = class { observe() {} unobserve() {} disconnect() {} };
      window.coloursOf = (one) => new Set(new Uint32Array(one.getContext('2d').getImageData(0, 0, one.width, one.height).data.buffer)).size;
      new MutationObserver((_, self) => {
        const maps = [...document.querySelectorAll('#operator canvas')];
        if (maps.length === 0) return;
        self.disconnect();
        window.maps = maps.map((one) => [one.getAttribute('aria-label'), coloursOf(one)]);
      }).observe(document, { childList: true, subtree: true });
      addEventListener('load', () => { window.loaded = document.querySelectorAll('#curve canvas').length; });
    });
    await page.goto(address);
    await page.waitForSelector('#curve');
    await page.waitForTimeout(500);
    return await page.evaluate(() => {
      const canvas = document.querySelector('#curve canvas');
      if (!canvas) return { colours: 0 };
      return { colours: coloursOf(canvas), width: canvas.width, maps: window.maps, loaded: window.loaded, frames: document.querySelectorAll('iframe').length };
    });
  },
  // A narrow screen: nothing of the navigation or of the worst elements is beyond its edge.
  async narrow(browser) {
    const [page] = await open(browser, { width: 390, scheme: 'light' });
    await page.locator('#operator .numbers').first().scrollIntoViewIfNeeded();
    await page.screenshot({ path: `${folder}/worst-390.png` });
    return await page.evaluate(() => {
      const beyond = (selector) => [...document.querySelectorAll(selector)].filter((one) => one.getBoundingClientRect().right > 390.5).length;
      const worst = document.querySelector('[aria-label="The worst elements"]');
      return { links: beyond('nav a'), columns: beyond('[aria-label="The worst elements"] td'), rows: worst.querySelectorAll('tbody tr').length,
        hidden: worst.scrollHeight - worst.clientHeight };
    });
  },
  // The labels that are painted in the curve while each fifth operator is looked at: pairs that meet, what is cut at the edge, and of how
  // many operators the name stood there.
  async labels(browser) {
    const page = await browser.newPage({ viewport: { width: 500, height: 844 } });
    await page.addInitScript(keepLabels);
    await page.goto(address);
    const total = Number((await page.locator('#table p.hint').innerText()).match(/of ([\d,]+)/)[1].replace(',', ''));
    const found = { total, meet: [], cut: [], named: 0, limits: new Set() };
    for (const tolerance of [0, 2])
      for (let op = 1; op <= total; op += 5) {
        const labels = await page.evaluate(async ([at, power]) => {
          location.hash = `op=${at}&tolerance=${power}`;
          for (let frame = 0; frame < 3; ++frame) await new Promise(requestAnimationFrame);
          return window.labels;
        }, [op, tolerance]);
        const name = (await page.locator('#operator .title').innerText()).split('/').pop();
        const { width, height } = await page.evaluate(() => { const { width, height } = document.querySelector('#curve canvas'); return { width, height }; });
        found.named += labels.some(({ text }) => text === name);
        for (const [i, a] of labels.entries()) {
          if (a.text.startsWith('tolerance')) found.limits.add(a.text);
          if (a.left < 0 || a.top < 0 || a.right > width || a.bottom > height) found.cut.push(a.text);
          for (const b of labels.slice(i + 1)) if (a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom) found.meet.push(`${a.text} | ${b.text}`);
        }
        if (op === 1) await page.locator('#curve').screenshot({ path: `${folder}/labels-500-${tolerance}.png` });
      }
    return { ...found, limits: [...found.limits] };
  },
  // Each size and scheme: a picture, and what is wrong with the page.
  async looks(browser) {
    const report = {};
    for (const width of [1280, 390])
      for (const scheme of ['light', 'dark']) {
        const [page, found] = await open(browser, { width, scheme });
        await page.waitForTimeout(300);
        const file = `${folder}/report-${width}-${scheme}.png`;
        await page.screenshot({ path: file, fullPage: true });
        await page.screenshot({ path: `${folder}/report-top-${width}-${scheme}.png` });
        await page.evaluate(() => document.querySelectorAll('details').forEach((one) => { one.open = true; }));
        report[`${width} ${scheme}`] = { ...found, violations: await violations(page), wider: await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), nameless: await nameless(page), faint: await faint(page), bytes: fs.statSync(file).size };
        await page.close();
      }
    return report;
  },

  async works(browser) {
    const [page, found] = await open(browser, { width: 1280, scheme: 'light' });
    const status = () => page.locator('#table p.hint').innerText();
    const report = { heading: await page.locator('h1').innerText(), lead: await page.locator('.lead').innerText(), chosen: await page.locator('#operator .title').innerText(), all: await status() };
    report.drawn = await page.locator('#table .body .row').count();
    await page.fill('input[type=search]', 'classifier addmm');
    report.filtered = await status();
    await page.locator('#table .body .row').first().focus();
    await page.keyboard.press('Enter');
    report.opened = await page.locator('#operator .title').innerText();
    const download = page.waitForEvent('download');
    await page.click('text=Export CSV');
    report.csv = fs.readFileSync(await (await download).path(), 'utf8').split('\r\n');
    await page.click('text=Clear filters');
    report.judged = await page.locator('.tolerance p').innerText();
    await page.locator('input[type=range]').focus();
    await page.keyboard.press('End');
    report.tolerant = await page.locator('.tolerance p').innerText();
    report.address = page.url();
    await page.click('text=As judged');
    await page.locator('.head button', { hasText: 'largest error' }).click();
    report.largest = Number((await page.locator('#table .body .row .c-max').first().innerText()).replace('e', 'e'));
    await page.locator('.heat .cell button').first().click();
    report.module = await status();
    await page.locator('.graph .box:not(.centre)[role=button]').first().focus();
    const before = await page.locator('#operator .title').innerText();
    await page.keyboard.press('Enter');
    await page.waitForFunction((was) => document.querySelector('#operator .title').innerText !== was, before, { timeout: 20000 }).then(() => (report.walked = true), () => (report.walked = false));
    // The sliders of a tensor with four dimensions begin at its worst element.
    await page.goto(`${address}#`);
    await page.reload();
    const plane = () => page.locator('figcaption', { hasText: 'in one plane' }).innerText();
    const shown = await plane();  // waits until the part is there
    report.planes = [await page.locator('.sliders input').count(), shown];
    report.bars = await Promise.all([0, 1, 2, 3].map((axis) => page.locator('.profile').nth(axis).locator('rect').count()));
    await page.locator('.sliders input').first().focus();
    await page.keyboard.press('Home');
    report.planes.push(await plane());
    await page.click('button.theme');
    report.theme = await page.evaluate(() => document.documentElement.dataset.theme);
    const again = await browser.newPage();
    await again.goto(report.address);
    await again.waitForSelector('#table .body .row');
    report.shared = await again.locator('.tolerance p').innerText();
    await page.emulateMedia({ media: 'print' });
    report.printed = (await page.pdf({ path: `${folder}/report.pdf` })).length;
    return { ...report, ...found };
  },

  // A result of opdump blame, with two culprits.
  async culprits(browser) {
    const [page, found] = await open(browser, { width: 390, scheme: 'dark' });
    const report = { heading: await page.locator('h1').innerText(), lead: await page.locator('.lead').innerText(), chosen: await page.locator('#operator .title').innerText() };
    await page.click('.answer summary >> nth=0');
    report.others = await page.locator('.culprits li').allInnerTexts();
    await page.locator('.culprits button').click();
    return { ...report, ...found, opened: await page.locator('#operator .title').innerText(), violations: await violations(page) };
  },

  async hostile(browser) {
    const [page, found] = await open(browser, { width: 1280, scheme: 'light' });
    for (const row of await page.locator('#table .body .row').all()) await row.click();
    for (const tab of await page.locator('[role=tab]').all()) await tab.click();
    await page.click('summary >> nth=0');
    return { ...found, foreign: await page.evaluate(() => ({ images: document.images.length, frames: document.querySelectorAll('iframe, object, embed').length, scripts: document.scripts.length, owned: window.owned ?? false, handlers: [...document.querySelectorAll('*')].filter((element) => element.getAttributeNames().some((name) => name.startsWith('on'))).length })), heading: await page.locator('h1').innerText() };
  },

  // A result that the page asks for part by part.
  async large(browser) {
    const [page, found] = await open(browser, { width: 1280, scheme: 'light' });
    const status = () => page.locator('#table p.hint').innerText();
    const title = () => page.locator('#operator .title').innerText();
    const changes = async (read, act) => {
      const before = await read();
      await act();
      for (let i = 0; i < 400 && (await read()) === before; ++i) await page.waitForTimeout(50);
      return read();
    };
    const report = { heading: await page.locator('h1').innerText(), all: await status(), chosen: await title(), counts: await page.locator('.counts').innerText() };
    report.opened = await changes(title, () => page.locator('#table .body .row').nth(5).click());
    report.graph = await page.locator('.graph .box').count();
    const passed = async () => (await status()).split(' of ')[0];
    report.filtered = await changes(passed, () => page.locator('.filters select').first().selectOption('own_error'));
    report.rows = await page.locator('#table .body .row .chip').allInnerTexts();
    await changes(passed, () => page.click('text=Clear filters'));
    const first = () => page.locator('#table .body .row').first().innerText();
    report.largest = await changes(first, () => page.locator('.head button', { hasText: 'error' }).first().click());
    report.judged = await changes(() => page.locator('.tolerance p').innerText(), async () => { await page.locator('input[type=range]').focus(); await page.keyboard.press('End'); });
    await page.click('text=As judged');
    await page.evaluate(() => { const list = document.querySelector('.list'); list.scrollTop = list.scrollHeight; });
    await page.waitForFunction(() => [...document.querySelectorAll('#table .body .row')].some((row) => Number(row.getAttribute('aria-rowindex')) > 11990), null, { timeout: 60000 });
    const modules = () => page.locator('.heat tbody tr').count();
    report.modules = [await modules(), await changes(modules, () => page.locator('.heat .twig[aria-expanded=false]').first().click())];
    await changes(passed, () => page.locator('.heat .cell button').first().click());
    report.module = await status();
    const points = () => page.evaluate(() => document.querySelector('.plot canvas').toDataURL());
    const whole = await points();
    // The part of the curve is fetched: its button appears before its points do.
    const part = await changes(points, async () => {
      await page.locator('.plot .u-over').scrollIntoViewIfNeeded();
      const box = await page.locator('.plot .u-over').boundingBox();
      await page.mouse.move(box.x + box.width * 0.4, box.y + 60);
      await page.mouse.down();
      await page.mouse.move(box.x + box.width * 0.6, box.y + 60, { steps: 4 });
      await page.mouse.up();
      await page.waitForSelector('#curve button.small', { timeout: 60000 });
    });
    report.closer = part !== whole;
    await page.click('text=All of the curve');
    return { ...report, ...found, faint: await faint(page), nameless: await nameless(page) };
  },

  async health(browser) {
    const [page, found] = await open(browser, { width: 1280, scheme: 'light' });
    const report = { text: await page.locator('#health').innerText() };
    await page.locator('#health button.link').first().click();
    return { ...report, ...found, opened: await page.locator('#operator .title').innerText() };
  },

  async served(browser) {
    const [page, found] = await open(browser, { width: 1280, scheme: 'light' });
    await page.waitForSelector('canvas.zoom', { timeout: 120000 });
    const caption = () => page.locator('figcaption', { hasText: 'read from the dump' }).innerText();
    const report = { before: await caption() };
    for (let i = 0; i < 3; ++i) {
      const tile = page.waitForResponse((response) => response.url().includes('/api/tile'));
      await page.locator('canvas.zoom').click();
      await tile;
      await page.waitForTimeout(100);
    }
    report.after = await caption();
    report.numbers = await page.locator('#operator .numbers td').count();
    // A plane of the tensor: the one with the worst element, and its neighbour.
    const tileOf = async (act) => {
      const tile = page.waitForResponse((response) => response.url().includes('/api/tile'));
      await act();
      const asked = new URL((await tile).url()).searchParams;
      await page.waitForTimeout(100);
      return ['across', 'row', 'rows', 'columns'].map((key) => Number(asked.get(key)));
    };
    report.worst = (await page.locator('#operator .numbers td').first().innerText()).match(/\d+/g).map(Number);
    report.plane = await tileOf(() => page.click('text=one plane'));
    report.sliders = await page.locator('.sliders input').count();
    report.next = await tileOf(async () => { await page.locator('.sliders input').last().focus(); await page.keyboard.press('ArrowRight'); });
    report.address = page.url();
    await page.screenshot({ path: `${folder}/view-1280-light.png`, fullPage: true });
    return { ...report, ...found };
  },
};

(async () => {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox'] });
  try {
    console.log(JSON.stringify(await scenarios[scenario](browser)));
  } finally {
    await browser.close();
  }
})().catch((error) => { console.error(error); process.exit(1); });

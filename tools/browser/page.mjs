// Opens the pages that inspect and synth write in a browser, and uses them.
//
//   node page.mjs ESTREAM TESTDATA
//
// ESTREAM is the command, TESTDATA the repository's folder of that name. Pictures go
// to the folder SHOTS, if that is set.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

const [estream, testdata] = process.argv.slice(2);
assert(testdata, 'usage: node page.mjs ESTREAM TESTDATA');
const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'estream-page-'));
const run = (...args) => execFileSync(estream, args, { encoding: 'utf8', maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'ignore'] });

const families = ['olmoe', 'qwen3', 'mixtral', 'lfm2', 'deepseek'];
const mostBytes = 5 << 20;
const mostReady = 2000; // milliseconds from navigation until the page can be used

// planned writes the page of a config of full size, of which no package is made.
function planned(config) {
    const file = path.join(scratch, config.replace('.config.json', '.html'));
    run('synth', '--dry-run', '--html', file, '--config', path.join(testdata, 'configs', config));
    return file;
}

// packed makes a package of a family's tiny model, and its page.
function packed(family) {
    const dir = path.join(scratch, family + '.estream');
    run('pack', path.join(testdata, family), dir);
    const file = path.join(scratch, family + '.html');
    run('inspect', '--html', file, dir);
    return { dir, file };
}

// show opens a page of a width and colour scheme; it may ask for nothing but itself
// and must not fail.
async function show(context, file, width = 1280, colorScheme = 'light') {
    const tab = await context.newPage();
    tab.setDefaultTimeout(120_000); // beside other work
    const troubles = [];
    tab.on('pageerror', (e) => troubles.push(e.stack));
    tab.on('console', (m) => m.type() === 'error' && troubles.push(m.text()));
    tab.on('request', (r) => r.url() !== pathToFileURL(file).href && !r.url().startsWith('data:') && troubles.push('asks for ' + r.url()));
    await tab.emulateMedia({ colorScheme });
    await tab.setViewportSize({ width, height: width > 768 ? 900 : 844 });
    await tab.goto(pathToFileURL(file).href);
    const ready = await tab.evaluate(() => Number(document.documentElement.dataset.ready));
    assert(ready > 0, `${file}: the script did not end: ${troubles}`);
    return { tab, ready, end: async () => { assert.deepEqual(troubles, [], file); await tab.close(); } };
}

const texts = (tab, selector) => tab.$$eval(selector, (es) => es.map((e) => e.textContent.replace(/\s+/g, ' ').trim()));
const rows = (column, of) => `.column[data-c="${column}"] .line${of}`;
const clickLine = (tab, column, text) => tab.locator(rows(column, '[data-v]'), { hasText: text }).first().click();

// Every page fits its width in both schemes, and is small and soon ready.
async function fits(context, file) {
    const size = fs.statSync(file).size;
    assert(size < mostBytes, `${file} has ${size} bytes`);
    let best = Infinity;
    for (const width of [1280, 390]) {
        const colours = new Set();
        for (const scheme of ['light', 'dark']) {
            const { tab, ready, end } = await show(context, file, width, scheme);
            best = Math.min(best, ready);
            assert.equal(await tab.evaluate(() => Math.max(0, document.documentElement.scrollWidth - innerWidth)), 0, `${file} is wider than ${width}`);
            if (width === 1280) assert.equal(await tab.$eval('#summary .scroll', (e) => e.scrollWidth - e.clientWidth), 0, `${file} cuts the table of kinds off`);
            colours.add(await tab.evaluate(() => getComputedStyle(document.body).backgroundColor));
            if (process.env.SHOTS) await tab.screenshot({ fullPage: true, path: path.join(process.env.SHOTS, `${path.basename(file, '.html')}-${width}-${scheme}.png`) });
            await end();
        }
        assert.equal(colours.size, 2, 'light and dark look the same');
    }
    assert(best < mostReady, `${file} is ready after ${best} ms`);
    console.log(`${path.basename(file)}: ${(size / 1024).toFixed(0)} KiB, ready after ${best} ms`);
}

// A click on a value shows its operands, uses and what passes made of it.
async function value(context, file) {
    const { tab, end } = await show(context, file);
    const names = await texts(tab, '#chips button');
    const quantize = names.indexOf('quantize'), legalize = names.indexOf('legalize'), layout = names.indexOf('layout');
    const begun = Date.now();
    await clickLine(tab, quantize, ':attn.q = matmul');
    const took = Date.now() - begun;
    assert.match((await texts(tab, rows(quantize, '.pick')))[0], /^%11:attn\.q = matmul/);
    assert.deepEqual((await texts(tab, rows(quantize, '.arg'))).map((s) => s.split(' ')[0]), ['%9:attn.norm', '%10:attn.q.weight']);
    assert.match((await texts(tab, rows(quantize, '.use')))[0], /^%12 = reshape %11/);
    for (const c of [0, layout, legalize]) assert.match((await texts(tab, rows(c, '.kin')))[0], /:attn\.q = matmul/, names[c]);
    assert.match(await tab.textContent('#panel'), /used by%12 = reshape/);

    // a value of another phase, and who takes it
    await clickLine(tab, layout, ':ffn.norm = rmsnorm');
    const panel = await tab.textContent('#panel');
    assert.match(panel, /taken byc0\.route %1:ffn\.norm = input/);
    assert.match(panel, /c0\.body %\d+:ffn\.norm\.a8 = quantize : a8\[T,2048\]made/);
    await tab.locator('#panel li code', { hasText: ':ffn.norm.a8 = quantize' }).first().click();
    assert.match(await tab.textContent('#panel h3'), /:ffn\.norm\.a8 = quantize$/);
    await tab.keyboard.press('Escape');
    assert.equal(await tab.locator('#panel').isVisible(), false);
    assert.equal(await tab.locator('.line.pick').count(), 0);

    // a column that changes nothing is folded, and can be shown
    const dce = names.indexOf('dce');
    assert.equal(await tab.locator(`.column[data-c="${dce}"]`).count(), 0);
    await tab.locator('#chips button', { hasText: 'dce' }).click();
    assert.equal(await tab.locator(`.column[data-c="${dce}"]`).count(), 1);
    await tab.fill('#find', 'expert.down');
    assert.match(await tab.textContent('#found'), /^\d+ lines$/);
    await tab.selectOption('#which', 'head');
    assert.deepEqual(await texts(tab, `.column[data-c="${layout}"] summary`), ['head.norm', 'head.proj']);
    assert.deepEqual(await texts(tab, '.column[data-c="0"] summary'), ['head']);
    await end();
    return took;
}

// Layers fold to a box, and open to phases and these to operators.
async function folding(context, file) {
    const { tab, end } = await show(context, file);
    const boxes = () => tab.$$eval('#drawing g.node.box', (es) => es.map((e) => e.dataset.box));
    assert.deepEqual(await boxes(), ['embed', 'run0:c0.body', 'run0:c0.route', 'run0:c0.experts', 'run0:c0.tail', 'head.norm', 'head.proj']);
    await tab.locator('#drawing g.cluster[data-box="run0"] > text').click();
    assert.deepEqual(await boxes(), ['embed', 'run0', 'head.norm', 'head.proj']);
    assert.match((await texts(tab, '#drawing g[data-box="run0"]'))[0], /layers 0–47.*class c0 × 48/);
    await tab.locator('#drawing g[data-box="run0"]').click();
    await tab.locator('#drawing g[data-box="run0:c0.route"]').click();
    const ops = (await texts(tab, '#drawing g.node:not(.box)')).join();
    for (const op of ['ffn.router', 'softmax', 'experts.ids', 'experts.weights']) assert(ops.includes(op), ops);
    await tab.locator('#drawing g.node', { hasText: 'experts.ids' }).first().click();
    assert.match(await tab.textContent('#panel h3'), /:experts\.ids = topk$/);
    assert(await tab.locator('#drawing path.hot').count() > 0, 'edges of the chosen value');
    await tab.click('#fold');
    assert.deepEqual(await boxes(), ['embed', 'run0', 'head.norm', 'head.proj']);
    await end();
}

// An input of an expert leads to its bytes: to those that the manifest says.
async function binding(context, { dir, file }) {
    const manifest = JSON.parse(run('inspect', '--json', dir));
    const ir = run('inspect', '--ir', '--graph', 'expert0', dir);
    const offset = Number(/:expert\.up\.weight = weight offset=(\d+)/.exec(ir)[1]);
    const { tab, end } = await show(context, file);
    const layout = (await texts(tab, '#chips button')).indexOf('layout');
    await clickLine(tab, layout, ':expert.up.weight = weight');
    await tab.click('#panel button:has-text("follow it to its bytes")');
    await tab.selectOption('#layer', { label: '2 (expert0)' });
    await tab.fill('#index', '5');
    await tab.press('#index', 'Enter');
    const record = manifest.experts.find((r) => r.layer === 2 && r.index === 5);
    const from = record.offset + offset;
    const say = await tab.textContent('#follow');
    assert(say.includes(`expert.up.weight of layer 2, expert 5: record at ${record.offset.toLocaleString('en')} + ${offset.toLocaleString('en')}`), say);
    assert(say.includes(`experts.bin bytes ${from.toLocaleString('en')} to `), say);
    assert((await tab.textContent('#where')).includes('CRC-32C ' + record.crc.toString(16).padStart(8, '0')));
    const row = await texts(tab, '#bindings tr[data-input="expert.up.weight"] td');
    assert.equal(row[5], String(record.factors[1]), 'the factor');
    assert.match(await tab.textContent('#cell'), /^Layer 2, expert 5: /);

    // and back, from the map
    const map = await tab.locator('#map').boundingBox();
    await tab.click('#map', { position: { x: 34 + 3.5 * (map.width - 34) / 8, y: map.height / 6 } });
    assert.match(await tab.textContent('#cell'), /^Layer 0, expert 3: /);
    assert.match(await tab.textContent('#follow'), /^expert\.up\.weight of layer 0, expert 3/);
    await end();
}

// A table that scrolls sideways is shaded at an edge that hides more, and there alone.
async function shaded(context, file, scheme) {
    const { tab, end } = await show(context, file, 390, scheme);
    let over = 0;
    for (const box of await tab.locator('.scroll:visible, #callee').all()) {
        const hides = await box.evaluate((e) => (e.scrollIntoView({ block: 'center' }), e.scrollWidth - e.clientWidth));
        const { x, y, width, height } = await box.boundingBox();
        const strip = (x) => tab.screenshot({ clip: { x, y: y + height / 2 - 10, width: 12, height: 20 } });
        const shades = async (from) => {
            await box.evaluate((e, from) => { e.scrollLeft = from; }, from);
            const edges = [x + 2, x + width - 14], seen = [await strip(edges[0]), await strip(edges[1])];
            await box.evaluate((e) => e.style.setProperty('--edge', 'transparent'));
            const plain = [await strip(edges[0]), await strip(edges[1])];
            await box.evaluate((e) => e.style.removeProperty('--edge'));
            return seen.map((s, i) => !s.equals(plain[i]));
        };
        const what = `${file} ${scheme}: ${(await box.innerText()).slice(0, 40)}`;
        assert.deepEqual(await shades(0), [false, hides > 0], what);
        if (hides === 0) continue;
        over++;
        assert.deepEqual(await shades(hides), [true, false], what);
        if (hides > 60) assert.deepEqual(await shades(hides / 2), [true, true], what);
    }
    assert(over > 0, `${file}: no table scrolls`);
    await end();
}

// The switch goes from the system's scheme to light and dark.
async function theme(context, file) {
    const { tab, end } = await show(context, file);
    const dark = () => tab.evaluate(() => document.documentElement.classList.contains('dark'));
    const seen = [await dark()];
    for (let i = 0; i < 3; i++) {
        await tab.click('#theme');
        seen.push(await dark());
    }
    assert.deepEqual(seen, [false, false, true, false]);
    await end();
}

const context = await chromium.launchPersistentContext(path.join(scratch, 'profile'), {
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    headless: true,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
try {
    const full = fs.readdirSync(path.join(testdata, 'configs')).filter((f) => f.endsWith('.config.json')).map(planned);
    const tiny = families.map(packed);
    for (const file of [...full, ...tiny.map((p) => p.file)]) await fits(context, file);
    const qwen3 = full.find((f) => f.includes('Qwen3'));
    console.log(`a click on a value takes ${await value(context, qwen3)} ms`);
    await folding(context, qwen3);
    for (const p of tiny.slice(0, 3)) await binding(context, p);
    await theme(context, qwen3);
    for (const scheme of ['light', 'dark']) for (const file of [qwen3, tiny[0].file]) await shaded(context, file, scheme);
} finally {
    await context.close();
    fs.rmSync(scratch, { recursive: true });
}

// Opens ONNX exports in Netron, in a browser, and checks what it draws.
//
//   node netron.mjs ESTREAM NETRON MODULE...
//
// ESTREAM is the command, NETRON the folder of Netron's Python package, and a MODULE
// is what estream export takes. Pictures go to the folder SHOTS, if that is set.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';

const require = createRequire(new URL('../../browser/package.json', import.meta.url));
const { chromium } = require('playwright-core');

const [estream, netron, ...modules] = process.argv.slice(2);
assert(modules.length > 0, 'usage: node netron.mjs ESTREAM NETRON MODULE...');
const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'estream-netron-'));

const kinds = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.json': 'application/json' };

// Netron as one runs it from its sources: without a version it neither reports to
// anyone nor asks to be updated.
function page() {
    const html = fs.readFileSync(path.join(netron, 'index.html'), 'utf8');
    return html.replace(/<meta name="version"[^>]*>/, '<meta name="version" content="0.0.0">').replace(/<meta name="date"[^>]*>/, '');
}

function serve(models) {
    const server = http.createServer((request, response) => {
        const name = decodeURIComponent(new URL(request.url, 'http://localhost').pathname);
        const file = models.get(name) ?? path.join(netron, path.basename(name));
        if (name !== '/' && !fs.existsSync(file)) {
            response.writeHead(404).end();
            return;
        }
        response.writeHead(200, { 'Content-Type': kinds[name === '/' ? '.html' : path.extname(name)] ?? 'application/octet-stream' });
        response.end(name === '/' ? page() : fs.readFileSync(file));
    });
    return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

function exported(module, format) {
    const file = path.join(scratch, `${modules.indexOf(module)}.${format}`);
    execFileSync(estream, ['export', '--format', format, '-o', file, module]);
    return file;
}

// drawn waits until Netron shows a graph of these nodes and no others, laid out, and
// fails with what it says if it cannot.
async function drawn(tab, nodes, what) {
    const look = () => tab.evaluate(() => ({
        laidOut: Boolean(window.__view__?._target),
        trouble: document.body.classList.contains('alert') || document.body.classList.contains('notification') ? document.getElementById('message-text').innerText : '',
        nodes: [...document.querySelectorAll('#canvas [id^="node-name-"]:not(.node-argument *)')].map((n) => n.id.slice('node-name-'.length)).sort(),
    }));
    const want = { laidOut: true, trouble: '', nodes: [...nodes].sort() };
    let got = await look();
    for (const end = Date.now() + 60000; Date.now() < end && JSON.stringify(got) !== JSON.stringify(want); got = await look()) {
        await tab.waitForTimeout(50);
    }
    assert.deepEqual(got, want, what);
}

async function shot(tab, name) {
    if (process.env.SHOTS) await tab.screenshot({ path: path.join(process.env.SHOTS, `${name}.png`) });
}

// press clicks a button of a node, by its title, and goes into what it leads to.
const press = (tab, node, title) => tab.locator(`#canvas [id="node-name-${node}"] .node-item`, { has: tab.locator('title', { hasText: title }) }).first().dispatchEvent('click');

const called = (v) => v.name || `%${v.id}`;
const given = (v) => v.op === 'input' || v.op === 'weight';

// inner is the nodes of a graph: what is computed, and copies of what is returned
// twice or as it was given.
function inner(graph, prefix = '') {
    const value = (id) => graph.values.find((v) => v.id === id);
    const copied = graph.outputs.map((id, i) => (given(value(id)) || graph.outputs.indexOf(id) < i ? [`${called(value(id))}:out.${i}`] : [])).flat();
    return [...graph.values.filter((v) => !given(v)).map(called), ...copied].map((name) => prefix + name);
}

// look checks that Netron shows each call of the main graph, each value of each
// function, and leads from experts to what an expert is.
async function look(tab, address, module) {
    const data = JSON.parse(fs.readFileSync(exported(module, 'json'), 'utf8'));
    const name = `${path.basename(path.dirname(module))}-${path.basename(module)}`;
    await tab.goto(`${address}/?url=${address}/${modules.indexOf(module)}.onnx`);
    const weighty = (name) => data.graphs.find((g) => g.name === name).values.some((v) => v.op === 'weight');
    const holder = (c) => (c.layer < 0 ? `${c.name}/record` : `layer${c.layer}.record`);
    const record = (c) => (weighty(c.graph) && data.flow.calls.find((d) => weighty(d.graph) && holder(d) === holder(c)) === c ? [holder(c)] : []);
    const calls = data.flow.calls.flatMap((c) => [c.name, ...c.in.filter((take) => take.rows).map(() => `${c.name} rows`), ...record(c)]);
    await drawn(tab, calls, `${module}: main graph`);
    const ends = await tab.$$eval('#canvas .graph-item-input, #canvas .graph-item-output', (ns) => ns.map((n) => n.textContent));
    for (const end of [...data.flow.inputs.map((p) => p.name), ...data.flow.outputs]) {
        assert(ends.some((text) => text.startsWith(end)), `${module}: main graph lacks ${end}`);
    }
    await shot(tab, name);
    for (const graph of data.graphs) {
        await tab.selectOption('#toolbar-target-selector', { label: graph.name });
        await drawn(tab, inner(graph), `${module}: ${graph.name}`);
        await shot(tab, `${name}-${graph.name}`);
        for (const experts of graph.values.filter((v) => v.op === 'experts')) {
            await press(tab, called(experts), 'Show Graph');
            if (experts.body) {
                await drawn(tab, inner(experts.body, `${experts.body.name}/`), `${module}: body in ${graph.name}`);
                continue;
            }
            await drawn(tab, [experts.attr.callee, `${experts.attr.callee}/record`], `${module}: what ${graph.name} runs`);
            await press(tab, experts.attr.callee, 'Show Function Definition');
            await drawn(tab, inner(data.graphs.find((g) => g.name === experts.attr.callee)), `${module}: from ${graph.name} to its expert`);
        }
    }
    console.log(`${module}: ${calls.length} calls, ${data.graphs.length} functions`);
}

const files = new Map(modules.map((m, i) => [`/${i}.onnx`, exported(m, 'onnx')]));
const server = await serve(files);
const address = `http://127.0.0.1:${server.address().port}`;
const flags = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: flags });
const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, bypassCSP: true });
// Netron takes eval away, by which playwright runs what it is given.
await context.addInitScript(() => {
    const own = window.eval;
    Object.defineProperty(window, 'eval', { get: () => own, set: () => {} });
});
await context.addCookies([{ name: 'consent', value: '1', url: address }]);
const tab = await context.newPage();
const faults = [];
tab.on('pageerror', (e) => faults.push(String(e)));
tab.on('console', (m) => m.type() === 'error' && faults.push(m.text()));
tab.on('request', (r) => r.url().startsWith(address) || r.url().startsWith('data:') || r.url().startsWith('blob:') || faults.push(`asks for ${r.url()}`));
try {
    for (const module of modules) {
        await look(tab, address, module);
        assert.deepEqual(faults, [], module);
    }
} finally {
    await browser.close();
    server.close();
    fs.rmSync(scratch, { recursive: true });
}

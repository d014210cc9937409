"use strict";
// Draws what the document below the page's text holds: columns of graphs, the
// layout of the drawing, the binding of experts and the maps of the weight files.
(() => {
const doc = JSON.parse(document.getElementById("data").textContent);
const $ = id => document.getElementById(id);
const stored = doc.columns[doc.stored];
const classColor = (() => {
  const seen = [];
  return name => "k" + (seen.includes(name) ? seen.indexOf(name) : seen.push(name) - 1) % 8;
})();

// el makes an element; attributes that begin with "on" are listeners.
function el(tag, attrs, ...kids) {
  const e = tag.startsWith("svg:") ? document.createElementNS("http://www.w3.org/2000/svg", tag.slice(4)) : document.createElement(tag);
  for (const [k, v] of Object.entries(attrs || {})) {
    if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
    else if (v !== undefined && v !== false) e.setAttribute(k, v);
  }
  e.append(...kids.flat().filter(k => k !== undefined && k !== null && k !== ""));
  return e;
}

function size(n) {
  if (n < 1024) return n + " B";
  let i = -1;
  while (n >= 1024 && i < 3) { n /= 1024; i++; }
  return n.toFixed(1) + " " + "KMGT"[i] + "iB";
}
const hex = n => (n >>> 0).toString(16).padStart(8, "0");
const bytes = n => n.toLocaleString("en");

// ---- theme ----

const themes = ["system", "light", "dark"];
const systemDark = matchMedia("(prefers-color-scheme: dark)");
let theme = "system";
try { theme = localStorage.getItem("estream-theme") || theme; } catch { /* a page from a file may have no storage */ }
function applyTheme() {
  document.documentElement.classList.toggle("dark", theme === "dark" || theme !== "light" && systemDark.matches);
  $("theme").textContent = {system: "◐", light: "☀", dark: "☾"}[theme];
  $("theme").setAttribute("aria-label", "theme: " + theme);
  $("theme").title = "theme: " + theme;
  drawMap();
}
$("theme").addEventListener("click", () => {
  theme = themes[(themes.indexOf(theme) + 1) % 3];
  try { localStorage.setItem("estream-theme", theme); } catch { /* as above */ }
  applyTheme();
});
systemDark.addEventListener("change", applyTheme);

// ---- values: who uses them and what they become ----

const phaseOf = name => name.includes(".") ? name.split(".")[0] : "";
const nameOf = v => "%" + v.i + (v.n ? ":" + v.n : "");
const key = (c, g, v) => c + "/" + g + "/" + v;
const unkey = k => k.split("/").map(Number);
const valueAt = (c, g, v) => doc.columns[c].graphs[g].v[v];

// index fills in what a column's values lack: users, and what they become.
doc.columns.forEach((col, c) => {
  col.same = c > 0;
  col.graphs.forEach((g, gi) => g.v.forEach((v, vi) => {
    v.users = [], v.next = [];
    const old = v.f && doc.columns[c - 1].graphs[v.f[0]].v[v.f[1]];
    if (old) old.next.push([gi, vi]);
    v.changed = !!old && !v.m && (old.o !== v.o || old.t !== v.t || (old.k || "") !== (v.k || "") || (old.s || 0) !== (v.s || 0));
    if (v.m || v.changed) col.same = false;
    for (const a of v.a || []) if (!g.v[a].users.includes(vi)) g.v[a].users.push(vi);
  }));
  if (c > 0 && count(doc.columns[c - 1]) !== count(col)) col.same = false;
});
function count(col) { return col.graphs.reduce((n, g) => n + g.v.length, 0); }

// across lists the values of other phases of the class that are this one: the
// inputs that take what it gives, or what gives it if it is an input.
function across(c, gi, vi) {
  const graphs = doc.columns[c].graphs, g = graphs[gi], v = g.v[vi], cls = phaseOf(g.n);
  if (!cls || !v.n || g.n.includes("@")) return [];
  const out = [];
  const order = graphs.map((x, i) => i).filter(i => i !== gi && phaseOf(graphs[i].n) === cls && !graphs[i].n.includes("@") && !graphs[i].n.endsWith(".early"));
  for (const i of order) graphs[i].v.forEach((w, j) => {
    if (w.n !== v.n) return;
    if (v.o === "input" ? w.o !== "input" && graphs[i].out.includes(j) : w.o === "input" && g.out.includes(vi)) out.push([i, j]);
  });
  return out;
}

// lineage returns the keys of what a value was made of and what became of it.
function lineage(c, g, v) {
  const kin = new Set([key(c, g, v)]);
  for (let [b, bg, bv] = [c, g, v]; b > 0;) {
    const f = valueAt(b, bg, bv).f;
    if (!f) break;
    [b, bg, bv] = [b - 1, f[0], f[1]];
    kin.add(key(b, bg, bv));
  }
  let now = [[g, v]];
  for (let n = c + 1; n < doc.columns.length && now.length; n++) {
    now = now.flatMap(([x, y]) => valueAt(n - 1, x, y).next);
    now.forEach(([x, y]) => kin.add(key(n, x, y)));
  }
  return kin;
}

// ---- lines ----

function line(c, gi, vi, cls) {
  const g = doc.columns[c].graphs[gi], v = g.v[vi];
  const e = el("div", {class: "line" + (v.m ? " made" : v.changed ? " changed" : "") + (cls || ""), "data-v": key(c, gi, vi), tabindex: 0, role: "button"},
    el("span", {class: "id"}, "%" + v.i), v.n ? el("span", {class: "nm"}, ":" + v.n) : "", " = ", el("span", {class: "op"}, v.o),
    (v.a || []).map(a => [" ", el("span", {class: "ref", "data-v": key(c, gi, a)}, "%" + g.v[a].i)]).flat(),
    v.k ? " " + v.k : "", el("span", {class: "ty"}, " : " + v.t + (v.s ? " slot " + v.s : "")));
  return e;
}

function lines(c, gi, unbound) {
  const g = doc.columns[c].graphs[gi], box = el("div", {class: "lines"});
  g.v.forEach((v, vi) => {
    box.append(line(c, gi, vi, (g.p ? " body" : "") + (unbound && v.o === "weight" ? " unbound" : "")));
    const body = doc.columns[c].graphs.findIndex(b => b.p && b.p[0] === gi && b.p[1] === vi);
    if (body >= 0) box.append(...lines(c, body).childNodes);
  });
  box.append(el("div", {class: "line" + (g.p ? " body" : "")}, "return ", g.out.map(o => [el("span", {class: "ref", "data-v": key(c, gi, o)}, "%" + g.v[o].i), " "]).flat()));
  return box;
}

// ---- columns ----

const shown = new Set();
const built = new Map();
const kindOf = g => {
  if (g.x) return phaseOf(g.n) || g.n;
  return g.n.startsWith("head") ? "head" : g.n.split("@")[0];
};

// which lists what a column may be narrowed to, by the stored graphs.
const kinds = [...new Set(stored.graphs.map(kindOf))];
$("which").append(el("option", {value: ""}, "all graphs"), ...kinds.map(k => {
  const g = stored.graphs.find(x => kindOf(x) === k);
  return el("option", {value: k}, g.x ? `class ${k}: layer${g.x > 1 ? "s" : ""} ${g.l}` : k);
}));

// inKind reports whether a graph of any column is, or becomes, of a kind.
function inKind(c, gi, kind) {
  if (!kind) return true;
  const g = doc.columns[c].graphs[gi];
  if (c >= doc.stored) return kindOf(g) === kind;
  const seen = new Set();
  let now = g.v.map((v, vi) => [gi, vi]);
  for (const b of doc.columns[c].graphs.keys()) {
    if (doc.columns[c].graphs[b].p && doc.columns[c].graphs[b].p[0] === gi) now.push(...doc.columns[c].graphs[b].v.map((v, vi) => [b, vi]));
  }
  for (let n = c; n < doc.stored; n++) now = now.flatMap(([x, y]) => valueAt(n, x, y).next);
  now.forEach(([x]) => seen.add(kindOf(stored.graphs[x])));
  return seen.has(kind);
}

function column(c) {
  const col = doc.columns[c], prev = doc.columns[c - 1];
  const made = col.graphs.flatMap(g => g.v).filter(v => v.m).length, changed = col.graphs.flatMap(g => g.v).filter(v => v.changed).length;
  const gone = prev ? prev.graphs.flatMap(g => g.v).filter(v => !v.next.length).length : 0;
  const facts = [count(col) + " values", made && c ? "+" + made + " made" : "", changed ? changed + " changed" : "", gone ? "−" + gone + " gone" : ""].filter(x => x);
  const box = el("div", {class: "column", "data-c": c}, el("header", {}, el("b", {}, col.name), c === doc.stored ? el("span", {class: "stored"}, "stored in the package") : "",
    el("p", {}, col.doc), el("p", {}, facts.join(" · "))));
  col.graphs.forEach((g, gi) => {
    if (g.p || !inKind(c, gi, $("which").value)) return;
    const share = g.x > 1 ? ` layers ${g.l}: ${g.x} share it` : g.x ? ` layer ${g.l}` : "";
    box.append(el("details", {class: "g", open: ""}, el("summary", {}, g.n + (g.on ? " on " + g.on : ""), el("span", {class: "muted"}, share)), lines(c, gi)));
  });
  return box;
}

function drawColumns() {
  $("columns").replaceChildren(...doc.columns.map((_, c) => c).filter(c => shown.has(c)).map(c => {
    if (!built.has(c)) built.set(c, column(c));
    return built.get(c);
  }));
  $("chips").replaceChildren(...doc.columns.map((col, c) => el("button", {
    type: "button", "aria-pressed": String(shown.has(c)), class: col.same ? "same" : "", title: col.same ? "changes nothing here" : col.doc,
    onclick: () => { if (!shown.delete(c)) shown.add(c); drawColumns(); if (shown.has(c)) built.get(c).scrollIntoView({inline: "nearest", block: "nearest"}); },
  }, col.name)));
  mark();
}
$("which").addEventListener("change", () => { built.clear(); drawColumns(); });

// ---- choosing a value ----

let picked = null; // key
function pick(k, from) {
  picked = k === picked && from !== "panel" ? null : k;
  if (picked) {
    const c = unkey(picked)[0];
    if (from === "panel" && !shown.has(c)) { shown.add(c); drawColumns(); }
  }
  mark(from);
  drawPanel();
}

// mark sets the colours of what is chosen, its kin, operands and uses.
function mark(from) {
  for (const e of document.querySelectorAll(".kin,.arg,.use,.line.pick,g.pick")) e.classList.remove("kin", "arg", "use", "pick");
  for (const e of document.querySelectorAll("path.hot")) e.classList.remove("hot");
  if (!picked) return;
  const [c, g, v] = unkey(picked), kin = lineage(c, g, v), x = valueAt(c, g, v);
  const args = new Set((x.a || []).map(a => key(c, g, a))), uses = new Set(x.users.map(u => key(c, g, u)));
  for (const [i, j] of across(c, g, v)) (x.o === "input" ? args : uses).add(key(c, i, j));
  for (const e of document.querySelectorAll("[data-v]")) {
    const k = e.dataset.v;
    if (kin.has(k)) e.classList.add(k === picked || e.tagName === "g" ? "pick" : "kin");
    else if (args.has(k)) e.classList.add("arg");
    else if (uses.has(k)) e.classList.add("use");
  }
  const near = new Set([...kin].filter(k => unkey(k)[0] === doc.stored));
  for (const e of document.querySelectorAll("path[data-ends]")) if (e.dataset.ends.split(" ").some(k => near.has(k))) e.classList.add("hot");
  for (const [n, box] of built) {
    if (!shown.has(n) || n === c && from === "column") continue;
    const first = box.querySelector(".line.pick, .line.kin");
    if (first) box.scrollTo({top: first.offsetTop - box.clientHeight / 2, left: 0});
  }
}

document.addEventListener("click", e => {
  const t = e.target.closest("[data-v]");
  if (!t) return;
  pick(t.dataset.v, t.closest("#panel") ? "panel" : t.closest(".column") ? "column" : "drawing");
  const p = $("panel").getBoundingClientRect(), r = t.getBoundingClientRect();
  if (picked && t.isConnected && !t.closest("#panel") && r.bottom > p.top && r.right > p.left) scrollBy(0, r.bottom - p.top + 60);
});
document.addEventListener("keydown", e => {
  if (e.key === "Escape") { picked = null; mark(); drawPanel(); }
  if (e.key === "Enter" && e.target.matches?.("[data-v]")) e.target.click();
});

let panelOpen = false;
function drawPanel() {
  const p = $("panel");
  p.hidden = !picked;
  if (document.body.classList.toggle("picked", !!picked) !== panelOpen) { panelOpen = !!picked; scale(); drawMap(); }
  if (!picked) return;
  const [c, g, v] = unkey(picked), col = doc.columns[c], graph = col.graphs[g], x = graph.v[v];
  const text = (n, i, j) => { const w = valueAt(n, i, j); return el("code", {"data-v": key(n, i, j)}, `${nameOf(w)} = ${w.o} : ${w.t}`); };
  const list = (title, items) => items.length ? [el("h4", {}, title), el("ul", {}, items)] : [];
  const ops = list("operands", (x.a || []).map(a => el("li", {}, text(c, g, a))));
  const uses = list("used by", x.users.map(u => el("li", {}, text(c, g, u))).concat(graph.out.includes(v) ? [el("li", {class: "muted"}, "returned by " + graph.n)] : []));
  const other = list(x.o === "input" ? "comes from" : "taken by", across(c, g, v).map(([i, j]) => el("li", {}, col.graphs[i].n + " ", text(c, i, j))));
  const through = list("through the passes", steps(lineage(c, g, v)).map(({n, to, i, j, tag}) => el("li", {},
    el("span", {class: "muted"}, doc.columns[n].name + (to > n ? " to " + doc.columns[to].name : "") + ", " + doc.columns[n].graphs[i].n + " "), text(n, i, j), tag ? el("span", {class: "tag " + tag}, tag) : "")));
  const share = graph.x > 1 ? `, shared by ${graph.x} layers (${graph.l})` : graph.x ? `, layer ${graph.l}` : "";
  p.replaceChildren(el("button", {class: "close", type: "button", "aria-label": "close", onclick: () => { picked = null; mark(); drawPanel(); }}, "✕"),
    el("h3", {}, el("code", {}, nameOf(x) + " = " + x.o)),
    el("div", {}, "after " + col.name + ", in " + graph.n + share), el("div", {}, el("code", {}, x.t), x.k ? " " + x.k : ""),
    el("div", {class: "muted"}, doc.ops[x.o] || ""), ...weightFacts(graph, x), ...ops, ...uses, ...other, ...through);
}

// steps lists a lineage by passes; those that leave a value as it is are one.
function steps(kin) {
  const out = [];
  for (const [n, i, j] of [...kin].map(unkey).sort((a, b) => a[0] - b[0] || a[1] - b[1])) {
    const w = valueAt(n, i, j), tag = n === 0 ? "" : w.m ? "made" : w.changed ? "changed" : "";
    const same = !tag && out.find(s => s.to === n - 1 && doc.columns[s.n].graphs[s.i].n === doc.columns[n].graphs[i].n && valueAt(n - 1, ...s.last).next.some(([x, y]) => x === i && y === j));
    if (same) [same.to, same.last] = [n, [i, j]]; else out.push({n, to: n, i, j, tag, last: [i, j]});
  }
  return out;
}

// weightFacts tells why a weight has its type and where it lies.
function weightFacts(graph, x) {
  if (x.o !== "weight") return [];
  const out = [];
  if (doc.policy[x.n]) out.push(el("div", {}, "policy: " + doc.policy[x.n]));
  const cls = doc.records[graph.n] ? graph.n : phaseOf(graph.n), w = doc.records[cls]?.weights.find(w => w.n === x.n);
  if (!w) return out;
  out.push(el("div", {}, `record ${cls}: ${bytes(w.s)} bytes at ${bytes(w.o)}`));
  if (Object.values(doc.callees).includes(cls)) {
    out.push(el("button", {type: "button", onclick: () => { follow(x.n); $("expert").scrollIntoView(); }}, "follow it to its bytes"));
    return out;
  }
  const parts = doc.flash.parts.filter(p => p.c === cls), p = parts[0];
  if (p) out.push(el("div", {}, (p.l < doc.layers.length ? `of layer ${p.l}: ` : "") + `dense.bin bytes ${bytes(p.o + w.o)} to ${bytes(p.o + w.o + w.s - 1)}` + (parts.length > 1 ? `, and ${parts.length - 1} records more like it` : "")));
  return out;
}

// ---- finding ----

$("names").append(...[...new Set(stored.graphs.flatMap(g => g.v.map(v => v.n)).filter(n => n))].sort().map(n => el("option", {value: n})));
$("find").addEventListener("input", () => {
  const q = $("find").value.trim().toLowerCase();
  let n = 0;
  for (const e of document.querySelectorAll("#columns .line")) {
    const hit = q !== "" && e.dataset.v !== undefined && e.textContent.toLowerCase().includes(q);
    e.classList.toggle("hit", hit);
    n += hit;
  }
  $("found").textContent = q ? n + " lines" : "";
  for (const c of shown) {
    const first = q && built.get(c)?.querySelector(".line.hit");
    if (first) built.get(c).scrollTo({top: first.offsetTop - 120});
  }
});
$("find").addEventListener("change", () => {
  const q = $("find").value.trim(), exact = q && stored.graphs.flatMap((g, gi) => g.v.map((v, vi) => [v, gi, vi])).find(([v]) => v.n === q && v.o !== "input");
  if (exact) pick(key(doc.stored, exact[1], exact[2]), "panel");
});

// ---- the drawing ----

// A run is layers of one class that follow each other.
const runs = [];
doc.layers.forEach((cls, l) => {
  const last = runs[runs.length - 1];
  if (last && last.cls === cls) last.to = l; else runs.push({cls, from: l, to: l});
});
const open = new Set();
let zoom = 0; // 0: fit
const stepInputs = ["pos", "seq", "past", "base", "parent"];
const graphIndex = name => stored.graphs.findIndex(g => g.n === name);

// scene lists the nodes and edges that are visible: boxes, opened ones as clusters.
function scene() {
  const nodes = [], edges = new Map();
  const edge = (a, b, ends) => {
    if (!a || !b || a === b) return;
    const k = a + ">" + b;
    edges.set(k, {a, b, ends: [...(edges.get(k)?.ends || []), ...ends.filter(x => x)]});
  };
  const box = (id, label, sub, parent, cls) => nodes.push({id, label, sub, parent, box: true, cls, cluster: open.has(id)});
  // ops adds a graph's values; it returns where a named input is read and what gives a value.
  const ops = (gi, prefix, parent, callee) => {
    const g = stored.graphs[gi], id = vi => prefix + "/" + vi;
    const hidden = v => !callee && !$("sources").checked && (v.o === "weight" || v.o === "input" && stepInputs.includes(v.n));
    g.v.forEach((v, vi) => {
      if (hidden(v) || v.o === "input" && !callee && across(doc.stored, gi, vi).length) return;
      const w = (v.a || []).map(a => g.v[a]).find(a => a.o === "weight");
      nodes.push({id: id(vi), label: v.n || v.o, sub: v.n && v.n !== v.o ? v.o + " " + (hidden(w || {}) && w ? w.t : v.t) : v.t, parent, v: key(doc.stored, gi, vi), cls: v.o === "weight" ? "weight" : v.o === "input" ? "input" : ""});
      (v.a || []).forEach(a => {
        if (hidden(g.v[a])) return;
        const src = g.v[a].o === "input" && !callee ? across(doc.stored, gi, a) : [];
        if (!src.length) edge(id(a), id(vi), [key(doc.stored, gi, a), key(doc.stored, gi, vi)]);
      });
    });
  };
  const ends = []; // [first box, last box] of embed, each run and the head
  const end = (name, id) => {
    const gi = graphIndex(name);
    if (gi < 0) return;
    box(id, name, stored.graphs[gi].v.length + " values", null, "");
    if (open.has(id)) ops(gi, id, id);
    ends.push({into: () => open.has(id) ? firstOf(gi, id) : [id], out: () => open.has(id) ? stored.graphs[gi].out.map(o => id + "/" + o) : [id]});
  };
  // firstOf: the operators of a graph that read the input x, or its first input.
  const firstOf = (gi, prefix) => {
    const g = stored.graphs[gi], x = Math.max(0, g.v.findIndex(v => v.o === "input" && !stepInputs.includes(v.n) && !v.t.includes("(")));
    return [prefix + "/" + x];
  };
  end("embed", "embed");
  runs.forEach((r, i) => {
    const id = "run" + i, name = r.from === r.to ? "layer " + r.from : `layers ${r.from}–${r.to}`;
    box(id, name, `class ${r.cls}` + (r.to > r.from ? ` × ${r.to - r.from + 1}` : ""), null, classColor(r.cls));
    if (!open.has(id)) { ends.push({into: () => [id], out: () => [id]}); return; }
    const phases = stored.graphs.map((g, gi) => gi).filter(gi => phaseOf(stored.graphs[gi].n) === r.cls && !stored.graphs[gi].n.endsWith(".early"));
    const pid = gi => id + ":" + stored.graphs[gi].n;
    // where a value shows: itself, or the folded phase it is in
    const seen = (gi, vi) => open.has(pid(gi)) ? pid(gi) + "/" + vi : pid(gi);
    phases.forEach(gi => {
      const g = stored.graphs[gi], call = g.v.find(v => v.k?.startsWith("callee="));
      box(pid(gi), g.n, call ? call.k.replace("callee=", "calls ") : g.v.length + " values", id, "");
      if (open.has(pid(gi))) ops(gi, pid(gi), pid(gi));
      g.v.forEach((v, vi) => {
        if (v.o === "input") for (const [sg, sv] of across(doc.stored, gi, vi)) {
          const users = open.has(pid(gi)) ? v.users.map(u => pid(gi) + "/" + u) : [pid(gi)];
          users.forEach(u => edge(seen(sg, sv), u, [key(doc.stored, sg, sv)]));
        }
      });
      const ci = call ? graphIndex(call.k.slice(7)) : -1;
      if (ci >= 0 && open.has(pid(gi))) {
        const cid = pid(gi) + ">" + stored.graphs[ci].n;
        box(cid, stored.graphs[ci].n, "for each routed expert", pid(gi), "");
        if (open.has(cid)) ops(ci, cid, cid, true);
        else edge(pid(gi) + "/" + g.v.indexOf(call), cid, []);
      }
    });
    const readsX = phases.filter(gi => stored.graphs[gi].v.some(v => v.o === "input" && v.n === "x"));
    const givesY = phases.filter(gi => stored.graphs[gi].out.some(o => stored.graphs[gi].v[o].n === "y"));
    const at = (gi, n) => stored.graphs[gi].v.findIndex(v => v.n === n);
    ends.push({into: () => readsX.map(gi => seen(gi, at(gi, "x"))), out: () => givesY.map(gi => seen(gi, at(gi, "y")))});
  });
  end("head.norm", "head.norm");
  end("head.proj", "head.proj");
  for (let i = 1; i < ends.length; i++) for (const a of ends[i - 1].out()) for (const b of ends[i].into()) edge(a, b, []);
  const there = new Set(nodes.filter(n => !n.cluster).map(n => n.id));
  return {nodes, edges: [...edges.values()].filter(e => there.has(e.a) && there.has(e.b))};
}

function drawGraph() {
  const {nodes, edges} = scene();
  const G = new dagre.graphlib.Graph({compound: true}).setGraph({rankdir: "TB", nodesep: 14, ranksep: 36, marginx: 12, marginy: 12}).setDefaultEdgeLabel(() => ({}));
  for (const n of nodes) G.setNode(n.id, n.cluster ? {} : {width: Math.max(n.label.length * 7.2, (n.sub || "").length * 6) + 22, height: n.sub ? 38 : 26});
  for (const n of nodes) if (n.parent) G.setParent(n.id, n.parent);
  for (const e of edges) G.setEdge(e.a, e.b);
  dagre.layout(G);
  const {width, height} = G.graph();
  const svg = el("svg:svg", {viewBox: `0 0 ${width} ${height}`, "data-w": width, "data-h": height, role: "img", "aria-label": "the stored graphs"},
    el("svg:defs", {}, el("svg:marker", {id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto"}, el("svg:path", {d: "M0 0L8 4L0 8z"}))));
  const frame = p => ({x: p.x - p.width / 2, y: p.y - p.height / 2, width: p.width, height: p.height});
  for (const n of nodes.filter(n => n.cluster)) {
    const f = frame(G.node(n.id)); // dagre leaves no room for a title
    f.y -= 14; f.height += 14;
    svg.append(el("svg:g", {class: "cluster", "data-box": n.id}, el("svg:rect", f), el("svg:text", {x: f.x + 8, y: f.y + 15, onclick: () => toggle(n.id)}, "▾ " + n.label)));
  }
  for (const e of edges) {
    const pts = G.edge(e.a, e.b).points;
    svg.append(el("svg:path", {d: curve(pts), "marker-end": "url(#tip)", "data-ends": e.ends.join(" ")}));
  }
  for (const n of nodes.filter(n => !n.cluster)) {
    const p = G.node(n.id), attrs = n.box ? {class: "node box", "data-box": n.id, onclick: () => toggle(n.id)} : {class: "node " + n.cls, "data-v": n.v};
    const dot = n.box && n.cls ? el("svg:rect", {...frame(p), width: 6, style: `fill:var(--${n.cls});stroke:none`}) : "";
    svg.append(el("svg:g", attrs, el("svg:rect", frame(p)), dot, el("svg:text", {x: p.x, y: p.y - (n.sub ? 2 : -4), "text-anchor": "middle"}, n.box ? "▸ " + n.label : n.label),
      n.sub ? el("svg:text", {class: "t", x: p.x, y: p.y + 12, "text-anchor": "middle"}, n.sub) : ""));
  }
  $("drawing").replaceChildren(svg);
  scale();
  mark("drawing");
}
const curve = pts => pts.slice(1).reduce((d, p, i) => i + 2 < pts.length ? `${d}Q${p.x} ${p.y} ${(p.x + pts[i + 2].x) / 2} ${(p.y + pts[i + 2].y) / 2}` : `${d}L${p.x} ${p.y}`, `M${pts[0].x} ${pts[0].y}`);

function scale() {
  const svg = $("drawing").firstChild, w = +svg.dataset.w, h = +svg.dataset.h;
  const z = zoom || Math.min(1.15, Math.max(.55, ($("drawing").clientWidth - 4) / w));
  svg.setAttribute("width", w * z); svg.setAttribute("height", h * z);
}
function toggle(id) {
  if (!open.delete(id)) open.add(id);
  drawGraph();
}
$("fold").addEventListener("click", () => { open.clear(); drawGraph(); });
$("phases").addEventListener("click", () => { open.clear(); const seen = []; runs.forEach((r, i) => { if (!seen.includes(r.cls)) { seen.push(r.cls); open.add("run" + i); } }); drawGraph(); });
$("sources").addEventListener("change", drawGraph);
for (const [id, by] of [["out", 1 / 1.3], ["in", 1.3]]) $(id).addEventListener("click", () => {
  const svg = $("drawing").firstChild;
  zoom = Math.min(4, Math.max(.15, svg.getAttribute("width") / svg.dataset.w * by));
  scale();
});
$("fit").addEventListener("click", () => { zoom = 0; scale(); });
addEventListener("resize", () => { scale(); drawMap(); });

// ---- layers ----

$("strip").append(...doc.layers.map((cls, l) => el("button", {type: "button", class: classColor(cls), title: `layer ${l}: class ${cls}`, onclick: () => {
  $("which").value = cls; built.clear(); drawColumns(); $("passes").scrollIntoView();
}}, String(l))));

// ---- experts and their bytes ----

const layers = doc.flash.layers;
let at = {row: 0, cell: 0}, input = null;
$("layer").append(...layers.map((r, i) => el("option", {value: i}, `${r.l} (${r.c})`)));
$("layer").addEventListener("change", () => choose(+$("layer").value, at.cell));
$("index").addEventListener("change", () => choose(at.row, (r => r.i ? r.i.indexOf(+$("index").value) : +$("index").value)(layers[at.row])));

const indexOf = (r, cell) => r.i ? r.i[cell] : cell;
function choose(row, cell) {
  if (!layers.length) return;
  const r = layers[row];
  at = {row, cell: Math.max(0, Math.min(r.o.length - 1, cell))};
  drawExpert(); drawMap(); drawCell();
}

function drawExpert() {
  const r = layers[at.row], rec = doc.records[r.c], index = indexOf(r, at.cell), off = r.o[at.cell];
  $("layer").value = at.row; $("index").value = index; $("index").max = indexOf(r, r.o.length - 1);
  $("where").textContent = `record of ${r.c}: ${bytes(rec.len)} bytes at ${bytes(off)} in experts.bin` + (r.crc ? `, CRC-32C ${hex(r.crc[at.cell])}` : "");
  const gi = graphIndex(r.c);
  if ($("callee").dataset.g !== String(gi)) {
    $("callee").dataset.g = gi;
    $("callee").replaceChildren(el("div", {class: "line"}, el("b", {}, "graph " + r.c), el("span", {class: "muted"}, "  ◇ unbound: bound by each call")), lines(doc.stored, gi, true));
    mark("drawing");
  }
  const pad = rec.stride - rec.len, cls = i => "k" + i % 8;
  $("recordbar").replaceChildren(el("div", {class: "bar", role: "img", "aria-label": "the record's inputs and padding"},
    rec.weights.map((w, i) => el("i", {class: cls(i) + (w.n === input ? " pick" : ""), style: `flex-grow:${w.s}`, title: `${w.n}: ${size(w.s)}`, onclick: () => follow(w.n)})),
    pad ? el("i", {class: "pad", style: `flex-grow:${pad}`, title: `padding to ${size(doc.flash.align)}: ${size(pad)}`}) : ""));
  const g = stored.graphs[gi], given = g.v.filter(v => v.o === "input");
  $("bindings").replaceChildren(el("thead", {}, el("tr", {}, ["input", "type", "in the record", "bytes", "in experts.bin", "factor"].map(h => el("th", {class: h === "type" ? "opt" : ""}, h)))), el("tbody", {},
    given.map(v => el("tr", {}, el("td", {}, v.n), el("td", {class: "opt"}, el("code", {}, v.t)), el("td", {colspan: 4, class: "text muted"}, "given by the call"))),
    rec.weights.map((w, i) => el("tr", {"data-input": w.n, class: w.n === input ? "pick" : "", onclick: () => follow(w.n)}, el("td", {}, el("i", {class: "dot " + cls(i)}), w.n), el("td", {class: "opt"}, el("code", {}, w.t)),
      el("td", {}, bytes(w.o)), el("td", {}, bytes(w.s)), el("td", {}, bytes(off + w.o)), el("td", {}, r.f?.[at.cell] ? String(r.f[at.cell][i] ?? "") : "–")))));
  const w = rec.weights.find(w => w.n === input);
  $("follow").replaceChildren(...(w ? [el("code", {}, w.n), ` of layer ${r.l}, expert ${index}: record at ${bytes(off)} + ${bytes(w.o)} = `,
    el("code", {}, `experts.bin bytes ${bytes(off + w.o)} to ${bytes(off + w.o + w.s - 1)}`), `, ${size(w.s)} for ${bytes(w.v)} values.`] : ["Click an input to follow it to its bytes."]));
}
function follow(name) { input = name; drawExpert(); drawCell(); }

// ---- maps of the files ----

let cellSize = [0, 0];
function drawMap() {
  if (!layers.length) return;
  const canvas = $("map"), most = Math.max(...layers.map(r => r.o.length)), room = canvas.parentElement.clientWidth - 40;
  const w = Math.max(2.5, Math.min(44, room / most)), h = Math.max(9, Math.min(26, w, 480 / layers.length)), gutter = 34, dpr = devicePixelRatio || 1;
  cellSize = [w, h, gutter];
  canvas.width = (gutter + w * most) * dpr; canvas.height = h * layers.length * dpr;
  canvas.style.width = gutter + w * most + "px"; canvas.style.height = h * layers.length + "px";
  const css = getComputedStyle(document.documentElement), x = canvas.getContext("2d"), G = Math.max(1, doc.group);
  x.scale(dpr, dpr);
  x.font = "10px system-ui, sans-serif"; x.textBaseline = "middle";
  layers.forEach((r, row) => {
    x.globalAlpha = 1; x.fillStyle = css.getPropertyValue("--soft"); if (row % Math.ceil(11 / h) === 0) x.fillText("L" + r.l, 2, row * h + h / 2);
    x.fillStyle = css.getPropertyValue("--" + classColor(doc.layers[r.l]));
    for (let i = 0; i < r.o.length; i++) {
      x.globalAlpha = Math.floor(i / G) % 2 ? .55 : .9; // groups of reads
      x.fillRect(gutter + i * w, row * h, w - (w > 5 ? 1 : .4), h - 1);
    }
  });
  const first = Math.floor(at.cell / G) * G, last = Math.min(first + G, layers[at.row].o.length);
  x.globalAlpha = 1; x.lineWidth = 2; x.strokeStyle = css.getPropertyValue("--ink"); x.strokeRect(gutter + first * w - .5, at.row * h - .5, (last - first) * w, h);
  x.fillStyle = css.getPropertyValue("--ink"); x.fillRect(gutter + at.cell * w, at.row * h, Math.max(2, w - 1), h - 1);
}
function cellOf(e) {
  const row = Math.floor(e.offsetY / cellSize[1]), cell = Math.floor((e.offsetX - cellSize[2]) / cellSize[0]);
  return layers[row] && cell >= 0 && cell < layers[row].o.length ? {row, cell} : null;
}
$("map").addEventListener("mousemove", e => { const c = cellOf(e); if (c) drawCell(c); });
$("map").addEventListener("mouseleave", () => drawCell());
$("map").addEventListener("click", e => { const c = cellOf(e); if (c) choose(c.row, c.cell); });
$("map").addEventListener("keydown", e => {
  const by = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]}[e.key];
  if (by && layers[at.row + by[0]]) { e.preventDefault(); choose(at.row + by[0], at.cell + by[1]); }
});

function drawCell(c) {
  if (!layers.length) return;
  const {row, cell} = c || at, r = layers[row], rec = doc.records[r.c], off = r.o[cell], G = Math.max(1, doc.group);
  const first = Math.floor(cell / G) * G, last = Math.min(first + G, r.o.length) - 1;
  $("cell").replaceChildren(`Layer ${r.l}, expert ${indexOf(r, cell)}: `, el("code", {}, `${bytes(rec.len)} bytes at ${bytes(off)}`), ` (${bytes(off / doc.flash.align)} × ${size(doc.flash.align)}), then ${size(rec.stride - rec.len)} of padding; `,
    ...(r.crc ? ["CRC-32C ", el("code", {}, hex(r.crc[cell])), "; "] : []), `read with experts ${indexOf(r, first)} to ${indexOf(r, last)}: ${size((last - first + 1) * rec.stride)} at ${bytes(r.o[first])}.`);
}

function drawFacts() {
  const n = layers.reduce((s, r) => s + r.o.length, 0), pad = layers.reduce((s, r) => s + r.o.length * (doc.records[r.c].stride - doc.records[r.c].len), 0);
  const blocks = doc.flash.rows.reduce((s, r) => s + r.blocks, 0);
  $("flashfacts").textContent = `experts.bin: ${size(doc.flash.experts_size)}, ${bytes(n)} records at multiples of ${size(doc.flash.align)}, of which ${size(pad)} pads (${(100 * pad / Math.max(1, doc.flash.experts_size)).toFixed(2)} %). ` +
    `dense.bin: ${size(doc.flash.dense_size)}, ${bytes(doc.flash.parts.length)} records and a table in ${bytes(blocks)} block${blocks === 1 ? "" : "s"}. A CRC-32C for each record and each block of 1 MiB` + (doc.planned ? " will be made." : "; estream verify reads them through.");
  const most = Math.max(0, ...layers.map(r => doc.records[r.c].stride));
  $("groupfacts").textContent = layers.length ? `a group is consecutive records that one read brings: here ${size(most * doc.group)}, shaded in turn; chosen when it runs` : "";
}
$("group").value = doc.group;
$("group").addEventListener("input", () => { doc.group = Math.max(1, +$("group").value || 1); drawFacts(); drawMap(); drawCell(); });

// denseParts are the records of dense.bin and its tables, with what people call them.
const denseParts = doc.flash.parts.map(p => ({...p, name: p.l < doc.layers.length ? `layer ${p.l} (${p.c})` : p.c === "head.norm" ? "head.norm" : `head, run ${p.i}`, kind: p.l < doc.layers.length ? classColor(p.c) : p.i ? "k6" : "k5"}))
  .concat(doc.flash.rows.map(r => ({name: r.n, o: r.o, len: r.rows * r.stride, kind: "k7", more: `${bytes(r.rows)} rows of ${bytes(r.stride)} bytes, ${r.blocks} blocks with a checksum each`})));
function drawDense() {
  // runs of the head that follow each other are one part of the bar
  const bar = denseParts.reduce((out, p) => {
    const last = out[out.length - 1];
    if (last && last.c === "head.proj" && p.c === "head.proj") { last.len = p.o + p.len - last.o; last.n = (last.n || 1) + 1; } else out.push({...p});
    return out;
  }, []);
  $("dense").replaceChildren(...bar.map(p => {
    const tell = () => {
      for (const e of $("dense").children) e.classList.remove("pick");
      e.classList.add("pick");
      $("densecell").replaceChildren((p.n ? `head in ${p.n} runs` : p.name) + ": ", el("code", {}, `${bytes(p.len)} bytes at ${bytes(p.o)}`), ` (${size(p.len)})`, p.crc && !p.n ? ", CRC-32C " + hex(p.crc) : "", p.more ? ", " + p.more : "",
        p.n || !doc.records[p.c] ? "" : ": " + doc.records[p.c].weights.map(w => w.n).join(", "));
    };
    const e = el("i", {class: p.kind, style: `flex-grow:${p.len}`, title: p.n ? "head" : p.name, onmouseenter: tell, onclick: tell});
    return e;
  }));
}
document.querySelector("#denseparts").closest("details").addEventListener("toggle", () => {
  if ($("denseparts").firstChild) return;
  $("denseparts").append(el("thead", {}, el("tr", {}, ["part", "class", "at", "bytes", "CRC-32C", "factors"].map(h => el("th", {class: h === "factors" ? "text" : ""}, h)))), el("tbody", {}, denseParts.map(p => el("tr", {}, el("td", {}, p.name), el("td", {}, p.c || "rows"),
    el("td", {}, bytes(p.o)), el("td", {}, bytes(p.len)), el("td", {}, p.crc && !doc.planned ? hex(p.crc) : p.more ? "a block" : "–"), el("td", {class: "text"}, doc.planned ? "–" : [...new Set(p.f || [])].join(" "))))));
});

// ---- begin ----

applyTheme();
doc.columns.forEach((col, c) => { if (c === 0 || c === doc.stored || c === doc.columns.length - 1 || !col.same) shown.add(c); });
if (innerWidth < 768) for (const c of [...shown]) if (![0, doc.stored, doc.columns.length - 1].includes(c)) shown.delete(c);
drawColumns();
open.add("run" + Math.max(0, runs.findIndex(r => doc.callees[r.cls])));
drawGraph();
drawFacts();
if (layers.length) choose(0, 0);
drawDense();
document.documentElement.dataset.ready = Math.round(performance.now());
})();

  const $ = id => document.getElementById(id);

  // ---- elements

  function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (name === "style") for (const [k, v] of Object.entries(value)) element.style.setProperty(k, v);
      else element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children.flat(9).filter(c => c !== null && c !== undefined && c !== false));
    return element;
  }
  const el = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);
  const svg = (name, attributes, ...children) => fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

  // ---- numbers

  const exact = n => (n === null || n === undefined ? "–" : n.toLocaleString("en-US"));
  function bytes(n) {
    const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let unit = 0;
    while (n >= 1023.95 && unit + 1 < units.length) { n /= 1024; unit++; }
    return unit ? `${n.toFixed(1)} ${units[unit]}` : `${n} B`;
  }
  function count(n) {
    if (n === null || n === undefined) return "–";
    if (n < 1000) return String(n);
    if (n < 999950) return `${(n / 1e3).toFixed(1)} k`;
    if (n < 999950000) return `${(n / 1e6).toFixed(1)} M`;
    return `${(n / 1e9).toFixed(1)} G`;
  }
  function percent(part, whole) {
    if (!whole || part === null || part === undefined) return "";
    const share = 100 * part / whole;
    return share >= 0.1 || !part ? `${share.toFixed(1)} %` : "<0.1 %";
  }
  const plural = (n, word) => `${exact(n)} ${word}${n === 1 ? "" : "s"}`;
  function shorten(text, limit) {
    const all = Array.from(text);
    if (all.length <= limit) return text;
    const head = Math.floor(limit * 2 / 3), tail = limit - head - 1;
    return all.slice(0, head).join("") + "…" + (tail > 0 ? all.slice(-tail).join("") : "");
  }

  // ---- data

  const raw = JSON.parse($("data").textContent);
  const VIA = raw.via;
  // Functions without names (`libz.so+0x1f1b0`) are described by what they call most.
  const isNameless = f => /\+0x[0-9a-f]+$/.test(f[1] || "");
  const HINTS = new Map();
  for (const [a, b] of raw.calls.filter(c => raw.functions[c[0]] && isNameless(raw.functions[c[0]]) && !isNameless(raw.functions[c[1]])).sort((x, y) => y[2] - x[2]))
    if ((HINTS.get(a) || []).length < 3) HINTS.set(a, (HINTS.get(a) || []).concat(raw.functions[b][1]));
  // Start-up, the dynamic linker and run-time systems are apart: one switch, off at first, for all views. Functions keep their places.
  const WITH = new URLSearchParams(location.hash.slice(1)).get("all") === "1";
  const APART = raw.functions.map(f => f[12] === 1);
  // Files of the program's own functions: headers of run-time systems are none of them.
  const OWN_FILES = new Set(raw.functions.filter(f => f[12] === 0 && f[3]).map(f => f[3]));
  const anyApart = APART.some(Boolean) && !APART.every((apart, i) => apart || raw.functions[i][2] === "pseudo" || raw.functions[i][2] === "others");
  const isHidden = i => anyApart && !WITH && i !== null && i >= 0 && APART[i];
  if (anyApart && !WITH) {
    for (const key of ["data", "calls"]) raw[key] = raw[key].filter(e => !isHidden(e[0]) && !isHidden(e[1]));
    if (raw.timeline) raw.timeline.rows = raw.timeline.rows.filter(r => !isHidden(r[2]));
    if (raw.loops) { const all = raw.loops.rows.length; raw.loops.rows = raw.loops.rows.filter(r => !isHidden(r[0])); raw.loops.all -= all - raw.loops.rows.length; }
    if (raw.tree) raw.tree.rows = keptContexts(raw.tree.rows);
    if (raw.timeline && raw.timeline.arrows) raw.timeline.arrows = raw.timeline.arrows.filter(a => !isHidden(a[2]) && !isHidden(a[7]));
    // An object belongs to what accesses it.
    if (raw.objects) { const all = raw.objects.rows.length; raw.objects.rows = raw.objects.rows.filter(o => !o[11].length || o[11].some(u => u[0] !== null && !isHidden(u[0]))); raw.objects.all -= all - raw.objects.rows.length; }
  }
  /** Contexts without those of hidden functions: what these call is called by the nearest caller that stays. */
  function keptContexts(rows) {
    const at = [], kept = [];
    rows.forEach(([parent, f, ...rest], i) => {
      const above = parent < 0 ? -1 : at[parent];
      if (isHidden(f)) { at[i] = above; return; }
      at[i] = kept.length;
      kept.push([above, f, ...rest]);
    });
    return kept;
  }
  const F = raw.functions.map(([id, name, kind, file, image, address, size, number, self, total, written, dead], i) =>
    ({ hidden: isHidden(i), hint: HINTS.has(i) ? `calls ${HINTS.get(i).join(", ")}` : "", i, id, name: name || "?", kind, file, image, address, size, number, calls: number || 0, self, total, written, dead, local: [], in: [], out: [], callers: [], callees: [], own: 0, got: 0, gave: 0 }));
  // Groups stand behind the functions. In the graph and in the matrix they are in place of their functions.
  const GROUPS = (raw.groups ? raw.groups.nodes : []).map(([name, list], n) => {
    const members = list.map(i => F[i]), add = key => members.reduce((sum, f) => (f[key] === null ? sum : (sum || 0) + f[key]), null);
    return { i: F.length + n, id: -1 - n, name, kind: "group", members, file: null, image: null, address: null, size: add("size"), number: add("number"), calls: add("calls") || 0, self: add("self"), total: null, written: add("written"), dead: add("dead"), local: [], in: [], out: [], callers: [], callees: [], own: 0, got: 0, gave: 0 };
  });
  const N = F.concat(GROUPS);
  for (const g of GROUPS) for (const f of g.members) f.group = g;
  const byId = new Map(N.map(f => [f.id, f]));
  const nameOf = i => (i >= 0 && N[i] ? N[i].name : "(stub)");
  const meta = Object.fromEntries(raw.meta);
  // Data is measured in bytes, or in transfers where the trace has no sizes.
  const AMOUNT = raw.amount;
  const volume = n => (AMOUNT === "bytes" ? bytes(n) : `${count(n)} transfer${n === 1 ? "" : "s"}`);
  // Steps, or time where the trace has none.
  const UNIT = raw.unit;
  const STEPS = F.reduce((sum, f) => sum + (f.self || 0), 0);

  // Data between two functions is one edge with a flow for each via.
  function joined(rows) {
    const found = new Map(), pairs = [];
    for (const [a, b, via, known, unique, addresses, transfers] of rows) {
      if (a === null) continue;
      const n = (AMOUNT === "bytes" ? known : transfers) || 0, flow = { via, bytes: n, unique, addresses, transfers: AMOUNT === "bytes" ? transfers : null };
      if (a === b) { N[a].local.push(flow); N[a].own += n; continue; }
      const key = a * N.length + b;
      let pair = found.get(key);
      if (!pair) { found.set(key, pair = { data: true, a, b, bytes: 0, flows: [] }); pairs.push(pair); }
      pair.flows.push(flow);
      pair.bytes += n;
    }
    for (const p of pairs) p.flows.sort((x, y) => y.bytes - x.bytes || x.via - y.via);
    return pairs;
  }
  const called = rows => rows.map(([a, b, n, steps]) => ({ data: false, a, b, calls: n, steps }));
  /** What each node is joined to, the largest first. */
  function ends(place, pairs, calls) {
    for (const p of pairs) { place(p.a).out.push(p); place(p.b).in.push(p); }
    for (const c of calls) { place(c.a).callees.push(c); place(c.b).callers.push(c); }
    for (const n of new Set(pairs.concat(calls).flatMap(e => [place(e.a), place(e.b)]))) {
      n.in.sort((x, y) => y.bytes - x.bytes); n.out.sort((x, y) => y.bytes - x.bytes);
      n.callers.sort((x, y) => y.calls - x.calls); n.callees.sort((x, y) => y.calls - x.calls);
    }
  }
  const pairs = joined(raw.data), calls = called(raw.calls);
  ends(i => N[i], pairs, calls);
  // Sources of nothing that is shown are not shown.
  if (anyApart && !WITH) {
    const isOwn = i => N[i].kind !== "pseudo" && N[i].kind !== "others";
    for (const f of F) if (f.kind === "pseudo" && !f.in.some(p => isOwn(p.a)) && !f.out.some(p => isOwn(p.b))) f.hidden = true;
    for (const list of [pairs, ...F.flatMap(f => [f.in, f.out])]) list.splice(0, list.length, ...list.filter(p => !N[p.a].hidden && !N[p.b].hidden));
  }
  // The graph and the matrix: functions, and groups in place of theirs. `near` is what is drawn at a node.
  const net = { nodes: F.filter(f => !f.hidden), pairs, calls };
  for (const f of F) f.near = f;
  if (raw.groups) {
    const alone = e => !N[e.a].group && !N[e.b].group;
    net.nodes = N.filter(n => !n.group && !n.hidden);
    net.pairs = pairs.filter(alone).concat(joined(raw.groups.data));
    net.calls = calls.filter(alone).concat(called(raw.groups.calls));
    for (const n of net.nodes) n.near = { in: [], out: [], callers: [], callees: [] };
    ends(i => N[i].near, net.pairs, net.calls);
    for (const g of GROUPS) Object.assign(g, g.near);
  }
  for (const n of F.concat(GROUPS)) { n.got = n.in.reduce((sum, p) => sum + p.bytes, 0); n.gave = n.out.reduce((sum, p) => sum + p.bytes, 0); }
  const drawnFor = f => (f && f.group) || f;
  const CROSSING = net.pairs.reduce((sum, p) => sum + p.bytes, 0);
  const MOST = net.pairs.reduce((m, p) => Math.max(m, p.bytes), 1);
  // The functions that are shown, counted the same way everywhere; sources of data and what was left out are none.
  const SHOWN = F.filter(f => !f.hidden), COUNTED = SHOWN.filter(f => f.kind !== "pseudo" && f.kind !== "others");
  const CALLS = SHOWN.reduce((sum, f) => sum + f.calls, 0);
  // What makes a function worth a place in the graph: its part of the steps, of the data, and a little of the calls.
  const weigh = f => { f.weight = (STEPS ? (f.self || 0) / STEPS : 0) + (CROSSING ? (f.in.concat(f.out).reduce((s, p) => s + p.bytes, 0)) / CROSSING : 0) + (CALLS ? 0.01 * f.calls / CALLS : 0); };
  N.forEach(weigh);
  net.crossing = CROSSING;
  const plain = { ...net };

  function edgeText(e) {
    const lines = [`${nameOf(e.a)} → ${nameOf(e.b)}`];
    if (!e.data) {
      lines.push(plural(e.calls, "call") + (e.steps !== null ? `, ${exact(e.steps)} ${UNIT} with callees` : ""));
    } else {
      for (const f of e.flows) {
        const more = [[f.transfers, "transfers"], [f.unique, "unique bytes"], [f.addresses, "addresses"]].filter(m => m[0] !== null).map(m => `${exact(m[0])} ${m[1]}`);
        lines.push(`${VIA[f.via]}: ${exact(f.bytes)} ${AMOUNT}${more.length ? ", " + more.join(", ") : ""}`);
      }
    }
    return lines.join("\n");
  }
  function functionText(f) {
    const lines = [f.name];
    if (f.hint) lines.push(f.hint);
    if (f.file || f.image) lines.push(f.file || f.image);
    if (f.members) lines.push(`group of ${plural(f.members.length, "function")}`);
    if (f.kind === "pseudo") lines.push("source of bytes that no step wrote");
    else lines.push((f.number === null ? "calls are not known" : plural(f.calls, "call")) + (f.self !== null ? `, ${exact(f.self)} ${UNIT} (${percent(f.self, STEPS)})` : "") + (f.total !== null ? `, ${exact(f.total)} with callees` : ""));
    lines.push(`reads ${volume(f.got)} of others, others read ${volume(f.gave)} of it, ${volume(f.own)} within`);
    return lines.join("\n");
  }

  // ---- tip and panel

  const tip = $("tip");
  function showTip(text, x, y) {
    tip.textContent = text;
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 6)) + "px";
    tip.style.top = (y + 18 + box.height > innerHeight ? Math.max(4, y - box.height - 10) : y + 18) + "px";
  }
  const hideTip = () => { tip.hidden = true; };

  const functionLink = (f, text) => el("button", { class: "link", type: "button", onclick: () => choose(f) }, text || f.name);
  const table = (title, rows, limit = 8) => rows.length && [
    el("h3", {}, title),
    el("table", { class: "list" }, rows.slice(0, limit).map(([a, b]) => el("tr", {}, el("td", {}, a), el("td", {}, b)))),
    rows.length > limit && el("p", { class: "quiet" }, `and ${exact(rows.length - limit)} more: see Tables`)];
  const figures = list => el("dl", {}, list.filter(l => l && l[1] !== null && l[1] !== "" && l[1] !== undefined).map(([k, v]) => [el("dt", {}, k), el("dd", {}, v)]));

  function panelFunction(f) {
    $("panel").replaceChildren(
      el("h2", {}, f.name),
      el("div", { class: "quiet" }, f.kind === "pseudo" ? "source of bytes that no step wrote" : f.members ? `group of ${plural(f.members.length, "function")}` : f.kind),
      f.group ? el("p", {}, "In the graph and the matrix part of ", functionLink(f.group)) : "",
      f.key ? el("p", {}, el("button", { type: "button", onclick: () => openGroup(f.key, true) }, "Open this group")) : "",
      grouping.by !== "none" && !f.members && grouping.open.has(keyOf(f, grouping.by)) ? el("p", {}, el("button", { type: "button", onclick: () => openGroup(keyOf(f, grouping.by), false) }, `Close ${shorten(keyOf(f, grouping.by).split("/").pop(), 30)}`)) : "",
      f.kind === "others" ? "" : el("p", { class: "views" }, viewsOf(f).map(([name, title]) => el("button", { class: "link", type: "button", onclick: () => { state.chosen = f; view(name); } }, title))),
      figures([
        f.hint && ["without a name", f.hint], ["file", f.file], ["image", f.image], ["address", f.address], ["code", f.size !== null && bytes(f.size)],
        f.number !== null && f.kind !== "pseudo" && ["calls", exact(f.calls)],
        f.self !== null && [UNIT, `${exact(f.self)}  (${percent(f.self, STEPS)})`],
        f.total !== null && ["with callees", `${exact(f.total)}  (${percent(f.total, STEPS)})`],
        ["reads of others", f.got ? volume(f.got) : null], ["read by others", f.gave ? volume(f.gave) : null], ["within itself", f.own ? volume(f.own) : null],
        f.written && ["writes to memory", bytes(f.written)], f.written && ["of it in vain", `${bytes(f.dead)}  (${percent(f.dead, f.written)})`]]),
      ...[f.members && table("Its functions", f.members.slice().sort((x, y) => (y.self || 0) - (x.self || 0) || x.i - y.i).map(m => [functionLink(m), STEPS ? percent(m.self, STEPS) : count(m.calls) + "×"])), table("Reads data of", f.in.map(p => [functionLink(N[p.a]), volume(p.bytes)])), table("Its data is read by", f.out.map(p => [functionLink(N[p.b]), volume(p.bytes)])),
        table("Called by", f.callers.map(c => [functionLink(N[c.a]), count(c.calls) + "×"])), table("Calls", f.callees.map(c => [functionLink(N[c.b]), count(c.calls) + "×"]))].flat(9).filter(Boolean));
    $("panel").scrollTop = 0;
  }
  /** Views that have a place for a function, with words for them. */
  function viewsOf(f) {
    const own = !f.members && f.kind !== "pseudo", found = [["graph", "Graph"]];
    if (own && raw.tree) found.push(["tree", "Call tree"], ["flame", "Callers and callees"]);
    found.push(["matrix", "Matrix"]);
    if (own && raw.timeline) found.push(["timeline", "Timeline"]);
    if (own && raw.loops && raw.loops.rows.some(r => r[0] === f.i)) found.push(["loops", "Loops"]);
    if (own && raw.source && raw.source.files.some(file => file.lines.some(l => l[1] === f.i))) found.push(["source", "Source"]);
    return found;
  }
  function panelEdge(e) {
    const rows = e.data
      ? e.flows.map(f => [el("h3", { style: { color: `var(--${VIA[f.via]})` } }, VIA[f.via]), figures([[AMOUNT, exact(f.bytes)], f.transfers !== null && ["transfers", exact(f.transfers)], f.unique !== null && ["unique bytes", exact(f.unique)], f.addresses !== null && ["addresses", exact(f.addresses)]])]).flat()
      : [figures([["calls", exact(e.calls)], e.steps !== null && [`${UNIT} with callees`, exact(e.steps)]])];
    $("panel").replaceChildren(el("h2", {}, functionLink(N[e.a]), e.a === e.b ? "" : " → ", e.a === e.b ? "" : functionLink(N[e.b])),
      el("div", { class: "quiet" }, !e.data ? "calls" : e.a === e.b ? `${volume(e.bytes)} within the ${N[e.a].members ? "group" : "function"}` : `${volume(e.bytes)} of data`), ...rows);
    $("panel").scrollTop = 0;
  }
  function panelRun() {
    const key = (cls, via, text) => el("tr", {}, el("td", {}, el("span", { class: "swatch" + cls, style: { color: `var(--${via})`, display: "inline-block", "vertical-align": "middle" } })), el("td", {}, text));
    $("panel").replaceChildren(
      el("h2", {}, "This run"),
      figures([[UNIT, STEPS ? exact(STEPS) : null], ["functions", exact(COUNTED.length)], ["calls", CALLS ? exact(CALLS) : null], [GROUPS.length ? "data between nodes" : "data between functions", CROSSING ? volume(CROSSING) : null],
        ["instruction set", meta.isa], ["detail", meta.detail], ["through", meta.through], ["addfg", raw.version]]),
      ...raw.missing.map(m => el("p", { class: "missing" }, m[1])),
      ...[table("Inputs", raw.inputs.map(i => [el("span", { class: "name" }, `${i[2]} `, el("span", { class: "quiet" }, i[3] || i[1])), i[4] === null ? "" : bytes(i[4])])),
        table("Problems met while building", raw.problems.map(p => [el("span", { class: "name" }, p[3] || p[1]), `${exact(p[2])}×`])),
        raw.notes.length && el("h3", {}, "Not in this page"), ...raw.notes.map(n => el("p", {}, n)),
        el("h3", {}, "How to read it"),
        el("p", {}, `An arrow of data goes from the function that wrote bytes to the one that read them; its colour says through what most of them went. Solid arrows are calls. The warmer a box, the more ${UNIT} it has. Click a function to see what is around it, an arrow for its figures.`)].flat(9).filter(Boolean));
  }

  // ---- state: in the address, so that going back works and a view can be bookmarked

  const VIEWS = ["overview", "graph", "tree", "flame", "matrix", "timeline", "loops", "memory", "objects", "source", "changes", "tables"].filter(v => v !== "changes" || raw.changes);
  const state = { view: "overview", chosen: null };
  let writing = null;
  function remember() {
    const parts = [`view=${state.view}`];
    if (state.chosen) parts.push(`function=${state.chosen.id}`);
    if (state.view === "overview" && raw.overview && raw.overview.byFile && !glance.files) parts.push("by=functions");
    if (state.view === "overview" && glance.open !== null) parts.push(`box=${glance.open}`);
    if (state.theme) parts.push(`theme=${state.theme}`);
    if (WITH) parts.push("all=1");
    if (!raw.groups && grouping.by !== grouping.first) parts.push(`group=${grouping.by}`);
    const hash = "#" + parts.join("&");
    if (location.hash !== hash) { writing = hash; location.hash = hash; }
  }
  function recall() {
    const values = new URLSearchParams(location.hash.slice(1));
    // Another choice of the switch is another page.
    if ((values.get("all") === "1") !== WITH) { location.reload(); return; }
    state.view = VIEWS.includes(values.get("view")) ? values.get("view") : VIEWS[raw.overview ? 0 : 1];
    glance.files = Boolean(raw.overview && raw.overview.byFile) && values.get("by") !== "functions";
    glance.open = state.view === "overview" && /^\d+$/.test(values.get("box") || "") ? Number(values.get("box")) : null;
    const by = values.get("group") in KINDS ? values.get("group") : grouping.first;
    if (!raw.groups && by !== grouping.by) regroup(by);
    const f = /^-?\d+$/.test(values.get("function") || "") ? byId.get(Number(values.get("function"))) : null;
    state.chosen = f || null;
    theme(["light", "dark"].includes(values.get("theme")) ? values.get("theme") : null);
    show();
  }
  function theme(name) {
    state.theme = name;
    document.documentElement.style.colorScheme = name || "";
  }
  function show() {
    for (const v of VIEWS) {
      $(v).hidden = v !== state.view;
      $("tab-" + v).setAttribute("aria-selected", v === state.view);
      $("tab-" + v).tabIndex = v === state.view ? 0 : -1;
    }
    hideTip();
    if (state.chosen) panelFunction(state.chosen); else panelRun();
    draw[state.view]();
  }
  function choose(f, stay) {
    state.chosen = f;
    // The overview has no place for each function.
    if (f && !stay && state.view === "overview") state.view = "graph";
    remember();
    show();
  }
  function view(name) {
    state.view = name;
    remember();
    show();
  }
  const draw = {};

  /** In place of a view that has nothing to show. */
  function empty(name, text) {
    const why = raw.missing.filter(m => m[0].includes(name)).map(m => m[1]);
    return el("div", { class: "empty" }, el("h2", {}, text), ...why.map(w => el("p", {}, w)));
  }


// The page: one state (view, function chosen), one function a view that draws it. Texts of the data are hostile: they become text nodes
// (`el`, `svg`, textContent) and never markup.
(() => {
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
  const F = raw.functions.map(([id, name, kind, file, image, address, size, number, self, total, written, dead], i) =>
    ({ i, id, name: name || "?", kind, file, image, address, size, number, calls: number || 0, self, total, written, dead, local: [], in: [], out: [], callers: [], callees: [], own: 0, got: 0, gave: 0 }));
  const byId = new Map(F.map(f => [f.id, f]));
  const nameOf = i => (i >= 0 && F[i] ? F[i].name : "(stub)");
  const meta = Object.fromEntries(raw.meta);
  // Data is measured in bytes, or in transfers where the trace has no sizes.
  const AMOUNT = raw.amount;
  const volume = n => (AMOUNT === "bytes" ? bytes(n) : `${count(n)} transfer${n === 1 ? "" : "s"}`);
  // Steps, or time where the trace has none.
  const UNIT = raw.unit;
  const STEPS = F.reduce((sum, f) => sum + (f.self || 0), 0);

  // Data between two functions is one edge with a flow for each via.
  const pairs = [];
  {
    const found = new Map();
    for (const [a, b, via, known, unique, addresses, transfers] of raw.data) {
      if (a === null) continue;
      const n = (AMOUNT === "bytes" ? known : transfers) || 0, flow = { via, bytes: n, unique, addresses, transfers: AMOUNT === "bytes" ? transfers : null };
      if (a === b) { F[a].local.push(flow); F[a].own += n; continue; }
      const key = a * F.length + b;
      let pair = found.get(key);
      if (!pair) { found.set(key, pair = { data: true, a, b, bytes: 0, flows: [] }); pairs.push(pair); }
      pair.flows.push(flow);
      pair.bytes += n;
    }
    for (const p of pairs) {
      p.flows.sort((x, y) => y.bytes - x.bytes || x.via - y.via);
      F[p.a].out.push(p); F[p.a].gave += p.bytes;
      F[p.b].in.push(p); F[p.b].got += p.bytes;
    }
  }
  const calls = raw.calls.map(([a, b, n, steps]) => ({ data: false, a, b, calls: n, steps }));
  for (const c of calls) { F[c.a].callees.push(c); F[c.b].callers.push(c); }
  for (const f of F) {
    f.in.sort((x, y) => y.bytes - x.bytes); f.out.sort((x, y) => y.bytes - x.bytes);
    f.callers.sort((x, y) => y.calls - x.calls); f.callees.sort((x, y) => y.calls - x.calls);
  }
  const CROSSING = pairs.reduce((sum, p) => sum + p.bytes, 0);
  const MOST = pairs.reduce((m, p) => Math.max(m, p.bytes), 1);
  const CALLS = F.reduce((sum, f) => sum + f.calls, 0);
  // What makes a function worth a place in the graph: its part of the steps, of the data, and a little of the calls.
  for (const f of F) f.weight = (STEPS ? (f.self || 0) / STEPS : 0) + (CROSSING ? (f.in.concat(f.out).reduce((s, p) => s + p.bytes, 0)) / CROSSING : 0) + (CALLS ? 0.01 * f.calls / CALLS : 0);

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
    if (f.file || f.image) lines.push(f.file || f.image);
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
      el("div", { class: "quiet" }, f.kind === "pseudo" ? "source of bytes that no step wrote" : f.kind),
      figures([
        ["file", f.file], ["image", f.image], ["address", f.address], ["code", f.size !== null && bytes(f.size)],
        f.number !== null && f.kind !== "pseudo" && ["calls", exact(f.calls)],
        f.self !== null && [UNIT, `${exact(f.self)}  (${percent(f.self, STEPS)})`],
        f.total !== null && ["with callees", `${exact(f.total)}  (${percent(f.total, STEPS)})`],
        ["reads of others", f.got ? volume(f.got) : null], ["read by others", f.gave ? volume(f.gave) : null], ["within itself", f.own ? volume(f.own) : null],
        f.written && ["writes to memory", bytes(f.written)], f.written && ["of it in vain", `${bytes(f.dead)}  (${percent(f.dead, f.written)})`]]),
      ...[table("Reads data of", f.in.map(p => [functionLink(F[p.a]), volume(p.bytes)])), table("Its data is read by", f.out.map(p => [functionLink(F[p.b]), volume(p.bytes)])),
        table("Called by", f.callers.map(c => [functionLink(F[c.a]), count(c.calls) + "×"])), table("Calls", f.callees.map(c => [functionLink(F[c.b]), count(c.calls) + "×"]))].flat(9).filter(Boolean));
    $("panel").scrollTop = 0;
  }
  function panelEdge(e) {
    const rows = e.data
      ? e.flows.map(f => [el("h3", { style: { color: `var(--${VIA[f.via]})` } }, VIA[f.via]), figures([[AMOUNT, exact(f.bytes)], f.transfers !== null && ["transfers", exact(f.transfers)], f.unique !== null && ["unique bytes", exact(f.unique)], f.addresses !== null && ["addresses", exact(f.addresses)]])]).flat()
      : [figures([["calls", exact(e.calls)], e.steps !== null && [`${UNIT} with callees`, exact(e.steps)]])];
    $("panel").replaceChildren(el("h2", {}, functionLink(F[e.a]), e.a === e.b ? "" : " → ", e.a === e.b ? "" : functionLink(F[e.b])),
      el("div", { class: "quiet" }, !e.data ? "calls" : e.a === e.b ? `${volume(e.bytes)} within the function` : `${volume(e.bytes)} of data`), ...rows);
    $("panel").scrollTop = 0;
  }
  function panelRun() {
    const key = (cls, via, text) => el("tr", {}, el("td", {}, el("span", { class: "swatch" + cls, style: { color: `var(--${via})`, display: "inline-block", "vertical-align": "middle" } })), el("td", {}, text));
    $("panel").replaceChildren(
      el("h2", {}, "This run"),
      figures([[UNIT, STEPS ? exact(STEPS) : null], ["functions", exact(F.filter(f => f.kind !== "pseudo").length)], ["calls", CALLS ? exact(CALLS) : null], ["data between functions", CROSSING ? volume(CROSSING) : null],
        ["instruction set", meta.isa], ["detail", meta.detail], ["through", meta.through], ["addfg", raw.version]]),
      ...raw.missing.map(m => el("p", { class: "missing" }, m[1])),
      ...[table("Inputs", raw.inputs.map(i => [el("span", { class: "name" }, `${i[2]} `, el("span", { class: "quiet" }, i[3] || i[1])), i[4] === null ? "" : bytes(i[4])])),
        table("Problems met while building", raw.problems.map(p => [el("span", { class: "name" }, p[3] || p[1]), `${exact(p[2])}×`])),
        raw.notes.length && el("h3", {}, "Not in this page"), ...raw.notes.map(n => el("p", {}, n)),
        el("h3", {}, "How to read it"),
        el("p", {}, `An arrow of data goes from the function that wrote bytes to the one that read them; its colour says through what most of them went. Solid arrows are calls. The warmer a box, the more ${UNIT} it has. Click a function to see what is around it, an arrow for its figures.`)].flat(9).filter(Boolean));
  }

  // ---- state: in the address, so that going back works and a view can be bookmarked

  const VIEWS = ["graph", "tree", "matrix", "timeline", "source", "tables"];
  const state = { view: "graph", chosen: null };
  let writing = "";
  function remember() {
    const parts = [`view=${state.view}`];
    if (state.chosen) parts.push(`function=${state.chosen.id}`);
    if (state.theme) parts.push(`theme=${state.theme}`);
    const hash = "#" + parts.join("&");
    if (location.hash !== hash) { writing = hash; location.hash = hash; }
  }
  function recall() {
    const values = new URLSearchParams(location.hash.slice(1));
    state.view = VIEWS.includes(values.get("view")) ? values.get("view") : "graph";
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
  function choose(f) {
    state.chosen = f;
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

  // ---- graph

  const graph = { calls: true, via: VIA.map(() => true), least: null, box: null, shown: [], edges: [], query: "" };
  const canvas = $("canvas");
  const measure = document.createElement("canvas").getContext("2d");
  function textWidth(text, font) {
    measure.font = font;
    return measure.measureText(text).width;
  }
  const FONT = "12px system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";

  const visible = p => p.flows.some(f => graph.via[f.via]);
  const bytesShown = p => p.flows.reduce((sum, f) => sum + (graph.via[f.via] ? f.bytes : 0), 0);

  /** Functions to draw: around the chosen one to the depth, else those with most weight. */
  function pick(limit, depth, least) {
    const focus = state.chosen;
    if (!focus) return new Set(F.filter(f => f.weight > 0 || f.calls > 0).sort((a, b) => b.weight - a.weight || a.i - b.i).slice(0, limit).map(f => f.i));
    const seen = new Set([focus.i]);
    let ring = [focus];
    for (let d = 0; d < depth && ring.length; d++) {
      const near = new Map();
      const meet = (i, n) => { if (!seen.has(i)) near.set(i, (near.get(i) || 0) + n); };
      for (const f of ring) {
        for (const p of f.in) if (bytesShown(p) >= Math.max(1, least)) meet(p.a, bytesShown(p) / (CROSSING || 1));
        for (const p of f.out) if (bytesShown(p) >= Math.max(1, least)) meet(p.b, bytesShown(p) / (CROSSING || 1));
        if (graph.calls) {
          for (const c of f.callers) meet(c.a, c.calls / (CALLS || 1));
          for (const c of f.callees) meet(c.b, c.calls / (CALLS || 1));
        }
      }
      const next = [...near].sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, Math.max(0, limit - seen.size));
      ring = next.map(([i]) => F[i]);
      for (const f of ring) seen.add(f.i);
    }
    return seen;
  }

  /** From the top to the bottom: sources of data that no step wrote, then callers before callees (without calls writers before readers). */
  function vertical(list, edges) {
    const any = edges.some(e => !e.data), below = new Map(list.map(i => [i, []])), above = new Set();
    for (const e of edges) if (e.data !== any && F[e.a].kind !== "others" && F[e.b].kind !== "others") { below.get(e.a).push(e.b); above.add(e.b); }
    const first = (x, y) => F[x].id - F[y].id, done = [], seen = new Set();
    for (const b of below.values()) b.sort(first).reverse();
    // Reverse post-order of a depth-first search, without recursion: the data may be deep.
    const roots = list.slice().sort((x, y) => above.has(x) - above.has(y) || first(y, x));
    for (const root of roots) {
      if (seen.has(root)) continue;
      seen.add(root);
      const stack = [[root, 0]];
      while (stack.length) {
        const top = stack[stack.length - 1], next = below.get(top[0])[top[1]++];
        if (next === undefined) done.push(stack.pop()[0]);
        else if (!seen.has(next)) { seen.add(next); stack.push([next, 0]); }
      }
    }
    const level = i => (F[i].kind === "pseudo" ? 0 : F[i].kind === "others" ? 2 : 1);
    const place = new Map(done.reverse().map((i, n) => [i, n]));
    return list.slice().sort((x, y) => level(x) - level(y) || place.get(x) - place.get(y));
  }

  draw.graph = () => {
    const limit = Number($("nodes").value), depth = Number($("depth").value);
    const picked = pick(limit, depth, graph.least === null ? 0 : graph.least);
    let data = pairs.filter(p => picked.has(p.a) && picked.has(p.b) && visible(p)), hidden = 0, hiddenBytes = 0;
    const all = data.length;
    // By itself the threshold leaves two data edges a function.
    let least = graph.least;
    if (least === null) {
      const sizes = data.map(bytesShown).sort((a, b) => b - a), most = 2 * picked.size;
      least = sizes.length > most ? sizes[most - 1] : 0;
    }
    data = data.filter(p => {
      const n = bytesShown(p), keep = n >= least || (state.chosen && graph.least === null && (p.a === state.chosen.i || p.b === state.chosen.i));
      if (!keep) { hidden++; hiddenBytes += n; }
      return keep;
    });
    const called = graph.calls ? calls.filter(c => c.a !== c.b && picked.has(c.a) && picked.has(c.b)) : [];
    let edges = data.concat(called);
    if (edges.length > 600) edges = edges.slice(0, 600);
    // What has no edge says nothing in a graph, unless it is all there is.
    const touched = new Set(edges.flatMap(e => [e.a, e.b]));
    const alone = [...picked].filter(i => !touched.has(i) && !(state.chosen && i === state.chosen.i));
    const list = vertical([...picked].filter(i => !alone.includes(i) || !touched.size), edges);

    const index = new Map(list.map((i, n) => [i, n]));
    const boxes = list.map(i => {
      const f = F[i], title = shorten(f.name, 34), small = [];
      if (f.self !== null && STEPS && f.kind !== "pseudo") small.push(`${percent(f.self, STEPS)} ${UNIT}`);
      if (f.calls && f.kind !== "pseudo") small.push(`${count(f.calls)}×`);
      if (f.own) small.push(`${volume(f.own)} within`);
      const line = small.join(" · ");
      return { f, title, line, w: Math.max(64, 22 + Math.max(textWidth(title, "600 " + FONT), textWidth(line, FONT.replace("12px", "10.5px")))), h: line ? 38 : 26 };
    });
    const drawn = edges.map(e => {
      const upward = index.get(e.a) > index.get(e.b);
      const label = e.data ? volume(bytesShown(e)) : `${count(e.calls)}×`;
      return { e, upward, label, from: index.get(upward ? e.b : e.a), to: index.get(upward ? e.a : e.b), w: textWidth(label, (e.data ? "600 " : "") + FONT.replace("12px", "11px")), h: 14 };
    });
    // The usual drawing, or the wide one where that is much larger to read.
    const room = canvas.getBoundingClientRect(), scale = s => Math.min(room.width / s.width, room.height / s.height);
    for (const d of drawn) d.hard = !d.e.data;
    let size = layout(boxes, drawn, false);
    if (called.length && scale(size) < 0.75) {
      const boxesToo = boxes.map(b => ({ ...b })), drawnToo = drawn.map(d => ({ ...d })), wide = layout(boxesToo, drawnToo, true);
      if (scale(wide) > 1.2 * scale(size)) {
        size = wide;
        boxes.forEach((b, n) => Object.assign(b, boxesToo[n]));
        drawn.forEach((d, n) => Object.assign(d, drawnToo[n]));
      }
    }
    for (const d of drawn) d.upward = d.upward !== d.turned;
    graph.shown = boxes;
    graph.edges = drawn;
    paintGraph(size);

    $("focus").replaceChildren(state.chosen ? el("span", { class: "chip" }, el("span", { title: state.chosen.name }, "Around ", state.chosen.name), el("button", { type: "button", "aria-label": "Show the whole graph", onclick: () => choose(null) }, "×")) : "");
    $("depth").disabled = !state.chosen;
    $("depth-out").textContent = state.chosen ? depth : "whole";
    $("nodes-out").textContent = limit;
    $("least").value = least > 0 ? Math.log2(least) : 0;
    $("least-out").textContent = (graph.least === null ? "≈ " : "") + volume(Math.round(least > 1 ? least : 0));
    const shownBytes = data.reduce((sum, p) => sum + bytesShown(p), 0);
    const parts = [`${list.length} of ${plural(F.length, "function")}`];
    if (CROSSING) parts.push(`${volume(shownBytes)} of ${volume(CROSSING)} between functions (${percent(shownBytes, CROSSING)})`);
    if (hidden) parts.push(`not drawn between them: ${hidden} of ${all} data edges, ${volume(hiddenBytes)}`);
    if (alone.length && touched.size) parts.push(`${plural(alone.length, "function")} without an edge left out`);
    $("graph-status").textContent = parts.join(" · ");
  };

  /** A smooth line from top to bottom: monotone cubic interpolation (Fritsch, Carlson 1980) of x over y, upright at both ends. */
  function curve(points) {
    const n = points.length, slope = k => (points[k + 1][0] - points[k][0]) / (points[k + 1][1] - points[k][1] || 1);
    const tangent = points.map((_, k) => {
      if (k === 0 || k === n - 1) return 0;
      const [a, b] = [slope(k - 1), slope(k)];
      return a * b > 0 ? 2 * a * b / (a + b) : 0;
    });
    let path = `M${points[0][0].toFixed(1)},${points[0][1].toFixed(1)}`;
    for (let k = 0; k + 1 < n; k++) {
      const [x, y] = points[k], [u, v] = points[k + 1], third = (v - y) / 3;
      // The ends bend late, so that arrows stand upright.
      const [p, q] = [k === 0 ? 1.4 : 1, k + 2 === n ? 1.4 : 1];
      path += `C${(x + tangent[k] * third * p).toFixed(1)},${(y + third * p).toFixed(1)} ${(u - tangent[k + 1] * third * q).toFixed(1)},${(v - third * q).toFixed(1)} ${u.toFixed(1)},${v.toFixed(1)}`;
    }
    return path;
  }

  /** A line that hangs below two boxes. */
  function hanging([[a, top], [x, y], [b, bottom]]) {
    return `M${a.toFixed(1)},${top.toFixed(1)}C${a.toFixed(1)},${y.toFixed(1)} ${((a + x) / 2).toFixed(1)},${y.toFixed(1)} ${x.toFixed(1)},${y.toFixed(1)}S${b.toFixed(1)},${y.toFixed(1)} ${b.toFixed(1)},${bottom.toFixed(1)}`;
  }

  function paintGraph(size) {
    const edges = svg("g", {}), labels = svg("g", {}), nodes = svg("g", {});
    graph.edges.forEach((d, n) => {
      const tipAt = d.upward ? d.points[0] : d.points[d.points.length - 1], sign = d.upward || d.flat ? -1 : 1;
      const path = d.flat ? hanging(d.points) : curve(d.points);
      const amount = d.e.data ? bytesShown(d.e) : 0;
      const width = d.e.data ? 1 + Math.log2(Math.max(1, amount)) / 9 : 1.1;
      const a = 3.2 + width, [tx, ty] = tipAt;
      const via = d.e.data ? d.e.flows.find(f => graph.via[f.via]) : null;
      const colour = via ? { color: `var(--${VIA[via.via]})` } : {};
      const kind = d.e.data ? "edge data" : "edge call";
      edges.append(svg("g", { class: kind, "data-edge": n, style: { ...colour, "--width": width.toFixed(2) + "px" } },
        svg("path", { class: "hit", d: path }),
        svg("path", { class: "line", d: path, "stroke-width": width.toFixed(2) }),
        svg("polygon", { points: `${tx},${ty} ${tx - a * 0.62},${ty - sign * a * 1.5} ${tx + a * 0.62},${ty - sign * a * 1.5}` })));
      if (d.labelAt) labels.append(svg("g", { class: kind, "data-edge": n, style: colour }, svg("text", { x: d.labelAt[0].toFixed(1), y: (d.labelAt[1] + 4).toFixed(1) }, d.label)));
    });
    graph.shown.forEach((b, n) => {
      const kind = b.f.kind === "pseudo" ? " pseudo" : b.f.kind === "others" ? " others" : "";
      const share = STEPS && b.f.self ? Math.sqrt(b.f.self / STEPS) * 100 : 0;
      const focused = state.chosen === b.f ? " focused" : "";
      nodes.append(svg("g", { class: "node" + kind + focused, "data-node": n, tabindex: 0, role: "button", "aria-label": functionText(b.f), transform: `translate(${(b.x - b.w / 2).toFixed(1)},${(b.y - b.h / 2).toFixed(1)})`, style: { "--share": share.toFixed(1) } },
        svg("rect", { width: b.w.toFixed(1), height: b.h, rx: b.f.kind === "pseudo" ? 13 : 6 }),
        svg("text", { class: "title", x: b.w / 2, y: b.line ? 16 : 17 }, b.title),
        b.line && svg("text", { class: "small", x: b.w / 2, y: 30 }, b.line)));
    });
    canvas.replaceChildren(edges, labels, nodes);
    graph.size = size;
    fit();
    found();
  }

  function setBox(x, y, w, h) {
    graph.box = [x, y, w, h];
    canvas.setAttribute("viewBox", graph.box.map(n => n.toFixed(2)).join(" "));
  }
  function fit() {
    const room = canvas.getBoundingClientRect(), margin = 14;
    if (!room.width || !room.height || !graph.size) return;
    let w = graph.size.width + 2 * margin, h = graph.size.height + 2 * margin;
    // Never larger than life, and the middle in the middle.
    const scale = Math.min(1.25, room.width / w, room.height / h);
    const [vw, vh] = [room.width / scale, room.height / scale];
    setBox(-margin - (vw - w) / 2, -margin - (vh - h) / 2, vw, vh);
  }
  function zoom(factor, at) {
    const [x, y, w, h] = graph.box, room = canvas.getBoundingClientRect(), scale = room.width / w;
    const next = Math.min(8, Math.max(0.03, scale * factor)) / scale;
    const [fx, fy] = at ? [(at[0] - room.left) / room.width, (at[1] - room.top) / room.height] : [0.5, 0.5];
    setBox(x + w * fx * (1 - 1 / next), y + h * fy * (1 - 1 / next), w / next, h / next);
  }
  function pan(dx, dy) {
    const [x, y, w, h] = graph.box, scale = w / canvas.getBoundingClientRect().width;
    setBox(x - dx * scale, y - dy * scale, w, h);
  }
  /** Marks functions that the search finds. */
  function found() {
    const wanted = graph.query.toLowerCase();
    for (const node of canvas.querySelectorAll("[data-node]")) node.classList.toggle("found", wanted !== "" && graph.shown[node.dataset.node].f.name.toLowerCase().includes(wanted));
  }

  {
    let drag = null;
    canvas.addEventListener("pointerdown", event => {
      if (event.button === 0) drag = { x: event.clientX, y: event.clientY, moved: false, id: event.pointerId };
    });
    canvas.addEventListener("pointermove", event => {
      if (drag && event.buttons) {
        const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
        if (!drag.moved && Math.hypot(dx, dy) < 4) return;
        if (!drag.moved) { drag.moved = true; canvas.setPointerCapture(drag.id); canvas.classList.add("dragged"); }
        pan(dx, dy);
        [drag.x, drag.y] = [event.clientX, event.clientY];
        hideTip();
        return;
      }
      const at = event.target.closest("[data-node], [data-edge]");
      if (!at) { hideTip(); return; }
      showTip(at.dataset.node !== undefined ? functionText(graph.shown[at.dataset.node].f) : edgeText(graph.edges[at.dataset.edge].e), event.clientX, event.clientY);
    });
    canvas.addEventListener("pointerup", () => { canvas.classList.remove("dragged"); });
    canvas.addEventListener("pointerleave", hideTip);
    canvas.addEventListener("click", event => {
      if (drag && drag.moved) { drag = null; return; }
      const at = event.target.closest("[data-node], [data-edge]");
      if (!at) return;
      if (at.dataset.node !== undefined) choose(graph.shown[at.dataset.node].f);
      else panelEdge(graph.edges[at.dataset.edge].e);
    });
    canvas.addEventListener("wheel", event => {
      event.preventDefault();
      zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0016)), [event.clientX, event.clientY]);
    }, { passive: false });
    canvas.addEventListener("keydown", event => {
      const at = event.target.closest("[data-node]");
      if (at && (event.key === "Enter" || event.key === " ")) {
        const f = graph.shown[at.dataset.node].f;
        choose(f);
        const again = canvas.querySelector(".node.focused");
        if (again) again.focus();
      } else if (event.key.startsWith("Arrow")) pan(...{ ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[event.key]);
      else if (event.key === "+" || event.key === "=") zoom(1.25);
      else if (event.key === "-") zoom(0.8);
      else if (event.key === "0") fit();
      else return;
      event.preventDefault();
    });
    // What a function or an edge is joined to stands out.
    const near = on => event => {
      const at = event.target.closest("[data-node], [data-edge]");
      canvas.classList.toggle("dim", Boolean(on && at));
      for (const old of canvas.querySelectorAll(".near")) old.classList.remove("near");
      if (!on || !at) return;
      const nodes = new Set(), mark = n => canvas.querySelectorAll(`[data-edge="${n}"]`).forEach(e => e.classList.add("near"));
      if (at.dataset.node !== undefined) nodes.add(Number(at.dataset.node));
      graph.edges.forEach((d, n) => {
        const mine = at.dataset.edge !== undefined ? n === Number(at.dataset.edge) : d.from === Number(at.dataset.node) || d.to === Number(at.dataset.node);
        if (mine) { nodes.add(d.from); nodes.add(d.to); mark(n); }
      });
      for (const n of nodes) canvas.querySelector(`[data-node="${n}"]`).classList.add("near");
    };
    canvas.addEventListener("pointerover", near(true));
    canvas.addEventListener("pointerout", near(false));
    $("zoom-in").onclick = () => zoom(1.3);
    $("zoom-out").onclick = () => zoom(1 / 1.3);
    $("fit").onclick = fit;
    $("reset").onclick = () => {
      Object.assign(graph, { least: null, calls: true, via: VIA.map(() => true) });
      for (const id of ["nodes", "depth"]) $(id).value = $(id).defaultValue;
      for (const box of $("kinds").querySelectorAll("input")) box.checked = true;
      choose(null);
    };
    let waiting = 0;
    const soon = () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(draw.graph); };
    $("depth").oninput = soon;
    $("nodes").oninput = soon;
    $("least").oninput = () => { const v = Number($("least").value); graph.least = v ? 2 ** v : 0; soon(); };
    // The largest edge is always there.
    $("least").max = Math.max(1, Math.floor(2 * Math.log2(MOST)) / 2);
    $("nodes").max = Math.max(5, Math.min(120, F.length));
    $("least").disabled = !pairs.length;
    const kind = (name, style, cls, set) => el("label", {}, el("input", { type: "checkbox", checked: true, onchange: event => { set(event.target.checked); draw.graph(); } }), el("span", { class: "swatch" + cls, style }), name);
    if (calls.length) $("kinds").append(kind("calls", { color: "var(--call)" }, " solid", on => { graph.calls = on; }));
    VIA.forEach((name, v) => {
      if (pairs.some(p => p.flows.some(f => f.via === v))) $("kinds").append(kind(name, { color: `var(--${name})` }, "", on => { graph.via[v] = on; }));
    });
    new ResizeObserver(() => { if (state.view === "graph" && graph.size) fit(); }).observe(canvas);
  }

  // ---- search

  {
    const box = $("search"), list = $("matches");
    let matches = [], at = -1;
    function close() { list.hidden = true; box.setAttribute("aria-expanded", "false"); box.removeAttribute("aria-activedescendant"); }
    function mark() {
      [...list.children].forEach((li, n) => li.setAttribute("aria-selected", n === at));
      if (at >= 0) { box.setAttribute("aria-activedescendant", `match-${at}`); list.children[at].scrollIntoView({ block: "nearest" }); }
    }
    function take(f) { box.value = ""; graph.query = ""; close(); box.blur(); choose(f); }
    function search() {
      const wanted = box.value.trim().toLowerCase();
      graph.query = wanted;
      found();
      if (!wanted) { close(); return; }
      const score = f => { const n = f.name.toLowerCase(); return n === wanted ? 0 : n.startsWith(wanted) ? 1 : n.includes(wanted) ? 2 : 3; };
      matches = F.map(f => [score(f), f]).filter(m => m[0] < 3).sort((a, b) => a[0] - b[0] || b[1].weight - a[1].weight || a[1].i - b[1].i).slice(0, 40).map(m => m[1]);
      at = matches.length ? 0 : -1;
      list.replaceChildren(...matches.map((f, n) => el("li", { role: "option", id: `match-${n}`, onpointerdown: event => { event.preventDefault(); take(f); } }, el("span", { class: "name" }, f.name), el("span", { class: "quiet" }, STEPS && f.self !== null ? percent(f.self, STEPS) : volume(f.got + f.gave)))));
      if (!matches.length) list.replaceChildren(el("li", { class: "quiet" }, "no function has this in its name"));
      list.hidden = false;
      box.setAttribute("aria-expanded", "true");
      mark();
    }
    box.addEventListener("input", search);
    box.addEventListener("focus", () => { if (box.value) search(); });
    box.addEventListener("blur", close);
    box.addEventListener("keydown", event => {
      if (event.key === "ArrowDown" || event.key === "ArrowUp") { at = matches.length ? (at + (event.key === "ArrowDown" ? 1 : matches.length - 1)) % matches.length : -1; mark(); }
      else if (event.key === "Enter" && at >= 0) take(matches[at]);
      else if (event.key === "Escape") { box.value = ""; search(); }
      else return;
      event.preventDefault();
    });
    document.addEventListener("keydown", event => {
      if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) { event.preventDefault(); box.focus(); }
    });
  }

  // ---- call tree

  const tree = { built: false };
  function treeSource() {
    if (raw.tree && raw.tree.rows.length) {
      const rows = raw.tree.rows.map(([parent, f, n, self, total, gone, goneTotal], i) => ({ i, parent, f, calls: n, self, total, gone, goneTotal, below: [] }));
      const roots = [];
      for (const r of rows) (r.parent < 0 ? roots : rows[r.parent].below).push(r);
      for (const r of rows) r.below.sort((a, b) => b.total - a.total || a.i - b.i);
      roots.sort((a, b) => b.total - a.total || a.i - b.i);
      return { unit: raw.tree.unit, roots, below: r => r.below };
    }
    if (!calls.length) return null;
    // Without contexts: the call graph unfolded; figures are of the edge, whoever called its caller.
    const node = (f, n, total) => ({ f: f.i, calls: n, self: f.self, total, gone: 0, goneTotal: 0 });
    let roots = F.filter(f => f.callees.length && !f.callers.length);
    if (!roots.length) roots = F.filter(f => f.callees.length).slice(0, 20);
    return { unit: STEPS ? "steps" : "calls", unfolded: true, roots: roots.map(f => node(f, f.calls, f.total !== null ? f.total : f.calls)), below: r => F[r.f].callees.map(c => node(F[c.b], c.calls, c.steps !== null ? c.steps : c.calls)).sort((a, b) => b.total - a.total) };
  }
  draw.tree = () => {
    const place = $("tree");
    if (!tree.built) {
      tree.built = true;
      const source = treeSource();
      if (!source) { place.replaceChildren(empty("tree", "There is no call tree")); return; }
      const whole = source.roots.reduce((sum, r) => sum + (r.total || 0), 0);
      const body = el("div", { role: "tree", "aria-label": "Calls", class: "rows" });
      const BATCH = 60;
      const row = (r, depth) => {
        const list = source.below(r), leaf = !list.length && !r.gone;
        const twist = el("span", { class: "twist", "aria-hidden": true }, leaf ? "" : "▸");
        const item = el("div", { class: "tree-row", role: "treeitem", tabindex: -1, "aria-level": depth + 1, "aria-expanded": leaf ? null : "false", "data-function": r.f },
          el("span", { class: "bar", style: { "--share": (100 * (r.total || 0) / (whole || 1)).toFixed(2) }, title: `${exact(r.total)} ${source.unit} with callees` }, percent(r.total, whole)),
          el("span", { class: "number", title: `${exact(r.self)} ${source.unit} of its own` }, percent(r.self, whole)),
          el("span", { class: "number" }, `${count(r.calls)}×`),
          el("span", { class: "tree-name", style: { "padding-left": `${Math.min(depth, 60) * 14}px` } }, twist, nameOf(r.f)));
        Object.assign(item, { depth, r, list, twist, open: false });
        return item;
      };
      function addAfter(after, r, depth, list, from) {
        const items = list.slice(from, from + BATCH).map(c => row(c, depth));
        if (from + BATCH < list.length) {
          const more = el("div", { class: "tree-row", role: "treeitem", tabindex: -1, "aria-level": depth + 1 }, el("span"), el("span"), el("span"), el("span", { class: "tree-name quiet", style: { "padding-left": `${Math.min(depth, 60) * 14 + 16}px` } }, `${exact(list.length - from - BATCH)} more…`));
          Object.assign(more, { depth, more: () => { addAfter(more, r, depth, list, from + BATCH); more.remove(); } });
          items.push(more);
        } else if (r && r.gone) {
          const note = el("div", { class: "tree-row quiet", role: "treeitem", tabindex: -1, "aria-level": depth + 1 }, el("span", { class: "number" }, percent(r.goneTotal, whole)), el("span"), el("span"), el("span", { class: "tree-name", style: { "padding-left": `${Math.min(depth, 60) * 14 + 16}px` } }, `(${exact(r.gone)} smaller contexts)`));
          note.depth = depth;
          items.push(note);
        }
        if (after) after.after(...items); else body.append(...items);
        return items;
      }
      function toggle(item, open) {
        if (item.more) { item.more(); return []; }
        if (!item.r || item.open === open || (!item.list.length && !item.r.gone)) return [];
        item.open = open;
        item.setAttribute("aria-expanded", open);
        item.twist.textContent = open ? "▾" : "▸";
        if (open) return addAfter(item, item.r, item.depth + 1, item.list, 0);
        while (item.nextSibling && item.nextSibling.depth > item.depth) item.nextSibling.remove();
        return [];
      }
      // Open where the run spends its time.
      let wanted = addAfter(null, null, 0, source.roots, 0);
      for (let opened = 0; wanted.length && opened < 60; opened++) {
        const item = wanted.shift();
        if (item.r && (item.r.total || 0) >= 0.04 * whole) wanted.push(...toggle(item, true));
      }
      body.addEventListener("click", event => {
        const item = event.target.closest(".tree-row");
        if (!item) return;
        if (item.more || event.target.closest(".twist")) toggle(item, !item.open);
        else if (item.r && F[item.r.f]) { item.focus(); choose(F[item.r.f]); }
      });
      body.addEventListener("dblclick", event => { const item = event.target.closest(".tree-row"); if (item) toggle(item, !item.open); });
      body.addEventListener("keydown", event => {
        const item = event.target.closest(".tree-row");
        if (!item) return;
        const go = to => { if (to && to.focus) to.focus(); };
        if (event.key === "ArrowDown") go(item.nextSibling);
        else if (event.key === "ArrowUp") go(item.previousSibling);
        else if (event.key === "ArrowRight") { if (item.open) go(item.nextSibling); else toggle(item, true); }
        else if (event.key === "ArrowLeft") {
          if (item.open) toggle(item, false);
          else { let up = item.previousSibling; while (up && up.depth >= item.depth) up = up.previousSibling; go(up); }
        } else if (event.key === "Enter" || event.key === " ") { if (item.more) toggle(item, true); else if (item.r && F[item.r.f]) choose(F[item.r.f]); }
        else return;
        event.preventDefault();
      });
      if (body.firstChild) body.firstChild.tabIndex = 0;
      const head = el("div", { class: "tree-row tree-head" }, el("span", {}, `${source.unit} with callees`), el("span", { class: "number" }, "self"), el("span", { class: "number" }, "calls"), el("span", { style: { "padding-left": "16px" } }, "function, below its caller"));
      const note = source.unfolded ? "No calling contexts in this database: the call graph, unfolded. Figures are of all calls by that caller." : "Click a row for its function, the triangle (or double click, or arrow keys) for what it calls.";
      place.replaceChildren(el("div", { class: "scroll" }, head, body), el("p", { class: "status" }, note));
    }
    for (const item of place.querySelectorAll(".tree-row[data-function]")) item.classList.toggle("chosen", Boolean(state.chosen) && Number(item.dataset.function) === state.chosen.i);
  };

  // ---- matrix

  draw.matrix = () => {
    const place = $("matrix-body");
    if (!pairs.length && !F.some(f => f.own)) { place.replaceChildren(empty("matrix", "There is no data between functions")); return; }
    const top = Number($("matrix-top").value);
    $("matrix-top-out").textContent = top;
    const traffic = f => f.got + f.gave + f.own;
    const list = F.filter(f => traffic(f) > 0).sort((a, b) => traffic(b) - traffic(a) || a.i - b.i);
    const kept = list.slice(0, top);
    if (state.chosen && traffic(state.chosen) && !kept.includes(state.chosen)) kept[kept.length - 1] = state.chosen;
    const order = { traffic: () => 0, name: (a, b) => (a.name < b.name ? -1 : 1), file: (a, b) => ((a.file || "") < (b.file || "") ? -1 : (a.file || "") > (b.file || "") ? 1 : a.id - b.id), first: (a, b) => a.id - b.id }[$("matrix-order").value];
    kept.sort(order);
    const at = new Map(kept.map((f, n) => [f.i, n]));
    const rest = list.length > kept.length, n = kept.length + (rest ? 1 : 0), cells = new Map();
    const put = (a, b, amount, edge) => {
      const i = at.has(a) ? at.get(a) : n - 1, j = at.has(b) ? at.get(b) : n - 1, key = i * n + j, cell = cells.get(key) || { i, j, bytes: 0, edge, parts: 0 };
      cell.bytes += amount; cell.parts++;
      cells.set(key, cell);
    };
    for (const p of pairs) put(p.a, p.b, p.bytes, p);
    for (const f of list) if (f.own) put(f.i, f.i, f.own, { data: true, a: f.i, b: f.i, bytes: f.own, flows: f.local.slice().sort((x, y) => y.bytes - x.bytes) });
    const names = kept.map(f => f.name).concat(rest ? [`(${exact(list.length - kept.length)} others)`] : []);
    const CELL = n > 60 ? 14 : n > 36 ? 19 : 24, shown = names.map(t => shorten(t, 30));
    const left = 10 + Math.max(...shown.map(t => textWidth(t, FONT.replace("12px", "11px")))), head = left * 0.72 + 8;
    const most = Math.log(Math.max(2, ...[...cells.values()].map(c => c.bytes)));
    const rows = svg("g", {}), columns = svg("g", {}), body = svg("g", {});
    body.append(svg("rect", { class: "ground", x: left, y: head, width: n * CELL, height: n * CELL }));
    const link = i => (i < kept.length ? { style: { cursor: "pointer" }, onclick: () => choose(kept[i]) } : {});
    shown.forEach((t, i) => {
      const on = state.chosen && kept[i] === state.chosen ? "on" : "";
      rows.append(svg("text", { class: on, x: left - 5, y: head + CELL * (i + 0.5) + 4, "text-anchor": "end", "data-row": i, ...link(i) }, t));
      const x = left + CELL * (i + 0.5) + 4, y = head - 5;
      columns.append(svg("text", { class: on, x, y, transform: `rotate(-50 ${x} ${y})`, "data-column": i, ...link(i) }, t));
    });
    for (const cell of cells.values()) {
      const share = 8 + 92 * Math.log(Math.max(1, cell.bytes)) / most, x = left + CELL * cell.j, y = head + CELL * cell.i;
      const text = `${names[cell.i]} → ${names[cell.j]}\n${exact(cell.bytes)} ${AMOUNT}`;
      const single = cell.i < kept.length && cell.j < kept.length;
      body.append(svg("rect", { class: "cell", x: x + 0.5, y: y + 0.5, width: CELL - 1, height: CELL - 1, rx: 2, tabindex: -1, "aria-label": text, style: { fill: `color-mix(in srgb, var(--${cell.i === cell.j && single ? "own" : "cell"}) ${share.toFixed(0)}%, var(--raised))` },
        onpointermove: event => showTip(text, event.clientX, event.clientY), onpointerleave: hideTip, onclick: () => { if (single) panelEdge(cell.edge); } }));
    }
    const width = left + n * CELL + head, height = head + n * CELL + 12;
    const picture = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Communication matrix" }, body, rows, columns);
    // Names of the row and the column below the pointer stand out.
    picture.addEventListener("pointermove", event => {
      const room = picture.getBoundingClientRect(), i = Math.floor((event.clientY - room.top - head) / CELL), j = Math.floor((event.clientX - room.left - left) / CELL);
      [...rows.children].forEach((t, k) => t.classList.toggle("on", k === i || kept[k] === state.chosen && Boolean(state.chosen)));
      [...columns.children].forEach((t, k) => t.classList.toggle("on", k === j || kept[k] === state.chosen && Boolean(state.chosen)));
    });
    place.replaceChildren(picture);
  };
  $("matrix-top").oninput = () => draw.matrix();
  $("matrix-order").onchange = () => draw.matrix();
  $("matrix-top").max = Math.max(5, Math.min(100, F.length));

  // ---- timeline

  const timeline = { built: false, from: 0, to: 1, chosen: undefined };
  /** A colour of the style sheet as the canvas wants it. */
  function colour(name) {
    const probe = $("tip");
    probe.style.outlineColor = `var(--${name})`;
    const found = getComputedStyle(probe).outlineColor;
    probe.style.outlineColor = "";
    return found;
  }
  const HUES = [24, 210, 130, 320, 265, 52, 180, 0, 95, 235];
  draw.timeline = () => {
    const place = $("timeline");
    if (!raw.timeline || !raw.timeline.rows.length) { place.replaceChildren(empty("timeline", "There is no timeline")); return; }
    if (!timeline.built) {
      timeline.built = true;
      const rows = raw.timeline.rows.map(([thread, depth, f, instance, first, last, n, busy]) => ({ thread, depth, f, instance, first, last, calls: n, busy }));
      const end = rows.reduce((m, r) => Math.max(m, r.last + 1), 1);
      const lanes = new Map(), threads = new Map(raw.timeline.threads), ids = [...new Set(rows.map(r => r.thread))].sort((a, b) => a - b);
      let next = 0;
      for (const id of ids) {
        const mine = rows.filter(r => r.thread === id), tid = threads.get(id);
        const deepest = mine.reduce((m, r) => Math.max(m, r.depth), 0), first = mine.reduce((m, r) => Math.min(m, r.depth), deepest);
        const title = ids.length > 1 ? `thread ${id}${tid === null || tid === undefined ? "" : ` (${tid})`}` : null;
        lanes.set(id, { y: next + (title ? 1 : 0) - first, title, titleAt: next });
        next += deepest - first + 1 + (title ? 1.4 : 0);
      }
      // Joined bars below those of single calls.
      rows.sort((a, b) => (a.instance === null ? 0 : 1) - (b.instance === null ? 0 : 1));
      const ROW = 19, TOP = 24;
      const sheet = el("canvas", { tabindex: 0, role: "img", "aria-label": "Calls over the run, callers above what they call. Arrow keys move, plus and minus zoom, 0 shows all" });
      const scroll = el("div", { class: "scroll" }, sheet);
      const readout = el("span", { class: "quiet" });
      Object.assign(timeline, { rows, end, lanes, sheet, scroll, from: 0, to: end, readout, hit: null });
      const unit = raw.timeline.unit === "time" ? "ticks of the trace's clock" : "steps";
      timeline.paint = () => {
        const width = Math.max(200, scroll.clientWidth), height = Math.max(scroll.clientHeight - 4, TOP + next * ROW + 10), ratio = devicePixelRatio || 1;
        if (sheet.width !== Math.round(width * ratio) || sheet.height !== Math.round(height * ratio)) {
          Object.assign(sheet, { width: Math.round(width * ratio), height: Math.round(height * ratio) });
          sheet.style.width = width + "px"; sheet.style.height = height + "px";
        }
        const g = sheet.getContext("2d"), scale = width / (timeline.to - timeline.from), x = n => (n - timeline.from) * scale;
        const ink = colour("ink"), quiet = colour("quiet"), line = colour("line"), accent = colour("accent");
        const dark = getComputedStyle(document.documentElement).colorScheme === "dark" || (!state.theme && matchMedia("(prefers-color-scheme: dark)").matches);
        g.setTransform(ratio, 0, 0, ratio, 0, 0);
        g.clearRect(0, 0, width, height);
        // Marks at round numbers.
        g.font = FONT.replace("12px", "11px");
        const step = 10 ** Math.floor(Math.log10((timeline.to - timeline.from) / 4)), mark = [1, 2, 5, 10].map(m => m * step).find(m => m * scale > 90) || step * 10;
        for (let n = Math.ceil(timeline.from / mark) * mark; n <= timeline.to; n += mark) {
          g.fillStyle = line; g.fillRect(Math.round(x(n)), 0, 1, height);
          g.fillStyle = quiet; g.fillText(count(Math.round(n)), Math.round(x(n)) + 4, 14);
        }
        g.fillStyle = ink;
        for (const lane of lanes.values()) if (lane.title) g.fillText(lane.title, 4, TOP + lane.titleAt * ROW + 13);
        for (const r of rows) {
          const left = x(r.first), right = x(r.last + 1);
          if (right < 0 || left > width || !lanes.has(r.thread)) continue;
          const y = TOP + (lanes.get(r.thread).y + r.depth) * ROW, from = Math.max(left, -2), w = Math.max(0.6, Math.min(right, width + 2) - from);
          const hue = HUES[(r.f + HUES.length) % HUES.length], mine = state.chosen && r.f === state.chosen.i;
          // Paler where calls are joined and other things are between them.
          const strength = r.instance === null ? Math.max(0.3, Math.min(1, r.busy / Math.max(1, r.last - r.first + 1))) : 1;
          g.globalAlpha = state.chosen && !mine ? 0.3 * strength : strength;
          g.fillStyle = r.f < 0 ? quiet : `hsl(${hue} ${dark ? 45 : 62}% ${dark ? 38 : 76}%)`;
          g.fillRect(from, y, w, ROW - 2);
          g.globalAlpha = 1;
          if (mine) { g.strokeStyle = accent; g.lineWidth = 1; if (w > 2) g.strokeRect(from + 0.5, y + 0.5, w - 1, ROW - 3); }
          if (w > 34) {
            g.fillStyle = ink;
            const fits = Math.floor((w - 8) / 6.1);
            g.globalAlpha = state.chosen && !mine ? 0.5 : 1;
            if (fits >= 4) g.fillText(shorten(nameOf(r.f) + (r.instance === null && r.calls > 1 ? ` ${count(r.calls)}×` : ""), fits), from + 4, y + 13);
            g.globalAlpha = 1;
          }
        }
        readout.textContent = `${exact(Math.round(timeline.from))} to ${exact(Math.round(timeline.to))} of ${exact(end)} ${unit}`;
      };
      const at = event => {
        const room = sheet.getBoundingClientRect(), px = event.clientX - room.left, py = event.clientY - room.top - TOP;
        const n = timeline.from + px / room.width * (timeline.to - timeline.from), slack = 1.5 / room.width * (timeline.to - timeline.from);
        let best = null;
        for (const r of rows) {
          const lane = lanes.get(r.thread);
          if (lane && Math.floor(py / ROW - lane.y - r.depth + 1e-9) === 0 && n >= r.first - slack && n <= r.last + 1 + slack) best = r;
        }
        return best;
      };
      const set = (from, to) => {
        const span = Math.min(end, Math.max(end / 20000, 4, to - from));
        timeline.from = Math.max(0, Math.min(end - span, from));
        timeline.to = timeline.from + span;
        timeline.paint();
      };
      const zoomBy = (factor, where = 0.5) => { const span = timeline.to - timeline.from, fixed = timeline.from + where * span; set(fixed - where * span / factor, fixed + (1 - where) * span / factor); };
      const move = share => { const span = timeline.to - timeline.from; set(timeline.from + share * span, timeline.to + share * span); };
      let drag = null;
      sheet.addEventListener("pointerdown", event => { drag = { x: event.clientX, from: timeline.from, moved: false }; sheet.setPointerCapture(event.pointerId); });
      sheet.addEventListener("pointermove", event => {
        if (drag && event.buttons) {
          const dx = event.clientX - drag.x;
          if (Math.abs(dx) > 3) drag.moved = true;
          const span = timeline.to - timeline.from;
          if (drag.moved) { hideTip(); set(drag.from - dx / sheet.clientWidth * span, drag.from - dx / sheet.clientWidth * span + span); }
          return;
        }
        const r = at(event);
        if (!r) { hideTip(); return; }
        const length = r.last - r.first + 1, text = r.instance !== null
          ? `${nameOf(r.f)}#${r.instance}\n${exact(length)} ${unit}, from ${exact(r.first)} to ${exact(r.last)}`
          : `mostly ${nameOf(r.f)}: ${plural(r.calls, "short call")}\nfrom ${exact(r.first)} to ${exact(r.last)}, ${percent(r.busy, length)} of it in them`;
        showTip(text, event.clientX, event.clientY);
      });
      sheet.addEventListener("pointerleave", hideTip);
      sheet.addEventListener("click", event => { if (drag && drag.moved) return; const r = at(event); if (r && F[r.f]) choose(F[r.f]); });
      sheet.addEventListener("wheel", event => {
        if (event.shiftKey && !event.ctrlKey) { event.preventDefault(); move((event.deltaY || event.deltaX) / 1000); return; }
        event.preventDefault();
        const room = sheet.getBoundingClientRect();
        zoomBy(Math.exp(-event.deltaY * 0.0018), (event.clientX - room.left) / room.width);
      }, { passive: false });
      sheet.addEventListener("keydown", event => {
        const action = { ArrowLeft: () => move(-0.1), ArrowRight: () => move(0.1), "+": () => zoomBy(1.4), "=": () => zoomBy(1.4), "-": () => zoomBy(1 / 1.4), 0: () => set(0, end) }[event.key];
        if (action) { event.preventDefault(); action(); }
      });
      const tools = el("div", { class: "tools" }, el("span", { class: "group" }, el("button", { type: "button", "aria-label": "Zoom in", onclick: () => zoomBy(1.6) }, "+"), el("button", { type: "button", "aria-label": "Zoom out", onclick: () => zoomBy(1 / 1.6) }, "−"), el("button", { type: "button", onclick: () => set(0, end) }, "All")), readout,
        el("span", { class: "quiet" }, "Wheel zooms, dragging moves; callers are above what they call."));
      place.replaceChildren(tools, scroll, el("p", { class: "status" }, `Calls too short to see are joined with their neighbours: the function with most of each piece stands for it, the paler the less of the piece it has.`));
      new ResizeObserver(() => { if (state.view === "timeline") timeline.paint(); }).observe(scroll);
    }
    timeline.paint();
  };

  // ---- source

  const source = { built: false, file: 0, at: null, chosen: null, lines: [] };
  draw.source = () => {
    const place = $("source");
    if (!raw.source) { place.replaceChildren(empty("source", "There are no source lines")); return; }
    if (!source.built) {
      source.built = true;
      raw.source.files.forEach((file, n) => file.lines.forEach(([line, f, steps, read, written]) => source.lines.push({ n: source.lines.length, file: n, line, f, steps, read, written, in: [], out: [] })));
      for (const [a, b, amount] of raw.source.flows) {
        if (b !== null && b >= 0) source.lines[b].in.push([a, amount]);
        if (a !== null && a >= 0) source.lines[a].out.push([b, amount]);
      }
      const traffic = n => source.lines.reduce((sum, l) => sum + (l.file === n ? l.read + l.written : 0), 0);
      const order = raw.source.files.map((f, n) => [n, traffic(n)]).sort((a, b) => b[1] - a[1] || a[0] - b[0]);
      source.file = order[0][0];
      const pick = el("select", { "aria-label": "Source file", onchange: () => { source.file = Number(pick.value); source.at = null; paintSource(); } }, order.map(([n, amount]) => el("option", { value: n }, `${raw.source.files[n].path}  (${volume(amount)})`)));
      const body = el("div", { class: "scroll", id: "source-body" });
      Object.assign(source, { pick, body });
      place.replaceChildren(el("div", { class: "tools" }, el("label", {}, "File ", pick), el("span", { class: "quiet", id: "source-note" })), body,
        el("p", { class: "status" }, "Bytes that each line reads, and bytes of it that something reads (each read counted). Click a line to see where its data comes from and goes to."));
    }
    const f = state.chosen;
    if (f && f !== source.chosen) {
      const line = source.lines.find(l => l.f === f.i);
      if (line) { source.file = line.file; source.at = line.n; }
    }
    source.chosen = f;
    paintSource();
  };
  const lineName = l => `${raw.source.files[l.file].path.split("/").pop()}:${l.line}`;
  function paintSource() {
    const file = raw.source.files[source.file], mine = source.lines.filter(l => l.file === source.file);
    source.pick.value = source.file;
    $("source-note").textContent = file.text.length ? "" : "The text of this file is not in the page: addfg report --source DIR.";
    const text = new Map(file.text.map(([n, t]) => [n, t]));
    const by = new Map(mine.map(l => [l.line, l]));
    const numbers = [...new Set([...text.keys(), ...by.keys()])].sort((a, b) => a - b);
    const most = key => Math.max(1, ...mine.map(l => l[key])), top = { steps: most("steps"), read: most("read"), written: most("written") };
    const cell = (cls, n, whole, shown) => el("td", { class: "number " + cls, style: { "--share": (n ? 100 * Math.sqrt(n / whole) : 0).toFixed(1) }, title: exact(n) }, n ? shown(n) : "");
    const rows = [];
    let last = null, function_ = null;
    for (const n of numbers) {
      const l = by.get(n);
      if (last !== null && n > last + 1) rows.push(el("tr", { class: "cut" }, el("td", { colspan: 5 }, text.size ? "⋯" : "")));
      last = n;
      if (l && l.f !== function_ && l.f !== null) {
        function_ = l.f;
        rows.push(el("tr", { class: "function" }, el("td", { colspan: 4 }), el("td", {}, functionLink(F[l.f]))));
      }
      const row = el("tr", { class: l ? (l.n === source.at ? "hit chosen" : "hit") : "", "data-line": l ? l.n : null, tabindex: l ? 0 : null },
        cell("steps", l ? l.steps : 0, top.steps, count), cell("reads", l ? l.read : 0, top.read, bytes), cell("writes", l ? l.written : 0, top.written, bytes),
        el("td", { class: "number no" }, n), el("td", { class: "code" }, text.get(n) || ""));
      rows.push(row);
    }
    const open = event => {
      const row = event.target.closest("tr.hit");
      if (!row || event.target.closest("button") || (event.type === "keydown" && event.key !== "Enter")) return;
      for (const old of source.body.querySelectorAll("tr.chosen")) old.classList.remove("chosen");
      row.classList.add("chosen");
      source.at = Number(row.dataset.line);
      panelLine(source.lines[source.at]);
    };
    source.body.replaceChildren(el("table", { class: "lines", onclick: open, onkeydown: open }, el("thead", {}, el("tr", {}, ...["steps", "reads", "read from it", "line", "source"].map(t => el("th", { scope: "col" }, t)))), el("tbody", {}, rows)));
    // Without a line chosen the busiest is where it starts.
    const busiest = mine.reduce((m, l) => (l.read + l.written > m.read + m.written ? l : m), mine[0]);
    const chosen = source.body.querySelector(`tr[data-line="${source.at === null ? busiest.n : source.at}"]`);
    if (chosen) chosen.scrollIntoView({ block: "center" });
  }
  function panelLine(l) {
    const end = at => {
      if (at === null) return "(stub)";
      if (at < 0) return functionLink(F[-1 - at]);
      const other = source.lines[at];
      if (other === l) return "itself";
      const code = (raw.source.files[other.file].text.find(t => t[0] === other.line) || [])[1];
      return el("span", {}, el("button", { class: "link", type: "button", onclick: () => { source.file = other.file; source.at = other.n; paintSource(); panelLine(other); } }, lineName(other)), code ? el("div", { class: "quiet code" }, shorten(code.trim(), 40)) : "");
    };
    const sorted = list => list.slice().sort((a, b) => b[1] - a[1]).map(([at, amount]) => [end(at), volume(amount)]);
    $("panel").replaceChildren(...[el("h2", {}, lineName(l)), el("div", { class: "quiet name" }, raw.source.files[l.file].path),
      figures([["function", l.f === null ? null : functionLink(F[l.f])], ["steps", exact(l.steps)], ["reads", volume(l.read)], ["read from it", volume(l.written)]]),
      table("Its data comes from", sorted(l.in), 12), table("Its data goes to", sorted(l.out), 12)].flat(9).filter(Boolean));
    $("panel").scrollTop = 0;
  }

  // ---- tables

  const link = i => (i === null || !F[i] ? "" : functionLink(F[i]));
  const TABLES = {
    functions: { title: "Functions", rows: () => F, columns: [["function", f => f.name, f => functionLink(f)], ["calls", f => f.number, 1], [UNIT, f => f.self, 1], ["with callees", f => f.total, 1], ["reads of others", f => f.got, 1], ["read by others", f => f.gave, 1], ["within", f => f.own, 1], ["written", f => f.written, 1], ["in vain", f => f.dead, 1], ["kind", f => f.kind], ["address", f => f.address], ["file", f => f.file]] },
    data: { title: "Data", rows: () => raw.data, columns: [["writer", d => (d[0] === null ? "(left out)" : nameOf(d[0])), d => link(d[0])], ["reader", d => (d[1] === null ? "(left out)" : nameOf(d[1])), d => link(d[1])], ["via", d => VIA[d[2]]], ["bytes", d => d[3], 1], ["unique bytes", d => d[4], 1], ["addresses", d => d[5], 1], ["transfers", d => d[6], 1]] },
    calls: { title: "Calls", rows: () => raw.calls, columns: [["caller", c => nameOf(c[0]), c => link(c[0])], ["callee", c => nameOf(c[1]), c => link(c[1])], ["calls", c => c[2], 1], [`${UNIT} with callees`, c => c[3], 1], [`${UNIT} a call`, c => (c[3] === null ? null : Math.round(10 * c[3] / c[2]) / 10), 1]] },
    problems: { title: "Problems", rows: () => raw.problems, columns: [["severity", p => p[0]], ["code", p => p[1]], ["count", p => p[2], 1], ["first", p => p[3]], ["at", p => p[4]], ["remedy", p => p[5]]] },
    inputs: { title: "Inputs", rows: () => raw.inputs, columns: [["role", i => i[1]], ["path", i => i[2]], ["format", i => i[3]], ["size", i => i[4], 1], ["options", i => i[5]]] },
  };
  const tables = { built: false, which: "functions", sort: {}, query: "", limit: 200 };
  draw.tables = () => {
    if (!tables.built) {
      tables.built = true;
      const pick = el("select", { id: "table-pick", "aria-label": "Table", onchange: () => { tables.which = pick.value; tables.limit = 200; paintTable(); } }, Object.entries(TABLES).map(([k, t]) => el("option", { value: k }, `${t.title} (${exact(t.rows().length)})`)));
      const filter = el("input", { type: "search", id: "table-filter", placeholder: "Filter rows", "aria-label": "Filter rows", oninput: () => { tables.query = filter.value.trim().toLowerCase(); tables.limit = 200; paintTable(); } });
      $("tables").replaceChildren(el("div", { class: "tools" }, el("label", {}, "Table ", pick), el("label", {}, "Filter ", filter), el("span", { class: "quiet", id: "table-note", role: "status" })), el("div", { class: "scroll", id: "table-body" }));
    }
    paintTable();
  };
  function paintTable() {
    const t = TABLES[tables.which], sort = tables.sort[tables.which];
    let rows = t.rows();
    if (tables.query) rows = rows.filter(r => t.columns.some(c => { const v = c[1](r); return typeof v === "string" && v.toLowerCase().includes(tables.query); }));
    if (sort) {
      const value = t.columns[sort.column][1], sign = sort.down ? -1 : 1;
      // What is unknown comes last, whichever way.
      rows = rows.map((r, i) => [value(r), i, r]).sort(([a, i], [b, j]) => {
        const [x, y] = [a === null || a === undefined, b === null || b === undefined];
        return x - y || (x ? 0 : sign * (a < b ? -1 : a > b ? 1 : 0)) || i - j;
      }).map(r => r[2]);
    }
    const numeric = c => c[2] === 1;
    const head = t.columns.map((c, n) => {
      const on = sort && sort.column === n;
      return el("th", { class: numeric(c) ? "number" : "", scope: "col", "aria-sort": on ? (sort.down ? "descending" : "ascending") : "none" },
        el("button", { type: "button", onclick: () => { tables.sort[tables.which] = { column: n, down: on ? !sort.down : numeric(c) }; paintTable(); $("table-body").querySelectorAll("th button")[n].focus(); } }, c[0], on ? (sort.down ? " ▾" : " ▴") : ""));
    });
    const shown = rows.slice(0, tables.limit).map(r => el("tr", {}, t.columns.map(c => { const v = c[1](r); return el("td", { class: numeric(c) ? "number" : "" }, typeof c[2] === "function" ? c[2](r) || v : numeric(c) ? exact(v) : v); })));
    $("table-note").textContent = `${exact(rows.length)} of ${exact(t.rows().length)} rows` + (rows.length > shown.length ? `, the first ${exact(shown.length)} shown` : "");
    $("table-body").replaceChildren(el("table", { class: "grid" }, el("thead", {}, el("tr", {}, head)), el("tbody", {}, shown)),
      rows.length > shown.length ? el("button", { class: "more", type: "button", onclick: () => { tables.limit += 1000; paintTable(); } }, `${exact(Math.min(1000, rows.length - shown.length))} more`) : "");
  }

  // ---- start

  const trace = raw.inputs.filter(i => i[1] === "trace").map(i => String(i[2]).split("/").pop());
  const what = trace.slice(0, 2).join(", ") + (trace.length > 2 ? ` and ${trace.length - 2} more` : "");
  document.title = `${what || "addfg"} – addfg report`;
  $("summary").textContent = [what, STEPS && UNIT === "steps" && `${count(STEPS)} steps`, plural(F.filter(f => f.kind !== "pseudo" && f.kind !== "others").length, "function"), CALLS && `${count(CALLS)} calls`, CROSSING && `${volume(CROSSING)} between functions`].filter(Boolean).join(" · ");
  $("theme").onclick = () => {
    const dark = state.theme ? state.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    theme(dark ? "light" : "dark");
    remember();
    if (state.view === "timeline") draw.timeline();
  };
  VIEWS.forEach((name, n) => {
    $("tab-" + name).onclick = () => view(name);
    $("tab-" + name).addEventListener("keydown", event => {
      const to = { ArrowRight: n + 1, ArrowLeft: n - 1 + VIEWS.length }[event.key];
      if (to === undefined) return;
      view(VIEWS[to % VIEWS.length]);
      $("tab-" + VIEWS[to % VIEWS.length]).focus();
    });
  });
  addEventListener("hashchange", () => { if (location.hash !== writing) recall(); writing = ""; });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { if (state.view === "timeline") draw.timeline(); });
  // After the first frame, so that the page is there at once.
  requestAnimationFrame(() => setTimeout(recall));
})();

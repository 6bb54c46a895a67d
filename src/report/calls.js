  // ---- call tree

  const tree = { built: false, source: undefined };
  const treeSource = () => { if (tree.source === undefined) tree.source = madeTree(); return tree.source; };
  function madeTree() {
    if (raw.tree && raw.tree.rows.length) {
      const rows = raw.tree.rows.map(([parent, f, n, self, total, gone, goneTotal], i) => ({ i, parent, f, calls: n, self, total, gone, goneTotal, below: [] }));
      const roots = [];
      for (const r of rows) (r.parent < 0 ? roots : rows[r.parent].below).push(r);
      for (const r of rows) r.below.sort((a, b) => b.total - a.total || a.i - b.i);
      roots.sort((a, b) => b.total - a.total || a.i - b.i);
      return { unit: raw.tree.unit, roots, rows, below: r => r.below, parent: r => (r.parent < 0 ? null : rows[r.parent]) };
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
          el("span", { class: "tree-name", style: { "padding-left": `${Math.min(depth, 60) * 14}px` } }, twist, nameOf(r.f), F[r.f] && F[r.f].hint ? el("span", { class: "quiet" }, ` ${F[r.f].hint}`) : ""));
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
      place.replaceChildren(el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Call tree" }, head, body), el("p", { class: "status" }, note));
    }
    for (const item of place.querySelectorAll(".tree-row[data-function]")) item.classList.toggle("chosen", Boolean(state.chosen) && Number(item.dataset.function) === state.chosen.i);
  };

  // ---- matrix

  draw.matrix = () => {
    const place = $("matrix-body");
    if (!net.pairs.length && !net.nodes.some(f => f.own)) { place.replaceChildren(empty("matrix", "There is no data between functions")); return; }
    const top = Number($("matrix-top").value), chosen = drawnFor(state.chosen);
    $("matrix-top-out").textContent = top;
    const traffic = f => f.near.in.concat(f.near.out).reduce((sum, p) => sum + p.bytes, 0) + f.own;
    const list = net.nodes.filter(f => traffic(f) > 0).sort((a, b) => traffic(b) - traffic(a) || a.i - b.i);
    const kept = list.slice(0, top);
    if (chosen && traffic(chosen) && !kept.includes(chosen)) kept[kept.length - 1] = chosen;
    const order = { traffic: () => 0, name: (a, b) => (a.name < b.name ? -1 : 1), file: (a, b) => ((a.file || "") < (b.file || "") ? -1 : (a.file || "") > (b.file || "") ? 1 : ranked(a) - ranked(b)), first: (a, b) => ranked(a) - ranked(b) }[$("matrix-order").value];
    let starts = [];
    if (order) kept.sort(order); else starts = clustered(kept);
    const at = new Map(kept.map((f, n) => [f.i, n]));
    const rest = list.length > kept.length, n = kept.length + (rest ? 1 : 0), cells = new Map();
    const put = (a, b, amount, edge) => {
      const i = at.has(a) ? at.get(a) : n - 1, j = at.has(b) ? at.get(b) : n - 1, key = i * n + j, cell = cells.get(key) || { i, j, bytes: 0, edge, parts: 0 };
      cell.bytes += amount; cell.parts++;
      cells.set(key, cell);
    };
    for (const p of net.pairs) put(p.a, p.b, p.bytes, p);
    for (const f of list) if (f.own) put(f.i, f.i, f.own, { data: true, a: f.i, b: f.i, bytes: f.own, flows: f.local.slice().sort((x, y) => y.bytes - x.bytes) });
    const names = kept.map(f => f.name).concat(rest ? [`(${exact(list.length - kept.length)} others)`] : []);
    const CELL = n > 120 ? 11 : n > 60 ? 14 : n > 36 ? 19 : 24, shown = names.map(t => shorten(t, 30));
    const left = 10 + Math.max(...shown.map(t => textWidth(t, FONT.replace("12px", "11px")))), head = left * 0.72 + 8;
    const most = Math.log(Math.max(2, ...[...cells.values()].map(c => c.bytes)));
    const rows = svg("g", {}), columns = svg("g", {}), body = svg("g", {});
    body.append(svg("rect", { class: "ground", x: left, y: head, width: n * CELL, height: n * CELL }));
    const link = i => (i < kept.length ? { style: { cursor: "pointer" }, onclick: () => choose(kept[i]) } : {});
    shown.forEach((t, i) => {
      const on = chosen && kept[i] === chosen ? "on" : "";
      rows.append(svg("text", { class: on, x: left - 5, y: head + CELL * (i + 0.5) + 4, "text-anchor": "end", "data-row": i, ...link(i) }, t));
      const x = left + CELL * (i + 0.5) + 4, y = head - 5;
      columns.append(svg("text", { class: on, x, y, transform: `rotate(-50 ${x} ${y})`, "data-column": i, ...link(i) }, t));
    });
    for (const cell of cells.values()) {
      const share = 8 + 92 * Math.log(Math.max(1, cell.bytes)) / most, x = left + CELL * cell.j, y = head + CELL * cell.i;
      const text = `${names[cell.i]} → ${names[cell.j]}\n${exact(cell.bytes)} ${AMOUNT}`;
      const single = cell.i < kept.length && cell.j < kept.length;
      body.append(svg("rect", { class: "cell", role: single ? "button" : "img", "data-at": `${cell.i} ${cell.j}`, x: x + 0.5, y: y + 0.5, width: CELL - 1, height: CELL - 1, rx: 2, tabindex: -1, "aria-label": text, style: { fill: `color-mix(in srgb, var(--${cell.i === cell.j && single ? "own" : "cell"}) ${share.toFixed(0)}%, var(--raised))` },
        onpointermove: event => showTip(text, event.clientX, event.clientY), onpointerleave: hideTip, onclick: () => { if (single) panelEdge(cell.edge); } }));
    }
    for (const at of starts) body.append(svg("line", { class: "border", x1: left, x2: left + n * CELL, y1: head + at * CELL, y2: head + at * CELL }), svg("line", { class: "border", y1: head, y2: head + n * CELL, x1: left + at * CELL, x2: left + at * CELL }));
    const width = left + n * CELL + head, height = head + n * CELL + 12;
    const picture = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Communication matrix" }, body, rows, columns);
    // Arrow keys go to the next cell that has data, Enter opens it.
    const all = [...body.querySelectorAll(".cell")].map(c => [c, ...c.dataset.at.split(" ").map(Number)]).sort((a, b) => a[1] - b[1] || a[2] - b[2]);
    if (all.length) all[0][0].setAttribute("tabindex", 0);
    picture.addEventListener("keydown", event => {
      const now = all.findIndex(c => c[0] === event.target);
      if (now < 0) return;
      const [cell, i, j] = all[now];
      if (event.key === "Enter" || event.key === " ") { cell.dispatchEvent(new MouseEvent("click", { bubbles: true })); event.preventDefault(); return; }
      const near = { ArrowRight: c => c[1] === i && c[2] > j, ArrowLeft: c => c[1] === i && c[2] < j, ArrowDown: c => c[1] > i, ArrowUp: c => c[1] < i }[event.key];
      if (!near) return;
      event.preventDefault();
      const far = c => Math.abs(c[1] - i) * 10000 + Math.abs(c[2] - j), to = all.filter(near).sort((a, b) => far(a) - far(b))[0];
      if (!to) return;
      cell.setAttribute("tabindex", -1);
      to[0].setAttribute("tabindex", 0);
      to[0].focus();
    });
    // Names of the row and the column below the pointer stand out.
    picture.addEventListener("pointermove", event => {
      const room = picture.getBoundingClientRect(), i = Math.floor((event.clientY - room.top - head) / CELL), j = Math.floor((event.clientX - room.left - left) / CELL);
      [...rows.children].forEach((t, k) => t.classList.toggle("on", k === i || kept[k] === chosen && Boolean(chosen)));
      [...columns.children].forEach((t, k) => t.classList.toggle("on", k === j || kept[k] === chosen && Boolean(chosen)));
    });
    place.replaceChildren(picture);
  };
  $("matrix-top").oninput = () => draw.matrix();
  $("matrix-order").onchange = () => draw.matrix();
  $("matrix-top").max = Math.max(5, Math.min(500, net.nodes.length));
  /** Sorts functions so that those that exchange most data are neighbours; where clusters begin. Pairs are joined from the most data for
      their size down (average linkage), as long as both ends are worth it; a cluster is put behind the one that it exchanges most with. */
  function clustered(kept, pairs = net.pairs) {
    // What every function reads of says nothing of who belongs together: sources come last.
    const inner = kept.filter(f => f.kind !== "pseudo" && f.kind !== "others"), outer = kept.filter(f => !inner.includes(f));
    kept.splice(0, kept.length, ...inner, ...outer);
    const place = new Map(inner.map((f, n) => [f.i, n])), n = inner.length, between = inner.map(() => new Map());
    for (const p of pairs) {
      const [a, b] = [place.get(p.a), place.get(p.b)];
      if (a === undefined || b === undefined || a === b) continue;
      for (const [x, y] of [[a, b], [b, a]]) between[x].set(y, (between[x].get(y) || 0) + p.bytes);
    }
    const total = between.map(m => [...m.values()].reduce((sum, x) => sum + x, 0)), all = total.reduce((sum, x) => sum + x, 0) || 1;
    const members = inner.map((_, i) => [i]), alive = new Set(members.keys());
    // Data of two clusters beyond what their sizes alone let expect (modularity, Newman 2004).
    const gain = (a, b) => (between[a].get(b) || 0) / all - total[a] * total[b] / (all * all);
    for (let left = n; left > 1; left--) {
      let best = null;
      for (const a of alive) for (const b of between[a].keys()) if (a < b && alive.has(b)) { const g = gain(a, b); if (g > 1e-12 && (!best || g > best[0])) best = [g, a, b]; }
      if (!best) break;
      const [, a, b] = best;
      members[a].push(...members[b]);
      total[a] += total[b];
      alive.delete(b);
      for (const [c, amount] of between[b]) {
        between[c].delete(b);
        if (c === a) continue;
        between[a].set(c, (between[a].get(c) || 0) + amount);
        between[c].set(a, between[a].get(c));
      }
      between[a].delete(b);
    }
    const rest = new Set(alive), list = [], starts = [];
    let last = null;
    while (rest.size) {
      const next = [...rest].sort((x, y) => (last === null ? 0 : (between[last].get(y) || 0) - (between[last].get(x) || 0)) || total[y] - total[x] || x - y)[0];
      rest.delete(next);
      starts.push(list.length);
      list.push(...members[next].sort((x, y) => x - y));
      last = next;
    }
    kept.splice(0, n, ...list.map(i => inner[i]));
    return (outer.length ? starts.concat(n) : starts).slice(1);
  }

  // ---- timeline

  const timeline = { built: false, from: 0, to: 1, chosen: undefined, span: null, selecting: false, only: null };
  /** What is in a span: each function's own part, as far as bars tell of it. */
  function panelSpan(from, to) {
    const sums = new Map(), shown = timeline.rows.filter(r => timeline.only === null || r.thread === timeline.only);
    const put = (f, part, calls) => { const s = sums.get(f) || { part: 0, calls: 0 }; s.part += part; s.calls += calls; sums.set(f, s); };
    for (const thread of new Set(shown.map(r => r.thread))) {
      // The deepest bar at a moment is what ran: bars in the order of their ends, those of callers behind.
      const mine = shown.filter(r => r.thread === thread && r.last >= from && r.first <= to).sort((a, b) => a.first - b.first || a.depth - b.depth), open = [];
      let at = from;
      const until = n => { if (open.length && n > at) put(open[open.length - 1].f, n - at, 0); at = Math.max(at, n); };
      for (const r of mine.concat([{ first: to, depth: -1, end: true }])) {
        while (open.length && (open[open.length - 1].last < r.first || open[open.length - 1].depth >= r.depth)) { until(Math.min(to, open[open.length - 1].last + 1, r.end ? to : Infinity)); open.pop(); }
        until(Math.max(from, Math.min(to, r.first)));
        if (!r.end) { open.push(r); put(r.f, 0, r.first >= from ? r.calls : 0); }
      }
    }
    const unit = raw.timeline.unit === "time" ? "ticks" : "steps", list = [...sums].sort((a, b) => b[1].part - a[1].part);
    $("panel").replaceChildren(...[el("h2", {}, "Selected span"), figures([["from", exact(Math.round(from))], ["to", exact(Math.round(to))], [unit, exact(Math.round(to - from))]]),
      table(`Where its ${unit} are`, list.map(([f, s]) => [f >= 0 ? functionLink(F[f]) : "(stub)", `${count(Math.round(s.part))}  (${percent(s.part, to - from)})${s.calls ? `, ${count(s.calls)}×` : ""}`]), 30)].flat(9).filter(Boolean));
    $("panel").scrollTop = 0;
  }
  /** Data between threads: from the call that wrote to the one that read, the wider the more. */
  function paintArrows(g, x, timeline, lanes, { ROW, TOP, accent }) {
    const list = raw.timeline.arrows || [];
    if (!list.length || timeline.arrows === false || timeline.only !== null) return;
    const most = Math.max(1, ...list.map(a => a[10]));
    g.strokeStyle = g.fillStyle = accent;
    for (const [thread, depth, , first, last, other, deep, , begin, end, amount] of list) {
      if (!lanes.has(thread) || !lanes.has(other)) continue;
      // It was written before it was read: between the two ends if the calls do not overlap, else where the overlap begins.
      const from = Math.min(last, Math.max(first, begin)), to = Math.max(begin, Math.min(end, from));
      const [y1, y2] = [[thread, depth], [other, deep]].map(([t, d]) => TOP + (lanes.get(t).y + d) * ROW + ROW / 2);
      const [x1, x2] = [x(from), x(to)], bend = (y1 + y2) / 2;
      g.lineWidth = 0.6 + 2.4 * Math.sqrt(amount / most);
      g.beginPath(); g.moveTo(x1, y1); g.bezierCurveTo(x1, bend, x2, bend, x2, y2); g.stroke();
      const up = y2 < y1 ? 1 : -1;
      g.beginPath(); g.moveTo(x2, y2); g.lineTo(x2 - 3.5, y2 + up * 7); g.lineTo(x2 + 3.5, y2 + up * 7); g.fill();
    }
  }
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
      timeline.threads = ids;
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
      const scroll = el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Timeline" }, sheet);
      const readout = el("span", { class: "quiet" });
      // Without start-up the run begins where the program's own calls do.
      const begin = rows.reduce((m, r) => Math.min(m, r.first), end), all = anyApart && !WITH && begin > 0.02 * end ? Math.max(0, begin - 0.02 * (end - begin)) : 0;
      Object.assign(timeline, { rows, end, lanes, sheet, scroll, from: all, to: end, readout, hit: null });
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
        const places = n => Math.max(1, Math.ceil(-Math.log10(n / 1e6) - 1e-9)), moment = (n, mark) => (n < 1e6 ? exact(Math.round(n)) : `${(n / 1e6).toFixed(places(mark))} M`);
        const step = 10 ** Math.floor(Math.log10((timeline.to - timeline.from) / 4)), mark = [1, 2, 5, 10].map(m => m * step).find(m => m * scale > 90) || step * 10;
        for (let n = Math.ceil(timeline.from / mark) * mark; n <= timeline.to; n += mark) {
          g.fillStyle = line; g.fillRect(Math.round(x(n)), 0, 1, height);
          g.fillStyle = quiet; g.fillText(moment(n, mark), Math.round(x(n)) + 4, 14);
        }
        g.fillStyle = ink;
        for (const lane of lanes.values()) if (lane.title) g.fillText(lane.title, 4, TOP + lane.titleAt * ROW + 13);
        for (const r of rows) {
          const left = x(r.first), right = x(r.last + 1);
          if (right < 0 || left > width || !lanes.has(r.thread) || (timeline.only !== null && r.thread !== timeline.only)) continue;
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
        paintArrows(g, x, timeline, lanes, { ROW, TOP, accent });
        if (timeline.span) {
          const [from, to] = timeline.span.map(x);
          g.globalAlpha = 0.18; g.fillStyle = accent; g.fillRect(Math.min(from, to), 0, Math.abs(to - from), height); g.globalAlpha = 1;
        }
        readout.textContent = `${exact(Math.round(timeline.from))} to ${exact(Math.round(timeline.to))} of ${exact(raw.timeline.unit === "time" ? end : STEPS)} ${unit}`;
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
      const moment = event => { const room = sheet.getBoundingClientRect(); return Math.max(0, Math.min(end, timeline.from + (event.clientX - room.left) / room.width * (timeline.to - timeline.from))); };
      sheet.addEventListener("pointerdown", event => { drag = { x: event.clientX, from: timeline.from, moved: false, span: event.shiftKey || timeline.selecting ? moment(event) : null }; sheet.setPointerCapture(event.pointerId); });
      sheet.addEventListener("pointermove", event => {
        if (drag && event.buttons) {
          const dx = event.clientX - drag.x;
          if (Math.abs(dx) > 3) drag.moved = true;
          const span = timeline.to - timeline.from;
          if (drag.moved && drag.span !== null) { hideTip(); timeline.span = [drag.span, moment(event)]; timeline.paint(); return; }
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
      sheet.addEventListener("pointerup", () => { if (drag && drag.moved && drag.span !== null && timeline.span) panelSpan(...timeline.span.slice().sort((a, b) => a - b)); });
      sheet.addEventListener("click", event => { if (drag && drag.moved) return; const r = at(event); if (r && F[r.f]) choose(F[r.f]); });
      sheet.addEventListener("wheel", event => {
        if (event.shiftKey && !event.ctrlKey) { event.preventDefault(); move((event.deltaY || event.deltaX) / 1000); return; }
        event.preventDefault();
        const room = sheet.getBoundingClientRect();
        zoomBy(Math.exp(-event.deltaY * 0.0018), (event.clientX - room.left) / room.width);
      }, { passive: false });
      sheet.addEventListener("keydown", event => {
        const action = { ArrowLeft: () => move(-0.1), ArrowRight: () => move(0.1), "+": () => zoomBy(1.4), "=": () => zoomBy(1.4), "-": () => zoomBy(1 / 1.4), 0: () => set(all, end), s: () => { timeline.span = [timeline.from, timeline.to]; timeline.paint(); panelSpan(timeline.from, timeline.to); } }[event.key];
        if (action) { event.preventDefault(); action(); }
      });
      const tools = el("div", { class: "tools" }, el("span", { class: "group" }, el("button", { type: "button", "aria-label": "Zoom in", onclick: () => zoomBy(1.6) }, "+"), el("button", { type: "button", "aria-label": "Zoom out", onclick: () => zoomBy(1 / 1.6) }, "−"), el("button", { type: "button", onclick: () => set(all, end) }, "All")),
        el("label", {}, el("input", { type: "checkbox", onchange: event => { timeline.selecting = event.target.checked; } }), " Select a span"),
 (raw.timeline.arrows || []).length ? el("label", {}, el("input", { type: "checkbox", id: "thread-data", checked: true, onchange: event => { timeline.arrows = event.target.checked; timeline.paint(); } }), " Data between threads") : "",
        ids.length > 1 ? el("label", {}, "Thread ", el("select", { "aria-label": "Thread", onchange: event => { timeline.only = event.target.value === "" ? null : Number(event.target.value); timeline.paint(); } }, el("option", { value: "" }, "all"), ids.map(id => el("option", { value: id }, lanes.get(id).title)))) : "", readout,
        el("span", { class: "quiet" }, "Wheel zooms, dragging moves; shift and dragging, or the key s, sums up a span; callers are above what they call."));
      place.replaceChildren(tools, scroll, el("p", { class: "status" }, `Calls too short to see are joined with their neighbours: the function with most of each piece stands for it, the paler the less of the piece it has.`));
      new ResizeObserver(() => { if (state.view === "timeline") timeline.paint(); }).observe(scroll);
    }
    timeline.paint();
  };


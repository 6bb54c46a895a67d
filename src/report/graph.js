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
    const focus = drawnFor(state.chosen);
    if (!focus) {
      const list = net.nodes.filter(f => f.weight > 0 || f.calls > 0).sort((a, b) => b.weight - a.weight || a.i - b.i);
      // What was opened is shown, with the heaviest of the rest.
      const opened = list.filter(f => !f.members && grouping.by !== "none" && grouping.open.has(keyOf(f, grouping.by))).slice(0, Math.ceil(0.7 * limit));
      return new Set(opened.concat(list.filter(f => !opened.includes(f))).slice(0, limit).map(f => f.i));
    }
    const seen = new Set([focus.i]);
    let ring = [focus];
    for (let d = 0; d < depth && ring.length; d++) {
      const near = new Map();
      const meet = (i, n) => { if (!seen.has(i)) near.set(i, (near.get(i) || 0) + n); };
      for (const f of ring) {
        for (const p of f.near.in) if (bytesShown(p) >= Math.max(1, least)) meet(p.a, bytesShown(p) / (CROSSING || 1));
        for (const p of f.near.out) if (bytesShown(p) >= Math.max(1, least)) meet(p.b, bytesShown(p) / (CROSSING || 1));
        if (graph.calls) {
          for (const c of f.near.callers) meet(c.a, c.calls / (CALLS || 1));
          for (const c of f.near.callees) meet(c.b, c.calls / (CALLS || 1));
        }
      }
      const next = [...near].sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, Math.max(0, limit - seen.size));
      ring = next.map(([i]) => N[i]);
      for (const f of ring) seen.add(f.i);
    }
    return seen;
  }

  /** Where a node stands among others: a group with the first of its functions. */
  const ranked = n => (n.members ? Math.min(...n.members.map(f => f.id)) : n.id);
  /** From the top to the bottom: sources of data that no step wrote, then callers before callees (without calls writers before readers). */
  function vertical(list, edges) {
    const any = edges.some(e => !e.data), below = new Map(list.map(i => [i, []])), above = new Set();
    for (const e of edges) if (e.data !== any && N[e.a].kind !== "others" && N[e.b].kind !== "others") { below.get(e.a).push(e.b); above.add(e.b); }
    const first = (x, y) => ranked(N[x]) - ranked(N[y]), done = [], seen = new Set();
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
    const level = i => (N[i].kind === "pseudo" ? 0 : N[i].kind === "others" ? 2 : 1);
    const place = new Map(done.reverse().map((i, n) => [i, n]));
    return list.slice().sort((x, y) => level(x) - level(y) || place.get(x) - place.get(y));
  }

  draw.graph = () => {
    const chosen = drawnFor(state.chosen);
    const limit = Number($("nodes").value), depth = Number($("depth").value);
    const picked = pick(limit, depth, graph.least === null ? 0 : graph.least);
    let data = net.pairs.filter(p => picked.has(p.a) && picked.has(p.b) && visible(p)), hidden = 0, hiddenBytes = 0;
    const all = data.length;
    // By itself the threshold leaves two data edges a function.
    let least = graph.least;
    if (least === null) {
      const sizes = data.map(bytesShown).sort((a, b) => b - a), most = 2 * picked.size;
      least = sizes.length > most ? sizes[most - 1] : 0;
    }
    data = data.filter(p => {
      const n = bytesShown(p), keep = n >= least || (chosen && graph.least === null && (p.a === chosen.i || p.b === chosen.i));
      if (!keep) { hidden++; hiddenBytes += n; }
      return keep;
    });
    const called = graph.calls ? net.calls.filter(c => c.a !== c.b && picked.has(c.a) && picked.has(c.b)) : [];
    let edges = data.concat(called);
    if (edges.length > 600) edges = edges.slice(0, 600);
    // What has no edge says nothing in a graph, unless it is all there is.
    const touched = new Set(edges.flatMap(e => [e.a, e.b]));
    const alone = [...picked].filter(i => !touched.has(i) && !(chosen && i === chosen.i));
    const list = vertical([...picked].filter(i => !alone.includes(i) || !touched.size), edges);

    const index = new Map(list.map((i, n) => [i, n]));
    const boxes = list.map(i => {
      const f = N[i], title = shorten(f.name, 34), small = [];
      if (f.self !== null && STEPS && f.kind !== "pseudo") small.push(`${percent(f.self, STEPS)} ${UNIT}`);
      if (f.members) small.push(plural(f.members.length, "function"));
      else if (f.calls && f.kind !== "pseudo") small.push(`${count(f.calls)}×`);
      if (f.own) small.push(`${volume(f.own)} within`);
      if (f.hint) small.unshift(shorten(f.hint, 30));
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

    $("focus").replaceChildren(chosen ? el("span", { class: "chip" }, el("span", { title: chosen.name }, "Around ", chosen.name), el("button", { type: "button", "aria-label": "Show the whole graph", onclick: () => choose(null) }, "×")) : "");
    $("depth").disabled = !state.chosen;
    $("depth-out").textContent = state.chosen ? depth : "whole";
    $("nodes-out").textContent = limit;
    $("least").value = least > 0 ? Math.log2(least) : 0;
    $("least-out").textContent = (graph.least === null ? "≈ " : "") + volume(Math.round(least > 1 ? least : 0));
    const shownBytes = data.reduce((sum, p) => sum + bytesShown(p), 0);
    const isCounted = n => n.kind !== "pseudo" && n.kind !== "others", sources = list.filter(i => N[i].kind === "pseudo").length;
    const parts = [`${list.filter(i => isCounted(N[i])).length} of ${GROUPS.length || grouping.by !== "none" ? `${exact(net.nodes.filter(isCounted).length)} functions and groups` : plural(COUNTED.length, "function")}${sources ? ` and ${plural(sources, "source")} of data` : ""}`];
    if (net.crossing) parts.push(`${volume(shownBytes)} of ${volume(net.crossing)} between ${grouping.by === "none" ? "functions" : "groups"} (${percent(shownBytes, net.crossing)})`);
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
      const kind = b.f.kind === "pseudo" ? " pseudo" : b.f.kind === "others" ? " others" : b.f.members ? " group" : "";
      const share = STEPS && b.f.self ? Math.sqrt(b.f.self / STEPS) * 100 : 0;
      const focused = drawnFor(state.chosen) === b.f ? " focused" : "";
      nodes.append(svg("g", { class: "node" + kind + focused, "data-node": n, tabindex: 0, role: "button", "aria-label": `${b.title}${b.line ? " " + b.line : ""}: ${functionText(b.f)}`, transform: `translate(${(b.x - b.w / 2).toFixed(1)},${(b.y - b.h / 2).toFixed(1)})`, style: { "--share": share.toFixed(1) } },
        svg("rect", { width: b.w.toFixed(1), height: b.h, rx: b.f.kind === "pseudo" ? 13 : 6 }),
        svg("text", { class: "title", x: b.w / 2, y: b.line ? 16 : 17 }, b.title), " ",
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
    const fits = graph.query ? matcher(graph.query) : () => false;
    for (const node of canvas.querySelectorAll("[data-node]")) node.classList.toggle("found", fits(graph.shown[node.dataset.node].f.name));
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
    canvas.addEventListener("dblclick", event => {
      const at = event.target.closest("[data-node]"), n = at && graph.shown[at.dataset.node].f;
      if (n && n.key) openGroup(n.key, true);
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
    $("nodes").max = Math.max(5, Math.min(120, net.nodes.length));
    $("least").disabled = !net.pairs.length;
    const kind = (name, style, cls, set) => el("label", {}, el("input", { type: "checkbox", checked: true, onchange: event => { set(event.target.checked); draw.graph(); } }), el("span", { class: "swatch" + cls, style }), name);
    if (net.calls.length) $("kinds").append(kind("calls", { color: "var(--call)" }, " solid", on => { graph.calls = on; }));
    VIA.forEach((name, v) => {
      if (net.pairs.some(p => p.flows.some(f => f.via === v))) $("kinds").append(kind(name, { color: `var(--${name})` }, "", on => { graph.via[v] = on; }));
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
    function take(m) {
      box.value = ""; graph.query = ""; close(); box.blur();
      m.take();
    }
    // Besides functions: variables and other storage, source files and lines.
    const storage = () => (raw.objects ? raw.objects.rows : []).map((row, n) => ({ name: row[0], more: row[1], weight: 0, i: n, take: () => { view("objects"); const filter = $("objects").querySelector("input[type=search]"); if (filter) { filter.value = row[0]; filter.dispatchEvent(new Event("input")); } } }));
    const files = () => (raw.source ? raw.source.files : []).map((file, n) => ({ name: file.path, more: "file", weight: 0, i: n, take: () => { draw.source(); const l = source.lines.find(l => l.file === n); if (l) showLine(l); } }));
    /** `file.c:12`: lines that ran. */
    function linesOf(wanted) {
      const at = /^(.*):(\d+)$/.exec(wanted);
      if (!at || !raw.source) return [];
      draw.source();
      return source.lines.filter(l => l.line === Number(at[2]) && raw.source.files[l.file].path.toLowerCase().endsWith(at[1].toLowerCase())).slice(0, 10).map(l => ({ name: lineName(l), more: "line", weight: 1, i: l.n, take: () => showLine(l) }));
    }
    function search() {
      const wanted = box.value.trim(), small = wanted.toLowerCase();
      graph.query = wanted;
      found();
      if (!wanted) { close(); return; }
      const fits = matcher(wanted);
      const score = name => { const n = name.toLowerCase(); return n === small ? 0 : n.startsWith(small) ? 1 : fits(name) ? 2 : 3; };
      // A function is shown in the view that is open.
      const functions = net.nodes.concat(F.filter(f => f.group && !f.hidden)).map(f => ({ name: f.name, f, weight: f.weight, i: f.i, more: STEPS && f.self !== null ? percent(f.self, STEPS) : volume(f.got + f.gave), take: () => choose(f, true) }));
      const best = (list, kind) => list.map(m => [score(m.name), kind, m]).filter(m => m[0] < 3).sort((a, b) => a[0] - b[0] || b[2].weight - a[2].weight || a[2].i - b[2].i).slice(0, kind ? 12 : 40);
      const all = [functions, storage(), files()].flatMap(best).sort((a, b) => (a[0] === 0 ? 0 : 1) - (b[0] === 0 ? 0 : 1) || a[1] - b[1] || a[0] - b[0]);
      matches = linesOf(wanted).concat(all.map(m => m[2]));
      at = matches.length ? 0 : -1;
      list.replaceChildren(...matches.map((f, n) => el("li", { role: "option", id: `match-${n}`, onpointerdown: event => { event.preventDefault(); take(f); } }, el("span", { class: "name" }, shorten(f.name, 120)), el("span", { class: "quiet" }, f.more))));
      if (!matches.length) list.replaceChildren(el("li", { class: "quiet", role: "option", "aria-disabled": true }, "no function, variable, file or line has this in its name"));
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


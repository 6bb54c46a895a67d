  // ---- flame graph, and around a function who calls it and what it calls

  const flame = { built: false, top: null };
  /** Calling contexts as a tree of parts: name, function, cost, parts below, the largest first. */
  function flameParts() {
    const source = treeSource();
    if (!source || source.unfolded) return null;
    const part = r => ({ f: r.f, cost: r.total || 0, calls: r.calls, below: source.below(r) });
    return { unit: source.unit, part, roots: source.roots };
  }
  /** What calls a function, or what it calls, over all contexts: merged by function. */
  function around(f, source, up) {
    const merged = new Map();
    const add = (into, key, cost, calls) => {
      const found = into.get(key) || { f: key, cost: 0, calls: 0, below: new Map() };
      found.cost += cost; found.calls += calls;
      into.set(key, found);
      return found;
    };
    const walk = (r, path) => {
      const mine = r.f === f.i, inside = path.some(p => p.f === f.i);
      if (mine && !inside) {
        if (up) { let at = merged; for (let n = path.length - 1; n >= 0; n--) at = add(at, path[n].f, r.total || 0, n === path.length - 1 ? r.calls : 0).below; }
        else {
          const down = (x, into, depth) => { for (const c of source.below(x)) { const found = add(into, c.f, c.total || 0, c.calls); if (depth < 40) down(c, found.below, depth + 1); } };
          down(r, merged, 0);
        }
      }
      for (const c of source.below(r)) walk(c, path.concat(r));
    };
    for (const r of source.roots) walk(r, []);
    const list = map => [...map.values()].sort((a, b) => b.cost - a.cost).map(p => ({ ...p, below: list(p.below) }));
    return list(merged);
  }
  /** Boxes below one another, as wide as their cost; `upward`: towards the top. */
  function icicle(label, roots, whole, unit, open) {
    const WIDE = 1000, ROW = 20, boxes = [];
    let deepest = 0;
    const put = (p, x, depth) => {
      const w = WIDE * p.cost / (whole || 1);
      if (w < 1.5 || boxes.length > 4000) return;
      deepest = Math.max(deepest, depth);
      boxes.push({ p, x, w, depth });
      let at = x;
      for (const c of p.below) { put(c, at, depth + 1); at += WIDE * c.cost / (whole || 1); }
    };
    let at = 0;
    for (const p of roots) { put(p, at, 0); at += WIDE * p.cost / (whole || 1); }
    const list = el("div", { class: "flame", role: "list", "aria-label": label, style: { height: `${(deepest + 1) * ROW}px` } }, boxes.map((b, n) => {
      const name = b.p.name || nameOf(b.p.f), text = `${name}\n${exact(b.p.cost)} ${unit} with callees (${percent(b.p.cost, whole)}), ${plural(b.p.calls, "call")}`;
      return el("div", { role: "listitem", style: { left: `${b.x / WIDE * 100}%`, width: `${b.w / WIDE * 100}%`, top: `${b.depth * ROW}px` } },
        el("button", { type: "button", tabindex: n ? -1 : 0, class: state.chosen && state.chosen.i === b.p.f ? "chosen" : "", style: { "--hue": HUES[(b.p.f + HUES.length) % HUES.length] }, "aria-label": text.replace("\n", ": "),
          onclick: () => open(b.p), onpointermove: event => showTip(text, event.clientX, event.clientY), onpointerleave: hideTip }, b.w > 25 ? name : ""));
    }));
    list.addEventListener("keydown", event => {
      const all = [...list.querySelectorAll("button")], now = all.indexOf(document.activeElement), b = boxes[now];
      if (!b) return;
      const near = { ArrowRight: c => c.depth === b.depth && c.x > b.x, ArrowLeft: c => c.depth === b.depth && c.x < b.x, ArrowDown: c => c.depth === b.depth + 1 && c.x >= b.x - 0.01 && c.x < b.x + b.w, ArrowUp: c => c.depth === b.depth - 1 && c.x <= b.x + 0.01 }[event.key];
      if (!near) return;
      event.preventDefault();
      const found = boxes.filter(near), to = event.key === "ArrowLeft" || event.key === "ArrowUp" ? found[found.length - 1] : found[0];
      if (to) { all[now].tabIndex = -1; all[boxes.indexOf(to)].tabIndex = 0; all[boxes.indexOf(to)].focus(); }
    });
    return list;
  }
  draw.flame = () => {
    const place = $("flame"), source = flameParts();
    if (!source) { place.replaceChildren(empty("tree", "There are no calling contexts for a flame graph")); return; }
    const tree = treeSource(), whole = source.roots.reduce((sum, r) => sum + (r.total || 0), 0), f = state.chosen && !state.chosen.members && state.chosen;
    const build = (r, depth) => ({ f: r.f, cost: r.total || 0, calls: r.calls, r, below: depth < 60 ? tree.below(r).map(c => build(c, depth + 1)) : [] });
    const top = flame.top && tree.rows.includes(flame.top) ? flame.top : null;
    const roots = top ? [build(top, 0)] : tree.roots.map(r => build(r, 0)), of = top ? top.total : whole;
    const open = p => { hideTip(); flame.top = p.r && p.r !== flame.top ? p.r : null; choose(F[p.f]); };
    const parts = [el("div", { class: "tools" }, el("span", { class: "quiet" }, `${exact(of)} ${source.unit}; callers above what they call. Click a box to open it there, and to see who calls it.`), top || f ? el("button", { type: "button", onclick: () => { flame.top = null; choose(null); } }, "Show all") : "")];
    const body = el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Flame graph" }, icicle("Flame graph", roots, of, source.unit, open));
    if (f) {
      const callers = around(f, tree, true), callees = around(f, tree, false), mine = tree.rows.filter(r => r.f === f.i && !inside(r, tree)).reduce((sum, r) => sum + (r.total || 0), 0);
      const section = (title, list) => [el("h3", {}, title), list.length ? icicle(title, list, mine, source.unit, p => choose(F[p.f])) : el("p", { class: "quiet" }, "none")];
      body.append(el("div", { class: "sandwich" }, ...section(`Callers of ${f.name}, nearest first`, callers), ...section(`What ${f.name} calls`, callees)));
    }
    place.replaceChildren(...parts, body);
  };
  /** Whether a context is within one of the same function. */
  function inside(r, tree) {
    for (let at = tree.parent(r); at; at = tree.parent(at)) if (at.f === r.f) return true;
    return false;
  }

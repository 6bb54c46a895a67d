"use strict";
// A layered drawing (Sugiyama, Tagawa, Toda 1981): layers by longest path, order by medians, positions by least squares.
//
// nodes: [{w, h}]; edges: [{from, to, w, h, hard}] with the size of its label. Nodes are in an order in which `from` comes before `to`.
// With `wide` only hard edges (calls) put `to` below `from`; others may go up, or lie below two nodes of one layer. Sets x, y (centres) of
// nodes, and of edges `points` (from top to bottom), `turned` (from `to` to `from`), `flat`, and `labelAt` (the centre of the label).
const layout = (() => {
  const GAP = 22, LAYER = 26;

  /** Ranks from the longest paths, then each node moved to where its edges are short. */
  function rank(nodes, edges, wide) {
    const n = nodes.length, up = nodes.map(() => []), down = nodes.map(() => []), above = nodes.map(() => []), below = nodes.map(() => []);
    for (const e of edges) {
      above[e.to].push(e.from); below[e.from].push(e.to);
      if (!wide || e.hard) { up[e.to].push(e.from); down[e.from].push(e.to); }
    }
    // `from` comes before `to` in the order of nodes, so one pass does.
    const at = new Array(n).fill(0);
    for (let v = 0; v < n; v++) for (const u of up[v]) at[v] = Math.max(at[v], at[u] + 1);
    for (let round = 0; round < 6; round++) {
      for (let i = 0; i < n; i++) {
        const v = round % 2 ? i : n - 1 - i;
        const low = up[v].reduce((m, u) => Math.max(m, at[u] + 1), 0);
        const high = down[v].reduce((m, u) => Math.min(m, at[u] - 1), Infinity);
        const near = above[v].map(u => at[u] + 1).concat(below[v].map(u => at[u] - 1)).sort((a, b) => a - b);
        if (!near.length) continue;
        // Ties go down: sources come close to what they feed.
        at[v] = Math.max(0, Math.min(Math.max(near[near.length >> 1], low), high));
      }
    }
    const used = [...new Set(at)].sort((a, b) => a - b), dense = new Map(used.map((r, i) => [r, i]));
    return at.map(r => dense.get(r));
  }

  /** Crossings between a layer and the one below it, by insertion into a counting tree. */
  function crossings(layer) {
    let size = 1, most = 0, count = 0;
    const ends = [];
    for (const v of layer) {
      const down = v.down.map(u => u.at).sort((a, b) => a - b);
      for (const e of down) { ends.push(e); if (e > most) most = e; }
    }
    while (size <= most) size *= 2;
    const tree = new Int32Array(2 * size);
    for (const e of ends) {
      let i = e + size;
      tree[i]++;
      while (i > 1) {
        if (i % 2 === 0) count += tree[i + 1];
        i >>= 1;
        tree[i]++;
      }
    }
    return count;
  }

  function median(list) {
    const n = list.length;
    if (n < 2) return n ? list[0] : -1;
    list.sort((a, b) => a - b);
    return n % 2 ? list[n >> 1] : (list[n / 2 - 1] + list[n / 2]) / 2;
  }

  function order(layers) {
    const number = layer => layer.forEach((v, i) => { v.at = i; });
    layers.forEach(number);
    const total = () => layers.reduce((sum, layer) => sum + crossings(layer), 0);
    let best = layers.map(l => l.slice()), least = total(), stale = 0;
    for (let sweep = 0; sweep < 24 && least > 0 && stale < 6; sweep++) {
      const downwards = sweep % 2 === 0, ties = sweep % 4 < 2 ? 1 : -1;
      for (let k = 1; k < layers.length; k++) {
        const layer = layers[downwards ? k : layers.length - 1 - k];
        for (const v of layer) {
          const m = median((downwards ? v.up : v.down).map(u => u.at));
          v.key = m < 0 ? v.at : m;
        }
        layer.sort((a, b) => a.key - b.key || ties * (a.at - b.at));
        number(layer);
      }
      const now = total();
      if (now < least) { least = now; best = layers.map(l => l.slice()); stale = 0; } else stale++;
    }
    best.forEach((l, k) => { layers[k] = l; number(l); });
    // Neighbours change places as long as that helps.
    const cost = (a, b) => {
      let n = 0;
      for (const p of a.up) for (const q of b.up) if (p.at > q.at) n++;
      for (const p of a.down) for (const q of b.down) if (p.at > q.at) n++;
      return n;
    };
    for (let round = 0, better = true; round < 4 && better; round++) {
      better = false;
      for (const layer of layers) {
        for (let i = 0; i + 1 < layer.length; i++) {
          const a = layer[i], b = layer[i + 1];
          if (cost(b, a) < cost(a, b)) { layer[i] = b; layer[i + 1] = a; b.at = i; a.at = i + 1; better = true; }
        }
      }
    }
  }

  /** Positions nearest to the wished ones in the order given, not overlapping: pooled adjacent violators. */
  function place(layer) {
    const pools = [];
    let offset = 0;
    layer.forEach((v, i) => {
      if (i) offset += (layer[i - 1].w + v.w) / 2 + (layer[i - 1].node && v.node ? GAP : 12);
      v.offset = offset;
      let pool = { sum: (v.wish - offset) * v.pull, pull: v.pull, from: i };
      while (pools.length && pools[pools.length - 1].sum / pools[pools.length - 1].pull >= pool.sum / pool.pull) {
        const last = pools.pop();
        pool = { sum: last.sum + pool.sum, pull: last.pull + pool.pull, from: last.from };
      }
      pools.push(pool);
    });
    pools.forEach((p, k) => {
      const end = k + 1 < pools.length ? pools[k + 1].from : layer.length;
      for (let i = p.from; i < end; i++) layer[i].x = p.sum / p.pull + layer[i].offset;
    });
  }

  return function (nodes, edges, wide) {
    const ranks = rank(nodes, edges, wide);
    const layers = [];
    const put = (k, v) => { (layers[k] = layers[k] || []).push(v); return v; };
    const boxes = nodes.map((n, i) => put(2 * ranks[i], { node: n, w: n.w, h: n.h, up: [], down: [], ends: [] }));
    const link = (a, b) => { a.down.push(b); b.up.push(a); };
    for (const e of edges) {
      e.turned = ranks[e.from] > ranks[e.to];
      e.flat = ranks[e.from] === ranks[e.to];
      const [from, to] = e.turned ? [e.to, e.from] : [e.from, e.to], top = 2 * ranks[from], bottom = 2 * ranks[to];
      if (e.flat) {
        const v = put(top + 1, { edge: e, label: true, w: e.w + 6, h: e.h, up: [], down: [] });
        link(boxes[from], v);
        link(boxes[to], v);
        e.chain = [boxes[from], v, boxes[to]];
        continue;
      }
      let middle = (top + bottom) / 2 | 0;
      if (middle % 2 === 0) middle--;
      if (middle <= top) middle = top + 1;
      let last = boxes[from];
      e.chain = [last];
      for (let k = top + 1; k < bottom; k++) {
        const label = k === middle && e.w;
        const v = put(k, { edge: e, label, w: label ? e.w + 6 : 4, h: label ? e.h : 0, up: [], down: [] });
        link(last, v);
        e.chain.push(last = v);
      }
      link(last, boxes[to]);
      e.chain.push(boxes[to]);
    }
    for (let k = 0; k < layers.length; k++) layers[k] = layers[k] || [];
    order(layers);

    for (const layer of layers) {
      let x = 0;
      for (const v of layer) { v.x = x + v.w / 2; x += v.w + GAP; v.wish = v.x; }
      for (const v of layer) v.x -= x / 2;
    }
    // Long edges shall be straight: the inner pieces pull most.
    const weight = (a, b) => (a.node || b.node ? (a.node && b.node ? 1 : 2) : 16);
    const size = layers.reduce((n, l) => n + l.length, 0), rounds = Math.max(24, Math.min(120, Math.round(120000 / size)));
    for (let round = 0; round < rounds; round++) {
      // First layer by layer downwards and upwards, in the end from both sides at once.
      const both = 2 * round >= rounds, upwards = round % 2 === 1;
      for (let k = 0; k < layers.length; k++) {
        const layer = layers[upwards ? layers.length - 1 - k : k];
        for (const v of layer) {
          let sum = 0, pull = 0;
          if (both || !upwards) for (const u of v.up) { const w = weight(u, v); sum += w * u.x; pull += w; }
          if (both || upwards) for (const u of v.down) { const w = weight(u, v); sum += w * u.x; pull += w; }
          v.wish = pull ? sum / pull : v.x;
          v.pull = pull || 0.1;
        }
        place(layer);
      }
    }

    let y = 0, left = Infinity, right = -Infinity;
    layers.forEach((layer, k) => {
      const h = layer.reduce((m, v) => Math.max(m, v.h), 0);
      // Where edges fan out far they need room to do so.
      const reach = layer.reduce((m, v) => v.up.reduce((n, u) => Math.max(n, Math.abs(u.x - v.x)), m), 0);
      if (k) y += LAYER * (h || layer.some(v => v.node) ? 0.75 : 0.4) + Math.min(40, reach / 14);
      for (const v of layer) {
        v.y = y + h / 2;
        left = Math.min(left, v.x - v.w / 2);
        right = Math.max(right, v.x + v.w / 2);
      }
      y += h;
    });

    // Edges leave and enter a box side by side, in the order of where they go.
    for (const v of boxes) {
      Object.assign(v.node, { x: v.x - left, y: v.y });
      v.over = []; v.under = [];
    }
    for (const e of edges) {
      const last = e.chain.length - 1;
      e.chain[0].under.push({ e, i: 0, next: e.chain[1] });
      e.chain[last][e.flat ? "under" : "over"].push({ e, i: last, next: e.chain[last - 1] });
      e.points = e.chain.map((v, i) => [v.x - left, i === 0 || (e.flat && i === last) ? v.y + v.h / 2 : i === last ? v.y - v.h / 2 : v.y]);
      const label = e.chain.findIndex(v => v.label);
      if (label > 0) e.labelAt = e.points[label];
    }
    for (const v of boxes) {
      for (const list of [v.over, v.under]) {
        const room = Math.min(v.w - 16, (list.length - 1) * 16);
        list.sort((a, b) => a.next.x - b.next.x);
        list.forEach((end, i) => { if (list.length > 1) end.e.points[end.i][0] += (i / (list.length - 1) - 0.5) * room; });
      }
    }
    for (const e of edges) delete e.chain;
    return { width: Math.max(1, right - left), height: Math.max(1, y) };
  };
})();

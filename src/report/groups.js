  // ---- groups that open: functions of a file, a namespace or an image are one node of the graph and the matrix

  const KINDS = { none: "functions", file: "files", namespace: "namespaces", image: "images", cluster: "clusters of data" };
  const grouping = { by: "none", first: "none", open: new Set() };
  /** What stands before the last `::` of a name, outside of template arguments and parameters. */
  function namespaceOf(name) {
    let depth = 0, last = -1;
    for (let i = 0; i < name.length; i++) {
      const c = name[i];
      if (c === "<" || c === "(") { if (c === "(" && depth === 0 && i > 0) break; depth++; } else if (c === ">" || c === ")") depth--;
      else if (depth === 0 && c === ":" && name[i + 1] === ":") last = i;
    }
    return last > 0 ? name.slice(0, last) : null;
  }
  let clusters = null;
  /** Functions that exchange most of their data with one another, named by the one with the most steps. */
  function clusterOf(f) {
    if (!clusters) {
      clusters = new Map();
      const list = COUNTED.slice(), starts = COUNTED.length > 1500 ? [] : [0, ...clustered(list, plain.pairs), list.length];
      for (let n = 0; n + 1 < starts.length; n++) {
        const mine = list.slice(starts[n], starts[n + 1]), first = mine.reduce((m, x) => ((x.self || 0) > (m.self || 0) ? x : m), mine[0]);
        for (const x of mine) clusters.set(x, `${first.name} …`);
      }
    }
    return clusters.get(f) || null;
  }
  /** The group that a function is in: its whole name, or null. */
  function keyOf(f, by) {
    if (f.kind === "pseudo" || f.kind === "others") return null;
    if (by === "cluster") return clusterOf(f);
    if (by === "namespace") return namespaceOf(f.name) || f.file || f.image;
    return (by === "file" && f.file) || f.image;
  }
  /** Makes the nodes and edges of the graph and the matrix anew. */
  function regroup(by) {
    grouping.by = by;
    for (const n of N.splice(F.length + GROUPS.length)) byId.delete(n.id);
    for (const f of F) { if (!raw.groups) f.group = null; f.near = f; }
    if (by === "none") Object.assign(net, plain);
    else {
      const keys = [...new Set(SHOWN.map(f => keyOf(f, by)).filter(Boolean))].sort();
      const members = new Map();
      for (const f of SHOWN) { const key = keyOf(f, by); if (key && !grouping.open.has(key)) members.set(key, (members.get(key) || []).concat(f)); }
      for (const [key, list] of members) {
        if (list.length < 2) continue;
        const add = field => list.reduce((sum, f) => (f[field] === null ? sum : (sum || 0) + f[field]), null);
        const node = { i: N.length, id: -1000001 - keys.indexOf(key), key, name: by === "namespace" ? key : key.split("/").pop(), kind: "group", members: list, file: null, image: null, address: null, size: add("size"), number: add("number"), calls: add("calls") || 0, self: add("self"), total: null, written: add("written"), dead: add("dead"), local: [], in: [], out: [], callers: [], callees: [], own: 0, got: 0, gave: 0 };
        N.push(node);
        byId.set(node.id, node);
        for (const f of list) f.group = node;
      }
      net.nodes = SHOWN.filter(f => !f.group).concat(N.slice(F.length));
      const place = i => (N[i].group || N[i]).i, found = new Map();
      net.pairs = [];
      for (const p of pairs) {
        const [a, b] = [place(p.a), place(p.b)];
        if (a === b) { N[a].own += p.bytes; continue; }
        let pair = found.get(`${a} ${b}`);
        if (!pair) { found.set(`${a} ${b}`, pair = { data: true, a, b, bytes: 0, flows: [] }); net.pairs.push(pair); }
        pair.bytes += p.bytes;
        for (const flow of p.flows) {
          const mine = pair.flows.find(x => x.via === flow.via);
          // Bytes and transfers add up; what is distinct within one pair does not.
          if (mine) { mine.bytes += flow.bytes; mine.transfers = mine.transfers === null || flow.transfers === null ? null : mine.transfers + flow.transfers; mine.unique = mine.addresses = null; }
          else pair.flows.push({ ...flow });
        }
      }
      for (const p of net.pairs) p.flows.sort((x, y) => y.bytes - x.bytes || x.via - y.via);
      const joined = new Map();
      for (const c of calls) {
        const [a, b] = [place(c.a), place(c.b)];
        if (a === b) continue;
        const call = joined.get(`${a} ${b}`) || { data: false, a, b, calls: 0, steps: null };
        call.calls += c.calls;
        joined.set(`${a} ${b}`, call);
      }
      net.calls = [...joined.values()];
      for (const g of N.slice(F.length)) for (const f of g.members) g.own += f.own;
      for (const n of net.nodes) n.near = { in: [], out: [], callers: [], callees: [] };
      ends(i => N[i].near, net.pairs, net.calls);
      for (const g of N.slice(F.length)) {
        Object.assign(g, g.near);
        g.got = g.in.reduce((sum, p) => sum + p.bytes, 0);
        g.gave = g.out.reduce((sum, p) => sum + p.bytes, 0);
        weigh(g);
      }
    }
    net.crossing = net.pairs.reduce((sum, p) => sum + p.bytes, 0);
    if (state.chosen && N[state.chosen.i] !== state.chosen) state.chosen = null;
    $("nodes").max = Math.max(5, Math.min(120, net.nodes.length));
    $("matrix-top").max = Math.max(5, Math.min(500, net.nodes.length));
    for (const pick of document.querySelectorAll("select.grouping")) pick.value = by;
    $("grouping-open").hidden = !grouping.open.size;
  }
  /** Opens or closes the group of a name, and shows what it is now. */
  function openGroup(key, open) {
    if (open) grouping.open.add(key); else grouping.open.delete(key);
    regroup(grouping.by);
    if (state.chosen === null && !open) state.chosen = N.find(n => n.key === key) || null;
    remember();
    show();
  }
  {
    const several = by => new Set(SHOWN.map(f => keyOf(f, by)).filter(Boolean)).size;
    // Hundreds of functions begin as groups, of whatever there are several of.
    if (!raw.groups && COUNTED.length > 120) grouping.first = ["file", "namespace", "image", "cluster"].find(by => several(by) >= 4 && several(by) <= Math.max(60, COUNTED.length / 4)) || "none";
    const all = Object.keys(KINDS).filter(by => by === "none" || several(by) > 1);
    for (const place of document.querySelectorAll("select.grouping")) {
      place.append(...all.map(by => el("option", { value: by }, KINDS[by])));
      place.onchange = () => { grouping.open.clear(); regroup(place.value); remember(); show(); };
      place.parentElement.hidden = Boolean(raw.groups) || all.length < 2;
    }
    $("grouping-open").onclick = () => { grouping.open.clear(); regroup(grouping.by); remember(); show(); };
  }

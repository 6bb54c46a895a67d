  // ---- changes

  const changes = { built: false };
  draw.changes = () => {
    if (!raw.changes || changes.built) return;
    changes.built = true;
    const named = new Map(F.map(f => [f.name, f]));
    const rows = raw.changes.rows.map(([what, one, two, via, before, after]) => ({ what, one, two, via, before, after, by: (after || 0) - (before || 0), change: before === null ? "added" : after === null ? "gone" : after > before ? "grew" : "shrank" }));
    const most = {};
    for (const r of rows) most[r.what] = Math.max(1, most[r.what] || 0, Math.abs(r.by));
    const end = name => (named.has(name) ? functionLink(named.get(name)) : name);
    const growth = r => (r.before && r.after !== null ? Math.round(1000 * r.by / r.before) / 10 : null);
    const columns = [
      ["what", r => r.what, null, { title: "function: steps of its own. call: how often. data: bytes that one wrote and the other read" }],
      ["one", r => r.one, r => end(r.one), { title: "The function; the caller; the writer" }],
      ["two", r => r.two, r => (r.two === null ? "" : end(r.two)), { title: "The callee; the reader" }],
      ["via", r => r.via, r => (r.via === null ? "" : el("span", { style: { color: `var(--${r.via})` } }, r.via))],
      ["before", r => r.before, 1], ["after", r => r.after, 1],
      ["difference", r => r.by, 1, { share: r => Math.sqrt(Math.abs(r.by) / most[r.what]), tint: r => (r.by > 0 ? "more-of" : "less-of") }],
      ["percent", growth, 1], ["change", r => r.change, r => el("span", { class: r.change }, r.change)],
    ];
    rowsView("changes", { columns, rows }, `This run against ${raw.changes.against}, by function names: ${plural(raw.changes.same, "figure")} of both are the same. Bars: square root of the difference.`);
  };


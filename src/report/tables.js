  // ---- source

  const source = { built: false, file: 0, at: null, chosen: null, lines: [], code: false };
  draw.source = () => {
    const place = $("source");
    if (!raw.source) { place.replaceChildren(empty("source", "There are no source lines")); return; }
    if (!source.built) {
      source.built = true;
      raw.source.files.forEach((file, n) => file.lines.forEach(([line, f, steps, read, written]) => source.lines.push({ n: source.lines.length, file: n, line, f, steps, read, written, in: [], out: [] })));
      for (const l of source.lines) l.code = [];
      for (const [at, address, text, times] of raw.source.code) source.lines[at].code.push([address, text, times]);
      for (const [a, b, amount] of raw.source.flows) {
        if (b !== null && b >= 0) source.lines[b].in.push([a, amount]);
        if (a !== null && a >= 0) source.lines[a].out.push([b, amount]);
      }
      const unknown = source.lines.some(l => l.read === null), traffic = n => source.lines.reduce((sum, l) => sum + (l.file === n ? l.read + l.written : 0), 0);
      // The user's hottest file whose text is there is what it starts with, then the user's others, then headers of run-time systems.
      const own = n => source.lines.reduce((sum, l) => sum + (l.file === n && l.f !== null && !isHidden(l.f) ? l.steps : 0), 0);
      const rank = new Map(raw.source.files.map((f, n) => [n, [own(n) === 0 ? 3 : !OWN_FILES.has(f.path) ? 2 : f.text.length ? 0 : 1, own(n)]]));
      const order = raw.source.files.map((f, n) => [n, traffic(n)]).filter(([n]) => WITH || !anyApart || rank.get(n)[0] < 3)
        .sort((a, b) => rank.get(a[0])[0] - rank.get(b[0])[0] || rank.get(b[0])[1] - rank.get(a[0])[1] || b[1] - a[1] || a[0] - b[0]);
      if (!order.length) order.push(...raw.source.files.map((f, n) => [n, traffic(n)]));
      source.file = order[0][0];
      const pick = el("select", { "aria-label": "Source file", onchange: () => { source.file = Number(pick.value); source.at = null; paintSource(); } }, order.map(([n, amount]) => el("option", { value: n }, raw.source.files[n].path + (unknown ? "" : `  (${volume(amount)})`))));
      const code = el("label", {}, el("input", { type: "checkbox", id: "with-code", onchange: event => { source.code = event.target.checked; paintSource(); } }), " Assembly");
      const body = el("div", { class: "scroll", id: "source-body", tabindex: 0, role: "region", "aria-label": "Source" });
      Object.assign(source, { pick, body });
      place.replaceChildren(el("div", { class: "tools" }, el("label", {}, "File ", pick), raw.source.code.length ? code : "", el("span", { class: "quiet", id: "source-note" })), ...missingFor("source"), body,
        unknown ? "" : el("p", { class: "status" }, "Bytes that each line reads, and bytes of it that something reads (each read counted). Click a line to see where its data comes from and goes to."));
    }
    const f = state.chosen;
    if (f && f !== source.chosen) {
      const line = source.lines.find(l => l.f === f.i);
      if (line) { source.file = line.file; source.at = line.n; }
    }
    source.chosen = f;
    paintSource();
  };
  /** Shows a line of a file. */
  function showLine(l) {
    draw.source();
    source.file = l.file; source.at = l.n;
    state.view = "source";
    remember();
    show();
    panelLine(l);
  }
  const lineName = l => `${raw.source.files[l.file].path.split("/").pop()}:${l.line}`;
  function paintSource() {
    const file = raw.source.files[source.file], mine = source.lines.filter(l => l.file === source.file);
    source.pick.value = source.file;
    $("source-note").textContent = file.text.length ? "" : "The text of this file is not in the page: addfg report --source DIR.";
    const text = new Map(file.text.map(([n, t]) => [n, t]));
    const by = new Map(mine.map(l => [l.line, l]));
    const numbers = [...new Set([...text.keys(), ...by.keys()])].sort((a, b) => a - b);
    const most = key => Math.max(1, ...mine.map(l => l[key])), top = { steps: most("steps"), read: most("read"), written: most("written") };
    const cell = (cls, n, whole, shown) => el("td", { class: "number " + cls, style: { "--share": (n ? 100 * Math.sqrt(n / whole) : 0).toFixed(1) }, title: n === null ? "not known" : exact(n) }, n === null ? "–" : n ? shown(n) : "");
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
      if (source.code && l) for (const [address, code, times] of l.code) rows.push(el("tr", { class: "asm" }, cell("steps", times, top.steps, count), el("td", { colspan: 2 }), el("td", { class: "number no" }, address), el("td", { class: "code" }, code)));
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
    const weight = l => (l.read === null ? l.steps : l.read + l.written), busiest = mine.reduce((m, l) => (weight(l) > weight(m) ? l : m), mine[0]);
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
      figures([["function", l.f === null ? null : functionLink(F[l.f])], ["steps", exact(l.steps)], ["reads", l.read === null ? null : volume(l.read)], ["read from it", l.written === null ? null : volume(l.written)]]),
      l.code.length && [el("h3", {}, "Its instructions"), el("table", { class: "list asm" }, l.code.slice(0, 40).map(([address, code, times]) => el("tr", { title: address }, el("td", { class: "code" }, code), el("td", {}, count(times))))), l.code.length > 40 && el("p", { class: "quiet" }, `and ${exact(l.code.length - 40)} more: tick Assembly`)],
      table("Its data comes from", sorted(l.in), 12), table("Its data goes to", sorted(l.out), 12)].flat(9).filter(Boolean));
    $("panel").scrollTop = 0;
  }

  // ---- tables

  const link = i => (i === null || !N[i] ? "" : functionLink(N[i]));
  const byName = new Map(F.map(f => [f.name, f]));
  const named = name => (byName.has(name) ? functionLink(byName.get(name)) : name);
  /** A text in which names of functions in quotes lead to them. */
  const mentioned = text => String(text).split(/(`[^`]+`)/).map(part => (part.length > 2 && part.startsWith("`") && byName.has(part.slice(1, -1)) ? functionLink(byName.get(part.slice(1, -1))) : part));
  const TABLES = {
    functions: { title: "Functions and sources of data", rows: () => SHOWN, columns: [["function", f => f.name, f => functionLink(f)], ["calls", f => f.number, 1], [UNIT, f => f.self, 1], ["with callees", f => f.total, 1], ["reads of others", f => f.got, 1], ["read by others", f => f.gave, 1], ["within", f => f.own, 1], ["written", f => f.written, 1], ["in vain", f => f.dead, 1], ["kind", f => f.kind], ["address", f => f.address], ["file", f => f.file]] },
    data: { title: "Data", rows: () => raw.data, columns: [["writer", d => (d[0] === null ? "(left out)" : nameOf(d[0])), d => link(d[0])], ["reader", d => (d[1] === null ? "(left out)" : nameOf(d[1])), d => link(d[1])], ["via", d => VIA[d[2]]], ["bytes", d => d[3], 1], ["unique bytes", d => d[4], 1], ["addresses", d => d[5], 1], ["transfers", d => d[6], 1]] },
    calls: { title: "Calls", rows: () => raw.calls, columns: [["caller", c => nameOf(c[0]), c => link(c[0])], ["callee", c => nameOf(c[1]), c => link(c[1])], ["calls", c => c[2], 1], [`${UNIT} with callees`, c => c[3], 1], [`${UNIT} a call`, c => (c[3] === null ? null : Math.round(10 * c[3] / c[2]) / 10), 1]] },
    plan: { title: "Plan", rows: () => raw.plan || [], columns: [["move", p => (p[0] ? "yes" : "no")], ["set", p => p[2], p => (p[1] === null ? p[2] : link(p[1]))], ["functions", p => p[3], 1], ["instructions", p => p[4], 1], ["entries", p => p[5], 1], ["% of steps", p => p[6], 1], ["bytes in", p => p[7], 1], ["bytes out", p => p[8], 1], ["% gain", p => p[9], 1], ["% shared", p => p[10], 1], ["% never ran", p => p[11], 1]] },
    cuts: { title: `Cut: figures of the ${GROUPS.length ? "groups" : "plan's sets"}`, rows: () => (raw.cuts || { figures: [] }).figures, columns: [["set", c => nameOf(c[0]), c => link(c[0])], ["figure", c => c[1][0]], ["in all", c => c[1][1], 1], ["least of an entry", c => c[1][2], 1], ["mean", c => c[1][3], 1], ["most", c => c[1][4], 1], ["meaning", c => c[1][5]]] },
    cutFlows: { title: "Cut: what they exchange", rows: () => (raw.cuts || { flows: [] }).flows, columns: [["set", c => nameOf(c[0]), c => link(c[0])], ["direction", c => c[1][0]], ["function", c => c[1][1], c => named(c[1][1])], ["via", c => c[1][2]], ["bytes", c => c[1][3], 1], ["unique bytes", c => c[1][4], 1], ["addresses", c => c[1][5], 1]] },
    problems: { title: "Problems", rows: () => raw.problems, columns: [["severity", p => p[0]], ["code", p => p[1]], ["count", p => p[2], 1], ["first", p => p[3], p => el("span", {}, mentioned(p[3] || ""))], ["at", p => p[4]], ["remedy", p => p[5]]] },
    inputs: { title: "Inputs", rows: () => raw.inputs, columns: [["role", i => i[1]], ["path", i => i[2]], ["format", i => i[3]], ["size", i => i[4], 1], ["options", i => i[5]]] },
  };
  const tables = { built: false, which: "functions" };
  draw.tables = () => {
    if (!tables.built) {
      tables.built = true;
      const pick = el("select", { id: "table-pick", "aria-label": "Table", onchange: () => { tables.which = pick.value; paintTable(); } }, Object.entries(TABLES).map(([k, t]) => el("option", { value: k }, `${t.title} (${exact(t.rows().length)})`)));
      const filter = el("input", { type: "search", id: "table-filter", placeholder: "Filter rows", "aria-label": "Filter rows", oninput: () => { tables.query = filter.value.trim(); paintTable(); } });
      $("tables").replaceChildren(el("div", { class: "tools" }, el("label", {}, "Table ", pick), el("label", {}, "Filter ", filter), tableTools(() => tables.which, () => TABLES[tables.which].grid, paintTable), el("span", { class: "quiet", id: "table-note", role: "status" })), el("div", { class: "scroll", id: "table-body", tabindex: 0, role: "region", "aria-label": "Table" }));
    }
    paintTable();
  };
  function paintTable() {
    const t = TABLES[tables.which];
    t.grid = Object.assign(t.grid || { sort: null }, { columns: t.columns, rows: t.rows(), query: tables.query, limit: (t.grid && t.grid.limit) || 200 });
    paintRows($("table-body"), $("table-note"), t.grid);
    if (tables.which.startsWith("cut") && !t.grid.rows.length) $("table-body").prepend(...missingFor("tables"));
  }

  // ---- start

  const trace = raw.inputs.filter(i => i[1] === "trace").map(i => String(i[2]).split("/").pop());
  const what = trace.slice(0, 2).join(", ") + (trace.length > 2 ? ` and ${trace.length - 2} more` : "");
  document.title = `${what || "addfg"} – addfg report`;
  $("summary").textContent = [what, STEPS && UNIT === "steps" && `${count(STEPS)} steps`, plural(COUNTED.length, "function"), CALLS && `${count(CALLS)} calls`, CROSSING && `${volume(CROSSING)} between functions${GROUPS.length ? " and groups" : ""}`].filter(Boolean).join(" · ");
  const bad = raw.problems.filter(p => p[0] === "error" || p[0] === "warning");
  $("problems").hidden = !bad.length;
  $("problems").textContent = bad.map(p => `${p[0]}: ${p[3] || p[1]}${p[2] > 1 ? ` (${exact(p[2])} times)` : ""}`).join("; ");
  $("theme").onclick = () => {
    const dark = state.theme ? state.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    theme(dark ? "light" : "dark");
    remember();
    if (state.view === "timeline") draw.timeline();
  };
  $("with-all-box").hidden = !anyApart;
  $("with-all").checked = WITH;
  $("with-all").onchange = () => {
    const values = new URLSearchParams(location.hash.slice(1));
    if ($("with-all").checked) values.set("all", "1"); else values.delete("all");
    location.hash = "#" + values;
  };
  $("tab-changes").hidden = !raw.changes;
  VIEWS.forEach((name, n) => {
    $("tab-" + name).onclick = () => view(name);
    $("tab-" + name).addEventListener("keydown", event => {
      const to = { ArrowRight: n + 1, ArrowLeft: n - 1 + VIEWS.length }[event.key];
      if (to === undefined) return;
      view(VIEWS[to % VIEWS.length]);
      $("tab-" + VIEWS[to % VIEWS.length]).focus();
    });
  });
  addEventListener("hashchange", () => { if (location.hash !== writing) recall(); writing = null; });
  addEventListener("resize", () => { if (state.view === "memory") draw.memory(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { if (state.view === "timeline") draw.timeline(); });
  // After the first frame, so that the page is there at once.
  requestAnimationFrame(() => setTimeout(recall));

  // ---- memory

  draw.memory = () => {
    const place = $("memory"), m = raw.memory;
    if (!m || !m.rows.length) { place.replaceChildren(empty("memory", "There is no memory over time")); return; }
    const moments = m.moments.filter(t => t[0] > 0), LEFT = 168, TOP = 8, wide = Math.max(480, place.clientWidth - 30), room = wide - LEFT - 12;
    const w = room / moments.length, tall = Math.max(200, place.clientHeight - 330), h = Math.min(14, Math.max(2, tall / m.rows.length)), high = h * m.rows.length, n = m.rows.length;
    const y = row => TOP + h * (n - 1 - row), x = at => LEFT + w * at;
    const most = Math.log(Math.max(2, ...m.cells.map(c => c[2] + c[3]))), paths = new Map(), by = new Map();
    for (const [at, row, reads, writes] of m.cells) {
      const all = reads + writes, kind = writes <= 0.1 * all ? "reads" : reads <= 0.1 * all ? "writes" : "both", shade = Math.min(4, Math.floor(5 * Math.log(Math.max(1, all)) / most));
      const key = `${kind} shade-${shade}`;
      paths.set(key, (paths.get(key) || "") + `M${x(at).toFixed(1)},${y(row).toFixed(1)}h${w.toFixed(2)}v${h.toFixed(2)}h${(-w).toFixed(2)}z`);
      by.set(at * n + row, [reads, writes]);
    }
    const labels = [];
    // Where the kind of memory changes, and now and then between.
    let last = null, lastY = Infinity;
    m.rows.forEach(([address, via], row) => {
      const bottom = y(row) + h;
      if ((via !== last && lastY - bottom > 3) || lastY - bottom > 26) {
        if (lastY - bottom >= 12 || row === 0) {
          labels.push(svg("text", { x: LEFT - 8, y: bottom - Math.max(0, (h - 9) / 2), "text-anchor": "end" }, address, svg("tspan", { style: { fill: `var(--${via})` }, "font-weight": 600 }, `  ${via}`)));
          lastY = bottom;
        }
      }
      if (via !== last && row) labels.push(svg("line", { class: "border", x1: LEFT - 4, x2: LEFT + room, y1: bottom, y2: bottom }));
      last = via;
    });
    const base = TOP + high + 26, tallCurve = 84, foot = Math.max(1, ...moments.map(t => t[4]));
    const line = of => moments.map((t, i) => `${i ? "L" : "M"}${(x(i) + w / 2).toFixed(1)},${(base + tallCurve * (1 - of(t) / foot)).toFixed(1)}`).join("");
    const marks = [0, 0.25, 0.5, 0.75].map(s => Math.floor(s * moments.length)).map(i => svg("text", { x: x(i), y: TOP + high + 14 }, `step ${count(moments[i][0])}`));
    const picture = svg("svg", { id: "pages", width: wide, height: base + tallCurve + 8, role: "img", "aria-label": "Accesses to memory over the run, and bytes touched" },
      svg("rect", { class: "ground", x: LEFT, y: TOP, width: room, height: high }), [...paths].map(([key, d]) => svg("path", { class: key, d })), labels, marks,
      svg("rect", { class: "ground", x: LEFT, y: base, width: room, height: tallCurve }), svg("path", { class: "so-far", d: line(t => t[4]) }), svg("path", { class: "now", d: line(t => t[3]) }),
      svg("text", { x: LEFT - 8, y: base + 9, "text-anchor": "end" }, bytes(foot)), svg("text", { x: LEFT - 8, y: base + tallCurve, "text-anchor": "end" }, "0 B"));
    picture.addEventListener("pointermove", event => {
      const box = picture.getBoundingClientRect(), at = Math.floor((event.clientX - box.left - LEFT) / w), py = event.clientY - box.top, t = moments[at];
      if (!t) { hideTip(); return; }
      const row = n - 1 - Math.floor((py - TOP) / h), hit = row >= 0 && row < n ? m.rows[row] : null, [reads, writes] = (hit && by.get(at * n + row)) || [0, 0];
      showTip(`from step ${exact(t[0])}` + (hit ? `\n${hit[0]} (${hit[1]}${m.group > 1 ? `, ${m.group} pages` : ""}): ${plural(reads, "read")}, ${plural(writes, "write")}` : `\n${bytes(t[3])} touched here, ${bytes(t[4])} so far`), event.clientX, event.clientY);
    });
    picture.addEventListener("pointerleave", hideTip);
    const all = m.reuse.reduce((sum, r) => sum + r[1], 0), top = Math.max(1, ...m.reuse.map(r => r[1]));
    const key = (cls, text) => el("span", { class: "group" }, svg("svg", { width: 16, height: 12 }, svg("rect", { class: cls, width: 16, height: 12, rx: 2 })), text);
    place.replaceChildren(
      el("div", { class: "tools" }, key("reads shade-4", "reads"), key("writes shade-4", "writes"), key("both shade-4", "both"), el("span", { class: "quiet" }, `the stronger the colour the more, on a logarithmic scale · a row: ${m.group > 1 ? `${m.group} pages` : "a page"} of 4 KiB, gaps closed`)),
      el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Memory over time" }, picture,
        el("p", { class: "quiet legend" }, el("span", { class: "line-key so-far" }), " distinct bytes touched so far ", el("span", { class: "line-key now" }), " distinct bytes touched in each part of the run"),
        el("h2", { class: "legend" }, "Reuse: other lines of 64 bytes touched since a line was last touched"),
        el("table", { class: "grid reuse" }, el("thead", {}, el("tr", {}, ...["lines between", "accesses", "of all"].map((t, i) => el("th", { scope: "col", class: i ? "number" : "" }, t)))), el("tbody", {}, m.reuse.map(([words, times]) => el("tr", {}, el("td", {}, words), el("td", { class: "number steps", style: { "--share": (100 * times / top).toFixed(1) } }, exact(times)), el("td", { class: "number" }, percent(times, all))))))),
      el("p", { class: "status" }, "Accesses of the program, with those that calls, returns and saved registers make. Objects has who reads and writes what."));
  };

  // ---- objects

  const objects = { built: false };
  draw.objects = () => {
    if (!raw.objects || !raw.objects.rows.length) { $("objects").replaceChildren(empty("objects", "There are no objects")); return; }
    if (objects.built) return;
    objects.built = true;
    const rows = raw.objects.rows.map(([name, via, address, size, reads, read, writes, written, touched, again, dead, users]) =>
      ({ name, via, address, size, reads, read, writes, written, touched, again, dead, users, readers: users.filter(u => u[1]).length, writers: users.filter(u => u[3]).length }));
    const most = Math.max(1, ...rows.map(r => Math.max(r.read, r.written))), root = n => Math.sqrt(n / most);
    const columns = [
      ["object", r => r.name, r => el("span", { class: "name" }, r.name)],
      ["via", r => r.via, r => el("span", { style: { color: `var(--${r.via})` } }, r.via)],
      ["size", r => r.size, 1, { title: "Bytes of the variable" }],
      ["bytes read", r => r.read, 1, { share: r => root(r.read), tint: "reads" }],
      ["bytes written", r => r.written, 1, { share: r => root(r.written), tint: "writes" }],
      ["distinct bytes", r => r.touched, 1, { title: "Different bytes that were read or written" }],
      ["read again", r => r.again, 1, { title: "Of the bytes read: those that had been read before since they were written" }],
      ["in vain", r => r.dead, 1, { title: "Of the bytes written: overwritten or left without being read" }],
      ["writers", r => r.writers, 1, { title: "Functions that write it" }],
      ["readers", r => r.readers, 1, { title: "Functions that read it" }],
      ["address", r => r.address],
    ];
    rowsView("objects", { columns, rows, all: raw.objects.all, open: panelObject }, "Variables, and memory without a name by its kind. Click one for who writes and reads it. Bars: square root of the bytes.");
  };
  function panelObject(r) {
    const end = f => (f === null || !F[f] ? "(stub)" : functionLink(F[f]));
    const users = (times, n) => r.users.filter(u => u[times]).sort((a, b) => b[n] - a[n]).map(u => [el("span", {}, end(u[0]), " ", el("span", { class: "quiet" }, `${count(u[times])}×`)), bytes(u[n])]);
    $("panel").replaceChildren(...[
      el("h2", { class: "name" }, r.name), el("div", { class: "quiet" }, r.via),
      figures([["address", r.address], ["size", r.size !== null && bytes(r.size)], ["bytes read", exact(r.read)], ["bytes written", exact(r.written)], r.touched !== null && ["distinct bytes", exact(r.touched)], r.again !== null && ["read again", exact(r.again)], r.dead !== null && ["written in vain", `${exact(r.dead)}  (${percent(r.dead, r.written)})`]]),
      table("Written by", users(3, 4), 20), table("Read by", users(1, 2), 20)].flat(9).filter(Boolean));
    $("panel").scrollTop = 0;
  }


  // ---- rows: tables that are sorted by their headings, filtered, and grow on request

  /**
   * Paints `grid` into `body`: columns, rows, and of a person `sort`, `query`, `limit`; `open` is called with a row that is clicked.
   * A column is heading, value of a row, 1 for a number or what shows a row's value, and more: title (what it means), share (0 to 1, a bar), tint (its colour).
   */
  function paintRows(body, note, grid) {
    const { columns, sort } = grid, numeric = c => c[2] === 1, more = c => c[3] || {};
    let rows = grid.rows;
    if (grid.query) {
      const fits = matcher(grid.query);
      rows = rows.filter(r => columns.some(c => { const v = c[1](r); return typeof v === "string" && fits(v) || typeof v === "number" && String(v) === grid.query; }));
    }
    if (sort) {
      const value = columns[sort.column][1], sign = sort.down ? -1 : 1;
      // What is unknown comes last, whichever way.
      rows = rows.map((r, i) => [value(r), i, r]).sort(([a, i], [b, j]) => {
        const [x, y] = [a === null || a === undefined, b === null || b === undefined];
        return x - y || (x ? 0 : sign * (a < b ? -1 : a > b ? 1 : 0)) || i - j;
      }).map(r => r[2]);
    }
    const again = () => paintRows(body, note, grid);
    const head = columns.map((c, n) => {
      const on = sort && sort.column === n;
      return el("th", { class: numeric(c) ? "number" : "", scope: "col", "aria-sort": on ? (sort.down ? "descending" : "ascending") : "none" },
        el("button", { type: "button", title: more(c).title, onclick: () => { grid.sort = { column: n, down: on ? !sort.down : numeric(c) }; again(); body.querySelectorAll("th button")[n].focus(); } }, c[0], on ? (sort.down ? " ▾" : " ▴") : ""));
    });
    const cell = (c, r) => {
      const v = c[1](r), { share, tint } = more(c), part = share && share(r);
      return el("td", { class: (numeric(c) ? "number" : "") + (part ? ` ${typeof tint === "function" ? tint(r) : tint}` : ""), style: part ? { "--share": (100 * part).toFixed(1) } : null }, typeof c[2] === "function" ? c[2](r) || v : numeric(c) ? exact(v) : v);
    };
    grid.csv = () => [columns.map(c => c[0]), ...rows.map(r => columns.map(c => { const v = c[1](r); return v === null || v === undefined ? "" : v instanceof Node ? v.textContent : v; }))];
    const shown = rows.slice(0, grid.limit).map(r => {
      const row = el("tr", grid.open ? { class: "hit", tabindex: 0 } : {}, columns.map(c => cell(c, r)));
      if (grid.open) {
        const open = event => {
          if (event.target.closest("button") || (event.type === "keydown" && event.key !== "Enter")) return;
          for (const old of body.querySelectorAll("tr.chosen")) old.classList.remove("chosen");
          row.classList.add("chosen");
          grid.open(r);
        };
        row.addEventListener("click", open);
        row.addEventListener("keydown", open);
      }
      return row;
    });
    const all = grid.all === undefined ? grid.rows.length : grid.all;
    note.textContent = `${exact(rows.length)} of ${exact(all)} rows` + (rows.length > shown.length ? `, the first ${exact(shown.length)} shown` : "");
    body.replaceChildren(el("table", { class: "grid" }, el("thead", {}, el("tr", {}, head)), el("tbody", {}, shown)),
      rows.length > shown.length ? el("button", { class: "more", type: "button", onclick: () => { grid.limit += 1000; again(); } }, `${exact(Math.min(1000, rows.length - shown.length))} more`) : "");
  }
  /** Whether a text has words in it, whatever their case; between slashes a regular expression. */
  function matcher(query) {
    const between = /^\/(.+)\/?$/.exec(query);
    if (between) {
      try { const wanted = new RegExp(between[1].replace(/\/$/, ""), "i"); return text => wanted.test(text); } catch { return () => false; }
    }
    const wanted = query.toLowerCase();
    return text => text.toLowerCase().includes(wanted);
  }
  /** Saves rows as CSV (RFC 4180); a text that a spreadsheet would compute has a ' before it. */
  function saveCsv(name, rows) {
    const field = v => { const t = typeof v === "string" && /^[=+\-@]/.test(v) ? "'" + v : String(v); return /[",\r\n]/.test(t) ? `"${t.replaceAll('"', '""')}"` : t; };
    const url = URL.createObjectURL(new Blob([rows.map(r => r.map(field).join(",")).join("\r\n") + "\r\n"], { type: "text/csv" }));
    const link = el("a", { href: url, download: `${name}.csv` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  }
  /** Buttons for what can be done with a table: save it, print all of it. */
  const tableTools = (name, grid, paint) => el("span", { class: "group" },
    el("button", { type: "button", onclick: () => saveCsv(name(), grid().csv()) }, "Save as CSV"),
    el("button", { type: "button", onclick: () => { const g = grid(), before = g.limit; g.limit = Infinity; paint(); print(); g.limit = before; paint(); } }, "Print"));
  /** A view that is such a table: a filter above it, words below it. */
  function rowsView(name, grid, status) {
    const body = el("div", { class: "scroll", id: `${name}-body`, tabindex: 0, role: "region", "aria-label": name }), note = el("span", { class: "quiet", role: "status" });
    Object.assign(grid, { sort: null, query: "", limit: 200 });
    const paint = () => paintRows(body, note, grid);
    const filter = el("input", { type: "search", placeholder: "Filter rows", "aria-label": "Filter rows", oninput: () => { grid.query = filter.value.trim(); paint(); } });
    $(name).replaceChildren(el("div", { class: "tools" }, el("label", {}, "Filter ", filter), tableTools(() => name, () => grid, paint), note), ...missingFor(name), body, el("p", { class: "status" }, status));
    paint();
  }
  /** What a view that has something to show lacks. */
  const missingFor = name => raw.missing.filter(m => m[0].includes(name)).map(m => el("p", { class: "missing" }, m[1]));

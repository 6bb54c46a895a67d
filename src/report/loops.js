  // ---- loops

  const loops = { built: false };
  draw.loops = () => {
    if (!raw.loops || !raw.loops.rows.length) { $("loops").replaceChildren(empty("loops", "There are no loops")); return; }
    if (loops.built) return;
    loops.built = true;
    const rows = raw.loops.rows.map(([f, name, place, depth, entries, iterations, steps, memory, register, pattern, distance, own, irreducible, between]) =>
      ({ f, name, place, depth, entries, iterations, steps, memory, register, pattern, distance, own, irreducible, between }));
    const most = Math.max(1, ...rows.map(r => r.steps || 0)), file = r => r.place.split("/").pop();
    const each = (a, b) => (a === null || !b ? null : Math.round(10 * a / b) / 10);
    const columns = [
      ["function", r => r.name, r => (r.f === null ? r.name : functionLink(F[r.f], r.name))],
      ["loop", file, r => el("span", { class: "whole" }, file(r)), { title: "Its lines, else the address of its first instruction" }],
      ["steps", r => r.steps, 1, { title: "In it and the loops in it, not in what they call", share: r => (r.steps || 0) / most, tint: "steps" }],
      ...(raw.loops.carried ? [["pattern", r => r.pattern, null, { title: "independent: iterations can run in any order. reduction: they can, if each has an accumulator of its own. pipeline: in stages. serial: one after the other" }]] : []),
      ["entries", r => r.entries, 1, { title: "How often it was entered" }],
      ["iterations", r => r.iterations, 1],
      ["an entry", r => each(r.iterations, r.entries), 1, { title: "Iterations an entry" }],
      ...(raw.loops.carried ? [
        ["memory carried", r => r.memory, 1, { title: "Bytes that an iteration wrote and a later one read, through memory" }],
        ["registers carried", r => r.register, 1, { title: "Bytes that an iteration wrote and a later one read, through registers" }],
        ["distance", r => r.distance, 1, { title: "So many iterations depend on none of the others among them" }],
        ["private", r => r.own.join(", "), null, { title: "Storage that iterations write anew before they read it: each can have its own" }]] : []),
      ["depth", r => r.depth, 1, { title: "Loops around it, in its function, and itself" }],
    ];
    rowsView("loops", { columns, rows, all: raw.loops.all, open: panelLoop },
      raw.loops.carried ? "Of this run and this input: what did not happen is not known. Counters are carried, too, and hinder nothing. Click a loop for what its iterations have to do with one another." : "Click a loop for its figures.");
  };
  /** Leads to a loop's first line, where the page has it. */
  function loopLine(r) {
    const at = /^(.+?):(\d+)/.exec(r.place);
    if (!at || !raw.source) return "";
    draw.source();
    const l = source.lines.find(l => l.line === Number(at[2]) && raw.source.files[l.file].path.endsWith(at[1].split("/").pop()));
    return l ? el("p", { class: "views" }, el("button", { class: "link", type: "button", onclick: () => showLine(l) }, "Source")) : "";
  }
  function panelLoop(r) {
    const apart = (least, most) => (least === most ? plural(least, "iteration") : `${exact(least)} to ${exact(most)} iterations`);
    const between = kind => r.between.filter(d => d[0] === kind).sort((a, b) => b[5] - a[5]).map(([, storage, least, most, times, n]) => [el("span", {}, storage, el("div", { class: "quiet" }, `${apart(least, most)} on, ${exact(times)}×`)), bytes(n)]);
    $("panel").replaceChildren(...[
      el("h2", {}, r.f === null ? r.name : functionLink(F[r.f], r.name)), el("div", { class: "quiet name" }, `loop ${r.place}`), loopLine(r),
      figures([["depth", r.depth], ["entries", exact(r.entries)], ["iterations", exact(r.iterations)], ["steps", `${exact(r.steps)}  (${percent(r.steps, STEPS)})`], ["pattern", r.pattern], ["distance", r.distance], ["private", r.own.join(", ")], r.irreducible && ["irreducible", "entered at several places"]]),
      table("Later iterations read what earlier ones wrote", between("read after write"), 12),
      table("They write over what earlier ones read", between("write after read"), 12),
      table("They write over what earlier ones wrote", between("write after write"), 12),
      raw.loops.carried && !r.between.length && el("p", {}, "No iteration touches what an earlier one wrote.")].flat(9).filter(Boolean));
    $("panel").scrollTop = 0;
  }


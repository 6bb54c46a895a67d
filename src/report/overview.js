  // ---- overview

  // Whether boxes are files, and the box that is open, by its place among the parts of the whole; null: none.
  const glance = { files: Boolean(raw.overview && raw.overview.byFile), open: null, parts: [], lines: [] };

  function partText(p) {
    const lines = [p.full];
    if (p.role === "function" || p.role === "file") lines.push(`${exact(p.steps)} steps (${percent(p.steps, raw.overview.steps)}), ${plural(p.calls, "call")}`);
    if (p.helpers) lines.push(`with ${plural(p.helpers, "function")}: ${p.largest.slice(0, 3).map(h => h[0]).join(", ")}${p.helpers > 3 ? ", …" : ""}`);
    if (p.opens) lines.push("Click to open it");
    return lines.join("\n");
  }
  function lineText(l) {
    const [from, to] = [glance.parts[l.a].full, glance.parts[l.b].full];
    if (l.via === null) return `${from} calls ${to}: ${plural(l.calls, "time")}`;
    return `${from} → ${to}\n${exact(l.there)} bytes, mostly through ${VIA[l.via]}` + (l.back ? `\n${exact(l.back)} bytes back` : "");
  }

  draw.overview = () => {
    const run = raw.overview, whole = run && glance.files ? run.byFile : run;
    if (!whole) {
      $("glance").replaceChildren();
      $("glance-path").replaceChildren();
      $("glance-status").textContent = "This trace has no steps or no sizes: see Graph.";
      return;
    }
    const opened = glance.open === null ? null : whole.opened[glance.open], from = opened || whole;
    if (!opened) glance.open = null;
    glance.parts = from.parts.map(([role, name, full, function_, steps, calls, helpers, largest], i) => {
      const title = shorten(role === "constants" ? "constants, initial data" : name, 30), small = role === "source" ? "INPUT" : role === "sink" ? "OUTPUT" : role === "constants" ? "" : role === "helper" ? "for several of the boxes" : `${percent(steps, run.steps)} of the steps`;
      const more = !["function", "file"].includes(role) || !helpers ? "" : helpers === 1 ? `with ${shorten(largest[0][0], 24)}` : `with ${count(helpers)} helpers`;
      const opens = !opened && Boolean(whole.opened[i]), width = Math.max(textWidth(title, "600 14px " + FONT.slice(5)), textWidth(small, FONT), textWidth(more, FONT)) + 28;
      return { role, name, full, f: function_ === null ? null : F[function_], steps, calls, helpers, largest, opens, title, small, more, w: Math.max(90, width), h: 14 + 18 + (small ? 15 : 0) + (more ? 14 : 0) };
    });
    glance.lines = from.lines.map(([a, b, there, back, via, n]) => {
      const up = a > b, two = back >= 0.02 * there && back >= 1;
      const label = via === null ? "" : (two ? `${bytes(there)} ${up ? "↑" : "↓"}` : bytes(there)), second = two ? `${bytes(back)} ${up ? "↓" : "↑"}` : "";
      return { a, b, there, back, via, calls: n, two, up, label, second, from: up ? b : a, to: up ? a : b, hard: true, w: Math.max(textWidth(label, "600 " + FONT), textWidth(second, FONT)) + 4, h: second ? 30 : 16 };
    });
    const size = layout(glance.parts, glance.lines, true), most = Math.max(1, ...glance.lines.map(l => l.there + l.back));
    const lines = svg("g", {}), labels = svg("g", {}), boxes = svg("g", {});
    glance.lines.forEach((l, n) => {
      const colour = l.via === null ? {} : { color: `var(--${VIA[l.via]})` }, width = l.via === null ? 1 : 1 + 6 * Math.sqrt((l.there + l.back) / most);
      const path = l.flat ? hanging(l.points) : curve(l.points), top = l.points[0], bottom = l.points[l.points.length - 1];
      const head = ([x, y], sign) => svg("polygon", { points: `${x},${y} ${x - 3 - width * 0.7},${y - sign * (6 + width)} ${x + 3 + width * 0.7},${y - sign * (6 + width)}` });
      const down = l.up === l.turned;
      lines.append(svg("g", { class: "edge " + (l.via === null ? "call" : "flow"), "data-line": n, style: { ...colour, "--width": `${width.toFixed(2)}px` } },
        svg("path", { class: "hit", d: path }), svg("path", { class: "line", d: path, "stroke-width": width.toFixed(2), "stroke-dasharray": l.via === null ? "2 4" : null }),
        (down || l.two) && head(bottom, l.flat ? -1 : 1), (!down || l.two) && head(top, -1)));
      if (l.labelAt && l.label) labels.append(svg("g", { class: "edge flow", "data-line": n, style: colour },
        svg("rect", { class: "ground", x: (l.labelAt[0] - l.w / 2).toFixed(1), y: (l.labelAt[1] - l.h / 2).toFixed(1), width: l.w.toFixed(1), height: l.h, rx: 3 }),
        svg("text", { class: "much", x: l.labelAt[0].toFixed(1), y: (l.labelAt[1] + (l.second ? -3 : 4)).toFixed(1) }, l.label), l.second && svg("text", { x: l.labelAt[0].toFixed(1), y: (l.labelAt[1] + 11).toFixed(1) }, l.second)));
    });
    glance.parts.forEach((p, n) => {
      const share = Math.sqrt(p.steps / (run.steps || 1)) * 100;
      boxes.append(svg("g", { class: "node " + p.role + (p.opens ? " opens" : ""), "data-part": n, tabindex: 0, role: "button", "aria-label": `${[p.title, p.small, p.more, p.opens && "+"].filter(Boolean).join(" ")}: ${partText(p)}`, transform: `translate(${(p.x - p.w / 2).toFixed(1)},${(p.y - p.h / 2).toFixed(1)})`, style: { "--share": p.role === "function" || p.role === "file" ? share.toFixed(1) : 0 } },
        svg("rect", { width: p.w.toFixed(1), height: p.h, rx: p.role === "function" || p.role === "helper" ? 7 : p.role === "file" ? 1 : p.h / 2 }),
        svg("text", { class: "title", x: p.w / 2, y: 22 }, p.title), " ", p.small && svg("text", { x: p.w / 2, y: 38 }, p.small), " ", p.more && svg("text", { class: "quiet", x: p.w / 2, y: 52 }, p.more), " ",
        p.opens && svg("text", { class: "sign", x: p.w - 10, y: 15 }, "+")));
    });
    const pad = 14;
    $("glance").setAttribute("viewBox", `${-pad} ${-pad} ${(size.width + 2 * pad).toFixed(1)} ${(size.height + 2 * pad).toFixed(1)}`);
    // Never larger than life.
    $("glance").style.maxWidth = `${1.4 * (size.width + 2 * pad)}px`;
    $("glance").style.maxHeight = `${1.4 * (size.height + 2 * pad)}px`;
    $("glance").replaceChildren(lines, labels, boxes);
    $("glance-path").replaceChildren(opened ? el("button", { type: "button", onclick: () => openPart(null) }, "Whole run") : "", opened ? ` › ${whole.parts[glance.open][1]}` : "Whole run",
      run.byFile && !opened ? el("button", { type: "button", id: "glance-kind", onclick: () => { glance.files = !glance.files; openPart(null); } }, glance.files ? "Show functions" : "Show files") : "");
    const text = opened ? ["What is counted with this box, and what exchanges data with it"] : [boxesOf(from.parts.filter(p => p[0] === "function" || p[0] === "file").length)];
    if (from.lines.some(l => l[4] !== null)) text.push(`arrows: bytes that one writes and the other reads, ${from.eachTime ? "each time" : "each once per call"}; ${Math.round(100 * from.drawn)} % of them`);
    if (!opened && run.startUp) text.push(`not drawn: start-up and dynamic linker, ${percent(run.startUp, run.steps)} of the steps`);
    if (from.parts.some(p => p[0] === "helper")) text.push("dashed: a function that several boxes call, its data is for any of them, its steps are counted with them");
    if (!opened && run.unattributed >= 0.005) text.push(`not drawn: up to ${Math.round(100 * run.unattributed)} % of the bytes, to and from other functions that several boxes call: sums by function do not tell for whom`);
    $("glance-status").textContent = text.join(" · ");
  };

  function boxesOf(n) {
    const own = F.filter(f => !APART[f.i] && f.kind !== "pseudo" && f.kind !== "others").length, all = n > own ? raw.overview.functions : own;
    return `${n} ${n === 1 ? "box" : "boxes"} of ${plural(all, "function")}${n < all ? "; the others are counted with their callers" : ""}`;
  }
  /** The function, or what else the box stands for, with what is counted with it. */
  function panelPart(p) {
    if (p.f) panelFunction(p.f);
    else if (p.role === "file") $("panel").replaceChildren(el("h2", { class: "name" }, p.full), figures([["steps", `${exact(p.steps)}  (${percent(p.steps, raw.overview.steps)})`], ["functions", exact(p.helpers)]]));
    else return;
    const byName = new Map(F.map(f => [f.name, f])), rest = p.helpers - p.largest.length;
    $("panel").append(...[
      table("Counted with this box", p.largest.map(([name, steps]) => [byName.has(name) ? functionLink(byName.get(name)) : name, `${percent(steps, raw.overview.steps)} of the steps`]), 12),
      rest > 0 && el("p", { class: "quiet" }, `and ${plural(rest, "function")} with fewer`)].flat(9).filter(Boolean));
  }
  function openPart(n) {
    glance.open = n;
    remember();
    show();
  }
  {
    const picture = $("glance");
    const take = target => {
      const at = target.closest("[data-part], [data-line]");
      if (!at) return;
      if (at.dataset.line !== undefined) {
        const l = glance.lines[at.dataset.line];
        const end = n => (glance.parts[n].f ? functionLink(glance.parts[n].f, glance.parts[n].name) : glance.parts[n].name);
        $("panel").replaceChildren(el("h2", {}, end(l.a), " → ", end(l.b)), el("p", {}, lineText(l).split("\n").slice(l.via === null ? 0 : 1).join("; ")));
        return;
      }
      const p = glance.parts[at.dataset.part];
      if (p.opens) openPart(Number(at.dataset.part));
      panelPart(p);
    };
    picture.addEventListener("click", event => take(event.target));
    picture.addEventListener("keydown", event => {
      if (event.key === "Enter" || event.key === " ") { take(event.target); event.preventDefault(); }
      else if (event.key === "Escape" && glance.open !== null) openPart(null);
    });
    picture.addEventListener("pointermove", event => {
      const at = event.target.closest("[data-part], [data-line]");
      if (!at) hideTip();
      else showTip(at.dataset.part !== undefined ? partText(glance.parts[at.dataset.part]) : lineText(glance.lines[at.dataset.line]), event.clientX, event.clientY);
    });
    picture.addEventListener("pointerleave", hideTip);
  }


// The page of a report. It reads the JSON of the element "data", which docs/report.md describes, and
// builds everything from it. Texts become text nodes: no text is ever read as markup.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { systems, references, sources, alignments } = data;
  const LABELS = { f1: "F1", precision: "Precision", recall: "Recall" };
  const all = references.map((_, row) => row);
  const state = { score: "f1", system: 0, sort: "row", down: false, rows: all, active: 0 };

  // ------------------------------------------------------------ elements

  // An element: `about` holds attributes, and listeners as functions; `inside` nodes and texts.
  function make(tag, about = {}, ...inside) {
    return filled(document.createElement(tag), about, inside);
  }

  function draw(tag, about = {}, ...inside) {
    return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), about, inside);
  }

  function filled(element, about, inside) {
    for (const [name, value] of Object.entries(about)) {
      if (typeof value === "function") element.addEventListener(name, value);
      else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
    }
    element.append(...inside.flat(Infinity).filter((part) => part !== null));
    return element;
  }

  const plain = (number) => number.toLocaleString("en");
  const fixed = (number, digits = 4) => number.toFixed(digits).replace("-", "\u2212");
  const signed = (number) => (number < 0 ? "" : "+") + fixed(number);
  const scores = (system) => systems[system][state.score];
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const name = (system) => make("bdi", { title: systems[system].name }, shortNames[system]);

  // Names without the folders that all of them are in.
  const shortNames = (() => {
    let [start] = systems.map((system) => system.name);
    for (const system of systems) while (!system.name.startsWith(start)) start = start.slice(0, -1);
    const folder = systems.length > 1 ? start.lastIndexOf("/") + 1 : 0;
    return systems.map((system) => system.name.slice(folder) || system.name);
  })();

  function section(id, title, ...inside) {
    return make("section", { "aria-labelledby": id }, make("h2", { id }, title), ...inside);
  }

  function select(label, options, chosen, change) {
    const made = options.map(([value, text]) => make("option", { value, selected: value === chosen && "" }, text));
    return make("label", {}, `${label} `, make("select", { change: (event) => change(event.target.value) }, made));
  }

  function table(caption, head, rows) {
    const cells = (row) => row.map((cell, i) => (i ? make("td", {}, cell) : make("th", { scope: "row" }, cell)));
    return make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
      make("table", {},
        make("thead", {}, make("tr", {}, head.map((cell) => make("th", { scope: "col" }, cell)))),
        make("tbody", {}, rows.map((row) => make("tr", {}, cells(row))))));
  }

  // ------------------------------------------------------------ summary, what was noticed, limits

  function summary() {
    const within = ([low, high]) => make("small", {}, ` [${fixed(low)}, ${fixed(high)}]`);
    const rows = systems.map((system, i) => {
      const cells = Object.keys(LABELS).map((score) => [fixed(system.mean[score]), within(system.interval[score])]);
      if (systems.length < 2) return [name(i), ...cells];
      const away = system.difference;
      return [name(i), ...cells, away ? [signed(away[0]), within(away.slice(1))] : "\u2013"];
    });
    const head = ["System", ...Object.values(LABELS)];
    if (systems.length > 1) head.push(make("span", {}, "F1 beside ", name(0)));
    const said = `${plain(all.length)} samples. In brackets: ${+(100 * data.confidence).toFixed(2)}% intervals of the mean, from ` +
      `${plain(data.resamples)} bootstrap resamples of the samples (seed ${data.seed})` +
      (systems.length > 1 ? "; a difference whose interval holds 0 may be chance." : ".");
    return section("summary", "Summary", table("Summary", head, rows), make("p", {}, said),
      make("p", {}, "Signature: ", make("code", {}, data.signature)));
  }

  const FACTS = {
    empty: "Samples with nothing to score", empty_preds: "of these without a prediction",
    empty_targets: "of these without a reference", truncated: "Texts that were truncated",
    lost_tokens: "Tokens lost by that", unknown_share: "Share of words unknown to the encoder",
    special_token_texts: "Texts that spell out special tokens", weightless: "Pairs with idf weights all zero",
    lookalikes: "Predictions that look like a reference but are other characters",
  };

  function noticed() {
    const value = (fact, system) => (fact === "unknown_share"
      ? `${(100 * system.facts[fact]).toFixed(1)}%` : plain(system.facts[fact]));
    const rows = Object.entries(FACTS).map(([fact, label]) => [label, ...systems.map((system) => {
      const doubtful = system.facts[fact] > (fact === "unknown_share" ? 0.1 : 0);
      return make("span", doubtful ? { class: "doubtful" } : {}, value(fact, system));
    })]);
    return section("noticed", "What was noticed in the texts",
      table("What was noticed", ["", ...systems.map((_, i) => name(i))], rows),
      make("p", {}, "A script or language that the encoder does not know shows as unknown words; its scores then mean ",
        "little. Rows with a note can be filtered in the table of samples."));
  }

  function limits() {
    const said = [
      "It says how close the words of a prediction are to those of the references, in the eyes of one encoder. It does not " +
        "know whether a statement is true: a wrong number, name or negation often costs very little.",
      "A score means something beside others of the same signature only. Raw scores crowd in a narrow band, and 0.9 is not " +
        "\u201c90% right\u201d" + (data.rescaled ? "; these are rescaled with a baseline, and may be negative." : "."),
      "A good text that says it in other words than the references may score low, and fluent nonsense high: read the worst " +
        "and the best before you trust a mean.",
      "The intervals tell how much the mean depends on these samples. They know nothing of other references, encoders or runs.",
      "A match in an alignment is the most similar vector, not a reason: vectors depend on their sentence, and punctuation " +
        "and special tokens are popular matches.",
    ];
    return section("limits", "What this number does not say", make("ul", {}, said.map((text) => make("li", {}, text))));
  }

  // ------------------------------------------------------------ charts

  const extent = (columns) => {
    let low = Infinity, high = -Infinity;
    for (const column of columns) for (const value of column) { low = Math.min(low, value); high = Math.max(high, value); }
    return low < high ? [low, high] : [low - 0.5, high + 0.5];
  };

  function ticks([low, high], most) {
    const rough = (high - low) / most, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough);
    const found = [];
    for (let n = Math.ceil(low / step - 1e-9); n * step <= high + 1e-9 * step; n++) found.push(n * step);
    const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    return found.map((value) => [value, fixed(value, digits)]);
  }

  // Axes, and the functions that lead from values to places.
  function plane(width, height, xs, ys, label) {
    const left = ys ? 44 : 8, right = 10, top = 8, bottom = 22;
    const x = (value) => left + ((value - xs[0]) / (xs[1] - xs[0])) * (width - left - right);
    const y = (value) => height - bottom - ((value - ys[0]) / (ys[1] - ys[0])) * (height - top - bottom);
    const svg = draw("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
    for (const [value, text] of ticks(xs, width / 80)) {
      svg.append(draw("line", { class: "tick", x1: x(value), x2: x(value), y1: top, y2: height - bottom }),
        draw("text", { x: x(value), y: height - 6, "text-anchor": "middle" }, text));
    }
    for (const [value, text] of ys ? ticks(ys, height / 40) : []) {
      svg.append(draw("line", { class: "tick", x1: left, x2: width - right, y1: y(value), y2: y(value) }),
        draw("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, text));
    }
    return { svg, x, y, floor: height - bottom, top };
  }

  function histogram(system, width) {
    const bins = Math.max(10, Math.min(50, Math.round(width / 14)));
    const range = extent(systems.map((_, i) => scores(i))), step = (range[1] - range[0]) / bins;
    const counts = new Array(bins).fill(0);
    for (const value of scores(system)) counts[Math.min(bins - 1, Math.floor((value - range[0]) / step))]++;
    const most = Math.max(...counts), sorted = [...scores(system)].sort((a, b) => a - b);
    const [low, middle, high] = [0.05, 0.5, 0.95].map((part) => fixed(sorted[Math.round(part * (sorted.length - 1))]));
    const words = `median ${middle}, 90% of the samples from ${low} to ${high}`;
    const { svg, x, floor, top } = plane(width, 110, range, null, `Histogram of ${shortNames[system]}: ${words}`);
    counts.forEach((count, bin) => {
      if (!count) return;
      const from = range[0] + bin * step, height = Math.max(1, (count / most) * (floor - top));
      const place = { x: x(from), y: floor - height, width: x(from + step) - x(from) - 1, height };
      svg.append(draw("rect", { class: "bar", ...place, click: () => narrow(system, from, from + step) },
        draw("title", {}, `${plain(count)} samples from ${fixed(from)} to ${fixed(from + step)}: click to list them`)));
    });
    return make("figure", {}, make("figcaption", {}, name(system), `: ${words}`), svg);
  }

  // Dots as squares, the darker the more samples they hold.
  function cloud(xs, ys, ranges, width, height, label) {
    const { svg, x, y } = plane(width, height, ...ranges, label);
    const size = 5, held = new Map();
    xs.forEach((value, i) => {
      const place = [Math.floor(x(value) / size), Math.floor(y(ys[i]) / size)].join();
      held.set(place, (held.get(place) || 0) + 1);
    });
    const most = Math.log1p(Math.max(...held.values()));
    for (const [place, count] of held) {
      const [column, line] = place.split(",");
      svg.append(draw("rect", { class: "dot", x: column * size, y: line * size, width: size, height: size,
        "fill-opacity": (0.35 + 0.65 * (Math.log1p(count) / most)).toFixed(2) }));
    }
    return { svg, x, y };
  }

  function pearson(xs, ys) {
    const mx = mean(xs), my = mean(ys);
    let xy = 0, xx = 0, yy = 0;
    xs.forEach((value, i) => { xy += (value - mx) * (ys[i] - my); xx += (value - mx) ** 2; yy += (ys[i] - my) ** 2; });
    return xx && yy ? `correlation (Pearson) ${fixed(xy / Math.sqrt(xx * yy), 2)}` : "no correlation: one of them is constant";
  }

  function againstLength(system, width) {
    const { length } = systems[system], words = pearson(length, scores(system));
    const ranges = [extent(systems.map((each) => each.length)), extent(systems.map((_, i) => scores(i)))];
    const label = `Score of ${shortNames[system]} against length: ${words}`;
    return make("figure", {}, make("figcaption", {}, name(system), `: ${words}`),
      cloud(length, scores(system), ranges, width, 200, label).svg);
  }

  const pair = [0, 1];
  function againstEachOther(width) {
    const [one, two] = pair, xs = scores(one), ys = scores(two), range = extent([xs, ys]);
    const better = xs.filter((value, i) => value > ys[i]).length, worse = xs.filter((value, i) => value < ys[i]).length;
    const words = `${shortNames[one]} (across) is better in ${plain(better)}, ${shortNames[two]} (up) in ${plain(worse)}, ` +
      `equal in ${plain(xs.length - better - worse)} samples; ${pearson(xs, ys)}`;
    const { svg, x, y } = cloud(xs, ys, [range, range], Math.min(width, 420), Math.min(width, 420), words);
    svg.append(draw("line", { class: "equal", x1: x(range[0]), y1: y(range[0]), x2: x(range[1]), y2: y(range[1]) }));
    const choose = (place) => (value) => { pair[place] = +value; drawCharts(); };
    const options = systems.map((_, i) => [i, shortNames[i]]);
    const choices = [select("Across", options, one, choose(0)), select("Up", options, two, choose(1))];
    return make("figure", {}, make("p", { class: "controls" }, choices),
      make("figcaption", { dir: "auto" }, words), svg);
  }

  const charts = make("div", { class: "charts" });
  function drawCharts() {
    const whole = charts.clientWidth || 320, width = whole < 720 ? whole : (whole - 24) / 2;
    const each = (chart) => make("div", { class: "figures" }, systems.map((_, i) => chart(i, width)));
    charts.replaceChildren(
      make("h3", {}, `Spread of ${LABELS[state.score]}`), each(histogram),
      make("h3", {}, `${LABELS[state.score]} against length, in tokens of the prediction`), each(againstLength),
      ...(systems.length > 1 ? [make("h3", {}, "Systems against each other"), againstEachOther(whole)] : []));
  }

  // ------------------------------------------------------------ worst and best

  const extremes = make("div", { class: "extremes" });
  function listExtremes() {
    const order = [...all].sort((a, b) => scores(state.system)[a] - scores(state.system)[b]);
    const list = (title, rows, value) => make("div", {}, make("h3", {}, title), make("ol", {}, rows.map((row) =>
      make("li", {}, make("button", { class: "sample", click: () => open(row) },
        make("b", {}, `Row ${row + 1}: ${value(row)}`), line(systems[state.system].predictions[row]))))));
    const score = (row) => fixed(scores(state.system)[row]);
    extremes.replaceChildren(list("Worst", order.slice(0, 5), score), list("Best", order.slice(-5).reverse(), score));
    if (systems.length < 2) return;
    const apart = [...all].sort((a, b) => spread(b) - spread(a)).slice(0, 5);
    extremes.append(list("Most different between systems", apart, (row) => `${fixed(spread(row))} apart`));
  }

  // How far the systems are apart, of each score made when it is needed: sorting asks often.
  const spreads = {};
  function spread(row) {
    spreads[state.score] ||= all.map((each) => {
      const values = systems.map((_, i) => scores(i)[each]);
      return Math.max(...values) - Math.min(...values);
    });
    return spreads[state.score][row];
  }

  // The beginning of a text, on one line, in its own direction.
  function line(text) {
    return make("span", { class: "line", dir: "auto" }, text.slice(0, 300).replace(/[\ud800-\udbff]$/, "") || "(empty)");
  }

  // ------------------------------------------------------------ the table of samples

  const noted = new Map();
  for (const system of systems) {
    for (const [row, found] of Object.entries(system.notes)) noted.set(+row, [...new Set([...(noted.get(+row) || []), ...found])]);
  }
  const notes = (row) => noted.get(row) || [];
  const columns = [
    { key: "row", label: "Row", width: "4rem", small: "3.2rem", value: (row) => row, text: (row) => plain(row + 1) },
    ...systems.map((_, i) => ({ key: `score ${i}`, label: shortNames[i], width: "5rem", small: "3.6rem",
      value: (row) => scores(i)[row], text: (row) => fixed(scores(i)[row]) })),
    ...(systems.length > 1 ? [{ key: "spread", label: "Apart", width: "4rem", value: spread, text: (row) => fixed(spread(row)) }] : []),
    { key: "length", label: "Length", width: "4rem", small: "minmax(3.4rem, 1fr)", value: (row) => systems[state.system].length[row],
      text: (row) => plain(systems[state.system].length[row]) },
    { key: "notes", label: "Notes", width: "6rem", value: (row) => -notes(row).length, text: (row) => notes(row).join(", ") },
    ...(sources ? [{ label: "Source", width: "minmax(9rem, 1fr)", long: (row) => sources[row] }] : []),
    { label: "Reference", width: "minmax(9rem, 1fr)", long: (row) => references[row].join(" / ") },
    { label: "Prediction", width: "minmax(9rem, 1fr)", small: "", long: (row) => systems[state.system].predictions[row] },
  ];

  const head = make("div", { class: "head row", role: "row" });
  const body = make("div", { class: "body", role: "rowgroup" });
  const grid = make("div", { class: "grid", role: "grid", tabindex: 0, "aria-label": "Samples: arrows move, Enter opens a row",
    scroll: () => requestAnimationFrame(showRows), keydown: steer },
    make("div", { role: "rowgroup", class: "top" }, head), body);
  const count = make("output", { "aria-live": "polite" });
  const wanted = { search: "", note: "", low: "", high: "" };

  function showHead() {
    head.replaceChildren(...columns.map((column) => {
      const sorted = column.key === state.sort;
      const [way, mark] = !sorted ? ["none", null] : state.down ? ["descending", " \u25bc"] : ["ascending", " \u25b2"];
      const button = () => make("button", { title: column.label, click: () => sortBy(column.key) },
        make("bdi", {}, column.label), mark);
      return make("span", { role: "columnheader", class: cellClass(column), "aria-sort": column.key && way },
        column.key ? button() : column.label);
    }));
  }

  const cellClass = (column) => (column.long ? "long" : "short") + (column.small === undefined ? " wide" : "");

  function sortBy(key) {
    state.down = state.sort === key ? !state.down : false;
    state.sort = key;
    filter();
    head.querySelector("[aria-sort$=ending] button").focus();
  }

  let hay = null; // what is searched, made when it is needed
  const folded = (text) => text.normalize("NFKC").toLowerCase();

  function filter() {
    const needle = folded(wanted.search.trim());
    if (needle && !hay) {
      hay = all.map((row) => folded([sources ? sources[row] : "", ...references[row],
        ...systems.map((system) => system.predictions[row])].join("\n")));
    }
    const low = wanted.low === "" ? -Infinity : +wanted.low, high = wanted.high === "" ? Infinity : +wanted.high;
    const column = scores(state.system);
    state.rows = all.filter((row) => (!needle || hay[row].includes(needle)) && column[row] >= low && column[row] <= high &&
      (!wanted.note || (wanted.note === "aligned" ? alignments[row] : notes(row).includes(wanted.note))));
    const { value } = columns.find((each) => each.key === state.sort), sign = state.down ? -1 : 1;
    const values = new Map(state.rows.map((row) => [row, value(row)]));
    state.rows.sort((a, b) => sign * (values.get(a) - values.get(b)) || a - b);
    state.active = 0;
    grid.scrollTop = 0;
    const some = state.rows.length < all.length ? `${plain(state.rows.length)} of ` : "";
    count.textContent = `${some}${plain(all.length)} rows`;
    grid.setAttribute("aria-rowcount", state.rows.length + 1);
    showHead();
    shown = new Map();
    body.replaceChildren();
    showRows();
  }

  function rowHeight() {
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    return rem * parseFloat(getComputedStyle(body).getPropertyValue("--row"));
  }

  // The rows that can be seen, and some around them; the others are room only. Those that were there
  // stay the same elements: a click whose element goes away is lost.
  let shown = new Map();
  function showRows() {
    const height = rowHeight(), first = Math.max(0, Math.floor(grid.scrollTop / height) - 5);
    const last = Math.min(state.rows.length, first + Math.ceil(grid.clientHeight / height) + 10);
    const before = shown;
    shown = new Map(state.rows.slice(first, last).map((row, i) => [row, before.get(row) || tableRow(row, first + i)]));
    for (const [row, made] of before) if (!shown.has(row)) made.remove();
    body.style.height = `${state.rows.length * height}px`;
    for (const [row, made] of shown) {
      if (!before.has(row)) body.append(made);
      made.classList.toggle("active", row === state.rows[state.active]);
    }
    grid.setAttribute("aria-activedescendant", state.rows.length ? `row-${state.rows[state.active]}` : "");
  }

  function tableRow(row, place) {
    const cells = columns.map((column) => make("span", { role: "gridcell", class: cellClass(column) },
      column.long ? line(column.long(row)) : column.text(row)));
    const about = { class: "row", role: "row", id: `row-${row}`, "aria-rowindex": place + 2 };
    const made = make("div", { ...about, click: () => open(row) }, cells);
    made.style.top = `calc(${place} * var(--row))`;
    return made;
  }

  function steer(event) {
    if (event.target !== grid || event.ctrlKey || event.altKey || event.metaKey) return;
    const page = Math.max(1, Math.floor(grid.clientHeight / rowHeight()) - 2), { active, rows } = state;
    const moves = {
      ArrowDown: active + 1, ArrowUp: active - 1, PageDown: active + page, PageUp: active - page, Home: 0, End: rows.length - 1,
    };
    if (event.key in moves) moveTo(moves[event.key]);
    else if ((event.key === "Enter" || event.key === " ") && rows.length) open(rows[active]);
    else return;
    event.preventDefault();
  }

  function moveTo(place) {
    state.active = Math.max(0, Math.min(state.rows.length - 1, place));
    const height = rowHeight(), top = state.active * height, room = grid.clientHeight - head.offsetHeight - height;
    grid.scrollTop = Math.max(top - room, Math.min(grid.scrollTop, top));
    showRows();
  }

  function field(label, key, more) {
    const input = (event) => { wanted[key] = event.target.value; filter(); };
    return make("label", {}, `${label} `, make("input", { name: key, ...more, input }));
  }

  // The table shows the samples of one bar of a histogram.
  function narrow(system, low, high) {
    state.system = system;
    systemSelect.querySelector("select").value = system;
    for (const [key, value] of [["low", low], ["high", high]]) wanted[key] = samples.querySelector(`[name=${key}]`).value = value.toFixed(6);
    changed();
    samples.scrollIntoView();
  }

  const rowsWith = (note) => [...noted.values()].filter((found) => found.includes(note)).length;
  const noteOptions = [["", "all rows"], ["aligned", `with an alignment (${plain(Object.keys(alignments).length)})`],
    ...[...new Set([...noted.values()].flat())].sort().map((note) => [note, `${note} (${plain(rowsWith(note))})`])];
  const samples = section("samples", "Samples",
    make("p", { class: "controls" }, field("Search the texts", "search", { type: "search" }),
      select("Show", noteOptions, "", (value) => { wanted.note = value; filter(); }),
      field("Score from", "low", { type: "number", step: "any" }), field("to", "high", { type: "number", step: "any" }), count),
    grid,
    make("p", {}, "A click or Enter opens a row. Length is in tokens of the prediction, special ones left out. ",
      data.cut ? `Texts longer than ${plain(data.cut)} characters are cut in this table, for it would be too large. ` : "",
      data.left_out ? `The texts are so long that ${plain(data.left_out)} rows have no alignment here. ` : ""));
  const widthsOf = { wide: columns.map((each) => each.width), small: columns.map((each) => each.small).filter(Boolean) };
  for (const [kind, widths] of Object.entries(widthsOf)) {
    grid.style.setProperty(`--${kind}`, widths.join(" "));
    const least = widths.map((each) => each.replace(/minmax\((.*?),.*/, "$1")).join(" + ");
    grid.style.setProperty(`--${kind}-least`, `calc(${least} + ${widths.length + 1} * var(--gap))`);
  }

  // ------------------------------------------------------------ one row

  const title = make("h2", { id: "opened", tabindex: -1, autofocus: "" });
  const inside = make("div", { class: "inside" });
  const dialog = make("dialog", { "aria-labelledby": "opened", close: () => { showRows(); grid.focus(); },
    click: (event) => { if (event.target === dialog) dialog.close(); },
    keydown: (event) => { if (event.key === "j" || event.key === "k") step(event.key === "j" ? 1 : -1); } },
    make("div", { class: "bar" }, title,
      make("button", { click: () => step(-1), title: "key k" }, "Previous"),
      make("button", { click: () => step(1), title: "key j" }, "Next"),
      make("button", { click: () => dialog.close(), title: "key Escape" }, "Close")), inside);

  let opened = 0;
  function open(row) {
    opened = row;
    if (state.rows.includes(row)) moveTo(state.rows.indexOf(row));
    title.textContent = `Row ${plain(row + 1)}`;
    const texts = (label, list) => list.map((text, i) => [make("h3", {}, list.length > 1 ? `${label} ${i + 1}` : label), whole(text)]);
    const known = alignments[row];
    inside.replaceChildren(...[
      sources ? texts("Source", [sources[row]]) : [],
      known && references[row].length === 1 ? [] : texts("Reference", references[row]),
      systems.map((system, i) => [
        make("h3", {}, name(i)),
        make("p", { class: "values" }, Object.entries(LABELS).map(([score, label]) =>
          make("span", {}, `${label} `, make("b", {}, fixed(system[score][row])), " ")),
          (system.notes[row] || []).map((note) => make("span", { class: "doubtful" }, note, " "))),
        known ? aligned(known[i], references[row].length > 1) : whole(system.predictions[row]),
      ]),
      known ? [] : make("p", { class: "hint" }, "Which token matches which is not stored for this row; ",
        make("code", {}, `bertscore-tm explain ... --row ${row + 1}`), " shows it."),
    ].flat(Infinity));
    if (!dialog.open) dialog.showModal();
    inside.scrollTop = 0;
  }

  function whole(text) {
    return make("p", { class: "whole", dir: "auto" }, text || "(empty)");
  }

  function step(by) {
    const place = state.rows.indexOf(opened) + by;
    if (place >= 0 && place < state.rows.length) open(state.rows[place]);
  }

  // The elements of an alignment are those of `Alignment.to_html`, whose script shows the matches.
  function aligned(pairs, several) {
    return make("div", { class: "bsa" }, pairs.map((pair) => {
      const words = [wordsOf(pair.pred), wordsOf(pair.target)];
      const sides = [["Prediction", "precision", pair.pred], ["Reference", "recall", pair.target]];
      return make("div", { class: "pair" },
        several ? make("p", {}, `Reference ${pair.reference + 1} gives ${pair.gives.join(", ") || "no score"}`) : null,
        sides.map(([label, score, side], i) => {
          const scale = data.rescaled ? " before rescaling" : "";
          const said = pair[score] === null ? "nothing to score" : `${score} ${fixed(pair[score])}${scale}`;
          return [make("p", {}, make("small", {}, `${label} (${said}${side.lost ? `, tokens cut off: ${side.lost}` : ""})`)),
            make("p", { class: "text", dir: "auto" }, side.parts.map((part) => stretch(part, words[i], words[1 - i], score)))];
        }),
        make("output", { "aria-live": "polite" },
          `cosines from ${fixed(pair.floor, 2)} (orange) to 1 (blue); point at a token to see its match`));
    }));
  }

  const tokensOf = (part) => part.slice(3);
  const wordsOf = (side) => new Map(side.parts.flatMap((part) => tokensOf(part).map(([place]) => [place, part[0]])));

  function stretch(part, own, other, score) {
    const [text, level, added] = part, tokens = tokensOf(part);
    if (part.length === 1) return text;
    if (level === "cut") return make("span", { class: "cut", title: "beyond what the encoder was given" }, text);
    const word = (words, place) => (words.get(place) ? `\u2068${words.get(place)}\u2069` : "\u2423");
    const said = tokens.map(([place, match, cosine, weight, adds]) => `${word(own, place)}` + (cosine === undefined
      ? `: ${match ? "special, has no weight" : "not scored"}`
      : ` \u2192 ${word(other, match)}: cosine ${fixed(cosine)}, weight ${weight}, adds ${fixed(adds)} to ${score}`));
    const matches = tokens.filter((token) => token.length > 2).map((token) => token[1]);
    return make(added ? "bdi" : "span", {
      tabindex: 0, title: said.join("\n"), class: level === null ? null : `s${level}`,
      "data-i": tokens.map(([place]) => place).join(" "), "data-m": [...new Set(matches)].join(" ") || null,
    }, text || "\u2423");
  }

  // ------------------------------------------------------------ the page

  function changed() {
    drawCharts();
    listExtremes();
    filter();
  }

  const systemSelect = select("System", systems.map((_, i) => [i, shortNames[i]]), 0, (value) => { state.system = +value; changed(); });
  const choices = make("p", { class: "controls chosen" },
    select("Score", Object.entries(LABELS), "f1", (value) => { state.score = value; changed(); }),
    systems.length > 1 ? systemSelect : null);
  document.getElementById("report").replaceChildren(summary(), choices, samples,
    section("extremes", "Worst and best", extremes), section("charts", "Charts", charts), noticed(), limits(), dialog);
  listExtremes();
  filter();
  requestAnimationFrame(() => setTimeout(drawCharts)); // what is on top is there first
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth !== width) drawCharts();
    width = window.innerWidth;
    showRows();
  });
  const asked = /^#row-(\d+)$/.exec(location.hash);
  if (asked && all[asked[1] - 1] !== undefined) open(asked[1] - 1);
})();

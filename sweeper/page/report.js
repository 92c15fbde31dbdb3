"use strict";
// The report's behaviour. Text from the sweep only ever becomes a text node, never markup.
(() => {
  const DATA = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const trials = DATA.trials;
  const questions = DATA.questions;
  const placeOf = new Map(trials.number.map((number, place) => [number, place]));
  const figureOf = new Map(DATA.figures.map((figure, place) => [figure.address, place]));
  const FEW_KNOBS = 4; // more are told by those that differ from today's
  const FIRST = 25; // questions that are listed before somebody asks for more
  const state = {
    x: DATA.axes.x,
    y: DATA.axes.y,
    colour: "",
    chosen: DATA.pick ?? DATA.current,
    shown: FIRST,
    sort: { by: "gain", down: false }, // what got worse comes first
  };
  const views = {};

  // --- elements ---------------------------------------------------------------------------------

  function el(name, attributes = {}, ...children) {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key === "onclick") node.addEventListener("click", value);
      else if (value !== null && value !== undefined) node.setAttribute(key, value);
    }
    node.append(...children.filter((child) => child !== null && child !== undefined));
    return node;
  }

  function options(select, choices, chosen) {
    select.replaceChildren(
      ...choices.map(([value, text]) => {
        const option = el("option", { value }, text);
        option.selected = value === chosen;
        return option;
      }),
    );
  }

  function table(caption, headers, rows) {
    const cell = (tag, content, right, extra) => {
      const parts = Array.isArray(content) ? content : [content];
      return el(tag, { class: right ? "right" : null, ...extra }, ...parts);
    };
    const head = headers.map((h) => cell("th", h.text, h.right, { scope: "col" }));
    const body = rows.map((row) => {
      const cells = row.map((content, n) => cell("td", content, headers[n].right, {}));
      return el("tr", {}, ...cells);
    });
    return el(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
      el(
        "table",
        {},
        el("caption", {}, caption),
        el("thead", {}, el("tr", {}, ...head)),
        el("tbody", {}, ...body),
      ),
    );
  }

  // --- numbers and words ------------------------------------------------------------------------

  function fixed(value) {
    // As Python prints it: an exact half goes to the even digit.
    const scaled = Math.abs(value) * 10000;
    const exact = Number.isInteger(value * 2 ** 20);
    if (exact && scaled % 1 === 0.5 && Math.floor(scaled) % 2 === 0) {
      return ((Math.sign(value) * Math.floor(scaled)) / 10000).toFixed(4);
    }
    return value.toFixed(4);
  }

  const four = (value) => (value === null || value === undefined ? "-" : fixed(value));

  function signed(value) {
    const text = fixed(value);
    if (Number(text) === 0) return "0.0000";
    return value > 0 ? `+${text}` : text;
  }

  function difference(value, moreIsBetter) {
    if (value === null) return "";
    const better = moreIsBetter ? value > 0 : value < 0;
    const text = signed(value);
    const kind = text === "0.0000" ? "same" : better ? "up" : "down";
    return el("span", { class: `difference ${kind}` }, text);
  }

  function settingsText(place) {
    const today = placeOf.get(DATA.current);
    const differs = DATA.knobs.map((knob, n) => trials.knob[n][place] !== trials.knob[n][today]);
    const few = DATA.knobs.length <= FEW_KNOBS;
    if (!few && !differs.includes(true)) return "today's settings";
    const texts = DATA.knobs.map((knob, n) => `${knob.label} ${knob.values[trials.knob[n][place]]}`);
    const told = few ? texts : texts.filter((text, n) => differs[n]);
    return told.length ? `${few ? "" : "unlike today: "}${told.join(", ")}` : "today's settings";
  }

  function nameOf(place) {
    const number = trials.number[place];
    const arm = trials.arm[number];
    const words = [`#${number}`];
    if (arm) words.push(`(${arm})`);
    if (number === DATA.current) words.push("(current)");
    if (number === DATA.pick) words.push(`(${DATA.pickName})`);
    return words.join(" ");
  }

  function metricWords(metric) {
    const figure = DATA.figures.find((item) => item.metric === metric);
    return figure ? figure.metricLabel : metric;
  }

  const figureAt = (address, place) => trials.figure[figureOf.get(address)][place];
  const reciprocal = (position) => (position ? 1 / position : 0);
  const standing = (position) => (position ? String(position) : "not returned");

  const MIXED = 2;

  // Where each question's answer stands under a setting, and how it fares against today: 1 is
  // better, -1 worse, by every metric. Nothing, where the report does not hold it.
  function answers(number) {
    const found = questions.now.map((place) => ({ place, fares: 0 }));
    if (number === DATA.current) return found;
    const moves = DATA.moves[number];
    if (!moves) return null;
    for (let n = 0; n < moves.length; n += 3) {
      found[moves[n]] = { place: moves[n + 1], fares: moves[n + 2] };
    }
    return found;
  }

  function change(before, after, fares) {
    if (before !== after) {
      if (!before) return { kind: "gained", text: `gained, at ${after}` };
      if (!after) return { kind: "lost", text: `lost, was ${before}` };
      if (after < before) return { kind: "up", text: `up, ${before} to ${after}` };
      return { kind: "down", text: `down, ${before} to ${after}` };
    }
    if (fares === MIXED) return { kind: "mixed", text: "better and worse, first as before" };
    if (fares > 0) return { kind: "better", text: "better, first as before" };
    if (fares < 0) return { kind: "worse", text: "worse, first as before" };
    return { kind: "same", text: "same" };
  }

  // --- charts -----------------------------------------------------------------------------------

  function themed(value) {
    // A colour of the page's own follows its theme, in print too, without drawing again.
    if (typeof value === "string") {
      return value.startsWith("@") ? `var(--${value.slice(1)})` : value;
    }
    if (Array.isArray(value)) return value.map(themed);
    if (value !== null && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, themed(item)]));
    }
    return value;
  }

  const systemIsDark = window.matchMedia("(prefers-color-scheme: dark)");

  function isDark() {
    const { theme } = document.documentElement.dataset;
    return theme ? theme === "dark" : systemIsDark.matches;
  }

  const copied = (spec) => JSON.parse(JSON.stringify(spec));
  const layer = (spec, name) => spec.layer.find((item) => item.name === name);

  async function draw(name, element, spec, label) {
    // Only the last of several redraws may finish.
    const turn = (views[name]?.turn ?? 0) + 1;
    views[name]?.result?.finalize();
    views[name] = { turn };
    const result = await window.vegaEmbed(element, themed(spec), {
      actions: false,
      ast: true,
      defaultStyle: false,
      logLevel: 1,
      renderer: "svg",
      tooltip: false,
    });
    if (views[name].turn !== turn) {
      result.finalize();
      return null;
    }
    views[name].result = result;
    // One image with one name: its marks stand in tables besides.
    element.setAttribute("role", "img");
    element.setAttribute("aria-label", label);
    element.querySelector("svg").setAttribute("aria-hidden", "true");
    return result.view;
  }

  const tip = byId("tip");

  function showTip(event, lines) {
    tip.replaceChildren(...lines.map((line) => el("div", {}, line)));
    tip.hidden = false;
    const width = tip.offsetWidth;
    const height = tip.offsetHeight;
    const left = Math.min(event.clientX + 14, document.documentElement.clientWidth - width - 8);
    const below = event.clientY + 14;
    const top = below + height > window.innerHeight ? event.clientY - height - 14 : below;
    tip.style.left = `${Math.max(4, left)}px`;
    tip.style.top = `${Math.max(4, top)}px`;
  }

  function hideTip() {
    tip.hidden = true;
  }

  // --- the trade-off ----------------------------------------------------------------------------

  function colourChoices() {
    return [
      ["", "nothing"],
      ...DATA.knobs.map((knob, n) => [`knob:${n}`, knob.label]),
      ["better", "questions better"],
      ["worse", "questions worse"],
      ...DATA.figures.map((figure) => [`figure:${figure.address}`, figure.label]),
    ];
  }

  function colourOf(place) {
    const [kind, ...rest] = state.colour.split(":");
    const what = rest.join(":");
    if (kind === "knob") return DATA.knobs[what].values[trials.knob[what][place]];
    if (kind === "figure") return figureAt(what, place);
    return kind ? trials[kind][place] : "";
  }

  function colourEncoding() {
    const [kind, what] = state.colour.split(":");
    if (!kind) return { value: "@point" };
    const title = colourChoices().find(([value]) => value === state.colour)[1];
    const scheme = { name: "viridis", extent: isDark() ? [0.25, 1] : [0, 0.88] };
    if (kind === "knob") {
      const { values } = DATA.knobs[what];
      const scale = { scheme, domain: values };
      return { field: "colour", type: "ordinal", sort: null, title, scale };
    }
    return { field: "colour", type: "quantitative", title, scale: { scheme, zero: false } };
  }

  function tradeoffRows() {
    const better = (address, value) =>
      DATA.figures[figureOf.get(address)].more ? value : -value;
    const groups = new Map();
    trials.number.forEach((number, place) => {
      const x = figureAt(state.x, place);
      const y = figureAt(state.y, place);
      if (x === null || y === null) return;
      const key = `${x}|${y}`;
      if (!groups.has(key)) groups.set(key, { x, y, places: [] });
      groups.get(key).places.push(place);
    });
    const rank = (place) => {
      const number = trials.number[place];
      if (number === DATA.pick) return -2;
      if (number === DATA.current) return -1;
      return trials.meets[place] ? 0 : 1;
    };
    const points = [...groups.values()].map(({ x, y, places }) => {
      const ordered = [...places].sort((a, b) => rank(a) - rank(b) || a - b);
      const [place] = ordered;
      const meets = trials.meets[place] ? "meets every constraint" : "breaks one";
      return { x, y, place, places: ordered, count: places.length, meets, colour: colourOf(place) };
    });
    const sorted = [...points].sort(
      (a, b) =>
        better(state.x, b.x) - better(state.x, a.x) || better(state.y, b.y) - better(state.y, a.y),
    );
    let best = -Infinity;
    const front = [];
    for (const point of sorted) {
      const value = better(state.y, point.y);
      if (value > best) {
        front.push({ x: point.x, y: point.y, order: point.x });
        best = value;
      }
    }
    return { points, front };
  }

  const LOOKS = {
    current: { stroke: "@current", shape: "diamond", size: 360 },
    pick: { stroke: "@pick", shape: "square", size: 330 },
    chosen: { stroke: "@ink", shape: "circle", size: 620 },
  };

  function tradeoffMarks(points) {
    const found = [];
    const add = (number, kind, text) => {
      const place = placeOf.get(number);
      const point = points.find((item) => item.places.includes(place));
      // A ring lies over its point, so it answers the mouse in its place.
      if (point) found.push({ ...point, text, ...LOOKS[kind] });
    };
    add(DATA.current, "current", "current");
    if (DATA.pick !== null) add(DATA.pick, "pick", DATA.pickName);
    if (state.chosen !== DATA.current && state.chosen !== DATA.pick) {
      add(state.chosen, "chosen", `#${state.chosen}`);
    }
    return found;
  }

  function pointLines(point) {
    const lines = [nameOf(point.place), settingsText(point.place)];
    for (const address of new Set([state.y, state.x])) {
      const { label } = DATA.figures[figureOf.get(address)];
      lines.push(`${label}: ${four(figureAt(address, point.place))}`);
    }
    lines.push(`${trials.better[point.place]} better, ${trials.worse[point.place]} worse`);
    if (point.meets === "breaks one") lines.push("breaks a constraint");
    if (point.count > 1) lines.push(`${point.count - 1} more with these two figures`);
    return lines;
  }

  async function drawTradeoff() {
    const spec = copied(DATA.charts.tradeoff);
    const { points, front } = tradeoffRows();
    const label = (address) => DATA.figures[figureOf.get(address)].label;
    spec.datasets = { points, front, marks: tradeoffMarks(points) };
    for (const item of spec.layer) {
      item.encoding.x.title = label(state.x);
      item.encoding.y.title = label(state.y);
    }
    const room = byId("tradeoff-chart").clientWidth;
    layer(spec, "points").encoding.x.axis = { tickCount: Math.max(3, Math.round(room / 90)) };
    layer(spec, "front").mark.interpolate = DATA.figures[figureOf.get(state.x)].more
      ? "step-before"
      : "step-after";
    const encoding = layer(spec, "points").encoding;
    encoding.color = colourEncoding();
    if (points.every((point) => point.meets !== "breaks one")) {
      encoding.shape.legend = null;
    }
    const text = `${label(state.y)} against ${label(state.x)} for ${trials.number.length} settings. `
      + "The best of them stand in the table below; any other is shown by its number.";
    const view = await draw("tradeoff", byId("tradeoff-chart"), spec, text);
    if (view === null) return;
    view.addEventListener("pointermove", (event, item) => {
      const point = item?.datum?.places ? item.datum : null;
      if (point) showTip(event, pointLines(point));
      else hideTip();
    });
    view.addEventListener("pointerout", hideTip);
    view.addEventListener("click", (event, item) => {
      if (item?.datum?.places) choose(trials.number[item.datum.place], item.datum.places);
    });
  }

  // --- one setting ------------------------------------------------------------------------------

  function choose(number, together = []) {
    state.chosen = number;
    state.shown = FIRST;
    byId("number").value = String(number);
    drawTradeoff();
    showSetting(together);
    showQuestions();
  }

  function bySlice(place) {
    const metrics = [...new Set(DATA.figures.map((figure) => figure.metric))];
    const slices = [...new Set(DATA.figures.map((figure) => figure.slice))];
    slices.sort((a, b) => (a === "overall") - (b === "overall"));
    const today = placeOf.get(DATA.current);
    const headers = [{ text: "slice" }];
    for (const metric of metrics) headers.push({ text: metricWords(metric), right: true });
    const rows = slices.map((slice) => {
      const own = DATA.figures.filter((figure) => figure.slice === slice);
      const row = [slice];
      for (const metric of metrics) {
        const figure = own.find((item) => item.metric === metric);
        const value = figure ? figureAt(figure.address, place) : null;
        const before = figure ? figureAt(figure.address, today) : null;
        const known = value !== null && before !== null;
        row.push(known ? [four(value), " ", difference(value - before, figure.more)] : four(value));
      }
      return row;
    });
    return table("Every slice, with the difference from today", headers, rows);
  }

  function showSetting(together = []) {
    const panel = byId("setting");
    const place = placeOf.get(state.chosen);
    const command = (text) => el("code", {}, text);
    if (place === undefined) {
      panel.replaceChildren(
        el("h3", {}, `#${state.chosen}`),
        el("p", {}, "This setting is not among those that the report holds. For its figures: "),
        el("p", {}, command(`sweep show ${DATA.address} --trial ${state.chosen}`)),
      );
      return;
    }
    byId("setting-said").textContent =
      `Setting ${nameOf(place)}: ${trials.better[place]} better, ${trials.worse[place]} worse`;
    const parts = [
      el("h3", {}, `Setting ${nameOf(place)}`),
      el("p", {}, settingsText(place)),
    ];
    if (state.chosen !== DATA.current) {
      const counts = `${trials.better[place]} questions better than today, ${trials.worse[place]} worse.`;
      parts.push(el("p", {}, counts));
    }
    if (!trials.meets[place]) {
      parts.push(el("p", {}, `Breaks one of: ${DATA.constraints.join("; ")}.`));
    }
    if (together.length > 1) {
      const links = together.slice(1, 9).map((other) =>
        el("button", { type: "button", onclick: () => choose(trials.number[other]) }, nameOf(other)),
      );
      const more = together.length > 9 ? ` and ${together.length - 9} more` : "";
      parts.push(el("p", {}, "At the same point: ", ...links, more));
    }
    const columns = [el("div", {}, bySlice(place))];
    const held = answers(state.chosen);
    if (held === null) {
      parts.push(
        el("p", {}, "The report does not hold this setting's questions. To list them: ",
          command(`sweep show ${DATA.address} --trial ${state.chosen} --queries`)),
      );
    } else if (state.chosen !== DATA.current) {
      columns.push(el("div", {}, ...movedParts(held)));
    }
    panel.replaceChildren(...parts, el("div", { class: "columns" }, ...columns));
  }

  function movedParts(held) {
    const changed = held
      .map(({ place, fares }, query) => ({ query, before: questions.now[query], after: place, fares }))
      .filter((item) => change(item.before, item.after, item.fares).kind !== "same")
      .map((item) => ({ ...item, gain: reciprocal(item.after) - reciprocal(item.before) }));
    changed.sort((a, b) => Math.abs(b.gain) - Math.abs(a.gain) || a.query - b.query);
    if (!changed.length) return [el("p", {}, "No question's answer differs from today's.")];
    const list = (items) =>
      items.map((item) => [
        questions.id[item.query],
        questions.slices[questions.slice[item.query]],
        questions.text[item.query],
        changeCell(item.before, item.after, item.fares),
      ]);
    const headers = [{ text: "question" }, { text: "slice" }, { text: "text" }, { text: "change" }];
    const count = changed.length > 8
      ? `Of ${changed.length} questions that change, the 8 that move most`
      : "The questions that change";
    return [
      table(count, headers, list(changed.slice(0, 8))),
      el("p", {}, el("button", {
        type: "button",
        onclick: () => {
          byId("filter-change").value = "changed";
          showQuestions();
          byId("questions").scrollIntoView();
          byId("search").focus({ preventScroll: true });
        },
      }, `List all ${changed.length} below`)),
    ];
  }

  function changeCell(before, after, fares) {
    const { kind, text } = change(before, after, fares);
    return el("span", { class: `change ${kind}` }, text);
  }

  // --- curves -----------------------------------------------------------------------------------

  function decode(item) {
    // Places come as steps of a share of the axis, figures as whole numbers of a small part.
    const width = (item.high - item.low) / item.resolution;
    for (const line of Object.values(item.lines).flat()) {
      let share = 0;
      line.at = line.at.map((step) => {
        share += step;
        return item.low + share * width;
      });
      line.figure = line.figure.map((units) => units / item.units);
    }
  }

  function curve() {
    const knob = byId("curve-knob").value;
    const base = byId("curve-base").value;
    const own = DATA.curves.filter((item) => item.knob === knob);
    return own.find((item) => item.base === base) ?? own[0];
  }

  function curveMetric(item) {
    const chosen = byId("curve-metric").value;
    return item.lines[chosen] ? chosen : Object.keys(item.lines)[0];
  }

  // What is read at a place of the slider: a value as it is printed, where that very value stands,
  // and the mark that it is, if any.
  function readingAt(item, at) {
    if (item.apart !== null && Math.abs(at - item.apart) < 1e-9) {
      return { at: item.apart, text: item.apartText, mark: null };
    }
    const mark = item.marks.find((one) => Math.abs(one.at - at) < 1e-9) ?? null;
    const exact = item.ratio ? 10 ** at : at;
    const value = item.integer ? Math.round(exact) : Number(exact.toPrecision(4));
    const text = mark ? mark.value : String(value);
    const place = mark ? mark.at : item.ratio ? Math.log10(value) : value;
    return { at: place, text: item.unit ? `${text} ${item.unit}` : text, mark };
  }

  // Whether the lines can say what holds at a value: not where some of their steps were left out,
  // not nearer to a step than places are told, not where rounding may decide, not beyond the ends.
  function isCertain(item, lines, reading) {
    const { at, mark } = reading;
    if (mark || at === item.apart) return true;
    const near = (1.5 * (item.high - item.low)) / item.resolution;
    if (at < item.low || at > item.high || lines.some((line) => line.thinned)) return false;
    if (item.doubtful.some(([low, high]) => at > low - near && at < high + near)) return false;
    return !lines.some((line) => line.at.some((edge, n) => n && Math.abs(edge - at) < near));
  }

  function figureAlong(line, item, metric, { at, mark }) {
    if (mark) return mark.figures[metric][line.slice];
    if (at === item.apart) return line.apart;
    // A floor keeps the row whose similarity it equals: there a step holds its upper edge.
    const begun = (edge) => (item.rightClosed ? edge < at - 1e-12 : edge <= at + 1e-12);
    let found = null;
    for (let n = 0; n < line.at.length && begun(line.at[n]); n += 1) found = line.figure[n];
    return found ?? line.figure[0];
  }

  function curveRows(item, metric) {
    const lines = item.lines[metric];
    const rows = [];
    for (const line of lines) {
      line.at.forEach((at, n) => rows.push({ at, figure: line.figure[n], slice: line.slice }));
      rows.push({ at: item.high, figure: line.figure.at(-1), slice: line.slice });
    }
    const apart = lines
      .filter((line) => line.apart !== null && item.apart !== null)
      .map((line) => ({ at: item.apart, figure: line.apart, slice: line.slice }));
    const words = { current: "current", pick: DATA.pickName };
    const marks = item.marks.map((mark, line) => ({
      at: mark.at,
      text: `${words[mark.name]}: ${mark.value}`,
      colour: themed(`@${mark.name}`),
      line,
    }));
    if (item.marks.length === 2 && item.marks[0].value === item.marks[1].value) {
      marks.pop();
      marks[0].text = `current and ${DATA.pickName}: ${item.marks[0].value}`;
    }
    return { lines: rows, apart, marks };
  }

  // The named places whose names do not run into each other; that of "off" comes first.
  function fittingTicks(item, domain) {
    const perUnit = (byId("curve-chart").clientWidth - 60) / (domain[1] - domain[0]);
    const spans = item.ticks.map((place, n) => {
      const half = item.labels[n].length * 3.5 + 4;
      return { place, low: place * perUnit - half, high: place * perUnit + half };
    });
    const kept = [];
    for (const span of [...spans.slice(-1), ...spans.slice(0, -1)]) {
      if (kept.every((other) => span.high <= other.low || span.low >= other.high)) kept.push(span);
    }
    return kept.map((span) => span.place);
  }

  async function drawCurve() {
    const item = curve();
    if (!item) return;
    const metric = curveMetric(item);
    const spec = copied(DATA.charts.curve);
    const rows = curveRows(item, metric);
    const spread = item.high - item.low || 1;
    const ends = [item.low, item.high, ...(item.apart === null ? [] : [item.apart])];
    const domain = [Math.min(...ends) - 0.03 * spread, Math.max(...ends) + 0.03 * spread];
    const ticks = fittingTicks(item, domain);
    const names = item.lines[metric].map((line) => line.slice);
    const isOverall = (name) => name === item.overall;
    const slices = names.filter((name) => !isOverall(name));
    const words = metricWords(metric);
    spec.datasets = { ...rows, reading: [] };
    spec.params = [
      { name: "ticks", value: item.ticks },
      { name: "labels", value: item.labels },
    ];
    const colours = names.map((name) =>
      isOverall(name) ? "@ink" : DATA.series[slices.indexOf(name) % DATA.series.length],
    );
    for (const part of spec.layer) {
      const { x, y, color } = part.encoding;
      x.scale.domain = domain;
      x.axis.values = ticks;
      x.title = item.unit ? `${item.label} (${item.unit})` : item.label;
      if (y && y.field) y.title = words;
      if (color && color.field === "slice") {
        color.scale = { domain: names, range: colours };
        color.legend.columns = Math.max(2, Math.floor(byId("curve-chart").clientWidth / 130));
      }
    }
    layer(spec, "lines").encoding.strokeDash = {
      condition: { test: { field: "slice", equal: item.overall }, value: [5, 3] },
      value: [1, 0],
    };
    const text = `${words} per slice along ${item.label}, with ${item.others}. `
      + "The slider below reads the figures at any value.";
    const view = await draw("curve", byId("curve-chart"), spec, text);
    if (view === null) return;
    const slider = byId("curve-at");
    const low = Math.min(...ends);
    slider.min = String(low);
    slider.max = String(Math.max(...ends));
    slider.step = String((Number(slider.max) - low) / 1000);
    // The reader keeps their place, unless the axis is another.
    if (state.axis !== item.knob) slider.value = String((item.marks.at(-1) ?? { at: item.low }).at);
    state.axis = item.knob;
    byId("curve-notes").textContent = curveNotes(item);
    readCurve();
    view.addEventListener("pointermove", (event) => {
      const box = byId("curve-chart").querySelector("svg").getBoundingClientRect();
      const at = view.scale("x").invert(event.clientX - box.left - view.origin()[0]);
      if (Number.isFinite(at)) {
        slider.value = String(at);
        readCurve(at);
      }
    });
  }

  function curveNotes(item) {
    const parts = [`With ${item.others}.`];
    if (item.thinned) {
      parts.push(
        `Drawn at the resolution of the screen: the line with the most has ${item.steps} steps. `
        + `sweep curve ${DATA.address} --knob ${item.knob} has every one.`,
      );
    } else {
      parts.push("Every step is drawn.");
    }
    parts.push(
      'A reading is exact at the value that it names; where it begins with "About", a step is too '
      + "near, or was left out, to say on which side the value lies.",
    );
    if (DATA.curvesLeftOut.length) {
      parts.push(`Not held here: ${DATA.curvesLeftOut.join(", ")}; sweep curve has them.`);
    }
    return parts.join(" ");
  }

  function snapped(item, at) {
    if (item.apart !== null) {
      const edge = item.apart < item.low ? item.low : item.high;
      const beyond = (at - edge) * (item.apart - edge) > 0;
      if (beyond && Math.abs(at - item.apart) < Math.abs(at - edge)) return item.apart;
    }
    const held = Math.min(Math.max(at, item.low), item.high);
    // A slider's steps hardly ever meet a marked value, so it catches.
    const near = item.marks.find((mark) => Math.abs(mark.at - held) < 0.002 * (item.high - item.low));
    return near ? near.at : held;
  }

  function readCurve(given) {
    const item = curve();
    const metric = curveMetric(item);
    const at = snapped(item, given ?? Number(byId("curve-at").value));
    const reading = readingAt(item, at);
    const about = isCertain(item, item.lines[metric], reading) ? "At" : "About, at";
    byId("curve-at").setAttribute("aria-valuetext", reading.text);
    const today = placeOf.get(DATA.current);
    const rows = item.lines[metric].map((line) => {
      const address = `${line.slice}.${metric}`;
      const value = figureAlong(line, item, metric, reading);
      const before = figureOf.has(address) ? figureAt(address, today) : null;
      const known = value !== null && before !== null;
      const { more } = DATA.figures[figureOf.get(address)] ?? { more: true };
      return [line.slice, four(value), known ? difference(value - before, more) : ""];
    });
    const headers = [{ text: "slice" }, { text: metricWords(metric), right: true }];
    headers.push({ text: "from today", right: true });
    byId("curve-reading").replaceChildren(
      table(`${about} ${item.label} ${reading.text}`, headers, rows),
    );
    const { result } = views.curve ?? {};
    if (result) {
      result.view.data("reading", [{ at: reading.at }]).runAsync();
    }
  }

  function curveBases() {
    const own = DATA.curves.filter((item) => item.knob === byId("curve-knob").value);
    const words = { today: "today", pick: DATA.pickName };
    const had = byId("curve-base").value;
    const bases = own.map((item) => item.base);
    const chosen = bases.includes(had) ? had : bases.at(-1);
    options(byId("curve-base"), own.map((item) => [item.base, words[item.base]]), chosen);
    byId("curve-base").closest("label").hidden = own.length < 2;
  }

  // --- questions --------------------------------------------------------------------------------

  const COLUMNS = [
    { key: "id", text: "question", of: (row) => row.id },
    { key: "slice", text: "slice", of: (row) => row.slice },
    { key: "text", text: "text", of: (row) => row.text.toLowerCase() },
    { key: "expected", text: "expected", of: (row) => row.expected.join(" ") },
    { key: "before", text: "today", right: true, of: (row) => row.before || 1e9 },
    { key: "after", text: "this setting", right: true, of: (row) => row.after || 1e9 },
    { key: "gain", text: "change", of: (row) => row.gain },
  ];

  function questionRows(held) {
    return questions.id.map((id, n) => {
      const before = questions.now[n];
      const { place, fares } = held === null ? { place: before, fares: 0 } : held[n];
      const gain = reciprocal(place) - reciprocal(before);
      return {
        n,
        id,
        slice: questions.slices[questions.slice[n]],
        text: questions.text[n],
        expected: questions.expected[n],
        before,
        after: place,
        fares,
        gain: gain || (fares === MIXED ? 0 : fares * 1e-9),
        kind: change(before, place, fares).kind,
      };
    });
  }

  function matches(row) {
    const wanted = byId("search").value.trim().toLowerCase();
    const slice = byId("filter-slice").value;
    const kind = byId("filter-change").value;
    if (slice && row.slice !== slice) return false;
    if (kind === "changed" && row.kind === "same") return false;
    if (kind === "better" && row.fares !== 1) return false;
    if (kind === "worse" && row.fares !== -1) return false;
    if (kind === "missed" && (row.after || !row.expected.length)) return false;
    if (["gained", "lost", "up", "down"].includes(kind) && row.kind !== kind) return false;
    const all = `${row.id} ${row.slice} ${row.text} ${row.expected.join(" ")}`.toLowerCase();
    return wanted.split(/\s+/).every((word) => all.includes(word));
  }

  function compareRows(a, b) {
    const column = COLUMNS.find((item) => item.key === state.sort.by);
    const [one, other] = [column.of(a), column.of(b)];
    const order = one < other ? -1 : one > other ? 1 : 0;
    return (state.sort.down ? -order : order) || a.n - b.n;
  }

  function showQuestions() {
    const held = answers(state.chosen);
    const place = placeOf.get(state.chosen);
    // What is not held cannot be filtered by.
    byId("filter-change").disabled = held === null;
    if (held === null) byId("filter-change").value = "";
    const rows = questionRows(held).filter(matches);
    if (state.sort.by) rows.sort(compareRows);
    const name = place === undefined ? `#${state.chosen}` : nameOf(place);
    byId("questions-setting").textContent =
      held === null
        ? `The report does not hold the questions of ${name}. `
          + `sweep show ${DATA.address} --trial ${state.chosen} --queries lists them.`
        : `Setting ${name}${place === undefined ? "" : `: ${settingsText(place)}`}`;
    const listed = DATA.nQuestions > questions.id.length
      ? ` The report lists ${questions.id.length} of ${DATA.nQuestions}.`
      : "";
    byId("questions-count").textContent =
      `${rows.length} of ${questions.id.length} questions.${listed}`;
    const explained = new Set(DATA.explained.map((item) => item.query));
    const body = rows.slice(0, state.shown).map((row) => {
      const expected = row.expected.length ? row.expected.join(", ") : "nothing";
      const id = explained.has(row.n)
        ? el("button", { type: "button", title: "explain", onclick: () => explain(row.n) }, row.id)
        : row.id;
      const answerable = row.expected.length > 0;
      const now = held === null ? "not held" : answerable ? standing(row.after) : "-";
      const changed = held === null ? "" : changeCell(row.before, row.after, row.fares);
      const today = answerable ? standing(row.before) : "-";
      const cells = [id, row.slice, row.text, expected, today, now, changed];
      return el("tr", {}, ...cells.map((cell, n) =>
        el("td", { class: COLUMNS[n].right ? "right" : null }, cell)));
    });
    byId("questions-body").replaceChildren(...body);
    const more = byId("questions-more");
    more.hidden = rows.length <= state.shown;
    more.textContent = `Show ${Math.min(200, rows.length - state.shown)} more`;
    for (const column of COLUMNS) {
      const head = byId(`sort-${column.key}`);
      const sorted = state.sort.by === column.key;
      head.setAttribute("aria-sort", !sorted ? "none" : state.sort.down ? "descending" : "ascending");
    }
  }

  function sortBy(key) {
    const again = state.sort.by === key;
    state.sort = again && state.sort.down ? { by: null, down: false } : { by: key, down: again };
    showQuestions();
  }

  function questionHead() {
    byId("questions-head").replaceChildren(
      ...COLUMNS.map((column) =>
        el("th", { scope: "col", id: `sort-${column.key}`, class: column.right ? "right" : null },
          el("button", { type: "button", onclick: () => sortBy(column.key) }, column.text)),
      ),
    );
  }

  // --- one question explained -------------------------------------------------------------------

  function explain(query) {
    byId("explained-question").value = String(query);
    showExplained();
    byId("explained").scrollIntoView();
    byId("explained-question").focus({ preventScroll: true });
  }

  function showExplained() {
    const query = Number(byId("explained-question").value);
    const item = DATA.explained.find((one) => one.query === query);
    const expected = questions.expected[query];
    const parts = [
      el("p", {}, el("strong", {}, questions.text[query])),
      el("p", {}, `Slice ${questions.slices[questions.slice[query]]}; expected: `
        + `${expected.length ? expected.join(", ") : "nothing"}.`),
    ];
    if (item.after !== null) {
      const overtook = item.overtook.length
        ? `; now before it: ${item.overtook.join(", ")}`
        : "";
      parts.push(el("p", {}, changeCell(item.before, item.after, 0), overtook));
    }
    const words = { today: "Today", pick: DATA.pickName };
    const sides = item.sides.map((side) => {
      const headers = side.columns.map((text, n) => ({ text, right: side.right[n] }));
      const title = `${words[side.name][0].toUpperCase()}${words[side.name].slice(1)}`;
      const caption = `What is returned ${side.name === "today" ? "today" : "then"}`;
      return el(
        "div",
        {},
        el("h3", {}, title),
        el("p", { class: "quiet" }, side.settings),
        side.class ? el("p", {}, `Class: ${side.class}`) : null,
        table(caption, headers, side.rows),
        ...side.lines.map((line) => el("p", { class: "quiet" }, line)),
      );
    });
    parts.push(el("div", { class: "columns" }, ...sides));
    byId("explained-answer").replaceChildren(...parts);
  }

  // --- the page ---------------------------------------------------------------------------------

  async function drawDifferences() {
    const element = byId("differences-chart");
    if (!element || !DATA.differences.length) return;
    const spec = copied(DATA.charts.differences);
    spec.datasets = { differences: DATA.differences };
    const count = (key) => new Set(DATA.differences.map((item) => item[key])).size;
    spec.height = count("slice") * (12 + 15 * count("metric"));
    for (const name of ["intervals", "means"]) {
      layer(spec, name).encoding.color.scale = { range: DATA.series };
    }
    const text = "Differences from today per slice, with intervals; the table above has the numbers.";
    await draw("differences", element, spec, text);
  }

  function redraw() {
    drawTradeoff();
    drawDifferences();
    if (DATA.curves.length) drawCurve();
  }

  function setUpTradeoff() {
    const choices = DATA.figures.map((figure) => [figure.address, figure.label]);
    options(byId("axis-x"), choices, state.x);
    options(byId("axis-y"), choices, state.y);
    options(byId("colour"), colourChoices(), state.colour);
    for (const [id, key] of [["axis-x", "x"], ["axis-y", "y"], ["colour", "colour"]]) {
      byId(id).addEventListener("change", (event) => {
        state[key] = event.target.value;
        drawTradeoff();
      });
    }
    const number = byId("number");
    number.max = String(DATA.nTrials - 1);
    number.value = String(state.chosen);
    number.addEventListener("change", () => {
      const wanted = Number(number.value);
      const known = number.value !== "" && Number.isInteger(wanted);
      const fine = known && wanted >= 0 && wanted < DATA.nTrials;
      number.setCustomValidity(fine ? "" : `A number from 0 to ${DATA.nTrials - 1}.`);
      if (fine) choose(wanted);
      else number.reportValidity();
    });
    for (const cell of document.querySelectorAll("#front-table tbody td:first-child")) {
      const found = /#(\d+)/.exec(cell.textContent);
      if (!found) continue;
      const text = cell.textContent;
      const show = () => {
        choose(Number(found[1]));
        byId("setting").scrollIntoView({ block: "nearest" });
      };
      cell.replaceChildren(el("button", { type: "button", onclick: show }, text));
    }
  }

  function setUpCurves() {
    if (!DATA.curves.length) return;
    DATA.curves.forEach(decode);
    const labels = new Map(DATA.curves.map((item) => [item.knob, item.label]));
    options(byId("curve-knob"), [...labels], DATA.curves[0].knob);
    const metrics = Object.keys(DATA.curves[0].lines);
    const preferred = metrics.find((metric) => state.y.endsWith(`.${metric}`)) ?? metrics[0];
    options(byId("curve-metric"), metrics.map((metric) => [metric, metricWords(metric)]), preferred);
    curveBases();
    byId("curve-knob").addEventListener("change", () => {
      curveBases();
      drawCurve();
    });
    for (const id of ["curve-base", "curve-metric"]) byId(id).addEventListener("change", drawCurve);
    byId("curve-at").addEventListener("input", () => readCurve());
  }

  function setUpQuestions() {
    questionHead();
    options(byId("filter-slice"), [["", "all slices"], ...questions.slices.map((s) => [s, s])], "");
    for (const id of ["search", "filter-slice", "filter-change"]) {
      byId(id).addEventListener("input", () => {
        state.shown = FIRST;
        showQuestions();
      });
    }
    byId("questions-more").addEventListener("click", () => {
      state.shown += 200;
      showQuestions();
    });
  }

  function setUpExplained() {
    if (!DATA.explained.length) return;
    options(
      byId("explained-question"),
      DATA.explained.map((item) => {
        const moved = item.after === null ? standing(item.before) : change(item.before, item.after, 0).text;
        return [String(item.query), `${questions.id[item.query]} (${moved})`];
      }),
      String(DATA.explained[0].query),
    );
    byId("explained-question").addEventListener("change", showExplained);
    showExplained();
  }

  function setUpTheme() {
    const root = document.documentElement;
    const button = byId("theme");
    button.hidden = false;
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      redraw();
    });
    systemIsDark.addEventListener("change", redraw);
  }

  setUpTheme();
  setUpTradeoff();
  setUpCurves();
  setUpQuestions();
  setUpExplained();
  showSetting();
  showQuestions();
  document.body.classList.add("ready");
  redraw();
})();

"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const trials = data.nodes.some((node) => node.step);
  const noun = trials ? "Trial" : "Execution";

  // The nodes of journal.json, as they are drawn.
  const position = new Map(data.nodes.map((node, i) => [node.id, i]));
  const best = position.get(data.best) ?? -1;
  function stateOf(node) {
    if (node.status === "running") return "running";
    return node.is_buggy || (!trials && node.status !== "ok") ? "buggy" : "good";
  }
  const nodes = data.nodes.map((node, i) => ({
    ...node,
    number: node.step || i + 1,
    parent: position.get(node.parent) < i ? position.get(node.parent) : -1,
    place: node.id.replace(/([0-9a-f]{8})[0-9a-f]+@/, "$1@"),
    state: stateOf(node),
    measures: node.metric ? node.metric.name : "",
    metric: node.metric ? node.metric.value : null,
    took: data.took[i],
    output: (node.term_out || []).join(""),
    figures: (node.figures || []).map((name) => ({ name, ...data.images[name] })),
  }));

  // Elements. Texts are only ever set as text, so none of them is read as HTML.
  function element(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }
  function drawn(tag, attributes, ...children) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes || {})) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }
  const short = (value) => String(Number(value.toPrecision(4)));

  // The tree: children, and places in units of a node's width and height.
  const children = nodes.map(() => []);
  const roots = [];
  nodes.forEach((node, i) => (node.parent >= 0 ? children[node.parent] : roots).push(i));
  const depth = nodes.map(() => 0);
  const place = nodes.map(() => 0);

  // Each leaf has a column of its own, and a parent stands above the middle of its
  // children, which come after it in nodes.
  function arrange() {
    nodes.forEach((node, i) => { if (node.parent >= 0) depth[i] = depth[node.parent] + 1; });
    let columns = 0;
    const left = roots.slice().reverse();
    while (left.length) {
      const i = left.pop();
      if (children[i].length) left.push(...children[i].slice().reverse());
      else place[i] = columns++;
    }
    for (let i = nodes.length - 1; i >= 0; i--) {
      const below = children[i];
      if (below.length) place[i] = (place[below[0]] + place[below[below.length - 1]]) / 2;
    }
    return { columns, rows: Math.max(0, ...depth) + 1 };
  }

  // Shapes tell the stages without colours: a circle drafts, a square improves, a
  // diamond debugs.
  function shape(stage) {
    const r = 13;
    if (stage === "improve") return drawn("rect", { class: "shape", x: -r + 1, y: -r + 1, width: 2 * r - 2, height: 2 * r - 2, rx: 5 });
    if (stage === "debug") return drawn("path", { class: "shape", d: `M0 ${-r - 2}L${r + 2} 0L0 ${r + 2}L${-r - 2} 0Z` });
    return drawn("circle", { class: "shape", r });
  }
  function star(x, y, r) {
    const points = [...Array(10).keys()].map((i) => {
      const angle = (Math.PI * i) / 5 - Math.PI / 2;
      const length = i % 2 ? r * 0.45 : r;
      return `${(x + length * Math.cos(angle)).toFixed(1)},${(y + length * Math.sin(angle)).toFixed(1)}`;
    });
    return drawn("polygon", { class: "star", points: points.join(" ") });
  }
  const cross = (x, y, r, kind) => drawn("path", { class: kind, d: `M${x - r} ${y - r}l${2 * r} ${2 * r}m0 ${-2 * r}l${-2 * r} ${2 * r}` });

  function name(i) {
    const node = nodes[i];
    const words = [`${noun} ${node.number}`];
    if (node.stage) words.push(node.stage);
    if (node.state === "buggy") words.push("buggy: " + (node.why || "failed"));
    if (node.state === "running") words.push("running");
    if (node.metric !== null) words.push(`${node.measures} ${short(node.metric)}`);
    if (i === best) words.push("best");
    return words.join(", ");
  }

  const W = 58, H = 74, MARGIN = 30;
  const groups = [];
  const size = arrange();
  const x = (i) => MARGIN + place[i] * W;
  const y = (i) => MARGIN + depth[i] * H;
  const way = new Set();
  for (let i = best; i >= 0; i = nodes[i].parent) way.add(i);

  function drawTree() {
    const svg = byId("tree");
    const edges = drawn("g"), marks = drawn("g");
    nodes.forEach((node, i) => {
      if (node.parent >= 0) {
        const [x0, y0, x1, y1] = [x(node.parent), y(node.parent), x(i), y(i)];
        const middle = (y0 + y1) / 2;
        edges.append(drawn("path", { class: way.has(i) ? "edge way" : "edge", d: `M${x0} ${y0}C${x0} ${middle} ${x1} ${middle} ${x1} ${y1}` }));
      }
      const kind = ["node", node.stage || "state", node.state, i === best ? "best" : ""].join(" ");
      const group = drawn("g", { class: kind, id: `node-${node.number}`, transform: `translate(${x(i)} ${y(i)})`, tabindex: -1, role: "button", "aria-label": name(i) });
      const title = drawn("title");
      title.textContent = node.plan ? `${name(i)}\n${node.plan.slice(0, 300)}` : name(i);
      const number = drawn("text", { class: "number", y: 4 });
      number.textContent = node.number;
      group.append(title, drawn("circle", { class: "ring", r: 19 }), shape(node.stage), number);
      if (node.state === "buggy") group.append(cross(13, -12, 4.5, "cross"));
      if (i === best) group.append(star(14, -13, 9));
      if (node.metric !== null) {
        const label = drawn("text", { class: "metric", y: 30 });
        label.textContent = node.measures === data.metric ? short(node.metric) : `${node.measures} ${short(node.metric)}`;
        group.append(label);
      }
      group.addEventListener("click", () => choose(i, true));
      groups.push(group);
      marks.append(group);
    });
    svg.append(edges, marks);
    svg.addEventListener("keydown", onKey);
  }

  const natural = { width: 2 * MARGIN + (size.columns - 1) * W, height: 2 * MARGIN + (size.rows - 1) * H + 12 };
  let zoom = 1;
  function setZoom(value) {
    zoom = Math.min(2.5, Math.max(0.05, value));
    const svg = byId("tree");
    svg.setAttribute("viewBox", `0 0 ${natural.width} ${natural.height}`);
    svg.setAttribute("width", natural.width * zoom);
    svg.setAttribute("height", natural.height * zoom);
  }
  function fit() {
    const box = byId("tree-box");
    const height = window.matchMedia("(max-width: 860px)").matches ? window.innerHeight * 0.6 : box.clientHeight;
    setZoom(Math.min(1.4, (box.clientWidth - 20) / natural.width, Math.max(200, height - 6) / natural.height));
  }

  // The metric over the trials, with the best so far as a line.
  function drawChart() {
    const measured = nodes.map((node, i) => i).filter((i) => nodes[i].metric !== null);
    if (!measured.length) return;
    const others = new Set(measured.map((i) => nodes[i].measures).filter((name) => name !== data.metric));
    byId("chart-box").hidden = false;
    byId("chart-title").textContent = `${[data.metric, ...others].join(", ")} by trial, ${data.maximize ? "higher" : "lower"} is better; the line is the best so far`;
    const svg = byId("chart");
    svg.replaceChildren();
    const width = svg.clientWidth || 600, height = 130, left = 46, right = 10, top = 8, bottom = 20;
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const values = measured.map((i) => nodes[i].metric);
    let low = values.reduce((a, b) => Math.min(a, b)), high = values.reduce((a, b) => Math.max(a, b));
    if (low === high) { const by = Math.abs(low) * 0.05 || 1; low -= by; high += by; }
    const at = (i) => left + (nodes.length < 2 ? 0.5 : i / (nodes.length - 1)) * (width - left - right);
    const up = (value) => top + (high / 2 - value / 2) / (high / 2 - low / 2) * (height - top - bottom);
    const text = (value, tx, ty, anchor) => {
      const made = drawn("text", { class: "scale", x: tx, y: ty, "text-anchor": anchor });
      made.textContent = value;
      svg.append(made);
    };
    svg.append(drawn("path", { class: "axis", d: `M${left} ${top}V${height - bottom}H${width - right}` }));
    text(short(high), left - 5, up(high) + 4, "end");
    text(short(low), left - 5, up(low) + 3, "end");
    text(nodes[0].number, at(0), height - 5, "middle");
    if (nodes.length > 1) text(nodes[nodes.length - 1].number, at(nodes.length - 1) + 4, height - 5, "end");
    let reached = null, line = "";
    nodes.forEach((node, i) => {
      if (node.metric !== null && node.state === "good" && (reached === null || (data.maximize ? node.metric > reached : node.metric < reached))) {
        line += reached === null ? `M${at(i)} ${up(node.metric)}` : `H${at(i)}V${up(node.metric)}`;
        reached = node.metric;
      }
    });
    if (reached !== null) svg.append(drawn("path", { class: "so-far", d: `${line}H${at(nodes.length - 1)}` }));
    nodes.forEach((node, i) => {
      let mark = null;
      if (node.metric !== null && node.state !== "buggy") mark = drawn("circle", { class: `point ${node.stage || "state"}`, cx: at(i), cy: up(node.metric), r: nodes.length > 200 ? 2.4 : 4 });
      else if (node.state === "buggy") mark = cross(at(i), height - bottom, nodes.length > 200 ? 2 : 3.5, "mark");
      if (!mark) return;
      mark.dataset.node = i;
      const title = drawn("title");
      title.textContent = name(i);
      mark.append(title);
      mark.addEventListener("click", () => choose(i, true));
      svg.append(mark);
    });
    markChart();
  }
  let chosen = -1;
  function markChart() {
    for (const mark of byId("chart").querySelectorAll("[data-node]")) mark.classList.toggle("chosen", Number(mark.dataset.node) === chosen);
  }

  // Light colours for Python: a token is a comment, a string, a number or a word.
  const TOKEN = /(#[^\n]*)|((?:\b[rRbBuUfFtT]{1,2})?(?:"""(?:\\[\s\S]|(?!""")[^\\])*(?:"""|$)|'''(?:\\[\s\S]|(?!''')[^\\])*(?:'''|$)|"(?:\\[\s\S]|[^"\\\n])*"?|'(?:\\[\s\S]|[^'\\\n])*'?))|(\b\d[\w.]*)|([A-Za-z_]\w*)/g;
  const KEYWORDS = new Set("False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield".split(" "));
  function coloured(code) {
    const pre = element("pre", { class: "code", tabindex: 0 });
    if (code.length > 60000) { pre.textContent = code; return pre; }
    let at = 0;
    for (const match of code.matchAll(TOKEN)) {
      const kind = match[1] ? "c" : match[2] ? "s" : match[3] ? "n" : KEYWORDS.has(match[4]) ? "k" : "";
      if (!kind) continue;
      pre.append(code.slice(at, match.index), element("span", { class: kind }, match[0]));
      at = match.index + match[0].length;
    }
    pre.append(code.slice(at));
    return pre;
  }

  function link(i) {
    const made = element("a", { href: `#node-${nodes[i].number}` }, `${noun.toLowerCase()} ${nodes[i].number}`);
    made.addEventListener("click", (event) => { event.preventDefault(); choose(i, true); });
    return made;
  }
  function facts(i) {
    const node = nodes[i];
    const list = element("dl");
    const add = (term, ...what) => list.append(element("dt", {}, term), element("dd", {}, ...what));
    if (node.metric !== null) {
      const before = node.parent >= 0 && nodes[node.parent].measures === node.measures ? nodes[node.parent].metric : null;
      const by = before === null ? "" : `, ${node.metric >= before ? "+" : "−"}${short(Math.abs(node.metric - before))} from ${noun.toLowerCase()} ${nodes[node.parent].number}`;
      add(node.measures, `${node.metric}${by}`);
    }
    if (node.why) add("Why buggy", node.why);
    if (node.parent >= 0) add("Goes on from", link(node.parent));
    if (children[i].length) {
      const links = children[i].slice(0, 20).flatMap((child, n) => (n ? [", ", link(child)] : [link(child)]));
      add("Led to", ...links, children[i].length > 20 ? ` and ${children[i].length - 20} more` : "");
    }
    if (node.took) add("Took", node.took);
    const when = new Date(node.started);
    add("Began", isNaN(when) ? node.started : when.toLocaleString());
    add("Interpreter", node.place);
    return list;
  }
  function fill(i) {
    const node = nodes[i], panel = byId("panel");
    const badges = element("div", { class: "badges" });
    if (node.stage) badges.append(element("span", { class: `badge ${node.stage}` }, node.stage));
    if (i === best) badges.append(element("span", { class: "badge best" }, "★ best"));
    if (node.state === "buggy") badges.append(element("span", { class: "badge buggy" }, "✕ " + (trials ? "buggy" : "failed")));
    if (node.state === "running") badges.append(element("span", { class: "badge" }, "running"));
    const parts = [element("h2", {}, `${noun} ${node.number}`), badges, facts(i)];
    if (node.analysis) parts.push(element("h3", {}, "What had been found"), element("p", { class: "plan" }, node.analysis));
    if (node.plan) parts.push(element("h3", {}, "Plan"), element("p", { class: "plan" }, node.plan));
    parts.push(element("h3", {}, "Code"), coloured(node.code));
    if (node.traceback) parts.push(element("h3", {}, "Exception"), element("pre", { class: "output exception", tabindex: 0 }, node.traceback));
    if (node.output) parts.push(element("h3", {}, "Output"), element("pre", { class: "output", tabindex: 0 }, node.output));
    if (node.figures.length) parts.push(element("h3", {}, "Figures"));
    for (const figure of node.figures) {
      const caption = figure.title || figure.name;
      const box = element("figure", {});
      if (figure.source) box.append(element("img", { src: figure.source, alt: caption }), element("figcaption", {}, caption));
      else box.append(element("figcaption", {}, `${caption}: too large for this page or gone; look for ${figure.name} beside it.`));
      parts.push(box);
    }
    panel.replaceChildren(...parts);
    panel.scrollTop = 0;
  }

  function choose(i, focus, silent) {
    if (i < 0 || i >= nodes.length) return;
    if (chosen >= 0) { groups[chosen].classList.remove("chosen"); groups[chosen].setAttribute("tabindex", -1); groups[chosen].removeAttribute("aria-current"); }
    chosen = i;
    groups[i].classList.add("chosen");
    groups[i].setAttribute("tabindex", 0);
    groups[i].setAttribute("aria-current", "true");
    if (focus) groups[i].focus({ preventScroll: true });
    reveal(i);
    markChart();
    fill(i);
    if (silent) return;
    try { history.replaceState(null, "", `#node-${nodes[i].number}`); } catch (error) { /* not from a file, in some browsers */ }
  }
  function reveal(i) {
    const box = byId("tree-box"), svg = byId("tree");
    const left = svg.offsetLeft || Math.max(0, (box.clientWidth - natural.width * zoom) / 2);
    const nx = left + x(i) * zoom, ny = y(i) * zoom;
    if (nx < box.scrollLeft + 30 || nx > box.scrollLeft + box.clientWidth - 30) box.scrollLeft = nx - box.clientWidth / 2;
    if (ny < box.scrollTop + 30 || ny > box.scrollTop + box.clientHeight - 40) box.scrollTop = ny - box.clientHeight / 2;
  }
  function beside(i, step) {
    const level = nodes.map((_, other) => other).filter((other) => depth[other] === depth[i]).sort((a, b) => place[a] - place[b]);
    const found = level[level.indexOf(i) + step];
    return found === undefined ? i : found;
  }
  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const moves = {
      ArrowUp: () => (nodes[chosen].parent >= 0 ? nodes[chosen].parent : chosen),
      ArrowDown: () => (children[chosen].length ? children[chosen][0] : chosen),
      ArrowLeft: () => beside(chosen, -1),
      ArrowRight: () => beside(chosen, 1),
      Home: () => 0,
      End: () => nodes.length - 1,
      b: () => (best >= 0 ? best : chosen),
      Enter: () => chosen,
      " ": () => chosen,
    };
    if (!moves[event.key]) return;
    event.preventDefault();
    choose(moves[event.key](), true);
  }

  function legend() {
    const keys = [];
    const add = (words, ...parts) => {
      const svg = drawn("svg", { viewBox: "-22 -22 44 44", "aria-hidden": "true" }, ...parts);
      keys.push(element("li", {}, svg, words));
    };
    const has = (test) => nodes.some(test);
    for (const stage of ["draft", "debug", "improve"]) {
      if (has((node) => node.stage === stage)) add(stage, drawn("g", { class: `key good ${stage}` }, shape(stage)));
    }
    if (has((node) => node.state === "buggy")) add(trials ? "buggy" : "failed", drawn("g", { class: "key buggy state" }, shape("draft"), cross(13, -12, 5, "cross")));
    if (has((node) => node.state === "running")) add("running", drawn("g", { class: "key running state" }, shape("draft")));
    if (best >= 0) add("best", star(0, 0, 15));
    byId("legend").append(...keys);
  }
  function summary() {
    const words = [];
    const buggy = nodes.filter((node) => node.state === "buggy").length;
    words.push(trials ? `${nodes.length}${data.run.steps ? ` of ${data.run.steps}` : ""} trials` : `${nodes.length} executions`);
    if (buggy) words.push(`${buggy} ${trials ? "buggy" : "failed"}`);
    if (best >= 0) words.push(`best: trial ${nodes[best].number} with ${data.metric} ${short(nodes[best].metric)}`);
    const when = new Date(data.run.started);
    if (!isNaN(when)) words.push(`begun ${when.toLocaleString()}`);
    if (data.search) words.push(data.search);
    byId("summary").textContent = words.join(" · ");
    byId("task").textContent = data.run.task_desc;
    byId("task-box").hidden = !data.run.task_desc;
  }
  function fromAddress() {
    const match = /^#node-(\d+)$/.exec(location.hash);
    return match ? nodes.findIndex((node) => node.number === Number(match[1])) : -1;
  }

  summary();
  if (!nodes.length) {
    byId("panel").replaceChildren(element("p", { class: "quiet" }, "Nothing has run yet."));
    return;
  }
  legend();
  drawTree();
  drawChart();
  fit();
  if (zoom < 0.35) setZoom(0.6);
  const asked = fromAddress();
  choose(asked >= 0 ? asked : best >= 0 ? best : nodes.length - 1, false, true); // an address with a fragment has the browser scroll there
  byId("smaller").addEventListener("click", () => { setZoom(zoom / 1.3); reveal(chosen); });
  byId("larger").addEventListener("click", () => { setZoom(zoom * 1.3); reveal(chosen); });
  byId("fit").addEventListener("click", fit);
  window.addEventListener("resize", drawChart);
  window.addEventListener("hashchange", () => choose(fromAddress(), false));
})();

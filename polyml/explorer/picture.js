"use strict";
// The picture of the instances under a schedule, and what is dragged on it. It knows no steps: it calls `act` with what was dragged.

const SVG = "http://www.w3.org/2000/svg";
const KINDS = ["flow", "anti", "output"];
const DASHES = {flow: "", anti: "6 3", output: "2 3"};
const CELL = 34, LEAST = 7, MARGIN = 58, HEAD = 44, FOOT = 78, OBLIQUE = [0.3, -0.22], DRAWN = 3, CHARACTER = 6.7, NARROW = 270;
const ARROWS = 400; // of which more hide the points: then only those of the selected dependence are drawn, once it is selected

function svg(name, attributes, parent, words) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (words !== undefined) made.textContent = words;
  if (parent) parent.append(made);
  return made;
}

class Panel {
  // The instances of one statement at one leaf of the schedule, with a place for each.
  constructor(leaf, statement, loops, slices) {
    this.leaf = leaf;
    this.statement = statement;
    this.width = leaf.loops.length;
    const positions = leaf.loops.map((number, k) => ({k, loop: loops[number]}));
    const shown = positions.filter((each) => !each.loop.tile);
    this.hidden = shown.slice(0, Math.max(shown.length - DRAWN, 0));
    this.axes = shown.slice(this.hidden.length);
    this.tiles = positions.filter((each) => each.loop.tile);
    this.points = leaf.points.map((id, n) => ({
      id, time: leaf.times[n], values: leaf.values.slice(n * this.width, (n + 1) * this.width)}));
    this.choices = this.hidden.map(({k}) => [...new Set(this.points.map((p) => p.values[k]))].sort((a, b) => a - b));
    this.slice = this.hidden.map(({loop}, n) => {
      const wanted = slices.get(`${statement.name} ${loop.address}`);
      const own = this.choices[n];
      return own.includes(wanted) ? wanted : own[own.length >> 1];
    });
    this.visible = this.points.filter((p) => this.hidden.every(({k}, n) => p.values[k] === this.slice[n]));
    this.bounds = this.axes.map(({k}) => {
      const values = this.visible.map((p) => p.values[k]);
      return values.length ? [Math.min(...values), Math.max(...values)] : [0, 0];
    });
  }

  measure(room) {
    const spans = this.bounds.map(([low, high]) => high - low);
    const [across, down, oblique] = [...spans.reverse(), 0, 0, 0];
    const wide = across + oblique * OBLIQUE[0];
    this.cell = Math.max(Math.min(CELL, (room - 2 * MARGIN) / Math.max(wide, 1)), LEAST);
    this.lift = -oblique * OBLIQUE[1] * this.cell;
    if (this.axes.length === DRAWN) this.lift += 30;
    this.size = [Math.max(wide * this.cell + 2 * MARGIN, Math.min(NARROW, room)), HEAD + FOOT + this.lift + down * this.cell];
    const text = `${this.statement.name}: ${this.statement.text}`, most = Math.floor((this.size[0] - 24) / CHARACTER);
    this.title = text.length > most ? `${text.slice(0, most - 1)}…` : text;
  }

  put(left, top) {
    this.left = left;
    this.top = top;
  }

  at(coordinates) {
    // The place of values of the axes, in pixels.
    const steps = coordinates.map((value, n) => value - this.bounds[n][0]);
    const [across, down, oblique] = [...steps.reverse(), 0, 0, 0];
    return [
      this.left + MARGIN + this.cell * (across + oblique * OBLIQUE[0]),
      this.top + HEAD + this.lift + this.cell * (down + oblique * OBLIQUE[1])];
  }

  place(point) {
    return this.at(this.axes.map(({k}) => point.values[k]));
  }

  direction(n) {
    // One step along an axis, in pixels.
    const from_last = this.axes.length - 1 - n;
    return from_last === 0 ? [this.cell, 0] : from_last === 1 ? [0, this.cell] : [OBLIQUE[0] * this.cell, OBLIQUE[1] * this.cell];
  }
}

class Picture {
  constructor(host, act, registered) {
    this.host = host;
    this.act = act;
    this.registered = registered;
    this.slices = new Map();
  }

  draw(data, view, picture, placed, broken) {
    // picture: points and arrows for some sizes; placed: where the schedule puts them; broken: the pair in red, or null.
    this.host.replaceChildren();
    const room = Math.max(this.host.clientWidth - 8, 280);
    const statements = new Map(data.statements.map((each) => [each.name, each]));
    this.panels = placed.map((leaf) => new Panel(leaf, statements.get(leaf.statement), view.loops, this.slices));
    let left = 0, top = 0, high = 0, wide = 0;
    for (const panel of this.panels) {
      panel.measure(room);
      if (left && left + panel.size[0] > room) { left = 0; top += high; high = 0; }
      panel.put(left, top);
      left += panel.size[0];
      high = Math.max(high, panel.size[1]);
      wide = Math.max(wide, left);
    }
    const size = [Math.max(wide, 200), top + high + 4];
    this.label = `Instances of ${data.kernel} for ${Object.entries(picture.sizes).map(([n, v]) => `${n} = ${v}`).join(", ") || "all calls"}`;
    const total = picture.arrows.reduce((sum, each) => sum + each.length, 0);
    this.root = svg("svg", {class: total > ARROWS ? "crowded" : "", viewBox: `0 0 ${size[0]} ${size[1]}`, width: size[0], height: size[1], role: "group",
      "aria-label": this.label}, this.host);
    this.markers();
    this.places = new Map();
    const last = Math.max(1, ...this.panels.map((panel) => Math.max(0, ...panel.points.map((p) => p.time))));
    for (const panel of this.panels) this.panel(panel, last, picture);
    this.arrows(data, picture);
    this.handles();
    if (broken) this.broken(broken, picture);
    this.sliders();
  }

  markers() {
    const defs = svg("defs", {}, this.root);
    for (const kind of [...KINDS, "broken"]) {
      const marker = svg("marker", {id: `head-${kind}`, viewBox: "0 0 8 8", refX: 7, refY: 4, markerUnits: "userSpaceOnUse",
        markerWidth: kind === "broken" ? 14 : 7, markerHeight: kind === "broken" ? 14 : 7, orient: "auto"}, defs);
      svg("path", {d: "M0,0 L8,4 L0,8 z", style: `fill: var(--${kind === "broken" ? "bad" : kind})`}, marker);
    }
  }

  panel(panel, last, picture) {
    const {name} = panel.statement;
    const group = svg("g", {class: "panel", "data-statement": name}, this.root);
    panel.group = group;
    svg("rect", {class: "frame", x: panel.left + 3, y: panel.top + 2, width: panel.size[0] - 6, height: panel.size[1] - 6, rx: 6}, group);
    const title = svg("text", {class: "title", x: panel.left + 10, y: panel.top + 18, tabindex: 0, role: "button",
      "data-pick": `s:${name}`, "data-drag": "statement"}, group, panel.title);
    svg("title", {}, title, `${name}: ${panel.statement.text}\ndrag it onto another statement to fuse their loops`);
    this.registered(group, [`s:${name}`]);
    const outlines = svg("g", {}, group), points = svg("g", {}, group);
    this.outlines(panel, outlines, (p) => panel.tiles.map(({k}) => p.values[k]), "outline", panel.tiles.length > 0);
    this.axes(panel, group);
    const radius = Math.min(panel.axes.length > 2 ? 4.5 : 9, panel.cell * 0.3);
    for (const point of panel.visible) {
      const [x, y] = panel.place(point);
      const text = this.instance(name, picture, point.id);
      const circle = svg("circle", {class: "point", cx: x.toFixed(1), cy: y.toFixed(1), r: radius.toFixed(1), "data-instance": text,
        "data-time": point.time, "data-values": point.values.join(","), style: `fill-opacity:${(0.15 + 0.85 * point.time / last).toFixed(2)}`}, points);
      circle.addEventListener("pointerenter", () => svg("title", {}, circle, `${text}, number ${point.time} in the order`), {once: true});
      this.places.set(`${name} ${point.id}`, {x, y, circle});
      if (radius > 8 && last < 1000) {
        svg("text", {class: point.time / last > 0.65 ? "order on" : "order", x, y: y + 3}, points, point.time);
      }
    }
  }

  instance(name, picture, id) {
    return `${name}[${picture.points[name][id].join(", ")}]`;
  }

  axes(panel, group) {
    // Lines with numbers along the axes, and their names, which can be dragged.
    panel.axes.forEach(({loop}, n) => {
      const lows = panel.bounds.map(([low]) => low), across = n === panel.axes.length - 1, down = n === panel.axes.length - 2;
      if (across && panel.axes.length > 1) lows[panel.axes.length - 2] = panel.bounds[panel.axes.length - 2][1];
      const [low, high] = panel.bounds[n];
      const off = across ? [0, 22] : down ? [-22, 0] : [-10, -8];
      const at = (value) => {
        const place = [...lows];
        place[n] = value;
        const [x, y] = panel.at(place);
        return [x + off[0], y + off[1]];
      };
      const [dx, dy] = panel.direction(n), [x0, y0] = at(low), [x1, y1] = at(high);
      const length = Math.hypot(dx, dy), more = 37 / length;
      const end = [x1 + dx * more, y1 + dy * more];
      svg("path", {class: "axis", d: `M${x0},${y0} L${end[0]},${end[1]}`}, group);
      const every = Math.max(1, Math.ceil((high - low + 1) / Math.max(2, Math.floor((high - low + 1) * length / 22))));
      for (let value = low; value <= high; value += every) {
        const [x, y] = at(value);
        svg("text", {class: "faint", x: x + (across ? 0 : -9), y: y + (across ? 15 : 4), "text-anchor": across ? "middle" : "end"}, group, value);
      }
      const name = svg("text", {class: "name", x: end[0] + (across ? 20 : down ? 0 : 16), y: end[1] + (across ? 5 : down ? 22 : 0),
        "text-anchor": "middle", tabindex: 0, role: "button", "data-pick": `l:${loop.address}`, "data-drag": "axis", "data-loop": loop.address},
        group, loop.text.startsWith(`${loop.name} =`) ? `${loop.name}′` : loop.name);
      svg("title", {}, name, `${loop.text}: drag it onto another axis to interchange the two`);
      this.registered(name, [`l:${loop.address}`, ...loop.lines.map((line) => `f:${line}`)]);
      panel.axes[n].line = {at, end};
    });
  }

  outlines(panel, group, numbers, kind, wanted) {
    // The sides of cells between points of different numbers: the outlines of tiles.
    if (!wanted || !panel.axes.length) return;
    const tiles = new Map();
    for (const point of panel.visible) {
      const key = numbers(point).join(",");
      if (!tiles.has(key)) tiles.set(key, []);
      tiles.get(key).push(point);
    }
    const most = Math.max(...[...tiles.values()].map((each) => each.length));
    const last = panel.axes.length - 1, half = panel.cell / 2;
    for (const [key, members] of tiles) {
      const inside = new Set(members.map((p) => panel.axes.map(({k}) => p.values[k]).join(",")));
      let way = "";
      for (const point of members) {
        const [x, y] = panel.place(point), own = panel.axes.map(({k}) => point.values[k]);
        const neighbour = (n, by) => {
          if (n < 0) return false;
          const other = [...own];
          other[n] += by;
          return inside.has(other.join(","));
        };
        if (!neighbour(last, -1)) way += `M${x - half},${y - half}v${panel.cell}`;
        if (!neighbour(last, 1)) way += `M${x + half},${y - half}v${panel.cell}`;
        if (!neighbour(last - 1, -1)) way += `M${x - half},${y - half}h${panel.cell}`;
        if (!neighbour(last - 1, 1)) way += `M${x - half},${y + half}h${panel.cell}`;
      }
      const full = members.length === most;
      svg("path", {class: kind, d: way, "data-tile": key, "data-full": full, "data-count": members.length,
        "stroke-dasharray": full || kind === "ghost" ? "" : "4 3"}, group);
    }
  }

  arrows(data, picture) {
    // Direct dependences, one group for each line of the list.
    const total = picture.arrows.reduce((sum, each) => sum + each.length, 0);
    this.waiting = new Map();
    data.dependences.forEach((line, n) => {
      const group = svg("g", {class: `arrows kind-${line.kind}`, "data-dependence": n}, this.root);
      const drawn = () => this.arrowsOf(group, line, picture.arrows[n]);
      if (total > ARROWS) this.waiting.set(group, drawn);
      else drawn();
      this.registered(group, [`d:${n}`, `a:${line.array}`]);
    });
  }

  reveal(group) {
    // Draws the arrows of a group that has been selected, if they have waited for that.
    const drawn = this.waiting.get(group);
    if (drawn) drawn();
    this.waiting.delete(group);
  }

  arrowsOf(group, line, pairs) {
    const ways = [];
    for (const [source, sink] of pairs) {
      const from = this.places.get(`${line.source} ${source}`), to = this.places.get(`${line.sink} ${sink}`);
      if (from && to) ways.push(this.bent(from, to, 2 * KINDS.indexOf(line.kind)));
    }
    const own = ways.length > 4 * ARROWS ? [{d: ways.join(""), "data-count": ways.length}] : ways.map((d) => ({d, "marker-end": `url(#head-${line.kind})`}));
    for (const each of own) svg("path", {...each, "stroke-dasharray": DASHES[line.kind]}, group);
  }

  bent(from, to, by) {
    const length = Math.hypot(to.x - from.x, to.y - from.y) || 1, ux = (to.x - from.x) / length, uy = (to.y - from.y) / length;
    const bend = 0.1 * length + by, start = Math.min(6, 0.2 * length), end = Math.min(8, 0.26 * length);
    const round = (value) => value.toFixed(1);
    return `M${round(from.x + ux * start)},${round(from.y + uy * start)} Q${round((from.x + to.x) / 2 - uy * bend)},` +
      `${round((from.y + to.y) / 2 + ux * bend)} ${round(to.x - ux * end)},${round(to.y - uy * end)}`;
  }

  broken(pair, picture) {
    // The pair of instances that a step breaks, in red, whichever iteration of hidden loops they are in.
    const group = svg("g", {class: "broken-pair", "data-source": this.text(pair.source), "data-sink": this.text(pair.sink)}, this.root);
    const ends = [pair.source, pair.sink].map(([name, point]) => {
      const id = picture.points[name].findIndex((each) => each.join() === point.join());
      for (const panel of this.panels) {
        const found = panel.statement.name === name && panel.points.find((each) => each.id === id);
        if (found) {
          const [x, y] = panel.place(found);
          return {x, y};
        }
      }
      return null;
    });
    if (ends.includes(null)) return;
    const [from, to] = ends, same = Math.hypot(from.x - to.x, from.y - to.y) < 1;
    const way = same ? `M${from.x},${from.y - 10} c-26,-34 26,-34 2,-2` : this.bent(from, to, 6);
    svg("path", {class: "broken", d: way, "marker-end": "url(#head-broken)"}, group);
    for (const {x, y} of ends) svg("circle", {class: "broken", cx: x, cy: y, r: 11}, group);
    const above = Math.min(from.y, to.y) < 30 ? Math.max(from.y, to.y) + 26 : Math.min(from.y, to.y) - 16;
    const words = svg("text", {class: "broken-text", x: from.x, y: above}, group, `✗ ${this.text(pair.sink)} must run after ${this.text(pair.source)}`);
    const over = words.getBBox().x + words.getBBox().width - this.root.viewBox.baseVal.width;
    if (over > 0) words.setAttribute("x", Math.max(2, from.x - over - 4));
  }

  text([name, point]) {
    return `${name}[${point.join(", ")}]`;
  }

  handles() {
    // What is dragged: a square on each axis for tiles, a disc at its end for skews.
    for (const panel of this.panels) {
      panel.axes.forEach((axis, n) => {
        const {at, end} = axis.line, [low, high] = panel.bounds[n];
        const tiled = panel.tiles.find(({loop}) => loop.name.replace(/_t\d*$/, "") === axis.loop.name);
        axis.size = tiled ? this.step(panel, tiled.k) : 0;
        const border = axis.size ? Math.min(this.first(low) + axis.size, high + 1) : high + 1;
        const [x, y] = at(border - 0.5);
        const square = svg("rect", {class: "handle tile", x: x - 5, y: y - 5, width: 10, height: 10, tabindex: 0, role: "slider",
          "aria-label": `tile size of ${axis.loop.address}`, "aria-valuenow": axis.size, "aria-valuetext": axis.size || "not tiled", "data-drag": "tile",
          "data-loop": axis.loop.address}, this.root);
        svg("title", {}, square, `tile size of ${axis.loop.address}: drag the tile's border along the axis`);
        const disc = panel.axes.length > 1 && svg("circle", {class: "handle skew", cx: end[0], cy: end[1], r: 6, tabindex: 0, role: "slider",
          "aria-label": `skew of the loop beside ${axis.loop.address}`, "aria-valuenow": 0, "data-drag": "skew", "data-loop": axis.loop.address}, this.root);
        if (disc) svg("title", {}, disc, `drag it across the axis ${axis.loop.address}: each step skews the other loop by it`);
        this.dragged(square, panel, n);
        if (disc) this.dragged(disc, panel, n);
      });
    }
    for (const each of this.root.querySelectorAll('[data-drag="axis"], [data-drag="statement"]')) this.dropped(each);
  }

  first(low) {
    return low > 1 ? low : 0;
  }

  step(panel, k) {
    // The distance between the first two values of a loop over tiles.
    const values = [...new Set(panel.points.map((p) => p.values[k]))].sort((a, b) => a - b);
    return values.length > 1 ? values[1] - values[0] : 0;
  }

  dragged(handle, panel, n) {
    const kind = handle.dataset.drag, {loop} = panel.axes[n];
    const other = panel.axes[n === panel.axes.length - 1 ? n - 1 : panel.axes.length - 1];
    let start = null, ghost = null, value = 0;
    const preview = (event) => {
      const scale = this.root.viewBox.baseVal.width / this.root.getBoundingClientRect().width;
      const moved = [(event.clientX - start[0]) * scale, (event.clientY - start[1]) * scale];
      if (kind === "tile") {
        const [dx, dy] = panel.direction(n), [low, high] = panel.bounds[n];
        const along = (moved[0] * dx + moved[1] * dy) / (dx * dx + dy * dy);
        const from = panel.axes[n].size ? Math.min(this.first(low) + panel.axes[n].size, high + 1) : high + 1;
        value = this.act.snapped(Math.max(1, Math.round(from + along - this.first(low))), high - low + 1);
      } else {
        const m = panel.axes.indexOf(other), [dx, dy] = panel.direction(m), span = panel.bounds[n][1] - panel.bounds[n][0];
        const along = (moved[0] * dx + moved[1] * dy) / (dx * dx + dy * dy);
        value = Math.max(-2, Math.min(2, Math.round(along / Math.max(span, 1))));
      }
      this.ghost(ghost, panel, n, kind, value, other);
    };
    handle.addEventListener("pointerdown", (event) => {
      start = [event.clientX, event.clientY];
      value = kind === "tile" ? panel.axes[n].size : 0;
      ghost = svg("g", {class: "ghosts"}, this.root);
      handle.setPointerCapture(event.pointerId);
      event.preventDefault();
    });
    handle.addEventListener("pointermove", (event) => { if (start) preview(event); });
    const end = (done) => {
      if (!start) return;
      start = null;
      ghost.remove();
      if (done && kind === "tile") this.act.tile(loop.address, value);
      else if (done && value) this.act.skew(other.loop.address, loop.address, value);
    };
    handle.addEventListener("pointerup", () => end(true));
    handle.addEventListener("pointercancel", () => end(false));
    handle.addEventListener("keydown", (event) => {
      const by = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
      if (!by) return;
      event.preventDefault();
      this.act.focus = [kind, loop.address];
      if (kind === "tile") this.act.tile(loop.address, this.act.next(panel.axes[n].size, by));
      else this.act.skew(other.loop.address, loop.address, by);
    });
  }

  ghost(group, panel, n, kind, value, other) {
    group.replaceChildren();
    const words = (text) => {
      const [x, y] = panel.axes[n].line.end;
      svg("text", {class: "name", x: Math.max(4, x - 60), y: y - 12}, group, text);
    };
    if (kind === "tile") {
      const k = panel.axes[n].k, name = panel.axes[n].loop.name.replace(/$/, "_t");
      const kept = panel.tiles.filter(({loop}) => loop.name !== name);
      this.outlines(panel, group, (p) => [...kept.map((each) => p.values[each.k]), Math.floor(p.values[k] / value)], "ghost", true);
      words(`${panel.axes[n].loop.address} by ${value}`);
      return;
    }
    const m = panel.axes.indexOf(other), [dx, dy] = panel.direction(m), k = panel.axes[n].k, [low] = panel.bounds[n];
    for (const point of panel.visible) {
      const [x, y] = panel.place(point), by = value * (point.values[k] - low);
      svg("circle", {class: "ghost", cx: x + dx * by, cy: y + dy * by, r: 5}, group);
    }
    words(`${other.loop.address} + ${value}·${panel.axes[n].loop.address}`);
  }

  dropped(handle) {
    // An axis name is dropped on another one, a statement's name on another panel.
    const kind = handle.dataset.drag, [prefix, own] = [handle.dataset.pick[0], handle.dataset.pick.slice(2)];
    let start = null, over = null;
    const target = (event) => {
      for (const each of document.elementsFromPoint(event.clientX, event.clientY)) {
        if (kind === "axis" && each.dataset && each.dataset.drag === "axis" && each !== handle) return each;
        const panel = kind === "statement" && each.closest && each.closest("g.panel");
        if (panel && panel.dataset.statement !== own) return panel;
      }
      return null;
    };
    handle.addEventListener("pointerdown", (event) => {
      start = [event.clientX, event.clientY];
      handle.setPointerCapture(event.pointerId);
    });
    handle.addEventListener("pointermove", (event) => {
      if (!start) return;
      const [dx, dy] = [event.clientX - start[0], event.clientY - start[1]];
      const scale = this.root.viewBox.baseVal.width / this.root.getBoundingClientRect().width;
      handle.setAttribute("transform", `translate(${dx * scale},${dy * scale})`);
      const found = target(event);
      if (over && over !== found) over.classList.remove("target");
      over = found;
      if (over) over.classList.add("target");
    });
    const end = (done) => {
      if (!start) return;
      start = null;
      handle.removeAttribute("transform");
      const found = over;
      if (over) over.classList.remove("target");
      over = null;
      if (!done || !found) return;
      if (prefix === "l") this.act.interchange(own, found.dataset.loop);
      else this.act.fuse(own, found.dataset.statement);
    };
    handle.addEventListener("pointerup", () => end(true));
    handle.addEventListener("pointercancel", () => end(false));
    handle.addEventListener("keydown", (event) => {
      const by = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
      if (!by) return;
      event.preventDefault();
      this.act.neighbour(prefix, own, by);
    });
  }

  sliders() {
    // One slider for each loop of which the picture shows one iteration.
    for (const panel of this.panels) {
      panel.hidden.forEach(({loop}, n) => {
        const choices = panel.choices[n], label = document.createElement("label"), input = document.createElement("input");
        const output = document.createElement("output");
        Object.assign(input, {type: "range", min: 0, max: choices.length - 1, value: choices.indexOf(panel.slice[n])});
        output.textContent = `${loop.name} = ${panel.slice[n]}`;
        label.append(`${panel.statement.name} is drawn for`, input, output);
        input.addEventListener("input", () => {
          this.slices.set(`${panel.statement.name} ${loop.address}`, choices[input.value]);
          this.act.redraw();
        });
        this.host.append(label);
      });
    }
  }
}

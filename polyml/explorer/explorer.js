"use strict";
// The page: its panes, what is marked in them, and the steps that are taken. Steps are texts of a schedule script.

const byId = (id) => document.getElementById(id);
const SECONDS = 60; // that a notebook's kernel, which may be busy, has for an answer
const live = document.querySelector('meta[name="polyml-live"]').content;

function element(name, attributes = {}, ...inside) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "class") made.className = value;
    else if (key.startsWith("data-") || key.startsWith("aria-") || key === "role") made.setAttribute(key, value);
    else made[key] = value;
  }
  made.append(...inside);
  return made;
}

async function askServer(question) {
  const reply = await fetch(live, {method: "POST", headers: {"Content-Type": "application/json"}, body: question});
  return {ok: reply.ok, answer: await reply.json()};
}

function askNotebook(question) {
  // Asks the widget around this page's frame, which asks the kernel.
  return new Promise((resolve, reject) => {
    const id = `${Date.now()} ${Math.random()}`;
    const end = setTimeout(() => done(reject, new Error("no answer")), SECONDS * 1000);
    const listen = ({source, data}) => {
      if (source === window.parent && data && data.polyml === id) done(resolve, {ok: data.ok, answer: JSON.parse(data.answer)});
    };
    const done = (how, value) => {
      clearTimeout(end);
      window.removeEventListener("message", listen);
      how(value);
    };
    window.addEventListener("message", listen);
    window.parent.postMessage({polyml: id, question}, "*");
  });
}

class Explorer {
  constructor(data) {
    this.data = data;
    this.later = null; // the promise of what there is to show after each step, by its text
    this.answers = new Map(data.steps.map((each) => [each.step, each]));
    this.marks = new Map(); // pane -> mark -> elements
    this.taken = []; // {step, view}: legal steps
    this.failed = null; // the answer of a step that is not legal, which is drawn and not kept
    this.choice = Math.min(1, data.pictures.length - 1);
    this.own = null; // sizes that the reader chose: {picture}
    this.selected = "";
    this.isWhole = false; // whether all panes are filled
    this.picture = new Picture(byId("picture"), this, (each, marks) => this.register("picture", each, marks));
    this.source();
    this.dependences();
    this.sizes();
    this.legend();
    this.buttons();
    this.listen();
    this.show();
    this.say(live ? "Every step is answered by the running kernel." : `A saved page: it knows the ${data.steps.length} single steps ` +
      `from the schedule shown${data.left_out ? ` (${data.left_out} more are left out)` : ""}, without a network.`);
  }

  get view() {
    return this.failed ? this.failed.view : this.legal;
  }

  get legal() {
    return this.taken.length ? this.taken[this.taken.length - 1].view : this.data.view;
  }

  // Marks

  register(pane, each, marks) {
    if (!this.marks.has(pane)) this.marks.set(pane, new Map());
    const own = this.marks.get(pane);
    for (const mark of marks) {
      if (!own.has(mark)) own.set(mark, []);
      own.get(mark).push(each);
    }
  }

  clear(pane) {
    this.marks.delete(pane);
  }

  related(mark, pane) {
    // The marks that a mark stands for in a pane.
    const [kind, name] = [mark[0], mark.slice(2)];
    if (kind === "d" && pane !== "picture" && pane !== "dependences") {
      const line = this.data.dependences[name];
      return [`s:${line.source}`, `s:${line.sink}`];
    }
    if (kind === "l" && pane === "source") {
      const loop = this.view.loops.find((each) => each.address === name);
      return loop ? loop.lines.map((line) => `f:${line}`) : [];
    }
    if (kind === "l" && pane === "dependences") return this.carried(name);
    return [mark];
  }

  carried(address) {
    // The dependences whose distance is first other than 0 in a loop of the source.
    const loop = this.view.loops.find((each) => each.address === address);
    if (!loop) return [];
    return this.data.dependences.flatMap((line, n) => {
      const first = line.distance.findIndex((each) => each !== "0");
      return first >= 0 && line.loops[first] === loop.name && loop.statements.includes(line.source) ? [`d:${n}`] : [];
    });
  }

  select(mark) {
    this.selected = mark === this.selected ? "" : mark;
    this.mark();
    byId("details").textContent = this.selected ? this.told(this.selected) : "";
  }

  mark() {
    for (const each of document.querySelectorAll(".marked")) each.classList.remove("marked");
    const chosen = this.selected;
    if (this.picture.root) this.picture.root.classList.toggle("has-selection", "da".includes(chosen[0] || " "));
    for (const each of document.querySelectorAll("#dependences .row")) each.setAttribute("aria-pressed", String(each.dataset.pick === chosen));
    if (!chosen) return;
    for (const [pane, own] of this.marks) {
      const found = this.related(chosen, pane).flatMap((mark) => own.get(mark) || []);
      for (const each of found) {
        each.classList.add("marked");
        if (pane === "picture") this.picture.reveal(each);
      }
      if (found.length && pane !== "picture") this.reveal(pane, found[0]);
    }
  }

  reveal(pane, each) {
    const box = byId(pane);
    const [inner, outer] = [each.getBoundingClientRect(), box.getBoundingClientRect()];
    if (inner.top < outer.top || inner.bottom > outer.bottom) box.scrollTop += inner.top - outer.top - outer.height / 3;
  }

  told(mark) {
    const [kind, name] = [mark[0], mark.slice(2)];
    if (kind === "s") return `statement ${name}: ${this.data.statements.find((each) => each.name === name).text}`;
    if (kind === "a") return `array ${this.data.arrays.find((each) => each.name === name).text}`;
    if (kind === "f") return `the loop on line ${name} of the source`;
    if (kind === "l") {
      const loop = this.view.loops.find((each) => each.address === name);
      const carried = this.carried(name).length;
      return `loop ${name}${loop && loop.text !== loop.name ? `: ${loop.text}` : ""}${carried ? `, which carries ${carried} of the dependences` : ""}`;
    }
    const line = this.data.dependences[name];
    return `${line.kind} dependence through ${this.arrayText(line.array)}: ${line.text}, ${this.distance(line)}`;
  }

  arrayText(name) {
    return this.data.arrays.find((each) => each.name === name).text;
  }

  distance(line) {
    if (!line.loops.length) return "no loop is around both";
    return `distance (${line.distance.join(", ")}) in (${line.loops.join(", ")})`;
  }

  arraysOf(statement) {
    return [...new Set(this.data.statements.find((each) => each.name === statement).accesses.map(([array]) => `a:${array}`))];
  }

  // Panes that do not change

  source() {
    const {source} = this.data, box = byId("source");
    if (!source) {
      box.append("The source of the kernel is in no file.");
      return;
    }
    source.lines.forEach((text, n) => {
      const number = source.first + n, spans = source.spans.filter(([line]) => line === number);
      const line = element("span", {class: "line"}, element("span", {class: "number"}, String(number)));
      const cuts = [...new Set([0, text.length, ...spans.flatMap(([, begin, end]) => [begin, end])])].sort((a, b) => a - b);
      for (let k = 0; k + 1 < cuts.length; k++) {
        const over = spans.filter(([, begin, end]) => begin <= cuts[k] && cuts[k + 1] <= end);
        over.sort((one, other) => one[2] - one[1] - (other[2] - other[1]));
        const words = text.slice(cuts[k], cuts[k + 1]);
        if (!over.length) {
          line.append(words);
          continue;
        }
        const span = element("span", {class: "seg", "data-pick": over[0][3], "data-marks": over.map((each) => each[3]).join(" ")}, words);
        this.register("source", span, over.map((each) => each[3]));
        line.append(span);
      }
      box.append(line);
    });
  }

  dependences() {
    const box = byId("dependences");
    const {dependences, unknown} = this.data;
    if (unknown.length) box.append(`isl does not find the ${unknown.join(", ")} dependences in time, and they are not drawn. Verdicts know all.`);
    else if (!dependences.length) box.append("There is none: the instances may run in any order.");
    this.data.dependences.forEach((line, n) => {
      const lines = line.lines.filter(Boolean).join(" → ");
      const row = element("button", {type: "button", class: `row kind-${line.kind}`, "data-pick": `d:${n}`, "aria-pressed": "false",
        title: lines ? `lines ${lines}` : ""}, element("span", {class: "kind"}, line.kind), element("code", {}, line.text),
        element("code", {class: "faint"}, line.loops.length ? `(${line.distance.join(", ")})` : ""));
      box.append(row);
      this.register("dependences", row, [`d:${n}`, `a:${line.array}`, `s:${line.source}`, `s:${line.sink}`]);
    });
  }

  legend() {
    const box = byId("legend"), kinds = {flow: "flow: written, then read", anti: "anti: read, then written", output: "output: written twice"};
    for (const kind of KINDS) {
      if (!this.data.dependences.some((each) => each.kind === kind)) continue;
      const line = svg("svg", {width: 30, height: 10, "aria-hidden": "true"});
      svg("path", {d: "M1,5 L28,5", style: `stroke: var(--${kind}); fill: none; stroke-width: 2`, "stroke-dasharray": DASHES[kind]}, line);
      box.append(element("span", {}, line, ` ${kinds[kind]}`));
    }
    if (this.data.pictures.some((each) => each.arrows.reduce((sum, own) => sum + own.length, 0) > ARROWS)) {
      box.append(element("span", {}, `more than ${ARROWS} arrows: only those of the dependence or the array that is selected are drawn`));
    }
    box.append(element("span", {}, "darker points run later"), element("span", {}, "outlines: tiles, partial ones dashed"));
  }

  sizes() {
    const box = byId("sizes"), {pictures, parameters} = this.data;
    const slider = element("input", {type: "range", id: "size", min: 0, max: pictures.length - 1, value: this.choice, disabled: pictures.length < 2});
    const output = element("output", {id: "size-text"});
    slider.addEventListener("input", () => {
      this.choice = Number(slider.value);
      this.own = null;
      this.redraw();
    });
    if (parameters.length) box.append(element("label", {}, "sizes", slider), output);
    if (!live) return;
    for (const {name, text} of parameters) {
      const input = element("input", {type: "number", min: 0, max: 40, "data-parameter": name, title: text});
      input.addEventListener("change", () => this.resized());
      box.append(element("label", {}, name, input));
    }
  }

  buttons() {
    byId("undo").addEventListener("click", () => this.undo());
    byId("copy").addEventListener("click", () => this.copy(this.legal.script, "The text is copied: k.load_schedule takes it from a file."));
    byId("copy-steps").addEventListener("click", () => this.copy(this.steps(), "The steps are copied as Python."));
    byId("ask").addEventListener("submit", (event) => {
      event.preventDefault();
      const step = byId("step").value.trim();
      if (step) this.attempt(step);
    });
  }

  listen() {
    document.addEventListener("click", (event) => {
      const picked = event.target.closest("[data-pick]");
      if (picked) this.select(picked.dataset.pick);
      else if (event.target.matches("circle.point")) {
        const {instance, time} = event.target.dataset;
        this.select(`s:${instance.slice(0, instance.indexOf("["))}`);
        byId("details").textContent = `${instance} runs as number ${time}, counted from 0`;
      }
    });
    document.addEventListener("keydown", (event) => {
      const picked = event.target.closest("[data-pick]");
      if (picked && picked.tagName !== "BUTTON" && (event.key === "Enter" || event.key === " ")) {
        event.preventDefault();
        this.select(picked.dataset.pick);
      }
    });
    window.addEventListener("resize", () => {
      if (window.innerWidth !== this.width) this.redraw();
    });
  }

  // Panes of the schedule

  show() {
    const {view} = this;
    this.loops(view);
    this.tiles(view);
    this.script();
    this.tree(view);
    if (this.isWhole) this.rest(view);
    this.redraw();
  }

  rest(view) {
    // The panes that hold most of the text, which the first frame of the page does not wait for.
    this.code(view);
    this.stepList();
  }

  async complete() {
    // Fills the panes that are left, then reads what there is to show after each step.
    await frame();
    this.isWhole = true;
    this.rest(this.view);
    this.mark();
    document.documentElement.dataset.ready = "yes";
    return views();
  }

  redraw() {
    this.clear("picture");
    const {picture, placed, broken} = this.current();
    byId("size-text").textContent = Object.entries(picture.sizes).map(([name, value]) => `${name} = ${value}`).join(", ");
    this.picture.draw(this.data, this.view, picture, placed, broken);
    this.width = window.innerWidth;
    this.mark();
    if (this.focus) {
      const [kind, loop] = this.focus;
      const handle = [...this.picture.root.querySelectorAll(`.handle.${kind}`)].find((each) => each.dataset.loop === loop);
      if (handle) handle.focus();
      this.focus = null;
    }
  }

  current() {
    // What the picture shows: for the sizes of the slider, or for those that the reader chose.
    const own = this.own && this.view.placed.length > this.data.pictures.length;
    const number = own ? this.data.pictures.length : this.choice;
    const picture = own ? this.own : this.data.pictures[number];
    return {picture, placed: this.view.placed[number], broken: this.failed ? this.failed.broken[number] : null};
  }

  loops(view) {
    const box = byId("loops");
    box.replaceChildren();
    this.clear("loops");
    const walk = (node, depth) => {
      const pad = "    ".repeat(depth);
      if (node.node === "leaf") {
        for (const {name, head, text} of node.statements) this.line(box, `${pad}${head}: ${text}`, `s:${name}`, this.arraysOf(name));
      } else if (node.node === "loop") {
        const loop = view.loops.find((each) => each.address === node.address);
        const words = loop.directives.length ? `  # ${loop.directives.join(", ")}` : "";
        const line = this.line(box, `${pad}for ${loop.text}:${words}`, `l:${node.address}`, loop.lines.map((each) => `f:${each}`));
        line.dataset.loop = node.address;
        this.draggable(line);
        node.children.forEach((each) => walk(each, depth + 1));
      } else {
        node.children.forEach((each, n) => {
          const condition = node.conditions[n];
          if (condition) box.append(element("span", {class: "line"}, `${pad}if ${condition}:`));
          walk(each, condition ? depth + 1 : depth);
        });
      }
    };
    walk(view.tree, 0);
  }

  line(box, text, pick, marks) {
    const line = element("span", {class: "line", role: "button", tabIndex: 0, "data-pick": pick}, text);
    box.append(line);
    this.register(box.id, line, [pick, ...marks]);
    return line;
  }

  draggable(line) {
    // A loop is dropped on another one: nested ones are interchanged, neighbours are fused.
    let over = null, start = null;
    line.addEventListener("pointerdown", (event) => {
      start = [event.clientX, event.clientY];
      line.setPointerCapture(event.pointerId);
    });
    line.addEventListener("pointermove", (event) => {
      if (!start || Math.hypot(event.clientX - start[0], event.clientY - start[1]) < 5) return;
      line.classList.add("dragged");
      const found = document.elementsFromPoint(event.clientX, event.clientY).find((each) => each !== line && each.dataset && each.dataset.loop
        && each.classList.contains("line"));
      if (over && over !== found) over.classList.remove("drop");
      over = found || null;
      if (over) over.classList.add("drop");
    });
    const end = (done) => {
      line.classList.remove("dragged");
      if (over) over.classList.remove("drop");
      const found = over;
      [start, over] = [null, null];
      if (done && found) this.met(line.dataset.loop, found.dataset.loop);
    };
    line.addEventListener("pointerup", () => end(true));
    line.addEventListener("pointercancel", () => end(false));
    line.addEventListener("keydown", (event) => {
      const by = {ArrowUp: -1, ArrowDown: 1}[event.key];
      if (!by || !event.altKey) return;
      event.preventDefault();
      this.neighbour("l", line.dataset.loop, by);
    });
  }

  tiles(view) {
    // A slider for the tile size of each loop; of a saved page, among the sizes that it knows.
    const box = byId("tiles");
    box.replaceChildren();
    for (const loop of view.loops) {
      if (loop.tile) continue;
      const sizes = this.sizesOfTiles(), now = this.tileOf(loop.address);
      const input = element("input", {type: "range", min: 0, max: sizes.length - 1, value: Math.max(sizes.indexOf(now), 0), "data-tile": loop.address,
        "aria-label": `tile size of ${loop.address}`});
      const output = element("output", {}, now ? String(now) : "none");
      input.addEventListener("input", () => { output.textContent = sizes[input.value] || "none"; });
      input.addEventListener("change", () => this.tile(loop.address, sizes[input.value]));
      box.append(element("label", {}, element("code", {}, `${loop.address} tile`), input, output));
    }
  }

  sizesOfTiles() {
    return live ? [0, ...[2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256, ...this.data.tiles]
      .filter((each, n, all) => all.indexOf(each) === n).sort((a, b) => a - b)] : [0, ...this.data.tiles];
  }

  tileOf(address) {
    const last = this.lastTile();
    return last ? last[address] || 0 : 0;
  }

  lastTile() {
    // The sizes of the last step where that is a tiling, as {loop: size}.
    const step = this.failed ? this.failed.step : this.taken.length ? this.taken[this.taken.length - 1].step : "";
    return step.startsWith("tile({") ? JSON.parse(step.slice(5, -1)) : null;
  }

  tree(view) {
    const box = byId("tree");
    box.replaceChildren();
    this.clear("tree");
    const made = (node) => {
      const item = element("li");
      if (node.node === "leaf") {
        for (const {name, head} of node.statements) item.append(this.treeNode(head, "leaf", `s:${name}`, this.arraysOf(name)));
      } else if (node.node === "loop") {
        const loop = view.loops.find((each) => each.address === node.address);
        const words = ["band", loop.text, ...loop.directives.map((each) => `[${each}]`)].join(" ");
        item.append(this.treeNode(words, loop.tile ? "tile" : "loop", `l:${node.address}`, loop.lines.map((each) => `f:${each}`)));
      } else {
        item.append(element("span", {class: "node sequence"}, "sequence"));
      }
      if (node.children) item.append(element("ul", {}, ...node.children.map(made)));
      return item;
    };
    box.append(element("ul", {}, made(view.tree)));
  }

  treeNode(text, kind, pick, marks) {
    const node = element("code", {class: `node ${kind}`, role: "button", tabIndex: 0, "data-pick": pick}, text);
    this.register("tree", node, [pick, ...marks]);
    return node;
  }

  code(view) {
    for (const pane of ["ast", "llvm"]) {
      const box = byId(pane), code = view.code || {none: "There is no code for an order that is not legal."};
      box.replaceChildren();
      this.clear(pane);
      if (!code[pane]) {
        box.append(element("p", {class: "faint"}, code.none || code.left_out));
        continue;
      }
      for (const [text, statements, loops] of code[pane]) {
        const marks = [...statements.map((each) => `s:${each}`), ...loops.map((each) => `l:${each}`), ...statements.flatMap((each) => this.arraysOf(each))];
        for (const address of loops) {
          const loop = view.loops.find((each) => each.address === address);
          if (loop) marks.push(...loop.lines.map((each) => `f:${each}`));
        }
        const pick = statements.length ? `s:${statements[0]}` : loops.length ? `l:${loops[loops.length - 1]}` : "";
        const line = element("span", {class: "line", ...(pick ? {"data-pick": pick} : {})}, text);
        box.append(line);
        this.register(pane, line, marks);
      }
    }
  }

  script() {
    const box = byId("script");
    box.replaceChildren(...this.taken.map(({step}) => element("li", {}, step)));
    if (this.failed) box.append(element("li", {class: "bad"}, this.failed.step));
    if (!box.children.length) box.append(element("li", {class: "faint"}, "no step yet"));
    byId("undo").disabled = !this.taken.length && !this.failed;
    byId("text").value = this.legal.script;
  }

  stepList() {
    const box = byId("steps");
    const known = this.taken.length === 0, names = {legal: "✓", illegal: "✗", refused: "–"};
    box.replaceChildren();
    if (!known) {
      box.append(element("p", {class: "faint"}, live ? "These are the steps from the schedule at the beginning; any other may be written beside the script."
        : "These are the steps from the schedule at the beginning. Take back what was taken to see them, or run polyml explore for any sequence of steps."));
    }
    const groups = new Map();
    for (const answer of this.data.steps) {
      if (!groups.has(answer.method)) groups.set(answer.method, []);
      groups.get(answer.method).push(answer);
    }
    for (const [method, answers] of groups) {
      const count = answers.filter((each) => each.verdict === "legal").length;
      const chips = answers.map((each) => {
        const taken = this.taken.some(({step}) => step === each.step) || this.failed && this.failed.step === each.step;
        const chip = element("button", {type: "button", class: `${each.verdict}${taken ? " taken" : ""}`, title: each.why || each.verdict, disabled: !known && !live,
          "data-step": each.step, "aria-label": `${each.step}: ${each.verdict}`}, `${names[each.verdict]} ${each.step}`);
        chip.addEventListener("click", () => this.attempt(each.step));
        return chip;
      });
      box.append(element("h3", {}, `${method}: ${count} of ${answers.length} legal`), element("div", {class: "chips"}, ...chips));
    }
  }

  // Steps

  async attempt(step, without = 0) {
    // Takes a step; without: how many of the last steps it replaces.
    const before = this.taken.slice(0, this.taken.length - without);
    let answer = before.length === 0 && !this.own ? this.answers.get(step) : undefined;
    if (!answer && live) answer = await this.ask({steps: before.map((each) => each.step), step, sizes: this.own ? this.own.sizes : null});
    else if (answer && answer.verdict !== "refused") answer = {...answer, view: (await this.later).get(step)};
    if (!answer) {
      if (!live) this.say(`${step}: this saved page knows the single steps from the schedule at the beginning alone; polyml explore answers any.`, "refused");
      this.tiles(this.view);
      return;
    }
    if (answer.verdict === "refused") {
      this.say(`${step} does not fit: ${answer.why}${answer.notes && answer.notes.length ? `; ${answer.notes.join("; ")}` : ""}`, "refused");
      this.tiles(this.view);
      return;
    }
    this.taken = before;
    if (answer.verdict === "legal") {
      this.failed = null;
      this.taken.push({step: answer.step, view: answer.view});
      this.say(`${answer.step} is legal: every dependence is kept.`, "legal");
    } else {
      this.failed = answer;
      const {broken} = this.current(), count = broken ? `; it breaks ${broken.count} pairs for these sizes` : "; no pair is broken for the sizes that are drawn";
      this.say(`${answer.step} is not legal: ${answer.why}${answer.notes.length ? `, ${answer.notes[0]}` : ""}${count}.`, "illegal");
    }
    this.show();
  }

  undo() {
    if (this.failed) this.failed = null;
    else this.taken.pop();
    this.say("The last step is taken back.");
    this.show();
  }

  async ask(request) {
    try {
      const {ok, answer} = await (live === "notebook" ? askNotebook : askServer)(JSON.stringify(request));
      if (ok) return answer;
      this.say(`The kernel refuses the question: ${answer.error}`, "refused");
    } catch (problem) {
      this.say("The kernel that answered this page is gone, or busy; the single steps from the schedule at the beginning are still known.", "refused");
    }
    return undefined;
  }

  async resized() {
    const inputs = [...document.querySelectorAll("[data-parameter]")], sizes = {...this.data.pictures[this.choice].sizes};
    for (const each of inputs) {
      if (each.value !== "") sizes[each.dataset.parameter] = Number(each.value);
    }
    const answer = await this.ask({steps: this.taken.map((each) => each.step), step: null, sizes});
    if (!answer) return;
    this.own = answer.picture;
    if (this.taken.length) this.taken[this.taken.length - 1].view = answer.view;
    else this.data.view = answer.view;
    this.failed = null;
    this.show();
  }

  tile(address, size) {
    // A tile size: together with those of the last step, if that is a tiling of the same loops.
    const last = this.lastTile(), without = last && !this.failed ? 1 : 0;
    const sizes = last ? {...last} : {};
    if (size) sizes[address] = size;
    else delete sizes[address];
    const base = this.taken.length - without ? this.taken[this.taken.length - without - 1].view : this.data.view;
    const order = base.loops.map((each) => each.address).filter((each) => each in sizes);
    if (last && !order.length) {
      this.undo();
      return undefined;
    }
    const own = this.isNest(base, order) ? order : [address];
    if (!own.length || !sizes[own[0]]) return undefined;
    const words = own.map((each) => `${JSON.stringify(each)}: ${sizes[each]}`).join(", ");
    return this.attempt(`tile({${words}})`, own.length === order.length ? without : 0);
  }

  isNest(view, addresses) {
    // Whether the loops are around one another.
    const own = view.loops.filter((each) => addresses.includes(each.address)).map((each) => each.statements);
    return own.every((each) => own.every((other) => each.some((name) => other.includes(name))));
  }

  snapped(size, extent) {
    // The tile size that a border is dragged to: any of a running kernel, one that a saved page knows otherwise.
    if (live) return size;
    const sizes = this.data.tiles.filter((each) => each <= extent);
    return (sizes.length ? sizes : this.data.tiles).reduce((best, each) => Math.abs(each - size) < Math.abs(best - size) ? each : best);
  }

  next(size, by) {
    const sizes = this.sizesOfTiles(), at = Math.max(sizes.indexOf(size), 0);
    return sizes[Math.min(Math.max(at + by, 0), sizes.length - 1)];
  }

  skew(loop, by, factor) {
    const last = this.taken.length && !this.failed ? this.taken[this.taken.length - 1].step : "", head = `skew(${JSON.stringify(loop)}, ${JSON.stringify(by)}, `;
    const before = last.startsWith(head) ? Number(last.slice(head.length, -1)) : 0;
    if (before && before + factor === 0) {
      this.undo();
      return undefined;
    }
    return this.attempt(`${head}${before + factor})`, before ? 1 : 0);
  }

  interchange(one, other) {
    const names = this.legal.loops.map((each) => each.address);
    const [outer, inner] = [one, other].sort((a, b) => names.indexOf(a) - names.indexOf(b));
    return this.attempt(`interchange(${JSON.stringify(outer)}, ${JSON.stringify(inner)})`);
  }

  fuse(one, other) {
    // Fuses the loops around two statements that stand next to each other.
    const found = this.apart(this.legal.tree, one, other);
    if (!found) {
      this.say(`${one} and ${other} are in no two loops that stand next to each other.`, "refused");
      return undefined;
    }
    return this.attempt(`fuse(${found.map((each) => JSON.stringify(each)).join(", ")})`);
  }

  names(node) {
    return node.node === "leaf" ? node.statements.map((each) => each.name) : node.children.flatMap((each) => this.names(each));
  }

  apart(node, one, other) {
    // The loops around each of two statements in the sequence in which they part, those between them too.
    if (node.node === "leaf") return null;
    for (const child of node.children) {
      const inside = this.names(child);
      if (inside.includes(one) && inside.includes(other)) return this.apart(child, one, other);
    }
    const at = [one, other].map((name) => node.children.findIndex((child) => this.names(child).includes(name))).sort((a, b) => a - b);
    const own = node.children.slice(at[0], at[1] + 1);
    return own.every((child) => child.node === "loop") ? own.map((child) => child.address) : null;
  }

  met(one, other) {
    // Two loops that are dropped on one another: neighbours are fused, others interchanged.
    const siblings = this.siblings(this.legal.tree, one, other);
    return siblings ? this.attempt(`fuse(${siblings.map((each) => JSON.stringify(each)).join(", ")})`) : this.interchange(one, other);
  }

  siblings(node, one, other) {
    if (!node.children) return null;
    const own = node.children.filter((each) => each.node === "loop").map((each) => each.address);
    if (node.node === "sequence" && own.includes(one) && own.includes(other)) return own.indexOf(one) < own.indexOf(other) ? [one, other] : [other, one];
    return node.children.map((each) => this.siblings(each, one, other)).find(Boolean) || null;
  }

  neighbour(prefix, own, by) {
    // The next loop or statement before or behind, for the keyboard.
    if (prefix === "s") {
      const names = this.data.statements.map((each) => each.name), at = names.indexOf(own) + by;
      return names[at] ? this.fuse(own, names[at]) : undefined;
    }
    const names = this.legal.loops.map((each) => each.address), at = names.indexOf(own) + by;
    return names[at] ? this.met(own, names[at]) : undefined;
  }

  // Texts

  steps() {
    return [`s = ${this.data.kernel}.schedule(${JSON.stringify(this.data.start)})`, ...this.taken.map(({step}) => `s = s.${step}`)].join("\n") + "\n";
  }

  async copy(text, done) {
    const box = byId("text");
    box.value = text;
    try {
      await navigator.clipboard.writeText(text);
      this.say(done);
    } catch (problem) {
      box.closest("details").open = true;
      box.focus();
      box.select();
      this.say("The browser lets no page copy here: the text below is selected, copy it from there.", "refused");
    }
  }

  say(text, kind = "") {
    const status = byId("status");
    status.textContent = text;
    status.className = kind;
  }
}

async function unpacked(block) {
  // What a block of the page has: JSON, as gzip's bytes in base 64.
  const text = atob(block.textContent), bytes = new Uint8Array(text.length);
  for (let n = 0; n < text.length; n++) bytes[n] = text.charCodeAt(n);
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

async function begin() {
  // Draws the page while it is still being read: what there is to show after each step stands behind this script.
  const data = JSON.parse(byId("data").textContent);
  document.querySelector("main").hidden = false;
  const explorer = window.explorer = new Explorer(data);
  explorer.later = explorer.complete();
  performance.mark("usable");
  await explorer.later;
}

function frame() {
  // Is kept once the next frame is drawn, or soon where none is, since nobody looks.
  return new Promise((done) => {
    requestAnimationFrame(() => setTimeout(done));
    setTimeout(done, 300);
  });
}

async function views() {
  // What there is to show after each step, read part by part behind the first picture: {step: view}.
  if (typeof DecompressionStream === "undefined") throw new Error("this browser has no DecompressionStream; Firefox 113, Chrome 80 and Safari 16.4 have");
  if (document.readyState === "loading") await new Promise((done) => document.addEventListener("DOMContentLoaded", done, {once: true}));
  const found = new Map();
  for (const block of document.querySelectorAll("script.later")) {
    await new Promise((done) => setTimeout(done));
    for (const [step, view] of Object.entries(await unpacked(block))) found.set(step, view);
  }
  return found;
}

async function start() {
  try {
    await begin();
  } catch (problem) {
    byId("status").textContent = `The page cannot be shown as a whole: ${problem.message}`;
    byId("status").className = "illegal";
  }
}

start();

"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const players = Array.from(document.querySelectorAll(".player"), make);
  let current = players[0];

  function make(root) {
    const data = JSON.parse(root.querySelector("script[type='application/json']").textContent);
    const array = root.querySelector("svg.array");
    const cells = Array.from(array.querySelectorAll(".cell"));
    const wires = Array.from(array.querySelectorAll(".wire"));
    const tokens = array.querySelector(".tokens");
    const now = root.querySelector("svg.utilisation .now");
    const slider = root.querySelector("input[type=range]");
    const play = root.querySelector(".play");
    const shown = root.querySelector("output");
    const details = root.querySelector(".details");
    let cycle = 0, timer = null, chosen = null;

    function instance(head) {
      const [values, statement] = head.split(" ").reverse();
      return `${statement || data.statement}[${values}]`;
    }

    function unit(number) {
      const [head, ...lines] = (data.frames[cycle].cells[number] || []).map((word) => data.words[word]);
      return { head: head ? head[0] : "", phase: head ? head[1] : "idle", lines };
    }

    function words(number) {
      const { head, lines } = unit(number);
      const elements = lines.map(([text]) => text).filter(Boolean);
      const runs = head ? `runs ${instance(head)}` : "runs nothing";
      return `${data.units[number]} ${runs}${elements.length ? ", with " + elements.join(", ") : ""}`;
    }

    function show(next) {
      cycle = Math.min(Math.max(next, 0), data.frames.length - 1);
      const state = data.frames[cycle];
      slider.value = cycle;
      slider.setAttribute("aria-valuetext", `${state.title}, ${state.caption}`);
      shown.textContent = `cycle ${cycle}`;
      array.querySelector(".title").textContent = state.title;
      array.querySelector(".caption").textContent = state.caption;
      array.setAttribute("aria-label", `${data.mapping}. ${state.title}, ${state.caption}`);
      cells.forEach((cell, number) => {
        const { head, phase, lines } = unit(number);
        cell.setAttribute("class", `cell ${phase}${number === chosen ? " shown" : ""}`);
        cell.setAttribute("aria-label", words(number));
        cell.querySelector(".head").textContent = head;
        cell.querySelectorAll(".slot").forEach((slot, lane) => {
          const [text, kind] = lines[lane] || ["", ""];
          slot.textContent = text;
          slot.setAttribute("class", `slot mono s${lane % data.colours} ${kind}`.trim());
        });
      });
      const on = new Set(state.wires);
      wires.forEach((wire, number) => wire.classList.toggle("on", on.has(number)));
      tokens.replaceChildren(...state.texts.map(([x, y, word, lane]) => {
        const token = document.createElementNS(SVG, "text");
        token.setAttribute("class", `token mono halo s${lane}`);
        token.setAttribute("font-size", "12");
        token.setAttribute("x", x);
        token.setAttribute("y", y);
        token.textContent = data.words[word][0];
        return token;
      }));
      now.setAttribute("transform", `translate(${data.first + data.step * cycle},0)`);
      if (chosen !== null) tell(chosen);
    }

    function tell(number) {
      if (chosen !== null) cells[chosen].classList.remove("shown");
      chosen = number;
      cells[number].classList.add("shown");
      const { head, lines } = unit(number);
      const list = document.createElement("dl");
      data.lanes.forEach(([use, moves], lane) => {
        const [text, kind] = lines[lane] || ["", ""];
        const name = document.createElement("dt"), value = document.createElement("dd");
        name.textContent = `${use} (${moves})`;
        value.textContent = text ? text.replace(/^→/, "from the buffer: ").replace(/→$/, ", then to the buffer") + (kind === "held" ? ", kept" : "") : "none";
        list.append(name, value);
      });
      const title = document.createElement("strong");
      title.textContent = `${data.units[number]} in cycle ${cycle}: ${head ? instance(head) : "runs nothing"}`;
      details.replaceChildren(title, list);
    }

    function stop() {
      clearInterval(timer);
      timer = null;
      play.textContent = "▶ Play";
      details.setAttribute("aria-live", "polite");
    }

    function start() {
      if (cycle === data.frames.length - 1) show(0);
      timer = setInterval(() => (cycle < data.frames.length - 1 ? show(cycle + 1) : stop()), Number(root.querySelector("select.speed").value));
      play.textContent = "⏸ Pause";
      details.setAttribute("aria-live", "off");
    }

    function move(next) {
      current = player;
      stop();
      show(next);
    }

    slider.addEventListener("input", () => move(Number(slider.value)));
    play.addEventListener("click", () => {
      current = player;
      (timer === null ? start : stop)();
    });
    root.querySelector(".back").addEventListener("click", () => move(cycle - 1));
    root.querySelector(".forth").addEventListener("click", () => move(cycle + 1));
    root.querySelector("select.speed").addEventListener("change", () => { if (timer !== null) { stop(); start(); } });
    cells.forEach((cell, number) => {
      cell.addEventListener("pointerenter", () => tell(number));
      cell.addEventListener("focus", () => tell(number));
    });
    root.addEventListener("focusin", () => { current = player; });
    root.addEventListener("pointerdown", () => { current = player; });
    const player = {
      root,
      last: data.frames.length - 1,
      step: (by) => move(cycle + by),
      go: move,
      toggle: () => (timer === null ? start() : stop()),
      stop,
    };
    show(0);
    return player;
  }

  function choose(root, value) {
    root.querySelectorAll(".player").forEach((each) => { each.hidden = each.dataset.plan !== value; });
    players.forEach((player) => { if (player.root.hidden) player.stop(); });
    current = players.find((player) => root.contains(player.root) && !player.root.hidden);
  }

  document.querySelectorAll("select.plan").forEach((select) => {
    select.addEventListener("change", () => choose(select.closest(".nest"), select.value));
  });

  document.addEventListener("keydown", (event) => {
    if (!current || event.altKey || event.ctrlKey || event.metaKey) return;
    const target = event.target, tag = target.tagName;
    if (tag === "SELECT" || tag === "SUMMARY" || (tag === "BUTTON" && event.key === " ")) return;
    const keys = {
      ArrowRight: () => current.step(1),
      ArrowLeft: () => current.step(-1),
      Home: () => current.go(0),
      End: () => current.go(current.last),
      " ": () => current.toggle(),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
})();

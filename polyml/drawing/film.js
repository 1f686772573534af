// Shows one of several pictures, or the instances up to a time: what the slider says.
(function (film) {
  const slider = film.querySelector("input");
  const said = film.querySelector("output");
  const labels = JSON.parse(film.dataset.labels);
  const frames = film.querySelectorAll("[data-frame]");
  const points = film.querySelectorAll("circle[data-time]");
  function show() {
    const now = Number(slider.value);
    said.textContent = labels[now];
    slider.setAttribute("aria-valuetext", labels[now]);
    frames.forEach((frame) => { frame.hidden = Number(frame.dataset.frame) !== now; });
    if (frames.length === 0) {
      points.forEach((point) => {
        point.classList.toggle("later", Number(point.dataset.time) > now);
        point.classList.toggle("now", Number(point.dataset.time) === now);
      });
    }
  }
  slider.addEventListener("input", show);
  film.querySelector("p").hidden = false;
  show();
})(document.getElementById("ID"));

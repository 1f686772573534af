// A page in a frame of a notebook: its questions go to the kernel as messages of anywidget, and the answers come back.

function render({model, el}) {
  const frame = document.createElement("iframe");
  frame.srcdoc = model.get("page");
  frame.style.cssText = `border: 0; width: 100%; height: ${model.get("height")}px`;
  const asked = ({source, data}) => {
    if (source === frame.contentWindow && data && data.polyml) model.send({polyml: data.polyml, question: data.question});
  };
  const answered = (message) => {
    if (frame.contentWindow) frame.contentWindow.postMessage(message, "*");
  };
  window.addEventListener("message", asked);
  model.on("msg:custom", answered);
  el.append(frame);
  const hiding = setInterval(hide, 200);
  let tries = 0;
  function hide() {
    // The saved page may be put into the notebook after the widget.
    const saved = document.getElementById(model.get("saved"));
    if (saved) saved.style.display = "none";
    if (saved || (tries += 1) > 50) clearInterval(hiding);
  }
  return () => {
    clearInterval(hiding);
    window.removeEventListener("message", asked);
    model.off("msg:custom", answered);
  };
}

export default {render};

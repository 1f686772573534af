"""The page as a widget: its messages are answered as the server answers, and its frame asks through anywidget's model, here a fake one."""

import base64
import html
import http.client
import json
import re
from urllib.parse import urlsplit

import nbformat
import pytest
from nbclient import NotebookClient

from polyml.explorer.answers import MOST_BYTES, Answers
from polyml.explorer.page import IN_NOTEBOOK, packed_data, page
from polyml.explorer.server import serve
from tests.explorer.browser import browser
from tests.explorer.pages import exploration

pytest.importorskip("anywidget")
from polyml.api.exploring.widget import PageWidget, answered  # noqa: E402  (it imports anywidget)

ASK = {"steps": [], "step": 'interchange("t", "S0.i")'}
QUESTIONS = [
    json.dumps(ASK), json.dumps({"steps": ['tile({"S0.i": 4})'], "step": 'parallel("i_t")'}), json.dumps({"steps": [], "step": "nothing"}),
    json.dumps({"steps": [], "step": None, "sizes": {"tsteps": 2, "A_0": 5}}), '{"steps": [7]}', "{", "[" * 20_000, "x" * (MOST_BYTES + 1),
]  # fmt: skip


def test_messages_are_answered_as_the_server_answers():
    answers = Answers(exploration("jacobi_1d"))
    server = serve(answers, lambda address: "")
    try:
        at = urlsplit(server.address)
        for question in QUESTIONS:
            connection = http.client.HTTPConnection(at.hostname, at.port, timeout=30)
            connection.request("POST", at.path, question.encode())
            reply = connection.getresponse()
            found = answered(Answers(exploration("jacobi_1d")), {"polyml": "7 0.5", "question": question})
            assert found["polyml"] == "7 0.5" and found["ok"] is (reply.status == 200)
            assert json.loads(found["answer"]) == json.loads(reply.read())
    finally:
        server.close()


@pytest.mark.parametrize("message", [None, 7, {}, {"polyml": 1}, {"question": {}}])
def test_messages_of_another_form_are_refused(message):
    found = answered(Answers(exploration("jacobi_1d")), message)
    assert found["ok"] is False and len(json.loads(found["answer"])["error"]) > 10


def test_a_widget_sends_its_answer_and_holds_the_page():
    answers = Answers(exploration("jacobi_1d"))
    widget, sent = PageWidget(answers, "<p>the page</p>"), []
    widget.send = sent.append
    widget._handle_custom_msg({"polyml": "1", "question": json.dumps(ASK)}, [])
    assert widget.page == "<p>the page</p>" and json.loads(sent[0]["answer"]) == json.loads(
        answers.reply(json.dumps(ASK).encode())[1]
    )


HARNESS = """<!doctype html><html><body><div id="saved">the saved page</div><div id="here"></div><script type="module">
import widget from "data:text/javascript;base64,@WIDGET@";
window.sent = [];
window.heard = [];
const model = {
  get: (name) => ({page: @PAGE@, height: 900, saved: "saved"})[name],
  send: (message) => window.sent.push(message),
  on: (name, callback) => { if (name === "msg:custom") window.heard.push(callback); },
  off: (name, callback) => { window.heard = window.heard.filter((each) => each !== callback); },
};
window.end = widget.render({model, el: document.getElementById("here")});
document.documentElement.dataset.ready = "yes";
</script></body></html>"""
INSIDE = "document.querySelector('iframe').contentDocument"


def test_the_page_in_its_frame_asks_the_model(tmp_path):
    answers = Answers(exploration("jacobi_1d"))
    text = page({**exploration("jacobi_1d").data(), "start": "source"}, IN_NOTEBOOK)
    script = base64.b64encode(PageWidget._esm.encode()).decode()
    file = tmp_path / "harness.html"
    file.write_text(HARNESS.replace("@WIDGET@", script).replace("@PAGE@", json.dumps(text).replace("</", "<\\/")), encoding="utf-8")
    with browser(tmp_path / "profile") as chromium:
        shown = chromium.page()
        shown.open(file.as_uri())
        shown.until(f"{INSIDE}?.documentElement?.dataset.ready === 'yes'")
        status = f"{INSIDE}.getElementById('status').textContent"
        assert shown.run(status) == "Every step is answered by the running kernel."
        shown.until("getComputedStyle(document.getElementById('saved')).display === 'none'")

        def step(text):
            """Writes a step into the page, and lets the kernel answer the message that its model is given."""
            shown.run(
                f"(() => {{ {INSIDE}.getElementById('step').value = {json.dumps(text)};"
                f"{INSIDE}.getElementById('ask').requestSubmit(); window.sent.length = 0; }})()"
            )
            shown.until("window.sent.length === 1")
            message = answered(answers, shown.run("window.sent[0]"))
            shown.run(f"window.heard.forEach((each) => each({json.dumps(message)}))")

        step('tile({"S0.i": 5})')
        shown.until(f"{status} === 'tile({{\"S0.i\": 5}}) is legal: every dependence is kept.'")
        step('reverse("t")')
        shown.until(f"{status}.includes('is not legal')")
        step('tile({"nothing": 5})')
        shown.until(f"{status}.includes('does not fit')")
        step("7")
        shown.run("window.end()")
        assert shown.run("window.heard.length") == 0


CELLS = [
    "import polyml\n@polyml.kernel(cache=False)\ndef f(A):\n    for i in range(1, A.shape[0]):\n        A[i] += A[i - 1]",
    'page = f.explore("f64[:]")\npage',
    "page._server is None",
    "from polyml.api.exploring import explored\nexplored.find_spec = lambda name: None\npage",
    "page._server is None",
]


def test_a_notebook_shows_the_widget_and_a_saved_page_and_a_served_one_without_anywidget():
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in CELLS])
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    (saved, shown), (quiet,), (other,), (served,) = (cell.outputs for cell in notebook.cells[1:])
    assert "application/vnd.jupyter.widget-view+json" in shown.data and quiet.data["text/plain"] == "True"
    assert live(saved.data["text/html"]) == "" and set(saved.data) == {"text/plain", "text/html"}
    assert re.match(r'<div id="polyml-\w+"><iframe ', saved.data["text/html"])
    assert set(other.data) == {"text/plain", "text/html"} and served.data["text/plain"] == "False"
    assert live(other.data["text/html"]).startswith("http://127.0.0.1:")


def live(frame):
    text = html.unescape(re.search(r'srcdoc="([^"]*)"', frame)[1])
    assert packed_data(text)["kernel"] == "f"
    return re.search('<meta name="polyml-live" content="([^"]*)">', text)[1]

"""The page as a widget of a notebook: messages of anywidget, which is an optional package, take the place of HTTP. The page is the same."""

from __future__ import annotations

import secrets
from http import HTTPStatus
from pathlib import Path

import anywidget
import traitlets

from polyml.explorer.answers import Answers
from polyml.explorer.page import FRAME


class PageWidget(anywidget.AnyWidget):
    """A page in a frame, whose questions the kernel answers.

    page: the page's text.
    saved: the id of the element with the saved page, which is hidden where the widget is shown.
    """

    _esm = Path(__file__).with_name("widget.js").read_text(encoding="utf-8")
    page = traitlets.Unicode().tag(sync=True)
    saved = traitlets.Unicode().tag(sync=True)
    height = traitlets.Int(FRAME).tag(sync=True)

    def __init__(self, answers: Answers, page: str):
        super().__init__(page=page, saved=f"polyml-{secrets.token_hex(8)}")
        self.on_msg(lambda _, message, __: self.send(answered(answers, message)))


def answered(answers: Answers, message: object) -> dict[str, object]:
    """Returns the message that answers one: with its number, whether it is an answer, and what a server would send.

    message: {"polyml": the number of the question, "question": its JSON text}.
    """
    number, question = (message.get(key) for key in ("polyml", "question")) if isinstance(message, dict) else ("", "")
    status, text = answers.reply(str(question).encode("utf-8", "replace"))
    return {"polyml": number, "ok": status is HTTPStatus.OK, "answer": text}

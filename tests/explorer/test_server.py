"""The server of a page: what it answers, and what it refuses."""

import http.client
import json
from urllib.parse import urlsplit

import pytest

from polyml.explorer.answers import MOST_BYTES, Answers, BadQuestion
from polyml.explorer.page import packed_data, page
from polyml.explorer.server import serve
from tests.explorer.pages import exploration

DATA = {"kernel": "jacobi_1d", "steps": []}


@pytest.fixture(scope="module")
def served():
    server = serve(Answers(exploration("jacobi_1d")), lambda address: page(DATA, address))
    yield urlsplit(server.address)
    server.close()


def reply(served, method="POST", path=None, body=b"{}", headers=None, port=None):
    connection = http.client.HTTPConnection(served.hostname, port or served.port, timeout=30)
    connection.request(method, served.path if path is None else path, body, headers or {})
    answer = connection.getresponse()
    return answer.status, answer.read(), answer.headers


def asked(served, question):
    status, body, _ = reply(served, body=json.dumps(question).encode())
    return status, json.loads(body)


def test_the_page_is_served_with_its_own_address(served):
    status, body, headers = reply(served, "GET", body=None)
    assert status == 200 and headers["Content-Type"] == "text/html; charset=utf-8"
    assert f'<meta name="polyml-live" content="{served.geturl()}">' in body.decode() and packed_data(body.decode()) == DATA
    assert served.hostname == "127.0.0.1" and len(served.path) > 30


def test_any_sequence_of_steps_is_answered(served):
    status, found = asked(served, {"steps": [], "step": 'fuse("S0.i", "S1.i")'})
    assert status == 200 and found["verdict"] == "illegal" and found["broken"][0]["source"][0] == "S0"
    status, found = asked(
        served, {"steps": ['shift("t", 0)', 'skew("S0.i", "t", 1)', 'skew("S1.i", "t", 1)'], "step": 'reverse("t")'}
    )
    assert status == 200 and found["verdict"] == "illegal" and "code" not in found["view"]
    status, found = asked(served, {"steps": ['tile({"S0.i": 4})'], "step": 'parallel("i_t")'})
    assert (
        found["verdict"] == "legal"
        and found["view"]["loops"][1]["directives"] == ["tile", "parallel"]
        and found["view"]["code"]["llvm"]
    )
    assert found["view"]["script"].startswith("polyml schedule, format 1\nkernel: jacobi_1d\n")


def test_sizes_are_answered_with_their_points(served):
    status, found = asked(served, {"steps": [], "step": None, "sizes": {"tsteps": 2, "A_0": 5}})
    assert status == 200 and found["picture"]["points"]["S0"] == [[t, i] for t in range(2) for i in range(1, 4)]
    assert len(found["view"]["placed"]) == 2


@pytest.mark.parametrize(
    "path", ["/", "/index.html", "/" + "x" * 32 + "/", "//", "/%00/", "*"]
)  # fmt: skip
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
def test_a_wrong_token_is_refused(served, method, path):
    status, body, headers = reply(served, method, path)
    assert status == 403 and b"token" in body and "Access-Control-Allow-Origin" not in headers


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "[::1]:80", ""])
def test_another_host_is_refused(served, host):
    """So that no name that leads to this computer opens it (DNS rebinding)."""
    for method in ("GET", "POST"):
        assert reply(served, method, headers={"Host": host})[0] == 403


def test_a_long_body_is_refused_without_being_read(served):
    assert reply(served, body=b"x" * (MOST_BYTES + 1))[0] == 413
    assert reply(served, headers={"Content-Length": "9" * 30})[0] == 413
    assert reply(served, headers={"Content-Length": "-1"})[0] == 413
    assert reply(served, body=None, headers={"Transfer-Encoding": "chunked"})[0] == 413


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"\xff", b"[" * 20_000, b"[]", b"7", b'{"steps": 1}', b'{"steps": [], "other": 1}', b'{"steps": [7]}', b'{"steps": ["save()"]}',
     json.dumps({"steps": ["reverse('t')"]}).encode(), json.dumps({"steps": ["shift('t', 1)"] * 61}).encode()],
)  # fmt: skip
def test_a_wrong_question_is_refused_with_a_sentence(served, body):
    status, answer, _ = reply(served, body=body)
    assert status == 400 and len(json.loads(answer)["error"]) > 10


@pytest.mark.parametrize("sizes", [{"A_0": 5}, {"A_0": 5, "tsteps": -1}, {"A_0": 5, "tsteps": 10**30}, {"A_0": True, "tsteps": 3}, [], "x",
                                   {"A_0": 200, "tsteps": 200}])  # fmt: skip
def test_wrong_sizes_are_refused(sizes):
    with pytest.raises(BadQuestion):
        Answers(exploration("jacobi_1d")).answer({"steps": [], "step": None, "sizes": sizes})


def test_a_step_that_does_not_fit_is_answered_with_the_reason(served):
    for step in ('tile({"q": 3})', "nothing", "open('x')"):
        status, found = asked(served, {"steps": [], "step": step})
        assert status == 200 and found["verdict"] == "refused" and found["why"]


def test_other_methods_are_refused(served):
    assert reply(served, "PUT")[0] == 501 and reply(served, "DELETE")[0] == 501

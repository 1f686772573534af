import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest

import polyml
from polyml.errors import ConfigError
from polyml.machines import catalogue
from polyml.measure import lookup
from tests.cli.running import run
from tests.gpu import kernels


def report(function, *arrays, **options):
    return polyml.kernel(function, cache=False).report(*arrays, target="cuda", **options)


@pytest.fixture(scope="module")
def product():
    return report(kernels.dots, *np.zeros((3, 256, 256), np.float32))


def test_both_orders_are_there(product):
    assert [form.name for form in product.forms] == ["source", "polyml"] and product.machine.name == lookup.find("h100").name
    assert product.operations == {"f32": 2 * 256**3}
    for form in product.forms:
        assert sum(each.roofline.operations for each in form.launches) == 2 * 256**3
        assert form.seconds == sum(each.roofline.seconds for each in form.launches) > 0


def test_conflicts_of_banks_are_told(product):
    *_, launches = product.forms[1].launches
    stores = next(made for access, made in launches.of_shared() if access.touch.is_write)
    assert stores.conflicts == stores.wavefronts - stores.requests
    assert "16 x 64, rows padded by 4" in str(product) and f"{stores.conflicts:,}" in str(product)


def test_text_tells_what_matters(product):
    text = str(product)
    for said in (
        "j on x, i on y",
        "registers a thread (estimate)",
        "limited by",
        "sectors each",
        "wavefronts each",
        "bound by",
        "together",
    ):
        assert said in text


def test_json_has_the_same_numbers(product):
    data = json.loads(json.dumps(product.data()))
    assert (data["version"], data["target"]) == (1, "cuda")
    *_, launches = data["forms"][1]["launches"]
    *_, found = product.forms[1].launches
    assert launches["occupancy"]["blocks"] == found.occupancy.blocks and launches["threads_per_block"] == found.threads.count
    assert [a["text"] for a in launches["accesses"]] == [each.access.touch.text for each in found.accesses]
    stored = next(a for a in launches["accesses"] if a["is_write"] and a["memory"] == "global")
    assert stored["elements"] == 256 * 256 // 4 and stored["accuracy"] == "exact"


def test_the_launches_are_those_of_the_code():
    """The text of the kernel has the blocks, the tiles and the padding that the report tells."""
    arrays = np.zeros((3, 256, 256), np.float32)
    kernel = polyml.kernel(kernels.dots, cache=False)
    text = kernel.inspect_cuda(*arrays)
    for found in report(kernels.dots, *arrays).forms[1].launches:
        body = text[text.index(f"{found.name}(") :]
        assert re.search(rf"__launch_bounds__\({found.threads.count}(, \d)?\)\n{found.name}\(", text)
        tiles = {access.touch.tile for access, _ in found.of_shared()}
        assert all(f"{tile.array}_tile[2]{''.join(f'[{length}]' for length in tile.lengths)};" in body for tile in tiles)
        assert ("__shared__" in body[: body.index("\n}")]) == bool(tiles)


def test_pages_are_well_formed(product):
    page = ElementTree.fromstring(product._repr_html_())
    assert len([e for e in page.iter() if e.get("data-what") == "bound"]) == len(product.forms)
    assert "sectors each" in "".join(page.itertext())


def test_blocks_are_those_asked_for():
    found = report(kernels.dots, *np.zeros((3, 100, 100)), block=(16, 4))
    assert all(each.threads.sizes == (16, 4) for form in found.forms for each in form.launches)
    assert found.data()["block"] == [16, 4]


def test_an_order_without_threads_is_told_beside_the_other():
    def waves(A):
        for i in range(1, A.shape[0]):
            for j in range(1, A.shape[1]):
                A[i, j] = A[i - 1, j] + A[i, j - 1]

    source, polyml_ = report(waves, np.zeros((40, 50))).forms
    assert "depends on" in source.launches[0].mapped.nest.serial and source.seconds > polyml_.seconds
    assert polyml_.launches[0].mapped.nest.host and polyml_.launches[0].launches == 39 + 49 - 1


def test_a_kernel_without_threads_runs_on_one():
    found = report(kernels.prefix, np.zeros(30))
    assert "one thread: loop `i`: S0[" in str(found)
    assert found.forms[1].launches[0].threads.count == 1


def test_elements_that_data_decide_are_told():
    def gathered(x, columns, y):
        for i in range(y.shape[0]):
            y[i] = x[columns[i]]

    found = report(gathered, np.zeros(90), np.zeros(90, int), np.zeros(90))
    assert "data decide which elements of x are loaded; they are not counted" in str(found)
    assert found.data()["forms"][0]["launches"][0]["gathers"] == ["x"]


def test_empty_arrays_have_no_requests():
    found = report(kernels.gemm, np.zeros((0, 5)), np.zeros((0, 4)), np.zeros((4, 5)))
    assert all(each.blocks == 0 and not each.accesses for form in found.forms for each in form.launches)
    str(found), found.data()


@pytest.mark.parametrize("options, said", [
    ({"target": "cuda", "tile": (8, 8)}, "--tile is not for --target cuda"),
    ({"target": "cuda", "threads": 2}, "--threads is not for --target cuda"),
    ({"target": "cpu", "block": (32,)}, "--block is not for --target cpu"),
    ({"target": "cuda", "machine": lookup.find("zen4")}, "is no GPU"),
    ({"target": "vulkan"}, "there is no target 'vulkan'"),
])  # fmt: skip
def test_what_does_not_fit_together(options, said):
    with pytest.raises(ConfigError, match=said):
        polyml.kernel(kernels.prefix, cache=False).report(np.zeros(9), **options)


SOURCE = """
def scale(A, x):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] *= x

def prefix(x):
    for i in range(1, x.shape[0]):
        x[i] = x[i] + x[i - 1]
"""
ARGUMENTS = ("--arg", "A=f64[N,M]", "--arg", "x=2.0", "-D", "N=40", "-D", "M=30", "--target", "cuda")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("POLYML_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "own.py").write_text(SOURCE)
    (tmp_path / "small.toml").write_text((catalogue.FOLDER / "h100.toml").read_text().replace("NVIDIA H100 SXM5 80 GB", "small"))
    return tmp_path


def test_the_command_prints_and_gives_data(folder):
    out, _ = run("report", "own.py:scale", *ARGUMENTS)
    assert "j on x, i on y" in out and "1,200 f64 operations" in out
    out, _ = run("report", "own.py:scale", *ARGUMENTS, "--block", "16,16", "--machine", "small.toml", "--json")
    data = json.loads(out)
    assert data["machine"] == "small" and data["forms"][0]["launches"][0]["threads_per_block"] == 256


def test_data_tell_their_target(folder):
    out, _ = run("report", "own.py:scale", *ARGUMENTS[:-2], "--machine", "zen4", "--no-simulation", "--json")
    assert json.loads(out)["target"] == "cpu"


def test_pictures_are_written(folder):
    run("report", "own.py:scale", *ARGUMENTS, "--svg", "drawn")
    assert [file.name for file in (folder / "drawn").iterdir()] == ["roofline.svg"]
    ElementTree.fromstring((folder / "drawn" / "roofline.svg").read_text())


@pytest.mark.parametrize("given, said", [
    (["own.py:scale", *ARGUMENTS, "--no-simulation"], "--no-simulation is not for --target cuda"),
    (["own.py:scale", *ARGUMENTS, "--cache", "32K:8:64"], "--cache is not for --target cuda"),
    (["own.py:scale", *ARGUMENTS, "--tile", "8,8"], "--tile is not for --target cuda"),
    (["own.py:scale", *ARGUMENTS[:-2], "--block", "32"], "--block is not for --target cpu"),
    (["own.py:scale", *ARGUMENTS, "--machine", "zen4"], "is no GPU"),
    (["own.py:scale", *ARGUMENTS, "--machine", "tpu-v1"], "is no GPU"),
    (["own.py:scale", *ARGUMENTS, "--machine", "a100"], "there is no machine 'a100'"),
    (["own.py:scale", *ARGUMENTS, "--block", "32,x"], "--block does not take '32,x'"),
    (["own.py:scale", *ARGUMENTS, "--block", "64,32"], "a block of 64 x 32 has 2,048 threads"),
    (["own.py:scale", *ARGUMENTS, "--block", "2,2,2,2"], "one to 3 sizes"),
])  # fmt: skip
def test_bad_input_is_one_line_and_status_two(folder, given, said):
    out, err = run("report", *given, code=2)
    assert out == "" and said in err.splitlines()[-1] and len([line for line in err.splitlines() if "error:" in line]) == 1


def test_a_kernel_for_gpus_has_the_report_on_its_launches():
    arrays = np.zeros((2, 100, 100), np.float32)
    for language in ("opencl", "cuda"):
        found = polyml.kernel(kernels.five_point, target=language, cache=False).report(*arrays)
        assert found.target == found.data()["target"] == language


def test_matrix_instructions_are_those_of_cuda():
    def product(C, A, B):
        for i in range(C.shape[0]):
            for j in range(C.shape[1]):
                for k in range(A.shape[1]):
                    C[i, j] += np.float32(A[i, k]) * np.float32(B[k, j])

    arrays = np.zeros((128, 128), np.float32), np.zeros((128, 64), np.float16), np.zeros((64, 128), np.float16)
    on_cuda, on_opencl = (polyml.kernel(product, target=each, cache=False).report(*arrays) for each in ("cuda", "opencl"))
    assert "f16 tensor" in str(on_cuda) and "64 x 64, swizzled" in str(on_cuda)
    assert "f16 tensor" not in str(on_opencl)


def test_a_given_schedule_is_what_is_reported():
    arrays = np.zeros((2, 100, 100), np.float32)
    kernel = polyml.kernel(kernels.five_point, target="opencl", cache=False)
    given = kernel.with_schedule(kernel.schedule(*arrays).block(64, 4))
    found = given.report(*arrays)
    assert found.forms[1].name == "given" and found.forms[1].launches[0].threads.sizes == (64, 4)
    assert "── the given schedule" in str(found)
    with pytest.raises(ConfigError, match="--block is not for a kernel with a given schedule"):
        given.report(*arrays, block=(32, 8))


def test_blocks_that_are_asked_for_are_those_of_a_schedule_with_them():
    arrays = np.zeros((2, 100, 100), np.float32)
    kernel = polyml.kernel(kernels.five_point, target="cuda", cache=False)
    given = kernel.with_schedule(kernel.schedule(*arrays).items(1, 1).block(16, 4)).report(*arrays)
    asked = kernel.report(*arrays, block=(16, 4))
    numbers = [[each.requests for each in found.forms[1].launches[0].accesses] for found in (given, asked)]
    assert numbers[0] == numbers[1] and given.forms[1].launches[0].grid == asked.forms[1].launches[0].grid == (7, 25)

"""Object code into memory: the small loader and LLVM's linker do the same."""

import ctypes
import gc
import math
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from polyml.errors import CompileError
from polyml.runtime.loading import assemble, elf, link, load

# Constants, a jump table, variables with and without a value, an aligned one, pointers in data, and calls out.
TEXT = """
declare double @exp(double)
declare double @pow(double, double)
@table = internal constant [3 x double] [double 1.0, double 2.0, double 3.0]
@count = internal global i64 5
@zeros = internal global [100 x i64] zeroinitializer, align 128
@pointers = internal global [2 x ptr] [ptr @count, ptr @zeros]
define internal i64 @choose(i64 %i) {
  switch i64 %i, label %other [ i64 5, label %a
    i64 6, label %b
    i64 7, label %c
    i64 8, label %d
    i64 9, label %e ]
a: ret i64 100
b: ret i64 217
c: ret i64 335
d: ret i64 411
e: ret i64 523
other: ret i64 0
}
define i64 @next() {
  %p = load ptr, ptr @pointers
  %old = load i64, ptr %p
  %new = add i64 %old, 1
  store i64 %new, ptr @count
  %z = load i64, ptr getelementptr ([100 x i64], ptr @zeros, i64 0, i64 99)
  %chosen = call i64 @choose(i64 %old)
  %sum = add i64 %chosen, %z
  ret i64 %sum
}
define i64 @aligned() {
  %address = ptrtoint ptr @zeros to i64
  %rest = urem i64 %address, 128
  ret i64 %rest
}
define double @power(double %x) {
  %third = load double, ptr getelementptr ([3 x double], ptr @table, i64 0, i64 2)
  %e = call double @exp(double %x)
  %y = call double @pow(double %e, double %third)
  ret double %y
}
"""
LOADERS = {"linker": lambda code, symbols: link.Linked(code, symbols, load.resolve)}
if sys.platform == "linux" and load.resolve("mprotect") and sys.maxsize > 2**32:
    LOADERS["elf"] = lambda code, symbols: elf.Image(code, load.resolve)


@pytest.fixture(scope="module")
def object_code():
    return assemble.assemble(TEXT)


@pytest.mark.parametrize("loader", LOADERS)
def test_code_data_and_calls_out_work(loader, object_code):
    code = LOADERS[loader]([object_code], ("next", "aligned", "power"))
    following = ctypes.CFUNCTYPE(ctypes.c_int64)(code.address("next"))
    assert [following() for _ in range(7)] == [100, 217, 335, 411, 523, 0, 0]
    assert ctypes.CFUNCTYPE(ctypes.c_int64)(code.address("aligned"))() == 0
    power = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(code.address("power"))
    assert power(1.5) == math.pow(math.exp(1.5), 3.0)


@pytest.mark.parametrize("loader", LOADERS)
def test_an_unknown_name_is_a_key_error(loader, object_code):
    with pytest.raises(KeyError):
        LOADERS[loader]([object_code], ("next",)).address("nothing")


def test_each_load_has_variables_of_its_own(object_code):
    first, second = (load.load([object_code], "next") for _ in range(2))
    assert ctypes.CFUNCTYPE(ctypes.c_int64)(first.address("next"))() == 100
    assert ctypes.CFUNCTYPE(ctypes.c_int64)(second.address("next"))() == 100


def test_what_the_small_loader_does_not_do_goes_to_the_linker(monkeypatch, object_code):
    def refuse(code, resolve):
        raise elf.Unsupported("a test")

    monkeypatch.setattr(elf, "Image", refuse)
    code = load.load([object_code], "next")
    assert type(code) is link.Linked
    assert ctypes.CFUNCTYPE(ctypes.c_int64)(code.address("next"))() == 100


@pytest.mark.parametrize(
    "content, reason",
    [
        (b"", "not a relocatable x86-64 ELF object"),
        (b"\xcf\xfa\xed\xfe" + bytes(100), "not a relocatable x86-64 ELF object"),
    ],
)
def test_other_formats_are_refused(content, reason):
    with pytest.raises(elf.Unsupported, match=reason):
        elf.Image([content], load.resolve)


def test_thread_local_data_is_refused():
    text = "@x = thread_local global i64 0\ndefine ptr @f() {\n  ret ptr @x\n}"
    with pytest.raises(elf.Unsupported, match="thread-local data"):
        elf.Image([assemble.assemble(text)], load.resolve)


def test_a_missing_symbol_is_named():
    text = (
        "declare void @polyml_no_such_function()\n"
        "define void @f() {\n  call void @polyml_no_such_function()\n  ret void\n}"
    )  # fmt: skip
    with pytest.raises(CompileError) as caught:
        load.load([assemble.assemble(text)], "f")
    assert str(caught.value) == (
        "error: the compiled code needs the symbol `polyml_no_such_function`, which this system does not have"
    )
    with pytest.raises(CompileError, match="the compiled code cannot be linked: "):
        link.Linked([assemble.assemble(text)], ("f",), load.resolve)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_is_given_back(object_code):
    def mappings() -> int:
        with open("/proc/self/maps") as file:
            return len(file.readlines())

    before = mappings()
    images = [elf.Image([object_code], load.resolve) for _ in range(100)]
    assert mappings() > before + 100
    del images
    gc.collect()
    assert mappings() < before + 20


def test_text_becomes_assembly():
    assert "exp" in assemble.assembly(TEXT)


# Each counts in a variable that is called the same in both, and calls the other one.
EVEN = """
@count = internal global i64 0
@both = global i64 100
declare hidden i1 @odd(i64)
define hidden i1 @even(i64 %n) {
  %old = load i64, ptr @count
  %new = add i64 %old, 1
  store i64 %new, ptr @count
  %zero = icmp eq i64 %n, 0
  br i1 %zero, label %yes, label %other
yes: ret i1 true
other:
  %less = sub i64 %n, 1
  %answer = call i1 @odd(i64 %less)
  ret i1 %answer
}
define i64 @evens() {
  %n = load i64, ptr @count
  ret i64 %n
}
define double @one() {
  ret double 1.5
}
"""
ODD = """
@count = internal global i64 0
@both = external global i64
@pointer = internal global ptr @even
declare hidden i1 @even(i64)
define hidden i1 @odd(i64 %n) {
  %old = load i64, ptr @count
  %new = add i64 %old, 1
  store i64 %new, ptr @count
  %sum = load i64, ptr @both
  %more = add i64 %sum, 1
  store i64 %more, ptr @both
  %zero = icmp eq i64 %n, 0
  br i1 %zero, label %no, label %other
no: ret i1 false
other:
  %less = sub i64 %n, 1
  %f = load ptr, ptr @pointer
  %answer = call i1 %f(i64 %less)
  ret i1 %answer
}
define i64 @odds() {
  %n = load i64, ptr @count
  %b = load i64, ptr @both
  %sum = add i64 %n, %b
  ret i64 %sum
}
define double @other() {
  ret double 2.5
}
"""


@pytest.mark.parametrize("texts", [(EVEN, ODD), (ODD, EVEN)], ids=["forwards", "backwards"])
@pytest.mark.parametrize("loader", LOADERS)
def test_objects_are_linked_with_one_another(loader, texts):
    objects = assemble.assemble_together(texts)
    code = LOADERS[loader](objects, ("even", "evens", "odds", "one", "other"))
    even = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_int64)(code.address("even"))
    assert [even(n) for n in range(4)] == [True, False, True, False]
    counted = [ctypes.CFUNCTYPE(ctypes.c_int64)(code.address(name))() for name in ("evens", "odds")]
    assert counted == [1 + 1 + 2 + 2, 104 + 4]
    constants = [ctypes.CFUNCTYPE(ctypes.c_double)(code.address(name))() for name in ("one", "other")]
    assert constants == [1.5, 2.5]


def test_texts_assembled_together_are_what_they_are_alone():
    assert assemble.assemble_together((EVEN, ODD, TEXT), level=2) == tuple(map(assemble.assemble, (EVEN, ODD, TEXT)))


def test_a_text_that_does_not_assemble_is_an_error_whichever_thread_had_it():
    for texts in [("nonsense", EVEN), (EVEN, "nonsense"), ("nonsense", "nonsense")]:
        with pytest.raises(RuntimeError, match="LLVM IR parsing error"):
            assemble.assemble_together(texts)


@pytest.mark.parametrize("others", [0, 1, 2, 8])
def test_objects_come_in_the_order_of_their_texts_whoever_made_them(others):
    texts = (EVEN, ODD, TEXT) * 3
    assembler = assemble.Assembler(others)
    for text in texts:
        assembler.add(text)
    assert assembler.objects() == tuple(assemble.assemble(text, level=1) for text in texts)


def test_what_was_begun_may_be_left():
    with pytest.raises(ValueError, match="given up"), assemble.Assembler(1) as assembler:
        for text in (EVEN, ODD, TEXT):
            assembler.add(text)
        raise ValueError("given up")
    assert assembler.objects() == ()


def test_many_threads_may_assemble_at_a_time():
    expected = assemble.assemble_together((EVEN, ODD))
    with ThreadPoolExecutor(8) as pool:
        assert all(found == expected for found in pool.map(assemble.assemble_together, [(EVEN, ODD)] * 32))

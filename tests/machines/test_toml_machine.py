"""Machines as TOML files: what they mean, and what is said of files that are wrong."""

import random
import re
from pathlib import Path

import pytest

from polyml.errors import ConfigError
from polyml.machines import catalogue, toml_machine
from polyml.machines.cpu import CacheLevel
from polyml.machines.descriptions import Cpu, Gpu, Rate, Systolic
from polyml.measure import lookup

GENERIC = {"sse2", "avx2", "avx512", "neon"}  # presets without rates
CPU = """kind = "cpu"
name = "mine"
isa = "x86-64"
llvm_cpu = "x86-64-v3"
vector = "32 B"
cores = 8
source = "its manual"
origin = "manual"
frequency = { one = "4 GHz", all = "3 GHz" }

[peak]
f64 = "16 FLOP/cycle"
f32 = { one = "118 GFLOP/s", all = "900 GFLOP/s", origin = "measured", source = "here" }

[[cache]]
size = "32 KiB"
ways = 8
read = "64 B/cycle"

[[cache]]
level = 2
size = "1.25 MiB"
ways = 20
line = "64 B"
shared_by = 4
replacement = "lru"
contents = "inclusive"
read = { one = "100 GB/s", all = "700 GB/s" }
update = "80 GB/s"

[memory]
read = { all = "34 GB/s", origin = "estimate" }
"""


def written(folder: Path, text: str) -> Path:
    file = folder / "machine.toml"
    file.write_text(text)
    return file


def test_a_file_describes_caches_and_rates_with_units(tmp_path):
    found = toml_machine.read(written(tmp_path, CPU))
    assert isinstance(found, Cpu) and found.name == "mine" and found.has_rates and found.parts == 8
    made = found.machine
    assert (made.isa, made.vector_bytes, made.vector_registers, made.fma, made.cores) == ("x86-64", 32, 16, True, 8)
    assert made.triple == "x86_64-unknown-linux-gnu" and made.cpu_name == "x86-64-v3"
    assert made.caches == (CacheLevel(1, 32768, 8, 64, 1), CacheLevel(2, 1310720, 20, 64, 4, contents="inclusive"))
    assert found.update("L1") is None and found.read("L9") is None and found.peak("f16") is None
    assert found.read("memory").value == 34e9 and found.read("memory").origin == "estimate"


def test_a_cache_may_be_fully_associative(tmp_path):
    first, second = toml_machine.read(written(tmp_path, _changed("ways = 8", 'ways = "full"'))).machine.caches
    assert (first.ways, first.sets) == (512, 1) and second.ways == 20


def test_what_is_per_cycle_takes_the_frequency_of_one_core_and_of_all(tmp_path):
    found = toml_machine.read(written(tmp_path, CPU))
    assert found.peak("f64", 1).value == 16 * 4e9 and found.peak("f64").value == 8 * 16 * 3e9
    assert found.read("L1", 1).value == 64 * 4e9 and found.read("L1").value == 8 * 64 * 3e9
    assert found.peak("f64", 1).source == "16 FLOP/cycle at 4 GHz; its manual" and found.peak("f64", 1).origin == "manual"


def test_the_figure_of_all_cores_says_how_it_is_computed(tmp_path):
    found = toml_machine.read(written(tmp_path, CPU.replace('read = "64 B/cycle"', 'read = "64 B/cycle"\nupdate = "90 GB/s"')))
    assert found.peak("f64").source == "8 times 16 FLOP/cycle at 3 GHz; its manual" and found.peak("f64").origin == "manual"
    assert found.read("L1").source == "8 times 64 B/cycle at 3 GHz; its manual"
    assert found.update("L1").value == 8 * 90e9 * 0.75
    assert found.update("L1").source == "8 times one part's at 3 in place of 4 GHz; its manual"
    steady = toml_machine.read(written(tmp_path, CPU.replace('all = "3 GHz"', 'all = "4 GHz"')))
    assert steady.update("L2").value == 8 * 80e9 and steady.update("L2").source == "8 times one part's; its manual"


def test_figures_keep_their_own_origin(tmp_path):
    found = toml_machine.read(written(tmp_path, CPU))
    assert (found.peak("f32").value, found.peak("f32").origin, found.peak("f32").source) == (900e9, "measured", "here")
    assert found.read("L2", 1).origin == "manual"
    assert found.update("L2", 1).value == 80e9 and found.update("L2").origin == "estimate"  # cores share it


def test_figures_of_which_nobody_says_the_origin_are_estimates(tmp_path):
    found = toml_machine.read(written(tmp_path, CPU.replace('origin = "manual"\n', "")))
    assert found.peak("f64").origin == found.read("L1", 1).origin == "estimate" and found.peak("f32").origin == "measured"


def test_some_of_the_cores_reach_no_more_than_all(tmp_path):
    found = toml_machine.read(written(tmp_path, CPU))
    assert found.read("L2", 4).value == 400e9 and found.read("L2", 7).value == 700e9
    assert found.read("L2", 4).origin == "estimate" and found.read("memory", 1).origin == "estimate"
    assert Rate().of(1, 2) is None


@pytest.mark.parametrize("name", sorted({*catalogue.names()} - GENERIC))
def test_presets_are_whole_and_slower_the_farther(name):
    found = lookup.find(name)
    assert found.has_rates
    rates = [peak.flop_per_s for peak in found.peaks] + [place.read_bytes_per_s for place in found.bandwidths]
    assert all(figure.source for rate in rates for figure in (rate.one, rate.all) if figure)
    if isinstance(found, Cpu):
        reads = [found.read(place.place).value for place in found.bandwidths]
        assert reads == sorted(reads, reverse=True)
        assert [place.place for place in found.bandwidths] == [f"L{c.level}" for c in found.machine.caches] + ["memory"]
        assert found.machine.vector_bytes <= 64 and found.peak("f32").value == 2 * found.peak("f64").value
        assert all(cache.size_bytes % (cache.ways * cache.line_bytes) == 0 for cache in found.machine.caches)


def test_the_processors_of_presets_are_known_to_llvm():
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    for name in catalogue.names():
        found = lookup.find(name)
        if isinstance(found, Cpu):
            target = llvm.Target.from_triple(found.machine.triple)
            made = target.create_target_machine(cpu=found.machine.cpu_name, features=found.machine.features)
            assert made.emit_assembly(llvm.parse_assembly("define void @f() { ret void }"))


def test_zen5_as_its_manuals_have_it():
    found = lookup.find("zen5")
    assert isinstance(found, Cpu) and found.machine.cores == 128 and found.machine.vector_bytes == 64
    assert [(cache.size_bytes, cache.ways) for cache in found.machine.caches] == [(48 * 1024, 12), (2**20, 16), (32 * 2**20, 16)]
    assert [cache.shared_by for cache in found.machine.caches] == [1, 1, 8]
    assert found.peak("f64", 1).value == pytest.approx(32 * 4.1e9) and found.peak("f64").value == pytest.approx(128 * 32 * 2.7e9)
    assert found.read("L1", 1).value == pytest.approx(128 * 4.1e9) and found.read("L3", 1).origin == "estimate"
    assert found.read("memory").value == 576e9 == 12 * 8 * 6000e6  # 12 channels of 8 bytes, 6000 million times a second
    assert "2.7 GHz" in found.peak("f64").source and "4.1 GHz" in found.peak("f64", 1).source


def test_h100_as_its_manuals_have_it():
    found = lookup.find("h100")
    assert isinstance(found, Gpu) and found.parts == 132 and found.threads_per_multiprocessor == 2048
    assert found.shared_bytes_per_block + found.shared_reserved_bytes == found.shared_bytes_per_multiprocessor == 228 * 1024
    assert found.registers_per_multiprocessor == 65536 and found.register_unit == 256
    assert found.peak("f32").value == pytest.approx(66.9e12, rel=1e-3)
    assert found.peak("f64").value == pytest.approx(33.5e12, rel=2e-3)
    assert found.l2_latency_s.value == pytest.approx(263 / 1.98e9) and found.memory_latency_s.origin == "estimate"
    assert found.tensor_peak("f16").value == 989.4e12 and found.tensor_peak("f32") is None
    assert found.line_bytes == 4 * found.sector_bytes == found.shared_banks * found.bank_bytes == 128


def test_tpu_v1_as_its_paper_has_it():
    found = lookup.find("tpu-v1")
    assert isinstance(found, Systolic) and (found.rows, found.columns) == (256, 256)
    assert found.peak("i8").value == pytest.approx(92e12, rel=3e-3)  # 92 TOPS in its abstract
    assert found.tile_bytes == 64 * 1024 and round(found.tile_load_cycles) == 1349
    assert found.accumulator_bytes == 4096 * 256 * 4 and found.weight_tiles == 4
    assert [found.pace(each) for each in (("i8", "i8"), ("i16", "i8"), ("i8", "i16"), ("i16", "i16"), ("f64", "f64"))] == [
        1,
        2,
        2,
        4,
        1,
    ]
    assert {name: figure.value for name, figure in found.energies.known()} == {
        "multiply": pytest.approx(0.2e-12), "add": pytest.approx(0.1e-12), "buffer": pytest.approx(100e-12 / 8),
        "accumulators": pytest.approx(100e-12 / 8), "memory": pytest.approx(1.3e-9 / 8),
    }  # fmt: skip
    assert found.peak("i8").value / 2 / found.read("memory").value == pytest.approx(1350, rel=1e-3)  # the ridge, in MACs


def test_gemmini_as_its_generator_has_it():
    """Its default configuration: 16 x 16 units, SInt(8), 256 KiB in 4 banks and 64 KiB of SInt(32), a bus of 128 bits."""
    found = lookup.find("gemmini")
    assert isinstance(found, Systolic) and (found.rows, found.columns, found.number) == (16, 16, "i8")
    assert (found.buffer_bytes, found.accumulator_bytes, found.accumulator_word_bytes) == (2**18, 2**16, 4)
    assert found.frequency_hz.all.value == 1e9 and found.frequency_hz.all.origin == "estimate"
    assert found.peak("i8").value == 2 * 256 * 1e9
    assert found.read("memory").value == 16e9 and found.read("buffer").value == 64e9
    assert found.read("memory").origin == "estimate"  # as the frequency's


def _changed(old: str, new: str) -> str:
    assert old in CPU
    return CPU.replace(old, new, 1)


GPU, TPU = ((catalogue.FOLDER / f"{name}.toml").read_text() for name in ("h100", "tpu-v1"))
WRONG = [
    (_changed("cores = 8", "coers = 8"), "6:1: error: there is no `coers` (did you mean `cores`?)"),
    (_changed("cores = 8\n", ""), "1:1: error: `cores` is missing (expected a whole number)"),
    (_changed("cores = 8", "cores = 0"), "6:1: error: `cores` is 0 (expected a whole number of at least 1)"),
    (_changed("cores = 8", "cores = true"), "6:1: error: `cores` is true or false (expected a whole number)"),
    (_changed('"x86-64"', '"x86"'), "3:1: error: `isa` does not take \"x86\" (expected \"x86-64\", \"aarch64\")"),
    (_changed('kind = "cpu"', 'kind = "tpu"'),
     "1:1: error: `kind` does not take \"tpu\" (expected \"cpu\", \"gpu\", \"systolic\")"),
    (_changed('"32 B"', "32"), "5:1: error: `vector` has no unit (expected a text such as \"32 KiB\", \"64 B\")"),
    (_changed('"32 B"', '"24 B"'),
     "5:1: error: vectors of 24 bytes are none of x86-64's (accepted: \"16 B\" or \"32 B\" or \"64 B\")"),
    (_changed('"32 KiB"', '"32"'), "16:1: error: `32` has no unit (accepted: a number and a unit, as in \"32 KiB\", \"64 B\")"),
    (_changed('"32 KiB"', '"-32 KiB"'), "16:1: error: a size of `-32 KiB` is not possible (accepted: numbers above zero)"),
    (_changed('"32 KiB"', '"0.3 B"'), "16:1: error: `size` is 0.3 B (expected whole bytes, at most 1024 TiB)"),
    (_changed("ways = 8", "ways = 7"),
     "15:3: error: a cache of 32768 bytes, 7 ways and lines of 64 bytes: "
     "the size must be a multiple of ways times line, 448 bytes"),
    (_changed("ways = 20", "ways = 100"),
     "20:3: error: a cache of 1310720 bytes, 100 ways and lines of 64 bytes: the number of ways must be 1 ... 64, or full"),
    (_changed('"1.25 MiB"', '"25 KiB"'), "20:3: error: level 2 is smaller than the one above it"),
    (_changed("level = 2", "level = 1"), "21:1: error: cache 1 comes behind cache 1 (nearest first)"),
    (_changed('"lru"', '"random"'), "26:1: error: `replacement` does not take \"random\" (expected \"lru\", \"plru\")"),
    (_changed("f64 =", "double ="),
     "12:1: error: there is no `double` in [peak] (known here: f64, f32, f16, bf16, tf32, f8, i64, i32, i16, i8)"),
    (_changed('"16 FLOP/cycle"', '"16 FLOPS"'), "12:1: error: `FLOPS` is no unit of a rate of operations (did you mean FLOP/s?)"),
    (_changed('frequency = { one = "4 GHz", all = "3 GHz" }\n', ""),
     "17:1: error: `read` is per cycle, and there is no frequency (expected frequency = \"3.2 GHz\" above)"),
    (_changed('"900 GFLOP/s"', '"9 GFLOP/s"'),
     "13:1: error: `f32` of all together is less than of one (expected at least as much)"),
    (_changed('origin = "measured"', 'origin = "guess"'),
     "13:1: error: `origin` does not take \"guess\" (expected \"measured\", \"manual\", \"estimate\")"),
    (_changed('read = { all = "34 GB/s", origin = "estimate" }', "read = {}"),
     "32:1: error: `read` has neither `one` nor `all` (what one core reaches, and all together)"),
    (_changed("[memory]", "[memroy]"), "31:2: error: there is no `memroy` (did you mean `memory`?)"),
    (_changed('name = "mine"', "name = 2026-01-01"), "2:1: error: `name` is a date (expected a text)"),
    ("cache = 3\n" + CPU[: CPU.index("[[cache]]")], "1:1: error: `cache` is a whole number (expected an array)"),
    ("cache = [1]\n" + CPU[: CPU.index("[[cache]]")],
     "1:1: error: `cache` is an array of other things than tables (expected [[cache]])"),
    ("cache = []\n" + CPU[: CPU.index("[[cache]]")],
     "1:1: error: there is no cache (expected [[cache]] for each, nearest first)"),
    ("kind = cpu\n", "1:8: error: this is no TOML: Invalid value"),
    ("", "1:1: error: `kind` is missing (expected a text)"),
    ('kind = "systolic"\nname = "a"\n[array]\n[buffer]\n[accumulators]\n',
     "1:1: error: `frequency` is missing (expected a text such as \"700 MHz\")"),
    ('kind = "gpu"\nname = "a"\nsector = "32 B"\n', "1:1: error: `multiprocessors` is missing (expected a whole number)"),
    (GPU.replace('"227 KiB"', '"229 KiB"'), "16:1: error: a block gets more shared memory than a multiprocessor has"),
    (GPU.replace("= 1024", "= 4096"), "8:1: error: a block has more threads than a multiprocessor: 2048"),
    (GPU.replace('"32 B"', '"48 B"'), "24:1: error: lines of 128 bytes are no multiple of sectors"),
    (GPU.replace('"263 cycles"', '"263 B"'),
     "48:1: error: `B` is no unit of a time (accepted: a number and a unit, as in \"300 ns\", \"480 cycles\")"),
    (GPU.replace('{ value = "263 cycles", origin', '{ cycles = 263, origin'),
     "48:1: error: there is no `cycles` in [l2_cache.latency] (known here: value, origin, source)"),
    (TPU.replace('"4 MiB"', '"4 MB"'), "21:1: error: accumulators are no multiple of 256 words, 1024 bytes"),
    (TPU.replace('"700 MHz"', '"700 MB"'),
     "6:1: error: `MB` is no unit of a frequency (accepted: a number and a unit, as in \"3.2 GHz\", \"700 MHz\")"),
    (TPU.replace("rows = 256", "rows = 0"), "9:1: error: `rows` is 0 (expected a whole number of at least 1)"),
    (TPU.replace('"i8"', '"i9"'),
     "11:1: error: `number` does not take \"i9\" "
     "(expected \"f64\", \"f32\", \"f16\", \"bf16\", \"tf32\", \"f8\", \"i64\", \"i32\", \"i16\", \"i8\")"),
    (TPU.replace('"1 B"', '"2 B"'), "12:1: error: an operand of 2 bytes is no i8 (expected \"1 B\")"),
    (TPU.replace("weight_tiles", "weight_tile"), "13:1: error: there is no `weight_tile` in [array] (did you mean `weight_tiles`?)"),
    (TPU.replace('"34 GB/s"', '"0 GB/s"'), "25:1: error: a bandwidth of `0 GB/s` is not possible (accepted: numbers above zero)"),
    (TPU + "[peak]\n",
     "37:2: error: there is no `peak` (known here: "
     "kind, name, origin, source, frequency, memory, array, buffer, accumulators, host, energy)"),
    (TPU.replace('"i8*i16"', '"i16*i8"'),
     "14:1: error: `i16*i8` are no operands of a multiply-add (expected two types, the shorter one first, as in \"i8*i16\" = 2)"),
    (TPU.replace('"i8*i16" = 2', '"i8*i16" = 0'), "14:1: error: `i8*i16` is 0 (expected a whole number of at least 1)"),
    (TPU.replace('"0.2 pJ"', '"0.2 pJ/B"'),
     "31:1: error: `pJ/B` is no unit of an energy (did you mean pJ?)"),
    (TPU.replace('buffer = "12.5 pJ/B"', 'buffer = "12.5 pJ"'),
     "33:1: error: `pJ` is no unit of an energy per byte (did you mean pJ/B?)"),
    (TPU.replace('multiply = "0.2 pJ"', 'multiplies = "0.2 pJ"'), "31:1: error: there is no `multiplies` in [energy] (did you mean `multiply`?)"),
    (TPU.replace('multiply = "0.2 pJ"', 'multiply_add = "0.3 pJ"'),
     "31:1: error: `multiply_add` is of both, `multiply` and `add` (expected it, or these)"),
]  # fmt: skip


@pytest.mark.parametrize("text, message", WRONG)
def test_a_wrong_file_is_told_the_line_and_what_would_be_right(tmp_path, text, message):
    from polyml.cli.inputs.output import line

    file = written(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        toml_machine.read(file)
    assert line(caught.value) == f"{file}:{message}"


def test_the_error_shows_the_line(tmp_path):
    file = written(tmp_path, _changed("ways = 8", "way = 8"))
    with pytest.raises(ConfigError) as caught:
        toml_machine.read(file)
    assert str(caught.value) == (
        f"{file}:17:1: error: there is no `way` in [cache]\n      way = 8\n      ^^^\n  note: did you mean `ways`?"
    )


def test_files_that_cannot_be_read_are_named(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        toml_machine.read(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b'name = "\xe9"\n')
    with pytest.raises(ConfigError, match="cannot be read: it is not UTF-8"):
        toml_machine.read(tmp_path / "latin.toml")


@pytest.mark.parametrize("cut", range(0, len(CPU), 37))
def test_a_file_that_ends_early_is_a_machine_or_an_error_of_ours(tmp_path, cut):
    try:
        toml_machine.read(written(tmp_path, CPU[:cut]))
    except ConfigError as problem:
        assert problem.loc is not None


_TOKEN = re.compile(r'"[^"]*"|[\w.\-]+|\s+|.')
_STRANGE = (
    '"0 B"', "-1", "true", "{}", "[]", "[[x]]", "nan", "inf", "99999999999999999999", "1979-05-27", '""', "[peak.f64]", "\0"
)  # fmt: skip


@pytest.mark.parametrize("seed", range(8))
def test_whatever_is_written_is_a_machine_or_an_error_of_ours(tmp_path, seed):
    rng = random.Random(seed)
    texts = [CPU, *((catalogue.FOLDER / f"{name}.toml").read_text() for name in catalogue.names())]
    words = [*_STRANGE, *sorted({token for text in texts for token in _TOKEN.findall(text)})]
    for _ in range(60):
        tokens = _TOKEN.findall(rng.choice(texts))
        for _ in range(rng.randint(1, 3)):
            place = rng.randrange(len(tokens))
            tokens[place : place + rng.randint(0, 1)] = [rng.choice(words)] * rng.randint(0, 1)
        try:
            toml_machine.read(written(tmp_path, "".join(tokens))).data()
        except ConfigError as problem:
            assert problem.loc is not None and problem.render()


def test_names_are_found_however_they_are_written(tmp_path):
    assert lookup.find("TPU_v1") is lookup.find("tpu-v1")
    assert lookup.find("avx2").machine.vector_bytes == 32 and not lookup.find("avx2").has_rates
    assert lookup.find(str(written(tmp_path, CPU))).name == "mine"


def test_unknown_names_list_the_known_ones(tmp_path):
    with pytest.raises(ConfigError) as caught:
        lookup.find("zenn5")
    expected = "error: there is no machine 'zenn5'\n  note: did you mean zen5?\n  note: known: "
    assert str(caught.value) == expected + ", ".join(("host", *catalogue.names())) + "; or a TOML file"
    with pytest.raises(ConfigError) as caught:
        lookup.find(str(tmp_path / "none.toml"))
    assert str(caught.value).startswith(f"error: there is no file {tmp_path}/none.toml\n  note: expected a TOML file, or one of ")

"""Hierarchies from text, and what is none."""

import pytest

from polyml.errors import ConfigError
from polyml.machines.cache_spec import parse


def test_text():
    first, second = parse("32K:8:64, 1MiB:16:64:plru:through:inclusive")
    assert (first.size_bytes, first.ways, first.line_bytes, first.replacement, first.writes) == (32768, 8, 64, "lru", "back")
    assert (second.level, second.replacement, second.writes, second.contents) == (2, "plru", "through", "inclusive")


def test_levels_may_be_full_and_shared():
    first, second, third = parse("32K:full:64,1M:16:64:shared=2,32M:16:64:shared:exclusive")
    assert (first.ways, first.sets, first.lines, first.shared_by) == (512, 1, 512, 1)
    assert (second.shared_by, third.shared_by, third.contents) == (2, 0, "exclusive")
    assert [level.sharing(3) for level in (first, second, third)] == [1, 2, 3]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is no cache"),
        ("32K:8", "is no cache"),
        ("32K:8:64:fifo", "is no cache"),
        ("32Q:8:64", "is no size"),
        ("0:8:64", "is no size"),
        ("32K:8:48", "power of two"),
        ("32K:0:64", "number of ways"),
        ("33000:8:64", "multiple of ways times line"),
        ("3K:3:64:plru", "a tree needs"),
        ("32K:8:64,1M:16:128", "one length"),
        ("32K:8:64,16K:8:64", "smaller than the one above"),
        ("32K:8:64:exclusive", "of nothing"),
        ("32K:full:64:plru", "a tree needs"),
        ("32K:fully:64", "is no cache"),
        ("32K:512:64,64K:512:64", "number of ways"),
        ("32K:8:64:shared=0", "is no cache"),
        ("32K:8:64:shared=two", "is no cache"),
        ("32K:8:64:shared,1M:16:64", "shared by fewer threads"),
        ("32K:8:64:shared=4,1M:16:64:shared=2", "shared by fewer threads"),
        ("32K:8:64:through,1M:16:64:exclusive", "writes through"),
    ],
)
def test_refusals(text, said):
    with pytest.raises(ConfigError, match=said) as error:
        parse(text)
    assert "\n" not in error.value.message

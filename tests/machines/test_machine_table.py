"""Notebooks show a machine as tables with all that its description says."""

from html.parser import HTMLParser

import pytest

from polyml.machines.catalogue import preset


class Cells(HTMLParser):
    """The rows of a page's tables."""

    def __init__(self):
        super().__init__()
        self.rows = []

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data):
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data


def rows(machine):
    found = Cells()
    found.feed(machine._repr_html_())
    return {row[0]: row[1:] for row in found.rows}


@pytest.mark.parametrize("name", ["zen5", "h100", "tpu-v1"])
def test_every_rate_has_a_row_with_its_source(name):
    machine = preset(name)
    found = rows(machine)
    for peak in machine.peaks:
        assert found[peak.number][-1].startswith(f"{(peak.flop_per_s.one or peak.flop_per_s.all).origin}: ")
    for place in machine.bandwidths:
        for what, rate in (("read", place.read_bytes_per_s), ("update", place.update_bytes_per_s)):
            assert (f"{place.place} {what}" in found) == (rate.one is not None or rate.all is not None)


def test_numbers_have_their_units():
    gpu, cpu = rows(preset("h100")), rows(preset("zen5"))
    assert gpu["multiprocessors"] == ["132"] and gpu["l2 bytes"] == ["50 MiB"] and gpu["f64"][1] == "33.5 TFLOP/s"
    assert gpu["threads per block"] == ["1,024"] and gpu["f16, matrix units"][1] == "989 TFLOP/s"
    assert cpu["L1"] == ["48 KiB, 12 ways, lines of 64 B"] and cpu["vector bytes"] == ["64 B"] and cpu["fma"] == ["True"]

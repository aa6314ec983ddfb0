"""``pretreat modbus maps`` and ``bench decode``: what they print and what they refuse."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

from app.commands import main
from app.commands.modbus_maps import link_in_words
from compliance.errors import InputError, NotFound, RuleError
from ingest import bench_decode, decode_many, library, scenario

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def pretreat(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Run:
    """Runs ``pretreat …`` in a home of its own; returns its exit code and what it printed."""
    monkeypatch.setenv("PRETREAT_HOME", str(tmp_path))

    def run(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["pretreat", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capsys.readouterr()
        return int(end.value.code or 0), out or err

    return run


def test_the_list_has_every_instrument_with_what_it_speaks(pretreat: Run) -> None:
    code, out = pretreat("modbus", "maps", "--json")
    rows = {row["name"]: row for row in json.loads(out)}
    assert code == 0
    assert len(rows) == len(library.names()) >= 18
    assert rows["sigma-980"]["protocols"] == ["ascii"]
    assert rows["isco-2100"]["needs_write"] is True
    assert "abb-aquamaster3" in pretreat("modbus", "maps")[1]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("abb-aquamaster3", "sleeps after 10 s, and the first request is lost"),
        ("abb-aquamaster3", "requests of a multiple of 2 registers"),
        ("xylem-magflux", "as delivered 9600 8E1"),
        ("isco-2100", "this program never writes"),
        ("yokogawa-flxa402-ph", "give base_address in a map of your own"),
        ("sigma-980", "total_flow_1: verify on site, since its word order is not in the manual"),
        ("hach-fl900", "protocol not in our sources"),
        ("eh-promag53", "Promag 53 MODBUS RS485 operating instructions"),
    ],
)
def test_a_map_is_shown_with_document_link_quirks_and_doubts(pretreat: Run, name, says) -> None:
    code, out = pretreat("modbus", "maps", name)
    assert code == 0
    assert says in " ".join(out.split())


def test_every_habit_of_a_link_is_told() -> None:
    found = library.load("abb-aquamaster3")
    odd = replace(
        found.wire,
        one_request_per_entry=True,
        accept_unit_mismatch=True,
        ignore_transaction_id=True,
        wide_registers=True,
        split_values=True,
    )
    said = link_in_words(replace(found, wire=odd, max_registers=60))
    for words in (
        "one request for each",
        "another unit",
        "another trans",
        "four bytes",
        "word by word",
        "most 60",
    ):
        assert words in said


def test_a_map_of_ones_own_is_one_file(pretreat: Run, tmp_path: Path) -> None:
    (tmp_path / "maps").mkdir()
    own = tmp_path / "maps" / "acme-flow.yaml"
    own.write_text(
        "name: acme-flow\nvendor: Acme\nmodel: F1\nrole: flow\ndocument: F1 manual, p. 12\n"
        'entries:\n  - {name: flow, table: input, address: 12, printed: "30013", '
        "type: float32, order: CDAB, unit: gpm, evidence: manual}\n"
    )
    code, out = pretreat("modbus", "maps", "acme-flow", "--json")
    assert code == 0
    assert json.loads(out)["entries"]["flow"]["address"] == 12
    own.write_text(own.read_text().replace("30013", "30012"))
    code, out = pretreat("modbus", "maps", "acme-flow")
    assert code == 2
    assert "printed '30012' and input address 12 disagree; expected 30013" in out


@pytest.mark.parametrize("words", ["-1", "--ordr", "1.5"])
def test_a_word_that_is_none_is_refused_in_one_sentence(pretreat: Run, words: str) -> None:
    code, out = pretreat("modbus", "decode", "--type", "uint16", words)
    assert code == 2
    assert out.startswith(f"pretreat: WORD is {words!r}")
    assert out.count("\n") == 1


def test_the_bench_prints_one_object_and_its_peer_does_the_same_work(
    pretreat: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(bench_decode.SIZES, "small", (20, 1, 0.001))
    code, out = pretreat("bench", "decode", "--map", "hach-sc4500", "--map", "sigma-980")
    report = json.loads(out)
    assert code == 0
    assert (report["bench"], report["size"]) == ("decode", "small")
    assert [row["what"].split(":")[0] for row in report["rows"]] == ["hach-sc4500", "sigma-980"]
    for row in report["rows"]:
        assert set(row) == {"what", "figure", "unit", "against", "against_figure", "ratio"}
        assert row["ratio"] == pytest.approx(row["figure"] / row["against_figure"], rel=0.01)
    assert "hach-sc4500" in pretreat("bench", "decode", "--map", "hach-sc4500", "--table")[1]


def test_the_bench_times_only_what_decodes_rightly(monkeypatch: pytest.MonkeyPatch) -> None:
    right = decode_many.decode_many

    def wrong(*arguments: object) -> tuple[np.ndarray, np.ndarray]:
        values, quality = right(*arguments)  # type: ignore[arg-type]
        return values + 1, quality

    monkeypatch.setattr(bench_decode, "decode_many", wrong)
    with pytest.raises(InputError, match="expected"):
        bench_decode.rows("small", ["hach-fl900"])


def test_the_maps_of_the_documentation_can_be_used_as_they_stand(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs" / "instruments.md").read_text()
    blocks = [dedent(block) for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)]
    (tmp_path / "maps").mkdir()
    whole = [block for block in blocks if block.startswith("name: ")]
    for block in whole:
        name = block.split("\n")[0].removeprefix("name: ")
        (tmp_path / "maps" / f"{name}.yaml").write_text(block)
        found = library.load(name, tmp_path)
        assert found.entries
    assert len(whole) == 2
    assert library.load("acme-ph", tmp_path).entries["ph"].status_codes


HEAD = "name: own\nvendor: V\nmodel: M\nrole: pH\ndocument: page 1\n"
ENTRY = '  - {name: ph, table: holding, address: 0, printed: "40001", type: uint16, scale: SCALE, unit: s.u., evidence: manual}\n'  # noqa: E501


BOMB = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{f'*a{n - 1},' * 9}]\n" for n in range(1, 9))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"#" * (256 * 1024 + 1), "has more than 256 KB"),
        (b"\xff\xfe\x00\x01", "is no UTF-8 text"),
        (b"\x00\x01\x02", "is no usable YAML"),
        (b"a: " + b"[" * 500, "nests deeper than 12 levels"),
        (BOMB.encode(), "stands for more than 50000 values"),
        (b"a: &a [*a]", "stands for more than 50000 values"),
        (b"a: " + b"[" * 5000, "exceeded maximum nesting depth"),
        (b"? [a, b]\n: 1", "found unhashable key"),
        (b"? {a: b}\n: 1", "found unhashable key"),
        (f"{HEAD}entries:\n{ENTRY.replace('SCALE', '1e999999')}".encode(), "scale is '1e999999'"),
        (f"{HEAD}entries:\n{ENTRY.replace('SCALE', '1e-999')}".encode(), "scale is '1e-999'"),
        (f"{HEAD}entries: {{a: 1}}\n".encode(), "own.yaml"),
        (f"{HEAD}entries: [1, [2]]\n".encode(), "own.yaml"),
    ],
)
def test_a_file_that_can_be_no_map_is_refused_in_a_sentence(
    tmp_path: Path, content: bytes, says: str
) -> None:
    file = tmp_path / "own.yaml"
    file.write_bytes(content)
    with pytest.raises(RuleError) as refused:
        library.load_file(file)
    assert says in str(refused.value) and "\n" not in str(refused.value)


def test_the_simulator_takes_a_map_of_the_installation(tmp_path: Path) -> None:
    (tmp_path / "maps").mkdir()
    packaged = (library.PACKAGED / "siemens-mag6000.yaml").read_text()
    own = packaged.replace("name: siemens-mag6000", "name: own-mag", 1)
    (tmp_path / "maps" / "own-mag.yaml").write_text(own)
    file = tmp_path / "own.yaml"
    file.write_text(
        scenario.find("demo").read_text().replace("map: siemens-mag6000", "map: own-mag")
    )
    names = {u.map.name for m in scenario.load(file, tmp_path).manholes for u in m.units}
    assert "own-mag" in names
    with pytest.raises(NotFound):
        scenario.load(file)

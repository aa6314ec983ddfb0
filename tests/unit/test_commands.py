"""Every command alike: one sentence for any fault, quiet ends, data printed as it is."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import typer.main

from app import commands
from app.commands import COMMANDS, HIDDEN, _module, main

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def pretreat(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs ``pretreat …``; returns its exit code, and what it printed on both streams."""

    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["pretreat", *words])
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capsys.readouterr()
        return int(end.value.code or 0), out, err

    return run


def raising(error: BaseException) -> Callable[..., None]:
    def call(**_: object) -> None:
        raise error

    return call


def test_a_fault_of_our_own_is_one_sentence(pretreat: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "pretreat", raising(TypeError("no\nsuch " + "x" * 1000)))
    code, out, err = pretreat("check", "a.csv")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("pretreat: an unexpected fault in pretreat check (TypeError: no such x")
    assert "please report it with the command and the file" in err
    assert len(err) < 600


def test_its_traceback_is_there_for_who_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "pretreat", raising(TypeError("no")))
    monkeypatch.setenv("PRETREAT_TRACEBACK", "1")
    with pytest.raises(TypeError):
        main()


def test_ctrl_c_ends_quietly(pretreat: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "pretreat", raising(KeyboardInterrupt()))
    assert pretreat("check") == (130, "", "")


@pytest.mark.parametrize("words", [("rules", "list"), ("rules", "list", "--json")])
def test_a_reader_that_leaves_ends_it_quietly(words: tuple[str, ...]) -> None:
    reads, writes = os.pipe()
    os.close(reads)
    done = subprocess.run(
        [sys.executable, "-m", "app", *words], stdout=writes, stderr=subprocess.PIPE, check=False
    )
    os.close(writes)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, b"")


@pytest.mark.parametrize("name", [*COMMANDS, *HIDDEN])
def test_no_command_offers_to_install_a_completion(name: str) -> None:
    module = importlib.import_module(f"app.commands.{_module(name)}")
    options = {
        option for one in typer.main.get_command(module.command).params for option in one.opts
    }
    assert "--install-completion" not in options


def test_names_in_brackets_are_printed_as_they_are(pretreat: Run, tmp_path: Path) -> None:
    file = tmp_path / "export.csv"
    file.write_text("at,point,parameter,value,unit\n2026-03-01T08:00,[/foo],ph,5,SU\n")
    code, out, _ = pretreat("check", str(file), "--ordinance", "prescott")
    assert code == 1
    assert out.count("[/foo]") == 2
    assert "2026-03-01T08:00:00-06:00" in out
    file.write_text("Sample,Parameter,Result,Units\n[/foo],TSS,5,mg/L\n:smile:,TSS,5,mg/L\n")
    code, out, _ = pretreat("lab", str(file))
    assert code == 0
    assert "[/foo]" in out
    assert ":smile:" in out
    assert "2 of 2 rows accepted" in out


def test_one_row_is_not_called_rows(pretreat: Run, tmp_path: Path) -> None:
    file = tmp_path / "results.csv"
    file.write_text("Sample,Parameter,Result,Units\nA,TSS,5,mg/L\n")
    assert "1 of 1 row accepted" in pretreat("lab", str(file))[1]


def test_a_sample_of_tomorrow_is_rejected_by_the_command(pretreat: Run, tmp_path: Path) -> None:
    file = tmp_path / "results.csv"
    file.write_text("Sample,Collected,Parameter,Result,Units\nA,2199-01-01,TSS,5,mg/L\n")
    code, out, _ = pretreat("lab", str(file), "--json")
    assert code == 1
    assert json.loads(out)["rejected"][0]["column"] == "Collected"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("decode", "--type", "float32", "--scale", "1e999999999", "0", "0"), "--scale is"),
        (("decode", "--type", "float32", "--offset", "0e999999", "0", "0"), "--offset is"),
        (("decode", "--type", "uint16", "9" * 5000), "WORD is"),
        (("scan", "..:502"), "no address of a gateway"),
        (("scan", "a" * 70), "no address of a gateway"),
        (("simulate", "demo", "--start", "0001-01-01T00:00Z"), "--start is"),
        (("simulate", "demo", "--start", "9999-12-31T23:59Z"), "--start is"),
    ],
)
def test_hostile_words_of_modbus_are_one_sentence(
    pretreat: Run, words: tuple[str, ...], says: str
) -> None:
    code, _, err = pretreat("modbus", *words)
    assert code == 2
    assert says in err
    assert err.count("\n") == 1
    assert len(err) < 300


@pytest.mark.parametrize(("text", "says"), [("", "is empty"), ("# nothing\n", "is empty")])
def test_an_empty_rulebook_is_called_empty(
    pretreat: Run, tmp_path: Path, text: str, says: str
) -> None:
    file = tmp_path / "book.yaml"
    file.write_text(text)
    code, _, err = pretreat("rules", "check", str(file))
    assert code == 2
    assert f"book.yaml {says}" in err


def test_a_rulebook_without_an_end_is_one_sentence(pretreat: Run, tmp_path: Path) -> None:
    file = tmp_path / "book.yaml"
    file.write_text("[" * 100_000)
    code, _, err = pretreat("rules", "check", str(file))
    assert (code, err.count("\n")) == (2, 1)
    assert "book.yaml" in err and "YAML" in err

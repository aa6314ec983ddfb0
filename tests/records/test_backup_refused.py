"""A backup that is not whole or does not fit is refused in one sentence, and nothing comes in."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from io import BytesIO
from os import environ
from pathlib import Path
from resource import RLIMIT_FSIZE, setrlimit
from typing import Any

import pytest
from sqlalchemy import Engine, text

from compliance.errors import ComplianceError, InputError, StorageError
from compliance.jobs.backup import backup, restore
from compliance.model.backup import Manifest
from compliance.records.engine import make_engine
from tests.support.keeping import NOW


@dataclass(frozen=True, slots=True)
class Saved:
    """A backup of a migrated database in which nothing has happened yet, and where to restore."""

    file: Path
    home: Path
    empty: Engine

    def refused(self) -> str:
        """The sentence with which a restore is refused; nothing has come in."""
        with pytest.raises(ComplianceError) as error:
            restore(self.empty, self.file, home=self.home)
        said = str(error.value)
        assert "\n" not in said
        with self.empty.connect() as db:
            found = "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace"
            assert db.scalar(text(found)) == 0
        return said


def save(
    engine: Engine, file: Path, *, home: Path, force: bool = False, now: datetime = NOW
) -> Manifest:
    return backup(
        engine, file, home=home, force=force, by="account ana", release="pretreat test", now=now
    )


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the programs of the wheel are copied, once."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def saved(engine: Engine, empty: Engine, home: Path, tmp_path: Path) -> Saved:
    file = tmp_path / "pretreat.tar"
    save(engine, file, home=home)
    return Saved(file, home, empty)


def test_a_file_that_is_there_is_written_over_only_by_force(
    engine: Engine, home: Path, tmp_path: Path
) -> None:
    file = tmp_path / "pretreat.tar"
    file.write_text("precious")
    with pytest.raises(InputError, match="is there already; name another file, or --force"):
        save(engine, file, home=home)
    assert file.read_text() == "precious"
    save(engine, file, home=home, force=True)
    assert tarfile.is_tarfile(file)


def test_what_cannot_be_written_or_is_not_there_is_one_sentence(
    engine: Engine, empty: Engine, home: Path, tmp_path: Path
) -> None:
    with pytest.raises(StorageError, match="the database is empty: there is nothing to save"):
        save(empty, tmp_path / "x.tar", home=home)
    with pytest.raises(InputError, match="is a folder; name the file"):
        save(engine, tmp_path, home=home)
    with pytest.raises(InputError, match="/dev/null is a device or the like"):
        save(engine, Path("/dev/null"), home=home, force=True)
    with pytest.raises(InputError, match="the folder of .* is not there; make it first"):
        save(engine, tmp_path / "absent" / "x.tar", home=home)
    with pytest.raises(InputError, match=r"absent\.tar cannot be read \(No such file"):
        restore(empty, tmp_path / "absent.tar", home=home)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_of_a_backup_for_which_there_was_no_room(
    engine: Engine, home: Path, tmp_path: Path
) -> None:
    """Whatever was there under that name is there still."""
    file = tmp_path / "x.tar"
    file.write_text("precious")
    done = subprocess.run(
        [sys.executable, "-m", "app", "backup", file, "--force"],
        env={
            **environ,
            "DATABASE_URL": engine.url.render_as_string(hide_password=False),
            "PRETREAT_HOME": str(home),
        },
        preexec_fn=lambda: setrlimit(RLIMIT_FSIZE, (30_000, 30_000)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert f"{file} cannot be written (File too large)" in done.stderr.replace("\n", " ")
    assert "Traceback" not in done.stderr
    assert [one.name for one in tmp_path.iterdir()] == ["x.tar"]
    assert file.read_text() == "precious"


def test_nothing_is_left_of_a_backup_that_failed_half_way(
    engine: Engine, home: Path, tmp_path: Path
) -> None:
    """Whoever may read the tables and not the sequences gets as far as the dump's beginning."""
    role = f"reader_{engine.url.database}"
    with engine.begin() as db:
        db.execute(text(f"CREATE ROLE {role} LOGIN"))
        db.execute(text(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}"))
    reader = make_engine(engine.url.set(username=role))
    try:
        with pytest.raises(StorageError, match="pg_dump failed: .*permission denied"):
            save(reader, tmp_path / "x.tar", home=home)
    finally:
        reader.dispose()
        with engine.begin() as db:
            db.execute(text(f"DROP OWNED BY {role}"))
            db.execute(text(f"DROP ROLE {role}"))
    assert list(tmp_path.iterdir()) == []


def test_a_database_that_is_not_empty_is_refused(saved: Saved, engine_too: Engine) -> None:
    said = f"the database {engine_too.url.database} is not empty: it has .* into a new one"
    with pytest.raises(StorageError, match=said):
        restore(engine_too, saved.file, home=saved.home)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.97])
def test_a_file_that_was_cut_off_is_refused(saved: Saved, share: float) -> None:
    whole = saved.file.read_bytes()
    saved.file.write_bytes(whole[: int(share * (len(whole) - 4096))])
    assert saved.refused().startswith(f"{saved.file} is no backup, or was cut off")


def test_a_dump_that_was_altered_is_refused(saved: Saved) -> None:
    content = bytearray(saved.file.read_bytes())
    content[5000] ^= 1
    saved.file.write_bytes(content)
    said = saved.refused()
    assert "its manifest says" in said and "the file was altered" in said


def altered(file: Path, change: Callable[[dict[str, Any]], object], *, dump: bytes = b"") -> None:
    """Write another manifest into a backup, and perhaps another dump that fits it."""
    with tarfile.open(file) as archive:
        held = dump or archive.extractfile("pretreat.dump").read()  # type: ignore[union-attr]
        manifest = json.load(archive.extractfile("manifest.json"))  # type: ignore[arg-type]
    change(manifest)
    with tarfile.open(file, "w") as archive:
        for name, content in (
            ("pretreat.dump", held),
            ("manifest.json", json.dumps(manifest).encode()),
        ):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, BytesIO(content))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda m: m.update(format="other"), "its manifest has the format 'other'; expected"),
        (lambda m: m.pop("inventory"), "its manifest cannot be read ('inventory')"),
        (lambda m: m["inventory"].update(revision="9999"), "whose schema 9999 this release does"),
        (lambda m: m["server"].update(major=99), "comes from PostgreSQL 99 and the server is"),
        (lambda m: m["server"].update(extension="0.1"), "needs TimescaleDB 0.1 and the server"),
        (
            lambda m: m.update(program="pg_dump 99"),
            "pg_restore of PostgreSQL 99 or newer is needed for",
        ),
    ],
)
def test_a_backup_that_does_not_fit_is_refused(
    saved: Saved, change: Callable[[dict[str, Any]], object], sentence: str
) -> None:
    altered(saved.file, change)
    assert sentence in saved.refused()


def test_a_dump_that_cannot_be_restored_leaves_nothing_and_may_be_tried_again(saved: Saved) -> None:
    whole = saved.file.read_bytes()
    with tarfile.open(saved.file) as archive:
        dump = archive.extractfile("pretreat.dump").read()  # type: ignore[union-attr]
    broken = dump[: len(dump) * 2 // 3]
    fits = {"sha256": hashlib.sha256(broken).hexdigest(), "size": len(broken)}
    altered(saved.file, lambda m: m.update(fits), dump=broken)
    assert saved.refused().startswith("pg_restore failed: ")
    saved.file.write_bytes(whole)
    assert restore(saved.empty, saved.file, home=saved.home).difference is None


def test_a_difference_from_what_was_saved_is_told(saved: Saved) -> None:
    altered(saved.file, lambda m: m["inventory"]["counts"].update(city=3))
    done = restore(saved.empty, saved.file, home=saved.home)
    assert done.difference == "table city has 0 rows, saved were 3"

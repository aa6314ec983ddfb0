"""A backup as one file: a tar of the dump and, after it, the manifest that proves it.

The manifest stands at the end: a file that was cut off has none. Anybody with tar and pg_restore
can take it apart without this program.
"""

from __future__ import annotations

import hashlib
import json
import os
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from compliance.errors import InputError
from compliance.model.backup import Manifest

DUMP, MANIFEST = "pretreat.dump", "manifest.json"
BLOCK = 1024 * 1024
LONGEST_MANIFEST = BLOCK


def write(
    file: Path,
    blocks: Iterable[bytes],
    describe: Callable[[str, int], Manifest],
    *,
    force: bool,
) -> Manifest:
    """Write a dump with its manifest; the file is there whole and synced to disk, or not at all.

    describe: the manifest, given hash and size of the dump. force: over a file that is there.
    Raises: InputError where the file is there already or cannot be written.
    """
    try:
        with _whole(file, force=force) as out:
            sha256, size = _dump(out, blocks)
            manifest = describe(sha256, size)
            text = json.dumps(manifest.to_json(), ensure_ascii=False, indent=1).encode()
            out.write(_header(MANIFEST, len(text)) + text + _padding(len(text)))
            out.write(bytes(2 * tarfile.BLOCKSIZE))
    except OSError as error:
        raise InputError(f"{file} cannot be written ({error.strerror})") from None
    return manifest


def refuse_existing(file: Path, *, force: bool) -> None:
    """Raises: InputError where something is at that place that may not be written over."""
    if file.is_dir():
        raise InputError(f"{file} is a folder; name the file that is to be written")
    if file.exists() and not file.is_file():
        raise InputError(f"{file} is a device or the like; name the file that is to be written")
    if file.exists() and not force:
        raise InputError(f"{file} is there already; name another file, or --force writes over it")
    if not file.absolute().parent.is_dir():
        raise InputError(f"the folder of {file} is not there; make it first")


@contextmanager
def _whole(file: Path, *, force: bool) -> Iterator[IO[bytes]]:
    """A file under a name of its own that gets its right one when everything is on disk."""
    folder = file.absolute().parent
    handle, name = tempfile.mkstemp(dir=folder, prefix=f".{file.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        if force:
            Path(name).replace(file)
        else:
            _put_new(Path(name), file)
        _sync(folder)
    finally:
        with suppress(FileNotFoundError):
            Path(name).unlink()


def _put_new(part: Path, file: Path) -> None:
    try:
        os.link(part, file)  # unlike a rename it takes the place of nothing
    except FileExistsError:
        refuse_existing(file, force=False)
    except OSError:  # a file system without links
        refuse_existing(file, force=False)
        part.replace(file)


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _dump(out: IO[bytes], blocks: Iterable[bytes]) -> tuple[str, int]:
    """Write the dump; its header, which has the size, is written last."""
    start, seal, size = out.tell(), hashlib.sha256(), 0
    out.write(_header(DUMP, 0))
    for block in blocks:
        out.write(block)
        seal.update(block)
        size += len(block)
    out.write(_padding(size))
    end = out.tell()
    out.seek(start)
    out.write(_header(DUMP, size))
    out.seek(end)
    return seal.hexdigest(), size


def _header(name: str, size: int) -> bytes:
    """GNU's format: one block whatever the size, so that it can be put in afterwards."""
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, 0o600
    return member.tobuf(tarfile.GNU_FORMAT)


def _padding(size: int) -> bytes:
    return bytes(-size % tarfile.BLOCKSIZE)


def read(file: Path) -> Manifest:
    """The manifest of a backup; the dump beside it is not looked at.

    Raises: InputError where the file is no backup, or was cut off.
    """
    with _opened(file) as archive:
        content = archive.extractfile(MANIFEST)
        assert content is not None
        text = content.read(LONGEST_MANIFEST)
    try:
        return Manifest.from_json(json.loads(text))
    except ValueError:
        raise InputError(f"{file}: its manifest is no JSON; the file was altered") from None
    except InputError as error:
        raise InputError(f"{file}: {error}; expected a file of pretreat backup") from None


def blocks(file: Path, manifest: Manifest) -> Iterator[bytes]:
    """The dump of a backup, in blocks.

    Raises: InputError, at the end, where it is not the one that the manifest is about.
    """
    seal, size = hashlib.sha256(), 0
    with _opened(file) as archive:
        content = archive.extractfile(DUMP)
        assert content is not None
        while block := content.read(BLOCK):
            seal.update(block)
            size += len(block)
            yield block
    if (seal.hexdigest(), size) != (manifest.sha256, manifest.size):
        raise InputError(
            f"{file}: the dump in it has {size} bytes and the hash {seal.hexdigest()}, its "
            f"manifest says {manifest.size} and {manifest.sha256}: the file was altered; take "
            "another backup"
        )


def check(file: Path, manifest: Manifest) -> None:
    """Read a backup through. Raises: InputError where it is not whole."""
    for _ in blocks(file, manifest):
        pass


@contextmanager
def _opened(file: Path) -> Iterator[tarfile.TarFile]:
    try:
        with tarfile.open(file, "r:") as archive:
            names = archive.getnames()
            if names != [DUMP, MANIFEST] or not all(one.isreg() for one in archive):
                raise tarfile.ReadError(", ".join(names)[:100])
            yield archive
    except OSError as error:
        raise InputError(f"{file} cannot be read ({error.strerror}); check its name") from None
    except tarfile.TarError:
        raise InputError(
            f"{file} is no backup, or was cut off: it does not hold {DUMP} and then {MANIFEST}; "
            "take another backup"
        ) from None

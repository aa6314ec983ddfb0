"""The evidence of a finding as one file, for whoever may see its page."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile

import pytest

REASON = "Seen on the chart and at the manhole"


@pytest.mark.parametrize("login", ["ana", "jo"])
def test_whoever_sees_a_detection_gets_its_evidence(as_person, town, tmp_path, login):
    client = as_person(login)
    where = f"/detections/{town.detection}"
    assert f'href="{where}/evidence.zip"' in client.get(where).text
    answer = client.get(f"{where}/evidence.zip")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/zip"
    named = f'attachment; filename="evidence-detection-{town.detection}.zip"'
    assert answer.headers["content-disposition"] == named
    zipfile.ZipFile(io.BytesIO(answer.content)).extractall(tmp_path)
    assert json.loads((tmp_path / "fact.json").read_text())["industrial_user"] == "Acme Plating"
    command = [sys.executable, "-I", str(tmp_path / "check.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "changed since it was packed" not in done.stdout


def test_nobody_gets_the_evidence_of_another(as_person, town):
    answer = as_person("jo").get(f"/detections/{town.others_detection}/evidence.zip")
    assert answer.status_code == 404


def test_a_violation_has_the_evidence_of_its_detection(as_person, town):
    client = as_person("ana")
    opened = client.post(
        f"/detections/{town.detection}", data={"decision": "open", "reason": REASON}
    )
    where = opened.headers["location"]
    assert f'href="{where}/evidence.zip"' in client.get(where).text
    answer = client.get(f"{where}/evidence.zip")
    assert answer.status_code == 200
    files = zipfile.ZipFile(io.BytesIO(answer.content))
    said = json.loads(files.read("fact.json"))
    assert (said["detection"], said["violation"]) == (town.detection, where.rpartition("/")[2])
    assert files.testzip() is None
    client = as_person("jo")
    assert client.get("/violations/V-2026-9999/evidence.zip").status_code == 404

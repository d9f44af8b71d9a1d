"""`stepwell ingest` in a process of its own: it shows its time, is interrupted, and continues."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import harness

PROGRESS = re.compile(r" (\d+)/42 [\d,]+ chunks \d+:\d\d:\d\d")
QUICK = (
    "from app.cli import progress; progress.INTERVAL_S = 0.05; from app.documents.commands import ingest; "
    "ingest.BATCH_FILES = 4; from app.__main__ import main; main()"
)
"""Runs the command in small batches, with a line of progress every twentieth of a second."""


def _fill(folder: Path) -> None:
    """Twenty-eight notes, seven pages and seven tables."""
    for number in range(42):
        text = " ".join(f"Lime putty {number}-{word} rests below the landing." for word in range(4 * (number % 4 + 1)))
        if number % 6 == 4:
            (folder / f"{number:02}.html").write_text(f"<html><body><h1>Lime {number}</h1><p>{text}</p></body></html>")
        elif number % 6 == 5:
            rows = "".join(f"{number}-{row},mortar\n" for row in range(6))
            (folder / f"{number:02}.csv").write_text(f"name,use\n{rows}")
        else:
            (folder / f"{number:02}.md").write_text(f"# Lime {number}\n\n{text}")


def test_an_interrupted_ingest_says_what_is_stored_and_continues_when_it_is_repeated(stepwell, data_dir, tmp_path):
    _fill(tmp_path)
    ingest = ("ingest", str(tmp_path), "--user", (user := harness.new_user()), "--data-dir", str(data_dir))
    environment = {**os.environ, "STEPWELL_DATA_DIR": str(data_dir)}
    command = [sys.executable, "-c", QUICK, *ingest, "--json"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes, text=True, env=environment, preexec_fn=harness.heed_ctrl_c) as process:
        assert process.stdout
        assert process.stderr
        assert any(int(found[1]) >= 6 for line in process.stderr if (found := PROGRESS.search(line)))
        process.send_signal(signal.SIGINT)
        printed, ended = process.stdout.read(), process.stderr.read()
    assert process.returncode == 130, ended
    error = json.loads(printed)["error"]
    assert (error["code"], error["field"]) == ("interrupted", None)
    said = re.search(
        r"Interrupted\. (\d+) of 42 files are done, with (\d+) chunks?\. Repeat the command", error["detail"]
    )
    assert said, error
    assert 6 <= int(said[1]) < 42
    first = stepwell("stats", "--user", user, "--json").json
    assert first["chunks"] >= int(said[2]) > 0
    again = stepwell(*ingest, "--json").json
    assert (again["unchanged"], again["failed"]) == (first["documents"], 0)
    assert again["unchanged"] + again["added"] == 28 + 7 + 7 * 6

"""The demo stores the sample notes, answers questions about them, and serves them on a free port."""

import socket

import pytest

from app.serving import demo, http_process, listening
from app.settings import Settings


def test_the_demo_ingests_the_samples_and_answers_its_questions(stepwell) -> None:
    ran = stepwell("demo", "--no-serve")
    assert ran.code == 0, ran.err
    assert "sample notes" in ran.err
    answers = [line for line in ran.out.splitlines() if line.startswith("Answer")]
    assert [" ".join(one.split()[3:6]) for one in answers] == [
        "D-022: Four nights",
        "ERR_TIDE_4012, identical levels,",
        "Sundays belong to",
    ]
    assert "found through Ines Brandauer (title), which passage 1 names" in ran.out


@pytest.mark.parametrize(("host", "shown"), [("127.0.0.1", "127.0.0.1"), ("::1", "[::1]")])
def test_the_demo_says_which_port_it_uses_instead_of_a_taken_one(capsys, host, shown):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, 0), family=family) as taken:
        taken_port = taken.getsockname()[1]
        moved = demo.with_free_port(Settings(host=host, port=taken_port, log_json=False))
    assert moved.port != taken_port
    said = " ".join(capsys.readouterr().err.split())
    assert f"Port {taken_port} is in use: the demo serves on http://{shown}:{moved.port} " in said
    listening.announce(moved, token="")
    assert f"http://{shown}:{moved.port}" in capsys.readouterr().err


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_port_0_becomes_the_free_port_that_is_announced(capsys, host):
    chosen = demo.with_free_port(Settings(host=host, port=0, log_json=False))
    assert chosen.port > 0
    listening.check_port(chosen)
    listening.announce(chosen, token="")
    assert f":{chosen.port} " in capsys.readouterr().err
    assert listening.choose_port(chosen) == chosen


def test_serve_chooses_a_port_before_it_announces_it(stepwell, monkeypatch):
    started = list[Settings]()
    monkeypatch.setattr(http_process, "run", started.append)
    assert stepwell("serve", "--port", "0").code == 0
    assert started[0].port > 0

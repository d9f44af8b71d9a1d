"""The demo stores the sample notes, answers questions about them, and serves them on a free port."""

import socket

from app.serving import demo
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


def test_the_demo_says_which_port_it_uses_instead_of_a_taken_one(capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        taken_port = taken.getsockname()[1]
        free = demo.with_free_port(Settings(port=taken_port)).port
    assert free != taken_port
    said = " ".join(capsys.readouterr().err.split())
    assert f"Port {taken_port} is in use: the demo serves on http://127.0.0.1:{free} " in said

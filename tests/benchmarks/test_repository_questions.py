"""The questions about this repository have their answers in its files."""

from benchmarks.repository import measure


def test_the_file_of_every_question_contains_its_answer() -> None:
    corpus = measure.repository()
    corpus.check()
    stored = {path.relative_to(corpus.folder).as_posix() for path in corpus.files}
    assert {one.path for one in corpus.questions} <= stored

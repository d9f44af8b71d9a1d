"""Main function of the process that recognises text: reads pictures from standard input and writes their lines.

It reads pixels and no file format, so that no decoder runs here.
"""

from __future__ import annotations

import sys
from typing import Any

from app.concurrency import limited_process

DETECTED_SIDE = 1_280
"""Pixels of the longer side to which a picture is scaled for finding its lines; they are read in full size."""
LEAST_SCORE = 0.5
"""Lines that are less probable are left out."""
DOUBTFUL = 0.75
"""Mean score of the lines below which the picture is read upside down as well."""


def main() -> None:
    """Recognise pictures until standard input ends. Arguments: bytes of memory, and threads."""
    source, target = limited_process.prepare()
    memory, threads = int(sys.argv[1]), int(sys.argv[2])
    limited_process.limit(memory=memory)
    engine = _engine(threads)
    import numpy as np  # with the limit of memory

    while (message := limited_process.read(source)) is not None:
        width, height = message["width"], message["height"]
        picture: Any = np.frombuffer(source.read(width * height), dtype=np.uint8).reshape(height, width)
        lines = [] if picture.min() == picture.max() else _lines(engine, picture)
        limited_process.write(target, {"lines": lines})
        target.flush()


def _engine(threads: int) -> Any:
    """The recogniser with the models of its package."""
    from rapidocr import RapidOCR

    return RapidOCR(
        params={
            "Global.log_level": "critical",
            "Global.text_score": LEAST_SCORE,
            # It takes some upright lines for upside-down ones, which a whole page shows better.
            "Global.use_cls": False,
            "Det.limit_type": "max",
            "Det.limit_side_len": DETECTED_SIDE,
            # Lines of one batch are padded to the longest.
            "Rec.rec_batch_num": 1,
            "EngineConfig.onnxruntime.intra_op_num_threads": threads,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        }
    )


def _lines(engine: Any, picture: Any) -> list[tuple[str, float, list[float]]]:
    """Each line's text, score and corners. A sideways picture is turned; a doubtful one is read upside down as well."""
    upright = _read(engine, picture)
    words = [corners for text, _score, corners in upright if len(text) > 3]  # corners run clockwise from the upper left
    sideways = sum(c[5] - c[3] > 1.5 * (c[2] - c[0]) for c in words)
    if sideways > max(2, len(words) / 2):  # one or two are the labels of a diagram
        picture = picture.T[::-1]
        upright = _read(engine, picture)
    if not upright or _mean_score(upright) >= DOUBTFUL:
        return upright
    turned = _read(engine, picture[::-1, ::-1])
    return turned if _mean_score(turned) > _mean_score(upright) else upright


def _read(engine: Any, picture: Any) -> list[tuple[str, float, list[float]]]:
    import numpy as np

    found = engine(np.repeat(picture[:, :, np.newaxis], 3, axis=2))
    if found.txts is None or found.boxes is None:
        return []
    return [
        (text, round(float(score), 3), [round(float(value), 1) for value in box.reshape(-1)])
        for text, score, box in zip(found.txts, found.scores, found.boxes, strict=True)
        if any(map(str.isalnum, text))  # else of a script that the models do not know, or a drawing
    ]


def _mean_score(lines: list[tuple[str, float, list[float]]]) -> float:
    """The mean of the scores, weighted by the lengths of the lines."""
    length = sum(len(text) for text, _score, _corners in lines)
    return sum(len(text) * score for text, score, _corners in lines) / length if length else 0.0


if __name__ == "__main__":
    main()

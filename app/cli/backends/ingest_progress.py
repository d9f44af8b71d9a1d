"""Shows how far an ingest is, its rates in documents and chunks, and which stage takes most of the time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from app.cli import options
from app.cli.backends.ingesting import CHUNK_BYTES
from app.cli.progress import Progress
from app.pipelines.running import model_switch
from app.pipelines.running.stage_times import Stage, StageTimes
from app.providers.base import Embedder, EmbeddingModel
from app.shapes import IngestResult, Upload, Vector


class Rates(ProgressColumn):
    """Documents and chunks per second since the start."""

    def render(self, task: Task) -> Text:
        """Both averages."""
        seconds = task.elapsed or 0.0
        if not seconds:
            return Text("–/s")
        return Text(f"{task.fields['documents'] / seconds:.1f} documents/s, {task.completed / seconds:.0f} chunks/s")


class Busiest(ProgressColumn):
    """The stage that has been busy for most of the time, with its share of it."""

    def render(self, task: Task) -> Text:
        """Nothing before the first second."""
        seconds: Mapping[Stage, float] = task.fields["times"].so_far()
        elapsed = task.elapsed or 0.0
        if not seconds or elapsed < 1:
            return Text("")
        stage = max(seconds, key=seconds.__getitem__)
        return Text(f"{stage} {min(1.0, seconds[stage] / elapsed):.0%}")


class Recognised(ProgressColumn):
    """The page of the file at which recognition is, and the number of pages and pictures that were recognised."""

    def render(self, task: Task) -> Text:
        """Nothing without any."""
        times: StageTimes = task.fields["times"]
        counted = f"{times.pictures:,} pages recognised" if times.pictures else ""
        at = "page {:,} of {:,}".format(*times.page) if times.page else ""
        return Text(", ".join(filter(None, (at, counted))))


class Remaining(TimeRemainingColumn):
    """The time left, in words that stand alone in a line; nothing while it is not known."""

    def render(self, task: Task) -> Text:
        """The estimate of Rich."""
        return Text() if task.time_remaining is None else super().render(task).append(" left")


def bar() -> Progress:
    """The display of an ingest."""
    columns = (
        TextColumn("Ingesting chunks"),
        BarColumn(),
        MofNCompleteColumn(),
        Rates(),
        Busiest(),
        Recognised(),
        Remaining(),
    )
    return Progress(*columns, console=options.err)


class Chunks:
    """Shows the progress of an ingest in chunks, of an estimated total.

    Chunks that are embedded count at once; those whose vectors are stored already count with their document.
    """

    def __init__(self, bar: Progress, total_bytes: int, times: StageTimes) -> None:
        self._bar = bar
        self._task = bar.add_task("ingest", total=total_bytes / CHUNK_BYTES, documents=0, times=times)
        self._total_bytes = total_bytes
        self._bytes = 0
        self._documents = 0
        self._stored = 0
        self._embedded = 0
        self._reused = 0

    def embedded(self, chunks: int) -> None:
        """Counts chunks that have been embedded."""
        self._embedded += chunks
        self._show()

    def stored(self, upload: Upload, stored: IngestResult) -> None:
        """Counts a document that has been stored or found unchanged, and corrects the estimate of the total."""
        self._bytes += len(upload.content.encode())
        self._documents += 1
        self._stored += stored.chunk_count
        self._reused += stored.chunk_count - stored.embedded
        self._show()

    def finish(self) -> None:
        """Shows the number of stored chunks as the total."""
        self._bar.update(self._task, completed=self._stored, total=self._stored)

    def _show(self) -> None:
        # Notes that are a title alone have chunks and no bytes.
        chunk_bytes = self._bytes / self._stored if self._stored and self._bytes else CHUNK_BYTES
        total = self._stored + max(0, self._total_bytes - self._bytes) / chunk_bytes
        done = max(self._stored, self._reused + self._embedded)
        self._bar.update(self._task, completed=done, total=round(max(total, done)), documents=self._documents)


@dataclass(frozen=True, slots=True)
class CountingEmbedder:
    """An embedder that reports how many chunks it has embedded."""

    embedder: Embedder
    report: Callable[[int], None]

    @property
    def model(self) -> EmbeddingModel:
        """The model of the embedder behind it."""
        return self.embedder.model

    @property
    def switch(self) -> object:
        """The embedder behind it where its model can be replaced."""
        return model_switch.of(self.embedder)

    async def embed_query(self, text: str) -> Vector:
        """Embeds one query."""
        return await self.embedder.embed_query(text)

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Embeds passages and reports their number."""
        vectors = await self.embedder.embed_documents(texts)
        self.report(len(texts))
        return vectors

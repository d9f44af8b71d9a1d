"""Runs Stepwell and all peers on the same sets in turns, each in a database or folder of its own."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from app.database import transactions
from app.database.embedded.postgres import OWNER, SERVICE_ROLE, EmbeddedPostgres
from app.database.schema import migration
from app.evaluation import beir, metrics, runner
from app.evaluation.runner import Strategy
from app.services import Services
from benchmarks.peers import environments, measure, own, postgres
from benchmarks.peers.catalogue import PEERS, PeerSpec
from benchmarks.peers.exchange import Material, Order, Result
from benchmarks.peers.own import RememberingEmbedder

DATABASE = "peer"
SEARCH, MULTIHOP = "Stepwell", "Stepwell, multi-hop"
_STOP_WORDS = """
SELECT string_to_array(btrim(pg_read_file(setting || '/tsearch_data/english.stop'), E'\\n'), E'\\n')
FROM pg_config WHERE name = 'SHAREDIR'
"""


@dataclass(frozen=True, slots=True)
class PeerOptions:
    """How peers are asked.

    Attributes:
        limit: Chunks in an answer.
        candidates: Candidates of each leg.
        rounds: How often a peer is asked all questions each time that it is its turn.
        turns: How often it is the turn of each peer, which then stores the chunks anew.
        environments: The folder of the peers' environments.
        only: Keys of the chosen peers; empty for all.
    """

    limit: int = 20
    candidates: int = 100
    rounds: int = 2
    turns: int = 1
    environments: Path | None = None
    only: tuple[str, ...] = ()

    def peers(self) -> list[PeerSpec]:
        """Returns the chosen peers."""
        return [peer for peer in PEERS if not self.only or peer.key in self.only]


@dataclass(frozen=True, slots=True)
class NamedSet:
    """An evaluation set, and whether its questions need several documents and are asked by multi-hop search too."""

    name: str
    loaded: beir.EvaluationSet
    multihop: bool


@dataclass(slots=True)
class PeerReport:
    """The results of one peer by set, or why there are none."""

    name: str
    note: str
    measures: dict[str, dict[str, float]] = field(default_factory=dict)
    results: dict[str, Result] = field(default_factory=dict)
    failure: str | None = None

    def add(self, named: NamedSet, result: Result) -> None:
        """Adds the result of one set."""
        self.measures[named.name] = runner.average(result.rankings, named.loaded.questions)
        earlier = self.results.get(named.name)
        self.results[named.name] = earlier.joined(result) if earlier else result

    def outcome(self, named: NamedSet) -> str:
        """Returns one line on a set: what was measured, or why nothing was."""
        if named.name not in self.results:
            return f"{named.name}: {self.name}: {self.failure}"
        found, result = self.measures[named.name], self.results[named.name]
        mean_ms, cpu_ms = sum(result.took_ms) / len(result.took_ms), 1000 * result.cpu_s / len(result.took_ms)
        quality = f"nDCG@10 {found['ndcg@10']:.3f}, recall@5 {found['recall@5']:.3f}"
        return f"{named.name}: {self.name}: {quality}, {mean_ms:.1f} ms, {cpu_ms:.1f} ms of CPU"

    def figures(self, embedding_ms: float) -> dict[str, float]:
        """Returns the figures over all sets: answers a second, 95th percentile, CPU time, size and ingest time.

        `embedding_ms` is the mean time in which the same model computes the vector of a question for every peer.
        """
        took = [milliseconds for result in self.results.values() for milliseconds in result.took_ms]
        cpu_s = sum(result.cpu_s for result in self.results.values())
        return {
            "answers_s": round(1000 * len(took) / max(sum(took), 1e-9), 1),
            "embedded_s": round(1000 * len(took) / max(sum(took) + len(took) * embedding_ms, 1e-9), 1),
            "p95_ms": round(metrics.percentile(took, 0.95), 1),
            "cpu_ms": round(1000 * cpu_s / max(len(took), 1), 1),
            "mb": round(sum(result.size_bytes for result in self.results.values()) / 2**20, 1),
            "ingest_s": round(sum(result.ingest_s for result in self.results.values()), 1),
        }


@dataclass(frozen=True, slots=True)
class Workplace:
    """The server, services with an embedder that remembers vectors, and a folder for what is exchanged in a turn."""

    server: EmbeddedPostgres
    services: Services
    embedder: RememberingEmbedder
    folder: Path
    options: PeerOptions
    turn: int = 0

    async def order(self, variant: str, name: str) -> Order:
        """Returns the order for a peer; its folder and database are new."""
        home = self.folder / str(self.turn) / name
        (home / "files").mkdir(parents=True)
        dsn = self.server.dsn(user=OWNER, database=DATABASE, driver="postgresql")
        async with postgres.connected(dsn) as connection:
            stop_words = await connection.fetchval(_STOP_WORDS)
        return Order(
            material=str(self.folder / "material"),
            result=str(home / "result.json"),
            dsn=dsn,
            files=str(home / "files"),
            server_pid=self.server.postmaster_pid,
            limit=self.options.limit,
            candidates=self.options.candidates,
            rounds=self.options.rounds,
            variant=variant,
            stop_words=stop_words,
        )

    @asynccontextmanager
    async def database(self) -> AsyncIterator[None]:
        """Creates an empty database with the extension vector, and drops it afterwards."""
        maintenance = self.server.dsn(user=OWNER, database="postgres", driver="postgresql")
        async with postgres.connected(maintenance) as connection:
            await connection.execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")
            await connection.execute(f"CREATE DATABASE {DATABASE} TEMPLATE template0 ENCODING 'UTF8'")
            try:
                async with postgres.connected(
                    self.server.dsn(user=OWNER, database=DATABASE, driver="postgresql")
                ) as new:
                    await new.execute("CREATE EXTENSION vector")
                yield
            finally:
                await connection.execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")


async def compare(
    sets: Sequence[NamedSet], workplace: Workplace, *, progress: Callable[[str], None]
) -> list[PeerReport]:
    """Returns the reports of Stepwell and of the chosen peers, in the catalogue's order."""
    reports = {SEARCH: PeerReport(SEARCH, "the search pipeline with its defaults")}
    if any(named.multihop for named in sets):
        reports[MULTIHOP] = PeerReport(MULTIHOP, "the multi-hop pipeline without a language model")
    chosen = workplace.options.peers()
    reports |= {peer.key: PeerReport(peer.name, peer.note) for peer in chosen}
    for place, named in enumerate(sets):
        at = dataclasses.replace(workplace, folder=workplace.folder / str(place))
        (at.folder / "material").mkdir(parents=True)
        given = await own.material(named.loaded, at.embedder, at.services)
        given.save(at.folder / "material")
        progress(f"{named.name}: {len(given.chunks):,} chunks, {len(given.questions):,} questions")
        for turn in range(workplace.options.turns):
            here = dataclasses.replace(at, turn=turn)
            await at.embedder.time_queries(given.questions)
            await _measure_own(named, given, here, reports)
            for key in (SEARCH, MULTIHOP) if named.multihop else (SEARCH,):
                progress(reports[key].outcome(named))
            for peer in chosen:
                await _measure_peer(peer, named, here, reports[peer.key])
                progress(reports[peer.key].outcome(named))
    return list(reports.values())


async def _measure_own(named: NamedSet, given: Material, workplace: Workplace, reports: dict[str, PeerReport]) -> None:
    async with workplace.database():
        order = await workplace.order("", "stepwell")
        model = workplace.embedder.model
        owner_dsn = workplace.server.dsn(user=OWNER, database=DATABASE)
        await migration.upgrade(owner_dsn, model=model.name, dimension=model.dimension)
        database = transactions.connect(
            workplace.server.dsn(user=SERVICE_ROLE, database=DATABASE), pool_size=4, pool_wait_s=30.0
        )
        services = dataclasses.replace(workplace.services, db=database, owner=None, embedder=workplace.embedder)
        try:
            ingest_s = await measure.timed(own.store(named.loaded, services))
            await postgres.settle(order.dsn)
            reports[SEARCH].add(named, await own.ask(Strategy("auto"), given, order, services, ingest_s))
            if named.multihop:
                reports[MULTIHOP].add(named, await own.ask(Strategy("multihop"), given, order, services, ingest_s))
        finally:
            await database.close()


async def _measure_peer(peer: PeerSpec, named: NamedSet, workplace: Workplace, report: PeerReport) -> None:
    """Adds a peer's result; a peer that failed on one set is not asked about the next ones."""
    if report.failure is not None:
        return
    try:
        interpreter = await environments.python(peer, workplace.options.environments)
        async with workplace.database():
            order = await workplace.order(peer.variant, peer.key)
            report.add(named, await environments.run(peer, order, interpreter))
    except environments.PeerFailed as error:
        report.failure = str(error)


def as_json(reports: Sequence[PeerReport], embedding_ms: float) -> str:
    """Returns all figures but the single answers and times."""
    return json.dumps(
        [
            {
                "name": report.name,
                "note": report.note,
                "failure": report.failure,
                "versions": next((result.versions for result in report.results.values()), {}),
                "measures": report.measures,
                **({} if report.failure else report.figures(embedding_ms)),
            }
            for report in reports
        ],
        indent=2,
    )

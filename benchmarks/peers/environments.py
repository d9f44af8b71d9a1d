"""Builds virtual environments with the packages of peers, and runs runners in them."""

from __future__ import annotations

import asyncio
import shutil
import sys
from pathlib import Path

from app import settings as config
from benchmarks.peers.catalogue import PeerSpec
from benchmarks.peers.exchange import Order, Result
from benchmarks.service import ROOT

RUNNER_PACKAGES = ("numpy", "psutil", "asyncpg", "uvloop")
"""What every runner imports."""
INSTALL_S, RUN_S = 1800.0, 3600.0
BUILT = "stepwell-peer"
"""The file that marks a complete environment."""


class PeerFailed(Exception):
    """A peer that cannot be installed or run; the message says why."""


async def python(peer: PeerSpec, folder: Path | None) -> Path:
    """Returns the interpreter that has the peer's packages; an environment below `folder` is built once.

    Raises PeerFailed if there is no folder or the packages cannot be installed.
    """
    if not peer.packages:
        return Path(sys.executable)
    if folder is None:
        raise PeerFailed("not installed: --environments names no folder")
    home = folder / peer.runner
    interpreter = home / "bin" / "python"
    if not (home / BUILT).exists():
        uv = (sys.executable, "-m", "uv")
        shutil.rmtree(home, ignore_errors=True)
        await _run(*uv, "venv", "--quiet", "--python", sys.executable, str(home), timeout_s=INSTALL_S)
        packages = (*RUNNER_PACKAGES, *peer.packages)
        await _run(*uv, "pip", "install", "--quiet", "--python", str(interpreter), *packages, timeout_s=INSTALL_S)
        (home / BUILT).touch()
    return interpreter


async def run(peer: PeerSpec, order: Order, interpreter: Path) -> Result:
    """Carries out an order in a process of the peer's environment. Raises PeerFailed."""
    path = Path(order.result).with_name("order.json")
    order.save(path)
    await _run(str(interpreter), "-m", f"benchmarks.peers.runners.{peer.runner}", str(path), timeout_s=RUN_S)
    return Result.load(Path(order.result))


async def _run(*command: str, timeout_s: float) -> None:
    """Runs a command. Raises PeerFailed with the last line of its error output."""
    offline = {"ANONYMIZED_TELEMETRY": "False", "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(ROOT)}
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=ROOT,
        env={**config.environment(), **offline},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        _, error = await asyncio.wait_for(process.communicate(), timeout_s)
    except TimeoutError:
        raise PeerFailed(f"no end after {timeout_s:g} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        lines = error.decode(errors="replace").strip().splitlines() or ["no message"]
        raise PeerFailed(f"exit status {process.returncode}: {lines[-1][:300]}")

"""The processes that the tests' process has started."""

import psutil


def running(argument: str) -> list[psutil.Process]:
    """Those that run and have this argument."""
    return [child for child in psutil.Process().children() if _has(child, argument)]


def _has(process: psutil.Process, argument: str) -> bool:
    try:
        return argument in process.cmdline()
    except psutil.NoSuchProcess:  # it has ended, and may be a zombie still
        return False

"""Joins a Ray cluster, or starts one on this machine."""

from __future__ import annotations

import logging
import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sim.errors import RunError

PATIENCE = 10.0
"""Seconds in which the port of a cluster has to answer."""


@contextmanager
def running_ray(*, join: bool = False) -> Iterator[None]:
    """Use the Ray that this process is part of; else join the cluster at `RAY_ADDRESS`, or start a local one.

    What was started here ends here, and leaves no files.

    Args:
        join: Whether to join a cluster that runs on this machine rather than start another.

    Raises:
        RunError: There is no cluster at that address.
    """
    import ray

    if ray.is_initialized():
        yield
        return
    session: Path | None = None
    try:
        session = _start(join)
        yield
    finally:
        ray.shutdown()
        if session is not None:
            _remove_session(session)


def _start(join: bool) -> Path | None:
    """Return the directory of the session that was started, or None when a cluster was joined."""
    # Ray would otherwise warn that a later version changes what it does with accelerators.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    address = os.environ.get("RAY_ADDRESS")
    if address:
        _check_port(address)
    try:
        if address:
            _init(address)
        elif not (join and _join()):
            return Path(_init("local", include_dashboard=False).address_info["session_dir"])
    except (ConnectionError, ValueError, RuntimeError) as error:
        where = f"at RAY_ADDRESS={address}" if address else "on this machine"
        raise RunError(f"no Ray cluster could be reached {where}: {str(error).splitlines()[0]}") from None
    return None


def _join() -> bool:
    try:
        _init("auto")
    except ConnectionError:
        return False
    return True


def _init(address: str, **options: Any) -> Any:
    import ray

    return ray.init(address, logging_level=logging.ERROR, log_to_driver=False, **options)


def _check_port(address: str) -> None:
    """Knock at the cluster's port: Ray itself would go on trying for minutes."""
    if address in ("auto", "local"):
        return
    try:
        parts = urlsplit(address if "://" in address else f"ray://{address}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if host is None or port is None:
        raise RunError(f"RAY_ADDRESS={address}: HOST:PORT, ray://HOST:PORT, auto or local is needed")
    try:
        socket.create_connection((host, port), PATIENCE).close()
    except OSError as error:
        raise RunError(f"no Ray cluster could be reached at RAY_ADDRESS={address}: {error.strerror or error}") from None


def _remove_session(session: Path) -> None:
    shutil.rmtree(session, ignore_errors=True)
    latest = session.with_name("session_latest")
    if latest.is_symlink() and latest.readlink() == session:
        latest.unlink(missing_ok=True)

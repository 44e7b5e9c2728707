"""Joins a Ray cluster, or starts one on this machine."""

from __future__ import annotations

import logging
import os
import socket
from urllib.parse import urlsplit

from sim.errors import RunError

PATIENCE = 10.0
"""Seconds in which the port of a cluster has to answer."""


def start_ray(*, join_running: bool = False) -> None:
    """Join the cluster at `RAY_ADDRESS`; where that is not set, start a local one.

    Args:
        join_running: Whether to join a cluster that runs on this machine rather than start another.

    Raises:
        RunError: There is no cluster at that address.
    """
    import ray

    # Ray would otherwise warn that a later version changes what it does with accelerators.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    address = os.environ.get("RAY_ADDRESS")
    if address:
        _check_port(address)
    try:
        if address:
            ray.init(address, logging_level=logging.ERROR, log_to_driver=False)
        elif not (join_running and _join_running()):
            ray.init("local", include_dashboard=False, logging_level=logging.ERROR, log_to_driver=False)
    except (ConnectionError, ValueError, RuntimeError) as error:
        where = f"at RAY_ADDRESS={address}" if address else "on this machine"
        raise RunError(f"no Ray cluster could be reached {where}: {str(error).splitlines()[0]}") from None


def _join_running() -> bool:
    import ray

    try:
        ray.init("auto", logging_level=logging.ERROR, log_to_driver=False)
    except ConnectionError:
        return False
    return True


def _check_port(address: str) -> None:
    """Knock at the cluster's port: Ray itself would go on trying for minutes."""
    parts = urlsplit(address if "://" in address else f"ray://{address}")
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if address in ("auto", "local"):
        return
    if host is None or port is None:
        raise RunError(f"RAY_ADDRESS={address}: HOST:PORT, ray://HOST:PORT, auto or local is needed")
    try:
        socket.create_connection((host, port), PATIENCE).close()
    except OSError as error:
        raise RunError(f"no Ray cluster could be reached at RAY_ADDRESS={address}: {error.strerror or error}") from None

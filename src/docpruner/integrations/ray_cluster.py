"""Joining a Ray cluster, or starting one on this machine."""

from __future__ import annotations

import importlib.util
import os
import socket
from typing import Any
from urllib.parse import urlsplit

from docpruner.errors import ClusterError, MissingExtraError

SECONDS = 5.0  # that the cluster's machine has to take a connection
QUIET = {"log_to_driver": False, "logging_level": "ERROR"}


def joined(address: str | None) -> bool:
    """Connect to a cluster; False if this process was connected before.

    None and `auto` are the cluster that runs on this machine, or else a new one. Ray itself takes
    half a minute to say that nobody listens at an address, so that is found out first.
    """
    ray = imported_ray()
    if ray.is_initialized():
        return False
    address = None if address == "auto" else address or None
    if address is not None:
        _require_listener(address)
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # else ray warns of it
    local = {} if address else {"include_dashboard": False}
    try:
        try:
            ray.init(address=address, **QUIET, **local)
        except ConnectionAbortedError:  # its client server was slow to start: it is there now
            ray.init(address=address, **QUIET, **local)
    except Exception as error:  # ConnectionError, RuntimeError and others, by the kind of address
        reason = str(error).strip().splitlines()
        raise ClusterError(
            f"can't join the Ray cluster at {address or 'this machine'}: "
            f"{' '.join(reason[:2]) or type(error).__name__}. All machines need the same versions "
            "of Python, Ray and docpruner, and the cluster's token if it asks for one "
            "(RAY_AUTH_MODE=token and RAY_AUTH_TOKEN); host:6379 can be joined from a machine of "
            "the cluster only, ray://host:10001 from any"
        ) from error
    return True


def imported_ray() -> Any:
    if importlib.util.find_spec("ray") is None:
        raise MissingExtraError("work on a cluster", "ray")
    import ray

    return ray


def _require_listener(address: str) -> None:
    parts = urlsplit(address if "://" in address else f"ray://{address}")
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if parts.scheme != "ray" or not host or not port:
        raise ClusterError(
            f"{address!r} is no address of a Ray cluster; give auto, host:6379 or ray://host:10001"
        )
    try:
        with socket.create_connection((host, port), SECONDS):
            pass
    except OSError as error:
        raise ClusterError(
            f"no Ray cluster answers at {address} ({error}); start one there with `ray start "
            "--head`, or leave the address out to work on this machine"
        ) from None

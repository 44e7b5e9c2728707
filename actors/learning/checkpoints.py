"""Policies on disk: one file per agent in the run directory, `policies/AGENT.msgpack`, with all models of the agent."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Final

import msgspec

from actors.learning.models import model_from_bytes
from actors.learning.value import ValueModel
from sim.errors import CodecError, ConfigError, RunError

FOLDER: Final = "policies"
FORMAT: Final = "quorum-policies"
SCHEMA: Final = 1
SUFFIX: Final = ".msgpack"
LONGEST: Final = 200
"""Longest file name before the suffix, in bytes: file systems take 255, and the temporary file has a longer one."""


class _Header(msgspec.Struct, frozen=True):
    """What every schema has; read first, so that a file of a later one can say so."""

    format: str
    schema: int


class _Checkpoint(msgspec.Struct, frozen=True):
    format: str
    schema: int
    agent_id: str
    models: dict[str, bytes]
    digest: bytes


def save_policies(run: Path, agent_id: str, models: Mapping[str, ValueModel]) -> Path:
    """Save the models of an agent, in place of those saved before: all or nothing, whenever the machine stops.

    Args:
        run: The run directory; the folder is made in it.
        agent_id: The agent.
        models: Its models by name, such as one for each decision that it learns.

    Returns:
        The file.

    Raises:
        ConfigError: The agent id is too long for a file name, or no valid Unicode text.
        OSError: The file cannot be written.
    """
    file = policy_file(run, agent_id)
    encoded = {name: models[name].to_bytes() for name in sorted(models)}
    checkpoint = _Checkpoint(FORMAT, SCHEMA, agent_id, encoded, _digest(agent_id, encoded))
    file.parent.mkdir(parents=True, exist_ok=True)
    _write(file, msgspec.msgpack.encode(checkpoint))
    return file


def load_policies(run: Path, agent_id: str) -> dict[str, ValueModel]:
    """Load the models of an agent.

    Raises:
        RunError: The file is missing, damaged, of a later version of this product, another agent's, or none of this
            product's.
    """
    file = policy_file(run, agent_id)
    checkpoint = _read(file)
    if checkpoint.agent_id != agent_id:
        raise RunError(f"{file}: these are the policies of agent {checkpoint.agent_id!r}; the file was renamed")
    try:
        return {name: model_from_bytes(data) for name, data in checkpoint.models.items()}
    except CodecError as error:
        raise RunError(f"{file}: the file is damaged: {error}; delete it to start learning anew") from error


def saved_agents(run: Path) -> list[str]:
    """Return the ids of the agents whose policies a run directory has, in order; files of other names are left out."""
    found = (_agent_id(file.name) for file in (run / FOLDER).glob(f"*{SUFFIX}"))
    return sorted(agent_id for agent_id in found if agent_id is not None)


# ── file names ──────────────────────────────────────────────────────────────────────────────────────────


def policy_file(run: Path, agent_id: str) -> Path:
    """Return where the policies of an agent are.

    Different ids give different names, also where a file system does not tell `A` from `a`: small letters, digits,
    `-` and `_` stand for themselves, and every other byte of the id's UTF-8 is written as % and two digits.

    Raises:
        ConfigError: The name would be too long, or the id is no valid Unicode text.
    """
    try:
        name = _file_name(agent_id)
    except UnicodeEncodeError as error:
        raise ConfigError(f"agent id {agent_id!r}: half of a surrogate pair is no text; take it out") from error
    if len(name) > LONGEST:
        raise ConfigError(f"agent id {agent_id!r}: as a file name it has {len(name)} bytes, and {LONGEST} are allowed")
    return run / FOLDER / (name + SUFFIX)


def _file_name(agent_id: str) -> str:
    safe = b"abcdefghijklmnopqrstuvwxyz0123456789-_"
    data = agent_id.encode()
    return "".join(chr(byte) if byte in safe else f"%{byte:02x}" for byte in data) or "%"


def _agent_id(file_name: str) -> str | None:
    name = file_name.removesuffix(SUFFIX)
    data = re.sub(rb"%([0-9a-f]{2})", lambda match: bytes.fromhex(match[1].decode()), name.encode(errors="replace"))
    try:
        agent_id = "" if name == "%" else data.decode()
    except UnicodeDecodeError:
        return None
    return agent_id if _file_name(agent_id) == name else None


# ── files ───────────────────────────────────────────────────────────────────────────────────────────────


def _read(file: Path) -> _Checkpoint:
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        raise RunError(f"{file}: there is no such file; no policies of this agent were saved in this run") from None
    except OSError as error:
        raise RunError(f"{file}: the file cannot be read: {error.strerror}") from error
    try:
        header = msgspec.msgpack.decode(data, type=_Header)
    except msgspec.DecodeError as error:
        raise RunError(f"{file}: the file is damaged or no policy file: {error}") from None
    if header.format != FORMAT:
        raise RunError(f"{file}: no policy file; it is of format {header.format!r}")
    if header.schema != SCHEMA:
        raise RunError(f"{file}: of schema {header.schema}, and this version reads {SCHEMA}; use the one that wrote it")
    try:
        checkpoint = msgspec.msgpack.decode(data, type=_Checkpoint)
    except msgspec.DecodeError as error:
        raise RunError(f"{file}: the file is damaged: {error}; delete it to start learning anew") from None
    if checkpoint.digest != _digest(checkpoint.agent_id, checkpoint.models):
        raise RunError(f"{file}: the file is damaged: its digest differs; delete it to start learning anew")
    return checkpoint


def _digest(agent_id: str, models: Mapping[str, bytes]) -> bytes:
    return blake2b(msgspec.msgpack.encode([agent_id, models]), digest_size=16).digest()


def _write(file: Path, data: bytes) -> None:
    """Write a file so that it is there whole, or as it was before."""
    part = file.with_name(f"{file.name}.{os.getpid()}-{threading.get_ident()}.tmp")
    try:
        with part.open("wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(file)
    except BaseException:  # Ctrl-C too
        part.unlink(missing_ok=True)
        raise
    if os.name == "posix":  # make the new name last
        descriptor = os.open(file.parent, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

"""The machine's fingerprint: what a figure must carry to be compared with another one."""

import os
import platform
import subprocess
from pathlib import Path
from typing import Any


def fingerprint() -> dict[str, Any]:
    """System, processor, cores and interpreter of this machine. Nothing that tells who owns it."""
    return {
        "system": platform.system(),
        "release": platform.release(),
        "machine": platform.machine(),
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
    }


def cpu_name(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """The processor as its vendor names it; `unknown` where the system does not say."""
    try:
        lines = cpuinfo.read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def commit(folder: Path) -> dict[str, Any] | None:
    """Commit, branch and cleanliness of the checkout around a folder; None outside of one."""
    head = _git(folder, "rev-parse", "HEAD")
    if head is None:
        return None
    return {
        "commit": head,
        "branch": _git(folder, "rev-parse", "--abbrev-ref", "HEAD"),
        "dirty": bool(_git(folder, "status", "--porcelain")),
    }


def _git(folder: Path, *arguments: str) -> str | None:
    command = ["git", *arguments]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()

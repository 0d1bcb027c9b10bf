"""Adds the command ``linerate`` to a wheel, for hatchling.

It is the file that the variable LINERATE_COMMAND names, for the platforms in LINERATE_PLATFORMS; else
cargo builds it for this machine.
"""

import os
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CommandHook(BuildHookInterface[Any]):
    """What ``[tool.hatch.build.targets.wheel.hooks.custom]`` runs."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Says where the command is, and where it runs."""
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        platforms = os.environ.get("LINERATE_PLATFORMS", platform)
        command = os.environ.get("LINERATE_COMMAND") or self.build()
        build_data["pure_python"] = False
        build_data["shared_scripts"][command] = "linerate"
        build_data["tag"] = f"py3-none-{platforms}"

    def build(self) -> str:
        """Builds the command of this clone, without symbols; its path."""
        root = Path(self.root).parent
        folder = root / "target/python-command"
        cargo = ["cargo", "install", "--locked", "--force", "--no-track"]
        cargo += ["--config", "profile.release.strip = true"]
        subprocess.run([*cargo, "--path", root / "crates/cli", "--root", folder], check=True)
        return str(folder / "bin/linerate")

"""The package of measurements: its devices, their families, and where its files are."""

from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType

from rooflint.base.errors import RooflintError, extra

FAMILIES: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "ampere": {"a100_sxm": "nvidia/a100-sxm4-80gb"},
        "hopper": {"h100_sxm": "nvidia/h100-sxm5-80gb", "h200_sxm": "nvidia/h200-sxm-141gb"},
        "ada": {"l40s": "nvidia/l40s"},
        "blackwell": {
            "b200_sxm": "nvidia/b200-sxm",
            "b300_sxm": "nvidia/b300-sxm",
            "gb200": "nvidia/gb200-gpu",
            "gb300": "nvidia/gb300-gpu",
        },
        "rtx_pro": {"rtx_pro_6000_server": "nvidia/rtx-pro-6000-blackwell-server"},
    }
)
"""Devices by folder of the data, by family. A family shares a generation and a kind of memory."""

NAMES: Mapping[str, str] = MappingProxyType(
    {"ampere": "Ampere", "hopper": "Hopper", "ada": "Ada", "blackwell": "Blackwell", "rtx_pro": "RTX PRO"}
)
"""Labels of families."""

EXCLUDED: Mapping[str, str] = MappingProxyType(
    {"b60": "Intel Arc Pro B60: no spec here, and launched one by one from the host, which hides the kernels"}
)
"""Folders with matrix products that are left out, and why."""

SUPERSEDED: Mapping[tuple[str, str, str], str] = MappingProxyType(
    {("h100_sxm", "sglang", "0.5.6.post2"): "the same framework was measured again with 0.5.14"}
)
"""(folder, framework, version) of tables that are left out, and why."""


FAMILY_OF: Mapping[str, str] = {name: family for family, members in FAMILIES.items() for name in members.values()}
"""The family of each measured device."""


def family_of(device: str) -> str:
    """The family of a measured device. Raises KeyError for others."""
    return FAMILY_OF[device]


def folder_of(device: str) -> str:
    """The folder of a measured device. Raises KeyError for others."""
    return next(folder for folder, name in FAMILIES[family_of(device)].items() if name == device)


def devices(family: str) -> tuple[str, ...]:
    """The measured devices of a family."""
    return tuple(FAMILIES[family].values())


# ---- The installed package; its files are read in place

PUBLISHED = "silicon/published"
"""The folder of a golden root with tables of published times; it has no claims."""

TOPICS = ("network", "generation", "training", "power")
"""What claims about published tables with rows of several devices are about. With an `s` it is their folder within
PUBLISHED, and the module here that reads them.
"""

NAME = "aiconfigurator-core"
SERIES = "0.12"
EXTRA = extra("silicon")


class NotInstalledError(RooflintError):
    """The measurements, or a library that reads them, are not installed."""


def require(*modules: str) -> None:
    """Raise NotInstalledError for the first of some modules of the extra that is not installed."""
    for module in modules:
        if find_spec(module) is None:
            raise NotInstalledError(f"{module} is not installed; {EXTRA}")


def data_folder() -> Path:
    """The folder with one folder per measured device. Raises NotInstalledError."""
    require("pyarrow", "scipy")
    try:
        found = version(NAME)
    except PackageNotFoundError:
        raise NotInstalledError(f"{NAME} {SERIES} is not installed; {EXTRA}") from None
    spec = find_spec("aiconfigurator_core")
    if not found.startswith(f"{SERIES}.") or spec is None or spec.origin is None:
        raise NotInstalledError(f"want {NAME} {SERIES}, found {found}; {EXTRA}")
    return Path(spec.origin).parent / "systems" / "data"


def label() -> str:
    """`aiconfigurator-core 0.12.0`. Raises NotInstalledError."""
    data_folder()
    return f"{NAME} {version(NAME)}"


def tables_in(folder: str, roots: Iterable[Path]) -> Iterator[Path]:
    """All tables in a folder of some golden folders."""
    for root in roots:
        yield from sorted((root / folder).glob("*.yaml"))

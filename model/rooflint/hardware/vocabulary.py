"""Words of device names: which of them tell products apart, which only describe, and which count devices.

Nothing here knows a device. `words` takes a name apart; the other functions say what kind of word each one is.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache

from rooflint.base.suggestions import MOST, edits, nearest

NOISE = frozenset(
    {
        *("nvidia", "amd", "intel", "google", "apple", "aws", "amazon", "huawei", "qualcomm", "stillwater", "hailo"),
        *("corporation", "corp", "inc", "technologies", "habana", "labs", "annapurna", "r", "tm"),
        *("ampere", "cloud", "tesla", "geforce", "rtx", "gtx", "quadro", "instinct", "radeon", "rx", "jetson", "xeon"),
        *("platinum", "core", "epyc", "ryzen", "ascend", "data", "center", "centre", "datacenter", "ai", "tensor"),
        *("accelerator", "accelerators", "graphics", "card", "cards", "module", "board", "processor", "processors"),
        *("founders", "fe", "edition", "generation", "series", "single", "per", "device", "devices", "chip", "chips"),
        *(
            "soc",
            "nvlink",
            "ecc",
            "gpus",
            "tpus",
            "cpus",
            "socket",
            "sockets",
            "genoa",
            "bergamo",
            "sapphire",
            "emerald",
            "granite",
            "vram",
            "memory",
            "ram",
            "mi200",
            "real",
        ),
        *("rapids", "alder", "lake", "zen", "lovelace", "i3", "i5", "i7", "i9"),
    }
)
"""Makers, series, code names and plain nouns around a product's name; they do not tell two devices apart."""

SYSTEMS = {"dgx": 8, "hgx": 8, "station": 4}
"""Systems by the number of devices in one; `DGX Station` has four."""

MODIFIERS = frozenset(
    {
        *("ti", "super", "max", "ultra", "pro", "ada", "nano", "server", "edge", "mini", "plus", "sff", "lite"),
        *("d", "s", "x", "q", "xt", "xtx", "xp", "nx", "gre"),
    }
)
"""Words that make another product of a name and mean none alone."""

OF_CARDS = frozenset({"ti", "super", "xt", "xtx", "gre"})
"""Words behind a number without which another graphics card is meant: an RX 6700 is no RX 6700 XT."""

OTHER_PRODUCTS = frozenset(
    {
        *("laptop", "notebook", "mobile", "maxq", "cpu", "host", "dla", "mig", "slice", "partition", "vgpu"),
        *("pod", "rack", "cluster", "node", "server", "total"),
    }
)
"""Words of a remark that make another product of a name: part of a device, several, or one beside it."""

LONG = 8
"""Letters of a name in which two may be mistyped."""

MOST_WORDS = 40
"""Words of a name that are read; no product name has more."""

_FORM = re.compile(r"(sxm\d*|pcie|nvl|oam|dgxs)")
_SIZE = re.compile(r"(\d{1,6})(?:gb|gib|g)")
_CORES = re.compile(r"(\d{1,4})cores?")
_TIMES = re.compile(r"x(\d{1,4})|(\d{1,3})x")
_IN_A_NODE = ("2x", "4x", "8x", "16x")
_SYSTEM = re.compile(r"nvl(\d{1,4})")
SUPERCHIP = "superchip"
_PAIRED = re.compile(r"gb\d00")
"""What a superchip has two of; a GH200 has one GPU."""
_FOOTNOTE = re.compile(r"\(\d\)|\[\d\]|\*+$|[†‡¹²³]+")
_WORD = re.compile(r"[a-z0-9]+(?:\.[0-9]+)?\+?")
_REMARK = re.compile(r"\(([^()]*)\)|\[([^\[\]]*)\]")

_CAPITALS = re.compile(r"(?<=[A-Z])(?=[A-Z][a-z]{2})")
"""Where a word begins behind an abbreviation: `RTXPro`."""
_OF_MEMORY = re.compile(r"(?i)\b(?:hbm|g?ddr|lpddr)\d\w?\b")

_NOUN = "(?:gpu|tpu|chip|card|device|accelerator|socket)"

#: Spellings of one word: what stands there, and what is read.
_SPELLINGS = tuple(
    (re.compile(pattern), instead)
    for pattern, instead in (
        (r"[®™]|\((?:r|tm|c)\)", " "),
        (r"@\s*\d+(?:\.\d+)?\s*[gm]hz", " "),
        (r"\b\d+(?:st|nd|rd|th)[\s-]+gen(?:eration)?\b", " "),
        (r"\bpci[\s-]?e(?:xpress)?|\bpci-express\b", "pcie"),
        (r"\b(pcie)[\s_-]*(?:v|gen)?[\s_-]*\d(?:\.\d)?(?![\d.]*\s*[gx]?i?b)(?=\b|_|x)", r"\1"),
        (r"\b(pcie)((?:[\s_-]*x(?:1|4|8|16))?)(?=\b|_)", r"\1"),
        (r"\bdgx[\s_-]1v?\b", "dgx"),
        (r"\bdgx[\s_-]2\b", "dgx x16"),
        (r"(?<![a-z0-9])sm[_-]?(\d{2,3})(?![a-z0-9.])", r" sm\1 "),
        (r"(?<![a-z0-9])(?:cc|compute capability)[\s_-]*(\d{1,2})\.(\d)(?![0-9])", r" sm\1\2 "),
        (r"\bgrace[\s_-]hopper\b", "gh200"),
        (r"\bgrace[\s_-]blackwell\b", "gb200"),
        (r"(?<![\d.])(\d{1,6})[\s_-]*(gb|gib)(?![a-z0-9])", r" \1\2 "),
        (r"(?<![a-z0-9.])(\d{1,4})[\s_-]*cores?(?![a-z0-9])", r" \1core "),
        (rf"(?<![a-z0-9.])(\d{{1,3}})[\s_-]*{_NOUN}s(?![a-z0-9])", r" x\1 "),
        (rf"(?<![a-z0-9.])(\d{{1,3}})-{_NOUN}(?![a-z0-9])", r" x\1 "),
        (rf"(?:^|(?<=[(\[,;]))\s*(\d{{1,3}})[\s_-]*{_NOUN}(?![a-z0-9]|\s*cores?)", r" x\1 "),
        (r"^([1-9]\d{0,3})\s*[x×*]\s*(?=[a-z])", r" \1x "),
        (r"(?<=[a-z0-9)])\s*[×*]\s*(\d{1,4})(?![a-z0-9])", r" x\1 "),
        (r"\s[x×]\s(\d{1,4})$", r" x\1 "),
        (r"^(?:dual|pair of)\b", " 2x "),
    )
)


def words(name: str) -> tuple[str, ...]:
    """`NVIDIA A100-SXM4-80 GB` → nvidia, a100, sxm4, 80gb."""
    plain = _FOOTNOTE.sub(" ", name.lower().strip())
    for pattern, instead in _SPELLINGS:
        plain = pattern.sub(instead, plain)
    return tuple(_WORD.findall(plain))


def squeezed(name: str) -> str:
    """A name without what spellings differ in: case, spaces, hyphens, underscores, brackets."""
    return re.sub(r"[^a-z0-9+.]", "", _FOOTNOTE.sub(" ", name.lower()))


def is_form(word: str) -> bool:
    """Whether a word is a form factor: `sxm4`, `pcie`."""
    return _FORM.fullmatch(word) is not None


def gigabytes(word: str) -> int | None:
    """The size that a word states, or may state: 80 of `80gb` and of `80`. [GB or GiB]"""
    size = _SIZE.fullmatch(word) or re.fullmatch(r"(\d{1,6})", word)
    return int(size[1]) if size else None


def cores(word: str) -> int | None:
    """The number of cores that a word states: 32 of `32core`."""
    found = _CORES.fullmatch(word)
    return int(found[1]) if found else None


def tells(word: str) -> bool:
    """Whether a word tells one product from another: neither form factor nor size nor series."""
    described = _FORM.fullmatch(word) or _SIZE.fullmatch(word) or _CORES.fullmatch(word)
    return not described and word not in NOISE and word not in SYSTEMS and word != "gpu"


@cache
def required(name: str) -> tuple[str, ...]:
    """The words of an id or name without which it is not meant; variants of one product share them.

    A series belongs to it where nothing else has a digit: Titan RTX, beside Titan V.
    """
    own = words(name.rpartition("/")[2].replace("plus", "+"))
    telling = tuple(word for word in own if tells(word))
    if telling and not any(map(str.isdigit, "".join(telling))):
        telling = tuple(word for word in own if tells(word) or word in ("rtx", "gtx"))
    return telling or own


def counted(given: Sequence[str]) -> tuple[tuple[str, ...], int]:
    """The words without those that count devices, and the number of devices.

    A number that is written goes before that of a system: `HGX H100 4-GPU` has four. `per GPU` is one of them. The
    devices of a system are SXM modules, unless its name says otherwise.
    """
    times, named, left = 0, 1, []
    given = [word for word in given if word != "rack" or not any(map(_SYSTEM.fullmatch, given))]
    for word in given:
        several, system = _TIMES.fullmatch(word), _SYSTEM.fullmatch(word)
        if several and (several[1] or word == given[0] or word in _IN_A_NODE):
            times = max(times, 1) * max(int(several[1] or several[2]), 1)
        elif word == SUPERCHIP and any(map(_PAIRED.fullmatch, given)):
            named = 2
        elif system or word in SYSTEMS:
            named = int(system[1]) if system else SYSTEMS[word]
        else:
            left.append(word)
    if {"dgx", "hgx"}.intersection(given) and not any(map(is_form, given)):
        left.append("sxm")
    return tuple(left), 1 if "per" in given else times or named


def of_pair(given: tuple[str, ...]) -> tuple[str, ...]:
    """The words for one board of a bridged pair that is named by the memory of both: `h100 nvl 188gb`; else none."""
    sizes = [size for word in given if _SIZE.fullmatch(word) and (size := gigabytes(word))]
    if "nvl" not in given or len(sizes) != 1 or sizes[0] % 2:
        return ()
    return tuple(f"{sizes[0] // 2}gb" if _SIZE.fullmatch(word) else word for word in given)


def is_system(given: Iterable[str]) -> bool:
    """Whether words name a system of devices, whose power is not that of its devices."""
    given = tuple(given)
    is_pair = SUPERCHIP in given and any(map(_PAIRED.fullmatch, given))
    return is_pair or any(word in SYSTEMS or _SYSTEM.fullmatch(word) for word in given)


def without_remarks(name: str, telling: frozenset[str]) -> str:
    """A name without those remarks in brackets that say nothing of the product: `H100 SXM5 (preliminary)`.

    A remark stays if one of its words is telling, has a digit or makes another product of the name.
    """

    def kept(match: re.Match[str]) -> str:
        own = words(match[1] or match[2] or "")
        known = telling | MODIFIERS | OTHER_PRODUCTS | NOISE
        plain = all(word.isalpha() and len(word) > 2 and word not in known and not is_form(word) for word in own)
        return " " if own and plain else match[0]

    return _REMARK.sub(kept, name)


def without_series(name: str) -> str:
    """A name without what its remarks in brackets say of the series or the memory: `B200 (Blackwell, 192GB HBM3e)`.

    Blackwell tells an RTX PRO 6000 apart and describes a B200. Of a remark, the parts between commas stay that have a
    word which makes another product of the name, or a digit.
    """

    def kept(match: re.Match[str]) -> str:
        remark = match[1] or match[2] or ""
        said = [] if _describes(remark) else [_OF_MEMORY.sub(" ", part) for part in re.split("[,;]", remark)]
        left = [part.strip() for part in said if not _describes(part)]
        return f" ({', '.join(left)})" if left else " "

    return _REMARK.sub(kept, name)


def _describes(part: str) -> bool:
    """Whether words tell a series or nothing: `Blackwell Ultra` does, as B300 are called so, and `Ultra` does not."""
    own = words(re.sub(r"(?i)\bblackwell ultra\b", "blackwell", part))
    return all(word.isalpha() and word not in MODIFIERS | OTHER_PRODUCTS and not is_form(word) for word in own)


def without_size(name: str) -> tuple[str, int | None]:
    """The words of a name without the first that states a size, and that size: `B200 192GB`. [GB]"""
    given = words(name)
    sized = next((word for word in given if _SIZE.fullmatch(word)), "")
    return " ".join(word for word in given if word != sized), gigabytes(sized)


def run_together(name: str) -> str:
    """The words of a name that are run together behind an abbreviation: `RTXPro6000` → RTX Pro 6000; else empty."""
    apart = _CAPITALS.sub(" ", name)
    return re.sub(r"(?<=[a-z])(?=\d)", " ", apart) if apart != name else ""


def is_beginning(name: str, ids: Sequence[str]) -> bool:
    """Whether ids, some of which there are, all begin with the words of a name, of which one has a digit."""
    begun = squeezed(name)
    whole = (squeezed(one.rpartition("/")[2]) for one in ids)
    return bool(ids) and any(map(str.isdigit, begun)) and all(one.startswith(begun) for one in whole)


def near_ids(name: str, ids: Iterable[str], most: int = MOST) -> list[str]:
    """Ids that are spelt most like a name, nearest first; vendors are not compared.

    An id counts as spelt in full or by its telling words alone, whichever is nearer: `h1000` is near the H100.
    """
    spelt = {one: (squeezed(one.rpartition("/")[2]), "".join(required(one))) for one in ids}
    return nearest(squeezed(name.rpartition("/")[2]), spelt, most)


def mistyped_ids(name: str, ids: Iterable[str], most: int = MOST) -> list[str]:
    """Ids that begin like a name, or that differ from it in a letter or two: one in a short name, two in a long one.

    What is further away is another product: an i9-13900K is no MI100, a DGX-1 no GTX 1070.
    """
    whole, telling = squeezed(name.rpartition("/")[2]), "".join(required(name))

    def is_near(id_: str) -> bool:
        own = squeezed(id_.rpartition("/")[2])
        begins = len(whole) > 2 and own.startswith(whole)
        return begins or _is_mistyped(whole, own) or _is_mistyped(telling, "".join(required(id_)))

    return near_ids(name, filter(is_near, ids), most)


def _is_mistyped(text: str, meant: str) -> bool:
    allowed = 1 if len(meant) < LONG else 2
    return abs(len(text) - len(meant)) <= allowed and text[:1] == meant[:1] and edits(text, meant) <= allowed

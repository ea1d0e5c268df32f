"""Spellings of what names of columns say: precisions, units, words run together, words of other languages."""

import re
from itertools import pairwise

from rooflint.base.precision import PRECISIONS
from rooflint.base.suggestions import edits
from rooflint.base.units import parse_unit

#: Spellings of precisions, lower case without punctuation.
PRECISION_WORDS = {
    **{name: name for name in PRECISIONS},
    **{"float16": "fp16", "half": "fp16", "f16": "fp16", "bfloat16": "bf16", "float32": "fp32", "single": "fp32"},
    **{
        "f32": "fp32",
        "float64": "fp64",
        "double": "fp64",
        "f64": "fp64",
        "tensorfloat32": "tf32",
        "tfloat32": "tf32",
        "i8": "int8",
    },
    **{"s8": "int8", "float8": "fp8", "e4m3": "fp8", "e5m2": "fp8", "nvfp4": "fp4", "mxfp4": "fp4", "float4": "fp4"},
    **{"mxfp6": "fp6", "mxfp8": "fp8", "i4": "int4", "fp16acc16": "fp16_acc16"},
}

#: Spellings of units, lower case, by how `rooflint.base.units` spells them.
_UNIT_SPELLINGS = {
    "TFLOP/s": "tflops tf tflop tflop/s teraflops teraflop teraflop/s",
    "GFLOP/s": "gflops gf gflop gflop/s gigaflops gigaflop gigaflop/s",
    "PFLOP/s": "pflops pf pflop pflop/s petaflops petaflop petaflop/s",
    "FLOP/s": "flops flops/sec flop/sec",
    "TOP/s": "tops top/s teraops",
    "GOP/s": "gops gigaops",
    "POP/s": "pops petaops",
    "GB/s": "gbps gb/s gbs gb/sec",
    "TB/s": "tbps tb/s tbs tb/sec",
    "MB/s": "mb/s",
    "GiB/s": "gib/s gibps",
    "TiB/s": "tib/s tibps",
    "Gbit/s": "gbit/s",
    "Tbit/s": "tbit/s",
    "B/s": "b/s bytes/s bytes/sec",
    "GB": "gb",
    "GiB": "gib",
    "KiB": "kib kb",
    "TB": "tb",
    "MB": "mb",
    "MiB": "mib",
    "B": "bytes",
    "W": "w watts watt",
    "kW": "kw",
    "MHz": "mhz",
    "GHz": "ghz",
    "Hz": "hz",
    "bit": "bit bits",
}
UNIT_WORDS = {word: unit for unit, words in _UNIT_SPELLINGS.items() for word in words.split()}
BITS_PER_SECOND = re.compile(r"(?<![A-Za-z])([GT])b/s(?:ec)?(?![A-Za-z])")
"""Rates in bits by their small b: `Gb/s`. `Gbps` and `gb/s` do not tell, and most who write them mean bytes."""

_TRANSLATED = {
    **dict.fromkeys(("带宽", "頻寬", "帶寬", "帯域", "대역폭"), "bandwidth"),
    **dict.fromkeys(("显存", "顯存", "显卡内存"), "vram"),
    **dict.fromkeys(("容量", "용량"), "capacity"),
    **dict.fromkeys(("峰值",), "peak"),
    **dict.fromkeys(("功耗",), "tdp"),
    **dict.fromkeys(("型号", "型號", "显卡", "顯卡"), "model"),
    **dict.fromkeys(("架构", "架構"), "architecture"),
    **dict.fromkeys(("实际", "實際", "实测", "實測"), "measured"),
    **dict.fromkeys(("利用率",), "utilization"),
}
"""Words of headers in Chinese, Japanese and Korean."""
_PER_SECOND = re.compile(r"[_ ]per[_ ]s(ec(ond)?)?(?![a-z])", re.IGNORECASE)


_ON_CHIP = re.compile(r"(?<![a-z])on[ _-]?chip(?![a-z])", re.IGNORECASE)
_WITHOUT_TENSOR = re.compile(r"(?<![a-z])(non|no|without)[ _-]*tensor([ _-]*cores?)?(?![a-z])", re.IGNORECASE)


_RUN_TOGETHER = re.compile(
    r"(?<![a-z])(mem|memory|vram|hbm|dram|peak|tensor|cuda)"
    r"(size|bw|bandwidth|capacity|clock|speed|gb|mb|cores?|flops|tflops|perf|performance)(?![a-z])"
)
"""Two words without anything between them: `memsize`, `membw`, `peakflops`, `tensorcores`."""
_LONG = 5
"""Letters of a unit of which one may be mistyped."""
_QUOTIENT = re.compile(
    r"\b(?:peak|flops|compute)\b[^/]*\s/\s[^/]*\b(?:peak|bw|bandwidth)\b|\b(?:fl)?ops?\s?/\s?bytes?\b", re.IGNORECASE
)
_OTHER_UNIT = re.compile(r"[kmgtp]?(?:ips|txns?|transactions|instr|instructions|texels?|pixels?|rays|lups|tok|tps|fps)")
_DEVICES = re.compile(
    r"(?<![\w.])(\d{1,2})\s*[x×]\s*(?:GPU|TPU|accelerator|chip|card|device)s?(?![A-Za-z])", re.IGNORECASE
)


def is_quotient(name: str) -> bool:
    """Whether a name is one quantity over another: `Peak FP32 / DRAM BW`, `[flop/byte]`, and not `FP16 / BF16`."""
    return _QUOTIENT.search(name) is not None


def is_of_other_unit(word: str) -> bool:
    """Whether a word is a unit that figures of specs do not have: `gips`, instructions, or `gtxn`, transactions."""
    return _OTHER_UNIT.fullmatch(word) is not None


def devices_said(name: str) -> int:
    """The number of devices that a header is about: 8 of `HGX 8x GPU memory`."""
    found = _DEVICES.search(name)
    return int(found[1]) if found else 1


def unit_spelt(text: str) -> str | None:
    """The unit of a text in any spelling, as `rooflint.base.units` spells it; None where it is none."""
    bits = BITS_PER_SECOND.fullmatch(text)
    return f"{bits[1]}bit/s" if bits else UNIT_WORDS.get(text.lower())


def unit_mistyped(text: str) -> str | None:
    """The unit of a longer text with one letter too few, too many or wrong, where all that are meant are alike."""
    if len(text) < _LONG:
        return None
    near = {unit for word, unit in UNIT_WORDS.items() if len(word) >= _LONG - 1 and edits(text.lower(), word) == 1}
    factors = {parse_unit(unit)[0] for unit in near}
    return min(near) if len(factors) == 1 else None


def is_per_second(name: str) -> bool:
    """Whether a name says so: `hbm_bytes_per_s`."""
    return _PER_SECOND.search(name) is not None


def words_of(name: str) -> list[str]:
    """Words of a name: `peakBF16_tflops` has peak, bf16, tflops."""
    spelt = re.sub(
        r"\bw/o\b", "without ", re.sub(r"\bw/(?!o\b)", "with ", name, flags=re.IGNORECASE), flags=re.IGNORECASE
    )
    spelt = _WITHOUT_TENSOR.sub("vector", _ON_CHIP.sub("sram", spelt))
    for foreign, english in _TRANSLATED.items():
        spelt = spelt.replace(foreign, f" {english} ")
    spelt = re.sub(r"(?<![a-z0-9])tf(16|64)(?![0-9])", r"tensor fp\1", spelt, flags=re.IGNORECASE)  # beside fp16
    apart = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", _PER_SECOND.sub("", spelt))
    apart = re.sub(r"(flops)(\d+)", r"\1 fp\2", apart, flags=re.IGNORECASE)  # TFLOPS16
    found = re.findall(r"[a-z0-9]+", _RUN_TOGETHER.sub(r"\1 \2", apart.lower()))
    joined = [f"{one}{two}" for one, two in pairwise(found)]
    found += [word for word in joined if word in PRECISION_WORDS]  # 'BF 16'
    return found

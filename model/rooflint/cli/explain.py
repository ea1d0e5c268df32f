"""`rooflint explain`: what a kernel takes, term by term, and what it waits for."""

import re
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from rooflint.answers import explain_attention, explain_collective, explain_gemm, explain_layer
from rooflint.api.kernels import kernel
from rooflint.base.errors import RooflintError
from rooflint.base.precision import bytes_per_element, precision
from rooflint.base.units import BYTES, UnitError, parse_quantity
from rooflint.cli import options
from rooflint.cli.options import Specs
from rooflint.kernels.routing import SMS
from rooflint.kernels.shapes import COLD
from rooflint.output.deliver import deliver

Device = Annotated[str, typer.Option("--hardware", "-d", help="Id, name, or words that exactly one device has.")]
Calibration = Annotated[
    Path | None, typer.Option(help="Calibration of your machine, written by rooflint calibrate device --save.")
]
Sustained = Annotated[
    bool, typer.Option("--sustained", help="In a run of minutes, whose power is held; by default in a short burst.")
]

app = typer.Typer(help="Explain a calibrated kernel time, term by term.", no_args_is_help=True, add_completion=False)


@app.callback()
def _group() -> None:
    """Explain a calibrated kernel time, term by term."""


@app.command()
def gemm(
    m: Annotated[int, typer.Argument(help="Rows of the result.", min=1)],
    n: Annotated[int, typer.Argument(help="Columns of the result.", min=1)],
    k: Annotated[int, typer.Argument(help="Length of each sum.", min=1)],
    hardware: Device,
    compute: options.Arithmetic = "bf16",
    batch: Annotated[int, typer.Option("--batch", "-b", help="Products of that shape at once.", min=1)] = 1,
    copies: Annotated[
        int, typer.Option(help="Sets of weights used in rotation, as in a benchmark; 0: none stays in L2.", min=0)
    ] = 0,
    scale: Annotated[str, typer.Option(help="For fp8: one scale per tensor (default) or per block of 128.")] = "",
    sustained: Sustained = False,
    calibration: Calibration = None,
    at: options.Mode = "",
    form: options.Format = "",
    output: options.Output = None,
    specs: Specs = None,
) -> None:
    """Explain the latency of an m × k by k × n product: tile, split, waves, bytes, power, and the limit."""
    options_: dict[str, Any] = {"scale": scale.lower()} if scale else {}
    times = kernel(
        "gemm", hardware, precision=compute, copies=copies or COLD, calibration=calibration, sustained=sustained, at=at,
        specs=specs, m=m, n=n, k=k, batch=batch, **options_,
    )  # fmt: skip
    deliver(explain_gemm.answer(times), form, output)


@app.command()
def attention(
    heads: Annotated[int, typer.Argument(help="Heads of queries.", min=1)],
    tokens: Annotated[int, typer.Argument(help="Tokens of each sequence; in decode of its cache.", min=1)],
    width: Annotated[int, typer.Argument(help="Elements of a head.", min=1)],
    hardware: Device,
    phase: Annotated[
        str, typer.Option(help="prefill: causal, into a cache; encoder: neither; decode: one new token.")
    ] = "prefill",
    kv_heads: Annotated[int | None, typer.Option(help="Heads of keys and values; by default as many.", min=1)] = None,
    compute: options.Arithmetic = "bf16",
    cache: Annotated[str, typer.Option(help="Precision of the cache; by default that of the arithmetic.")] = "",
    batch: Annotated[int, typer.Option("--batch", "-b", help="Sequences at once.", min=1)] = 1,
    sustained: Sustained = False,
    calibration: Calibration = None,
    at: options.Mode = "",
    form: options.Format = "",
    output: options.Output = None,
    specs: Specs = None,
) -> None:
    """Explain the latency of attention, in prefill, an encoder or decode: blocks, softmax, bytes, power, the limit."""
    if (named := phase.lower()) not in get_args(explain_attention.Phase):
        raise RooflintError(f"--phase: want {', '.join(get_args(explain_attention.Phase))}, found '{phase}'")
    stored = precision(cache).name if cache else ""
    op, of_phase = explain_attention.options_of(named, stored, precision(compute).name)
    times = kernel(
        op, hardware, precision=compute, calibration=calibration, sustained=sustained, at=at, specs=specs, batch=batch,
        heads=heads, kv_heads=kv_heads or heads, tokens=tokens, width=width, **of_phase,
    )  # fmt: skip
    deliver(explain_attention.answer(times), form, output)


@app.command()
def collective(
    kind: Annotated[str, typer.Argument(help="all-reduce, all-gather, reduce-scatter, all-to-all or point-to-point.")],
    message: Annotated[str, typer.Argument(help="Size of the whole message, such as 64MiB.", metavar="SIZE")],
    devices: Annotated[int, typer.Argument(help="Devices of one box that take part.", min=2)],
    hardware: Device,
    library: Annotated[
        str, typer.Option(help="framework: all that serving frameworks have, in a graph; nccl: NCCL, from the host.")
    ] = "framework",
    at: options.Mode = "",
    form: options.Format = "",
    output: options.Output = None,
    specs: Specs = None,
) -> None:
    """Explain the time of a collective over the links of a box: algorithm, bytes, chunks, steps, and the limit."""
    times = kernel(
        "collective", hardware, at=at, specs=specs, message_bytes=_bytes(message), members=devices,
        kind=kind.lower().replace("-", "_"), library=library.lower(),
    )  # fmt: skip
    deliver(explain_collective.answer(times), form, output)


@app.command()
def moe(
    tokens: Annotated[int, typer.Argument(help="Tokens of all ranks together.", min=1)],
    hidden: Annotated[int, typer.Argument(help="Elements of a token.", min=1)],
    width: Annotated[int, typer.Argument(help="Of the feed-forward layer of an expert, or of a device's part.", min=1)],
    experts: Annotated[int, typer.Argument(help="Experts of all ranks together.", min=1)],
    top_k: Annotated[int, typer.Argument(help="Experts that a token chooses.", min=1)],
    hardware: Device,
    ranks: Annotated[int, typer.Option(help="Devices that share the experts.", min=1)] = 1,
    skew: Annotated[
        float, typer.Option(help="Exponent of the power law that loads of experts follow; 0: balanced.")
    ] = 0.0,
    in_place: Annotated[
        bool, typer.Option("--in-place/--sorted", help="Allow FlashInfer's kernels, which data-center Blackwell has.")
    ] = True,
    compute: options.Arithmetic = "bf16",
    sustained: Sustained = False,
    calibration: Calibration = None,
    at: options.Mode = "",
    form: options.Format = "",
    output: options.Output = None,
    specs: Specs = None,
) -> None:
    """Explain the time of a fused layer of experts: grouped products, activation, sum, launches, and the limit."""
    times = kernel(
        "expert_layer", hardware, precision=compute, calibration=calibration, sustained=sustained, at=at, specs=specs,
        tokens=tokens, hidden=hidden, width=width, experts=experts, top_k=top_k, ranks=ranks, skew=skew,
        in_place=in_place,
    )  # fmt: skip
    deliver(explain_layer.answer(times), form, output)


@app.command()
def mla(
    heads: Annotated[int, typer.Argument(help="Heads of queries.", min=1)],
    tokens: Annotated[int, typer.Argument(help="Tokens of each sequence; in decode of its cache.", min=1)],
    hardware: Device,
    phase: Annotated[str, typer.Option(help="decode: one new token; prefill: latents expanded to keys.")] = "decode",
    cache: Annotated[str, typer.Option(help="Of decode: precision of the cache; by default bf16.")] = "",
    split: Annotated[
        bool, typer.Option("--split/--no-split", help="Of decode: allow libraries that split caches.")
    ] = True,
    batch: Annotated[int, typer.Option("--batch", "-b", help="Sequences at once.", min=1)] = 1,
    compute: options.Arithmetic = "bf16",
    sustained: Sustained = False,
    calibration: Calibration = None,
    at: options.Mode = "",
    form: options.Format = "",
    output: options.Output = None,
    specs: Specs = None,
) -> None:
    """Explain the latency of latent attention with the widths of DeepSeek-V3: blocks, bytes, and the limit."""
    if (named := phase.lower()) not in ("decode", "prefill"):
        raise RooflintError(f"--phase: want decode or prefill, found '{phase}'")
    stored = bytes_per_element(precision(cache or compute).name)
    of_phase: dict[str, Any] = {"cache_bytes": stored, "split": split} if named == "decode" else {}
    times = kernel(
        "latent_decode" if named == "decode" else "latent_attention", hardware, precision=compute,
        calibration=calibration, sustained=sustained, at=at, specs=specs, batch=batch, heads=heads, tokens=tokens,
        **of_phase,
    )  # fmt: skip
    deliver(explain_layer.answer(times), form, output)


@app.command()
def routing(
    way: Annotated[str, typer.Argument(help="dispatch: to the experts; combine: back.")],
    tokens: Annotated[int, typer.Argument(help="Tokens of each device.", min=1)],
    hidden: Annotated[int, typer.Argument(help="Elements of a token.", min=1)],
    experts: Annotated[int, typer.Argument(help="Experts of all devices together.", min=1)],
    top_k: Annotated[int, typer.Argument(help="Experts that a token chooses.", min=1)],
    devices: Annotated[int, typer.Argument(help="Devices of one box that share the experts.", min=2)],
    hardware: Device,
    kernels: Annotated[
        str, typer.Option(help="normal or low-latency kernels of DeepEP; by default those that take least.")
    ] = "",
    sms: Annotated[int, typer.Option(help="SMs that carry tokens in normal kernels.", min=1)] = SMS,
    compute: Annotated[
        str, typer.Option("--precision", "-p", help="Of a token on the wire; by default fp8 of dispatch, else bf16.")
    ] = "",
    at: options.Mode = "",
    form: options.Format = "",
    output: options.Output = None,
    specs: Specs = None,
) -> None:
    """Explain the time that tokens take to experts on other devices, and back: SMs, bytes on the links, latency."""
    named = way.lower()
    times = kernel(
        "expert_exchange", hardware, precision=compute or ("fp8" if named == "dispatch" else "bf16"), at=at,
        specs=specs, tokens=tokens, hidden=hidden, top_k=top_k, experts=experts, members=devices, sms=sms, way=named,
        kernels=kernels.lower().replace("-", "_") or None,
    )  # fmt: skip
    deliver(explain_layer.answer(times), form, output)


def _bytes(text: str) -> float:
    """Of `64MiB` or `64 MiB`. Raises RooflintError."""
    try:
        size = parse_quantity(re.sub(r"(?<=\d)(?=[kKMGT]?i?B$)", " ", text.strip()))
    except UnitError:
        size = None
    if size is None or size.dimension != BYTES:
        raise RooflintError(f"SIZE: want bytes, such as 64MiB, found '{text}'")
    return size.value

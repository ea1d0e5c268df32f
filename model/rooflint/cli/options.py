"""Options that several commands share. Names, precisions and modes are resolved by `rooflint.api`."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from rooflint.base.errors import RooflintError
from rooflint.coefficients.library import MODES

Format = Annotated[str, typer.Option("--format", "-f", help="text, json, csv, md or html.")]
Specs = Annotated[
    list[Path] | None,
    typer.Option("--specs", help="Specs folder, instead of the project's own.", exists=True, file_okay=False),
]
Golden = Annotated[
    list[Path] | None,
    typer.Option("--golden", help="Golden folder, instead of the project's own.", exists=True, file_okay=False),
]
Network = Annotated[
    str,
    typer.Argument(
        help="Language model (llama-3.1-8b), Hugging Face config.json, torchvision network (resnet18), "
        "package.module:factory, file.py:factory, .onnx or .pt2 file."
    ),
]
Devices = Annotated[
    list[str] | None,
    typer.Option(
        "--hardware",
        "-d",
        help="Ids, names, globs or kinds, separated by commas or repeated: t4, 'nvidia/l*', orin@30w.",
    ),
]
DeviceName = Annotated[str, typer.Argument(help="Id, name or kind; orin@30w adds an operating point.")]
OneDevice = Annotated[str, typer.Argument(help="Id, name or kind; orin@30w adds an operating point.", metavar="DEVICE")]
Mode = Annotated[str, typer.Option("--at", help="Operating point of all devices, such as 30w; or write DEVICE@30w.")]
Batch = Annotated[int, typer.Option("--batch", "-b", help="Batch size.", min=1)]
BatchOrInput = Annotated[
    int | None,
    typer.Option("--batch", "-b", help="Batch size; by default the first size of --input, or 1.", min=1),
]
Arithmetic = Annotated[str, typer.Option("--precision", "-p", help="Precision of the arithmetic (case-insensitive).")]
Compute = Annotated[
    str,
    typer.Option(
        "--precision", "-p", help="Precision, or policy such as w4a16; rooflint precisions lists them (any case)."
    ),
]
Storage = Annotated[str, typer.Option("--storage", help="Precision of stored data, if it differs.")]
Fuse = Annotated[bool, typer.Option("--fuse/--no-fuse", help="Fuse element-wise ops into the kernels that feed them.")]
Launch = Annotated[str, typer.Option("--launch", help=f"Kernel launch mode: {', '.join(MODES)}, or free.")]
Fidelity = Annotated[
    str, typer.Option("--fidelity", help="roofline, or silicon: calibrated kernel times, for GPUs that have the facts.")
]
Cached = Annotated[
    bool,
    typer.Option(
        "--cached/--uncached", help="Let the largest cache keep what it can from op to op, or move every byte."
    ),
]
Jobs = Annotated[int, typer.Option("--jobs", "-j", help="Processes on this machine; 0 is one per core.", min=0)]
Dask = Annotated[str, typer.Option("--dask", help="Dask scheduler to run on instead, such as tcp://host:8786.")]
Ray = Annotated[str, typer.Option("--ray", help="Ray cluster to run on instead: ray://host:10001, or auto.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="File to write; its suffix sets the format.")]
Prompt = Annotated[
    int | None,
    typer.Option("--prompt", help="New tokens of each sequence, of a language model; 2048 by default.", min=1),
]
Past = Annotated[
    int, typer.Option("--past", help="Tokens of each sequence in the cache; --prompt 1 is a step of decode.", min=0)
]
Generate = Annotated[
    int | None,
    typer.Option("--generate", help="Tokens to write after the prompt: time to first token, per token.", min=1),
]
Train = Annotated[
    bool, typer.Option("--train", help="One training step with Adam: time, memory, MFU; --prompt is its sequence.")
]
Recompute = Annotated[
    str,
    typer.Option("--recompute", help="With --train: activations computed again: none, selective (attention) or full."),
]
Tensor = Annotated[int, typer.Option("--tp", help="Devices of a system that share each product.", min=1)]
Pipeline = Annotated[int, typer.Option("--pp", help="Stages, each with some of the layers.", min=1)]
Expert = Annotated[int, typer.Option("--ep", help="Devices that share the experts, a multiple of --tp.", min=1)]
Context = Annotated[
    int,
    typer.Option(
        "--cp", help="Parts of each sequence and its cache, each on devices of its own; not with --ep.", min=1
    ),
]
Data = Annotated[
    int, typer.Option("--dp", help="With --train: copies of the network, each with its own part of the batch.", min=1)
]
VirtualStages = Annotated[
    int,
    typer.Option(
        "--virtual-stages",
        help="With --train and --pp: parts of the layers on each device, run in turn (interleaved schedule).",
        min=1,
    ),
]
DivideTokens = Annotated[
    bool,
    typer.Option(
        "--sp", help="With --train and --tp: sequence parallelism, norms and residual additions split by tokens."
    ),
]
Zero = Annotated[
    int,
    typer.Option("--zero", help="With --dp: ZeRO stage: share states of Adam (1), gradients (2), weights (3)."),
]
MicroBatch = Annotated[
    int | None, typer.Option("--micro-batch", help="With --train: sequences that a device computes at once.", min=1)
]
Tower = Annotated[
    str, typer.Option("--tower", help="With --train: the image encoder of a multimodal network, frozen or trained.")
]
Lora = Annotated[
    int, typer.Option("--lora", help="With --train: rank of LoRA adapters of attention; only these are trained.", min=0)
]
Tensors = Annotated[str, typer.Option("--tp", help="Devices of a system that share each product, with commas.")]
MemoryShare = Annotated[
    float,
    typer.Option(
        "--memory-share",
        help="With --generate: share of the memory that the run may use; vLLM takes 0.9 by default.",
        min=0.01,
        max=1.0,
    ),
]
Shape = Annotated[
    list[str] | None,
    typer.Option(
        "--input", "-i", help="Shape of the input, batch first, such as 1,3,224,224; once for each of several."
    ),
]


def shapes_of(texts: Sequence[str] | None) -> list[list[int]]:
    """`1,3,224,224` as sizes, for each input. Raises RooflintError."""
    return [_sizes(text) for text in texts or ()]


def _sizes(text: str) -> list[int]:
    try:
        return [int(size) for size in text.split(",")]
    except ValueError:
        raise RooflintError(f"--input: want sizes with commas, such as 1,3,224,224, found '{text}'") from None


def repeated(shapes: Sequence[str] | None, specs: Sequence[Path] | None) -> str:
    """The options of a command that ask for the same network and devices again: ` --input 1,128 --specs mine`."""
    typed = [*(("--input", shape) for shape in shapes or ()), *(("--specs", str(folder)) for folder in specs or ())]
    return "".join(f" {shlex.join(one)}" for one in typed)


def batch_of(batch: int | None, shapes: Sequence[Sequence[int]], own: int = 1) -> int:
    """Samples that run together: those of -b, of --input, or those that the network was made for.

    A shape of one sample goes with every batch. Raises RooflintError where the first two disagree.
    """
    first = shapes[0][0] if shapes else own
    if batch is not None and not shapes:
        return batch
    if batch is not None and first not in (1, batch):
        raise RooflintError(f"--input: want a first size of 1 or of the batch, {batch}, found {first}")
    return first if batch is None else batch


def batches_of(text: str, option: str) -> list[int]:
    """`1,8,64` as batches, and `1:256` as 1 doubled until 256. Raises RooflintError, which names the option."""
    try:
        found = [size for word in text.split(",") for size in _batches(*map(int, word.split(":")))]
    except (TypeError, ValueError):
        found = []
    if not found or min(found) < 1:
        raise RooflintError(f"{option}: want whole numbers with commas, such as 1,8,64, or 1:64, found '{text}'")
    return found


def _batches(first: int, last: int | None = None) -> list[int]:
    """One batch, or the first one doubled until the last."""
    if last is None or first < 1:
        return [first]
    doubled = (first * 2**power for power in range(max(last // first, 1).bit_length()))
    return sorted({*(size for size in doubled if size < last), last}) if last >= first else []

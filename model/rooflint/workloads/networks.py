"""Networks by configuration: `specs/networks/<family>/<name>.yaml`, each fact with its source, and their op tables.

    network_table("llama-3.1-70b", new=2048)             # a Workload; a typo raises, naming the nearest ones

Peaks of devices are derived from facts, and so is the work of a network: nothing here is counted by a capture.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler, create_model
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from rooflint.base import units
from rooflint.base.errors import InputError, Problem, refuse
from rooflint.base.facts import Fact, Source
from rooflint.base.files import read_text
from rooflint.base.memo import kept
from rooflint.base.strict_yaml import Document
from rooflint.base.strict_yaml import Path as Place
from rooflint.base.suggestions import did_you_mean, nearest
from rooflint.hardware.registry import PACKAGED, Registry
from rooflint.hardware.schema import FactKind, SourcedSpec, Strict, Text, fact_of
from rooflint.hardware.spec_files import flatten, read_spec, sources_of
from rooflint.workloads.configuration import (
    Activation,
    Biased,
    Encoder,
    Experts,
    Image,
    Latent,
    Norm,
    Normed,
    Positions,
    Transformer,
)
from rooflint.workloads.diffusion import DiffusionTransformer, UNet
from rooflint.workloads.encoder_decoder import EncoderDecoder
from rooflint.workloads.layers import Architecture
from rooflint.workloads.multimodal import TwoTowers, VisionLanguage
from rooflint.workloads.perception import ImageEncoder, Recording
from rooflint.workloads.recommendation import Recommender
from rooflint.workloads.transformer import Step, table
from rooflint.workloads.workload import Workload, WorkloadError

Roots = Sequence[Path]
"""Folders of specs, of which the first that has a network counts."""

PROMPT = 2048
"""New tokens where none are given; fewer where the network has a shorter context."""

Size = fact_of(FactKind("a size", units.DIMENSIONLESS, 1, 1e8, "4096", whole=True))


@dataclass(frozen=True, slots=True)
class Choice:
    """`[word, source, where]`: a fact in words."""

    word: str | bool
    source: str
    where: str


@dataclass(frozen=True, slots=True)
class ChoiceKind:
    """The words that such a fact may be."""

    words: tuple[str | bool, ...]

    def read(self, raw: Any) -> Choice:
        """Turn the YAML value into a Choice. Raises PydanticCustomError with what was expected."""
        wanted = ", ".join(str(word).lower() for word in self.words)
        if not (isinstance(raw, list) and len(raw) == 3 and isinstance(raw[1], str) and str(raw[2])):
            raise PydanticCustomError("fact", "{message}", {"message": "want [value, source, where]"})
        word = {"true": True, "false": False}.get(raw[0], raw[0]) if isinstance(raw[0], str) else raw[0]
        if word not in self.words:
            raise PydanticCustomError("fact", "{message}", {"message": f"want one of {wanted}, found {raw[0]}"})
        return Choice(word, raw[1], str(raw[2]))

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """`read` alone, as with facts that are numbers."""
        return core_schema.no_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """For editors: a list of three."""
        items = [{"enum": [*self.words]}, {"type": "string"}, {"type": ["string", "number"]}]
        return {"type": "array", "prefixItems": items, "minItems": 3, "maxItems": 3}


def _choice(words: Any) -> Any:
    return Annotated[Choice, ChoiceKind(tuple(words))]


YesNo = _choice((True, False))


class ExpertsSpec(Strict):
    """Feed-forward layers of which each token goes through some."""

    count: Size  # type: ignore[valid-type]
    per_token: Size  # type: ignore[valid-type]
    feed_forward: Size  # type: ignore[valid-type]
    layers: Size  # type: ignore[valid-type]
    shared: Size | None = None  # type: ignore[valid-type]
    bias: YesNo | None = None  # type: ignore[valid-type]


class LatentSpec(Strict):
    """Multi-head latent attention."""

    query_rank: Size  # type: ignore[valid-type]
    kv_rank: Size  # type: ignore[valid-type]
    nope_size: Size  # type: ignore[valid-type]
    rope_size: Size  # type: ignore[valid-type]
    value_size: Size  # type: ignore[valid-type]


class ImageSpec(Strict):
    """What a vision transformer makes its tokens of."""

    size: Size  # type: ignore[valid-type]
    patch: Size  # type: ignore[valid-type]
    channels: Size  # type: ignore[valid-type]
    patch_bias: YesNo  # type: ignore[valid-type]


class EncoderSpec(Strict):
    """What an encoder has beside its layers."""

    norm_first: YesNo  # type: ignore[valid-type]
    embedding_norm: YesNo  # type: ignore[valid-type]
    last_norm: _choice(get_args(Normed))  # type: ignore[valid-type]
    pooled: Size  # type: ignore[valid-type]
    pooled_bias: YesNo  # type: ignore[valid-type]
    pooled_tanh: YesNo  # type: ignore[valid-type]
    token_types: Size | None = None  # type: ignore[valid-type]
    causal: YesNo | None = None  # type: ignore[valid-type]
    image: ImageSpec | None = None


class NetworkSpec(SourcedSpec):
    """specs/networks/<family>/<name>.yaml: the configuration of one network."""

    architecture: Literal["decoder", "encoder"]
    aliases: list[Text] = Field(default_factory=list)
    layers: Size  # type: ignore[valid-type]
    hidden: Size  # type: ignore[valid-type]
    heads: Size  # type: ignore[valid-type]
    kv_heads: Size | None = None  # type: ignore[valid-type]
    head_size: Size | None = None  # type: ignore[valid-type]
    feed_forward: Size | None = None  # type: ignore[valid-type]
    vocabulary: Size | None = None  # type: ignore[valid-type]
    context: Size | None = None  # type: ignore[valid-type]
    rotary: Size | None = None  # type: ignore[valid-type]
    window: Size | None = None  # type: ignore[valid-type]
    window_layers: Size | None = None  # type: ignore[valid-type]
    rope_layers: Size | None = None  # type: ignore[valid-type]
    activation: _choice(get_args(Activation))  # type: ignore[valid-type]
    gated: YesNo  # type: ignore[valid-type]
    norm: _choice(get_args(Norm))  # type: ignore[valid-type]
    positions: _choice(get_args(Positions))  # type: ignore[valid-type]
    bias: _choice(get_args(Biased))  # type: ignore[valid-type]
    tied: YesNo  # type: ignore[valid-type]
    head_bias: YesNo | None = None  # type: ignore[valid-type]
    query_key_norm: YesNo | None = None  # type: ignore[valid-type]
    chunked: YesNo | None = None  # type: ignore[valid-type]
    post_norms: YesNo | None = None  # type: ignore[valid-type]
    parallel: YesNo | None = None  # type: ignore[valid-type]
    experts: ExpertsSpec | None = None
    latent: LatentSpec | None = None
    encoder: EncoderSpec | None = None


# ---- Architectures that are no Transformer: a dataclass each, whose fields are the facts of a file


def _spec_of(facts: type, base: type[Strict], **more: Any) -> type[Strict]:
    """What a file or a section of it has for each field of a dataclass: a size, a word, a list or a section."""
    hints = get_type_hints(facts)
    found = dict(more)
    for one in fields(facts):
        if one.name != "name":
            kind = _kind_of(hints[one.name])
            found[one.name] = (kind, ...) if one.default is MISSING else (kind | None, None)
    return create_model(f"{facts.__name__}Spec", __base__=base, __module__=__name__, __doc__=facts.__doc__, **found)


def _kind_of(hint: Any) -> Any:
    if hint is int:
        return Size
    if hint is bool:
        return YesNo
    if hint is Transformer:  # a part that is a network of its own
        return Text
    if get_origin(hint) is tuple:
        return list[_kind_of(get_args(hint)[0])]  # type: ignore[misc]
    return _spec_of(hint, Strict) if isinstance(hint, type) and is_dataclass(hint) else _choice(get_args(hint))


def _file_of(architecture: str, facts: type[Architecture]) -> type[SourcedSpec]:
    more = {"architecture": (Literal[architecture], ...), "aliases": (list[Text], Field(default_factory=list))}
    found = _spec_of(facts, SourcedSpec, **more)
    assert issubclass(found, SourcedSpec)
    return found


ARCHITECTURES: Mapping[str, type[Architecture]] = MappingProxyType({
    "encoder-decoder": EncoderDecoder, "two-towers": TwoTowers, "vision-language": VisionLanguage,
    "image-encoder": ImageEncoder, "recording-encoder": Recording, "diffusion-transformer": DiffusionTransformer,
    "unet": UNet, "recommender": Recommender,
})  # fmt: skip
"""By the word that a file has for it."""

SPECS: Mapping[str, type[SourcedSpec]] = MappingProxyType(
    {"decoder": NetworkSpec, "encoder": NetworkSpec}
    | {name: _file_of(name, one) for name, one in ARCHITECTURES.items()}
)


_ARCHITECTURE = re.compile(r"^architecture: *['\"]?([\w-]+)", re.MULTILINE)


def _read(file: Path) -> tuple[Document, Any]:
    """The spec of a file by the architecture that it names. Raises InputError."""
    text = read_text(file)
    named = _ARCHITECTURE.search(text)
    if named and named[1] not in SPECS:
        line = text.count("\n", 0, named.start()) + 1
        raise refuse(file, line, f"architecture: want one of {', '.join(SPECS)}, found '{named[1]}'")
    return read_spec(file, SPECS[named[1]] if named else NetworkSpec)


def _made(facts: type, spec: Any, roots: Roots, name: str = "") -> Any:
    """The dataclass of a spec whose fields it has; its parts are networks below those folders."""
    given = {one.name: getattr(spec, one.name) for one in fields(facts) if one.name != "name"}
    hints = get_type_hints(facts)
    values = {key: _value(hints[key], raw, roots) for key, raw in given.items() if raw is not None}
    return facts(**({"name": name} if name else {}), **values)


def _value(hint: Any, raw: Any, roots: Roots) -> Any:
    if isinstance(raw, str):
        return network_named(raw, roots).transformer
    if isinstance(raw, list):
        return tuple(_value(get_args(hint)[0], one, roots) for one in raw)
    if isinstance(raw, Choice):
        return raw.word
    return int(raw.quantity.value) if hint is int else _made(hint, raw, roots)


@dataclass(frozen=True)
class Network:
    """A network by its configuration."""

    id: str
    """llama/llama-3.1-70b"""
    title: str
    configuration: Transformer | Architecture
    facts: Mapping[str, Fact]
    """Those that are numbers."""
    sources: Mapping[str, Source]

    @property
    def name(self) -> str:
        """What it is called on a command line: `llama-3.1-70b`."""
        return self.configuration.name

    @property
    def transformer(self) -> Transformer:
        """Of one that is a decoder or an encoder. Raises WorkloadError for another."""
        if isinstance(self.configuration, Transformer):
            return self.configuration
        if self.sees:
            raise WorkloadError(f"{self.name}: want a single decoder or encoder, not one that sees images")
        raise WorkloadError(
            f"{self.name}: --generate, --train and --tp need a single decoder or encoder; predict it without them"
        )

    @property
    def sees(self) -> VisionLanguage | None:
        """The network with its encoder of images, where a decoder reads them among its tokens."""
        return self.configuration if isinstance(self.configuration, VisionLanguage) else None

    @property
    def writer(self) -> Transformer:
        """What writes tokens: a decoder, or that of a network that sees. Raises WorkloadError as `transformer`."""
        return self.sees.decoder if self.sees else self.transformer

    def workload(self, batch: int = 1, new: int | None = None, past: int = 0) -> Workload:
        """Its op table for so many new tokens of each sequence; PROMPT of them by default.

        Raises WorkloadError for more than its context.
        """
        if isinstance(self.configuration, Architecture):
            return _of_one(self.configuration, new, past).at_batch(batch)
        tokens = min(PROMPT, self.transformer.context - past) if new is None else new
        return table(self.transformer, batch, tokens, [Step(past)])


@lru_cache(maxsize=64)
def _of_one(net: Architecture, new: int | None, past: int) -> Workload:
    """The table of one sample, of which those of others are made."""
    return net.table(1, new, past)


def network_names(roots: Roots = (PACKAGED,)) -> list[str]:
    """What networks are called on a command line."""
    return sorted(file.stem if file.suffix == ".yaml" else file.name for file in _files(roots).values())


def find_network(name: str, roots: Roots = (PACKAGED,)) -> Network | None:
    """The network of an id, a name or an alias in some folders of specs, whatever its case; None where there is none.

    The first folder that has it counts.
    """
    wanted = name.lower()
    for root in roots:
        for one, file in files_of(root).items():
            if wanted in (one, one.rpartition("/")[2]):
                return read_network(file)
    return next((read_network(file) for root in roots for file, aliases in _aliases(root) if wanted in aliases), None)


@kept(64)
def network_in(registry: Registry, name: str) -> Network | None:
    """The same in the folders of a registry, read once for each registry that reads files."""
    return find_network(name, (*registry.roots, PACKAGED))


def network_named(name: str, roots: Roots = (PACKAGED,)) -> Network:
    """The same. Raises WorkloadError for an unknown name, with the nearest ones."""
    found = find_network(name, roots)
    if found is None:
        near = did_you_mean(nearest(name.lower(), network_names(roots)))
        raise WorkloadError(f"unknown network '{name}'{near}")
    return found


def read_network(file: Path) -> Network:
    """The network of a file. Raises InputError with everything that is wrong with it."""
    document, spec = _read(file)
    facts = flatten(spec, document)
    known = ARCHITECTURES.get(spec.architecture)
    if problems := [*_unlisted(spec, document), *(() if known else _problems(spec, facts, document))]:
        raise InputError(problems)
    try:
        made = (
            _made(known, spec, (file.parents[2], PACKAGED), file.stem)
            if known
            else _transformer(file.stem, spec, facts)
        )
    except WorkloadError as error:  # a part that is not there
        raise InputError([document.problem((), str(error))]) from error
    return Network(f"{file.parent.name}/{file.stem}", spec.name, made, facts, sources_of(spec))


def _files(roots: Roots) -> dict[str, Path]:
    """Files by id; those of the first root count."""
    return {one: file for root in reversed(roots) for one, file in files_of(root).items()}


def files_of(root: Path) -> Mapping[str, Path]:
    """Files of configurations in a folder of specs, by id."""
    return _packaged() if root == PACKAGED else Registry((root,)).files_of("networks")


@lru_cache(maxsize=1)
def _packaged() -> Mapping[str, Path]:
    return Registry((PACKAGED,)).files_of("networks")


def _aliases(root: Path) -> Sequence[tuple[Path, frozenset[str]]]:
    """Files of a root, each with its aliases in lower case; a root of a user is read again where a file has changed."""
    if root == PACKAGED:
        return _read_aliases(tuple((file, 0) for file in _packaged().values()))
    return _read_aliases(tuple((file, file.stat().st_mtime_ns) for file in files_of(root).values()))


@lru_cache(maxsize=4)
def _read_aliases(versions: tuple[tuple[Path, int], ...]) -> Sequence[tuple[Path, frozenset[str]]]:
    return [(file, frozenset(alias.lower() for alias in _read(file)[1].aliases)) for file, _ in versions]


def _transformer(name: str, spec: NetworkSpec, facts: Mapping[str, Fact]) -> Transformer:
    def size(path: str, otherwise: int = 0) -> int:
        return int(facts[path].value) if path in facts else otherwise

    def sizes(section: str, *keys: str) -> dict[str, int]:
        return {key: size(f"{section}{key}") for key in keys}

    experts = latent = None
    if spec.experts:
        amounts = sizes("experts.", "count", "per_token", "feed_forward", "layers", "shared")
        experts = Experts(**amounts, bias=bool(_word(spec.experts.bias)))
    if spec.latent:
        latent = Latent(**sizes("latent.", *LatentSpec.model_fields))
    heads, image = size("heads"), _image(spec, size)
    values: dict[str, Any] = sizes(
        "",
        "layers",
        "hidden",
        "vocabulary",
        "context",
        "feed_forward",
        "rotary",
        "window",
        "window_layers",
        "rope_layers",
    )
    values |= {key: _word(getattr(spec, key)) for key in ("activation", "norm", "positions", "bias")}
    flags = ("gated", "tied", "head_bias", "query_key_norm", "post_norms", "parallel", "chunked")
    values |= {key: bool(_word(getattr(spec, key))) for key in flags}
    return Transformer(
        name=name,
        heads=heads,
        kv_heads=size("kv_heads", heads),
        head_size=size("head_size", size("hidden") // heads),
        experts=experts,
        latent=latent,
        encoder=_encoder(spec.encoder, size, image) if spec.encoder else None,
        **values | ({"context": image.patches + 1} if image else {}),
    )


def _image(spec: NetworkSpec, size: Callable[[str], int]) -> Image | None:
    if not spec.encoder or not spec.encoder.image:
        return None
    amounts = {name: size(f"encoder.image.{name}") for name in ("size", "patch", "channels")}
    return Image(**amounts, patch_bias=bool(_word(spec.encoder.image.patch_bias)))


def _encoder(spec: EncoderSpec, size: Callable[[str], int], image: Image | None) -> Encoder:
    words: dict[str, Any] = {
        key: _word(getattr(spec, key))
        for key in ("norm_first", "embedding_norm", "last_norm", "pooled_bias", "pooled_tanh")
    }
    words["causal"] = bool(_word(spec.causal))
    return Encoder(pooled=size("encoder.pooled"), token_types=size("encoder.token_types"), image=image, **words)


def _word(choice: Choice | None) -> str | bool | None:
    return choice.word if choice else None


def _unlisted(spec: SourcedSpec, document: Document) -> Iterator[Problem]:
    """Words whose source is not listed."""
    for path, choice in _choices(spec, ()):
        if choice.source not in spec.sources:
            listed = ", ".join(spec.sources)
            name = ".".join(map(str, path))
            yield document.problem(path, f"{name}: unknown source '{choice.source}' (listed: {listed})")


def _problems(spec: NetworkSpec, facts: Mapping[str, Fact], document: Document) -> Iterator[Problem]:
    """Sizes that do not fit one another."""
    values = {path: fact.value for path, fact in facts.items()}
    heads = values["heads"]
    if heads % values.get("kv_heads", 1):
        yield document.problem(("kv_heads",), f"kv_heads: want a divisor of the {heads:g} heads")
    if spec.head_size is None and values["hidden"] % heads:
        yield document.problem(("heads",), f"heads: want a divisor of hidden, or a head_size; found {heads:g}")
    if (spec.window is None) != (spec.window_layers is None):
        yield document.problem((), "want window and window_layers together")
    if (spec.encoder is None) != (spec.architecture == "decoder"):
        yield document.problem(
            ("architecture",), "architecture: want encoder with a section of that name, and only then"
        )
    for name in ("vocabulary", "context"):
        if name not in values and not (spec.encoder and spec.encoder.image):
            yield document.problem((), f"{name}: is missing")
    dense = values["layers"] - values.get("experts.layers", 0)
    if dense < 0:
        yield document.problem(("experts", "layers"), "experts.layers: want no more than layers")
    if dense and spec.feed_forward is None:
        yield document.problem((), f"feed_forward: is missing, for {dense:g} layers without experts")


def _choices(value: Any, path: Place) -> Iterator[tuple[Place, Choice]]:
    if isinstance(value, Choice):
        yield path, value
    elif isinstance(value, Strict):
        for name in type(value).model_fields:
            yield from _choices(getattr(value, name), (*path, name))
    elif isinstance(value, list):
        for place, one in enumerate(value):
            yield from _choices(one, (*path, place))

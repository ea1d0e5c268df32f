"""Networks that see and read: two towers that meet in one product (CLIP), and images among the tokens of a decoder.

    TwoTowers(…).table(batch=8)                          # 8 images and 8 texts, each with each
    VisionLanguage(…).table(batch=8, new=1024)           # an image for each of 8 prompts, 1024 tokens with those of it
    VisionLanguage(…).table(batch=8, past=1024)          # a step of decode, which sees no image

Their parts are transformers with a file of their own, so that a fact stands in one place.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from typing import Any

from rooflint.workloads.configuration import Transformer
from rooflint.workloads.families import Family, behind
from rooflint.workloads.layers import Architecture, Layers
from rooflint.workloads.ops import GELU_OPS, Tokens
from rooflint.workloads.transformer import Step, family_of, pass_of, table
from rooflint.workloads.workload import Workload, WorkloadError

PROMPT = 2048
"""New tokens of a decoder with images where none are given; fewer where its context is shorter."""

TOWER, PROJECTOR = "image_", "projector_"
"""Before the names of rows of an encoder of images, and of what makes tokens of its patches."""


@dataclass(frozen=True)
class TwoTowers(Architecture):
    """An encoder of images and one of texts, whose results are compared. Radford et al., 2021. arXiv:2103.00020"""

    image: Transformer
    text: Transformer

    def fits(self) -> Iterator[tuple[bool, str]]:
        """An encoder of images and one of texts, with results of one width."""
        seen, read = self.image.encoder, self.text.encoder
        yield bool(seen and seen.image), "an image that is a vision transformer"
        yield bool(read and not read.image), "a text that is an encoder of words"
        yield bool(seen and read and seen.pooled == read.pooled > 0), "parts with results of one width"

    def table(self, batch: int = 1, new: int | None = None, past: int = 0) -> Workload:
        """As many images as texts of `new` tokens, and the similarity of each with each."""
        if past:
            raise WorkloadError(f"{self.name}: has encoders, which keep no cache; want no --past")
        tokens = self.text.context if new is None else new
        seen, read = table(self.image, batch, self.image.context), table(self.text, batch, tokens)
        layers = Layers()
        places = [self._normalised(layers, name, one, batch) for name, one in (("image_", seen), ("text_", read))]
        width = self.width
        elements = (2 * batch * width, 0, batch * batch)
        last = layers.add("similarity", "matmul", places, elements, shape=(1, batch, width, batch))
        count = batch * batch
        layers.add("scaled", "mul", [last], (count, 1, count), other_ops=count)
        given = sum(one.flow.elements_input for one in (seen, read) if one.flow)
        return self.finished(layers, batch, given, partial(_towers_at, self, tokens), tokens=Tokens(tokens, 0))

    @property
    def width(self) -> int:
        """Of what an image or a text becomes."""
        assert self.text.encoder is not None
        return self.text.encoder.pooled

    def _normalised(self, layers: Layers, prefix: str, tower: Workload, batch: int) -> int:
        """The result of a tower, of length 1."""
        layers.prefix = prefix
        last, count = [*layers.take(tower).values()][-1], batch * self.width
        length = layers.add("length", "vector_norm", [last], (count, 0, batch), other_ops=2 * count + batch)
        unit = layers.add("unit", "div", [last, length], (count + batch, 0, count), other_ops=count)
        layers.prefix = ""
        return unit

    def layers(self) -> Layers:
        """Both towers, and the scale of the similarity."""
        layers = Layers()
        layers.take(table(self.image, 1, self.image.context))
        layers.take(table(self.text, 1, self.text.context))
        layers.parameters += 1
        return layers

    @property
    def embedding_parameters(self) -> int:
        """Of the words and of the positions of both."""
        return self.text.embedding_parameters


def _towers_at(net: TwoTowers, tokens: int, batch: int) -> Workload:
    return net.table(batch, tokens)


@dataclass(frozen=True)
class VisionLanguage(Architecture):
    """A decoder that reads the patches of an image among its tokens. Liu et al., LLaVA-1.5, 2023. arXiv:2310.03744

    Patches go through an encoder, whose class token and projection are not used, and through two products with a GELU.
    """

    image: Transformer
    language: Transformer
    vocabulary: int
    """Of the decoder, with the tokens that stand for images."""

    def fits(self) -> Iterator[tuple[bool, str]]:
        """A vision transformer and a decoder."""
        yield bool(self.image.encoder and self.image.encoder.image), "an image that is a vision transformer"
        yield not self.language.encoder, "a language that is a decoder"

    def table(self, batch: int = 1, new: int | None = None, past: int = 0, *, every: bool = False) -> Workload:
        """One image for each sequence of `new` tokens, its patches among them; with a past, the decoder alone.

        With `every` the head sees every new token, as in training.
        """
        context = self.language.context
        tokens = (1 if past else min(PROMPT, context)) if new is None else new
        if not past and tokens <= self.patches:
            raise WorkloadError(f"{self.name}: want a --prompt of more than the {self.patches} tokens of its image")
        remake = partial(_seen_at, self, tokens, past, every) if self.language.experts else None
        if not past and tokens <= context and type(batch) is int and batch > 0:
            amounts = pass_of(self.decoder, batch, tokens, [Step(0)]).amounts
            given, cache = batch * (tokens + self._pixels), batch * self.decoder.cache_elements(tokens)
            more: dict[str, Any] = {"remake": remake, "tokens": Tokens(tokens, 0)}
            if found := _prompts(self, every).table(batch, [0], amounts, given, cache, **more):
                return found
        return self._row_by_row(batch, tokens, past, every, remake)

    def _row_by_row(
        self, batch: int, tokens: int, past: int, every: bool, remake: Callable[[int], Workload] | None
    ) -> Workload:
        layers = Layers()
        also = {} if past else {"embedding": self.seen(layers, batch)}
        decoder = table(self.decoder, batch, tokens, [Step(past)], every=every)
        layers.take(decoder, also)
        assert decoder.flow is not None
        pixels = 0 if past else batch * self._pixels
        cache = decoder.flow.elements_cache
        return self.finished(layers, batch, batch * tokens + pixels, remake, cache=cache, tokens=Tokens(tokens, past))

    @cached_property
    def decoder(self) -> Transformer:
        """With its own vocabulary."""
        return replace(self.language, name=self.name, vocabulary=self.vocabulary)

    def written_by(self, decoder: Transformer) -> "VisionLanguage":
        """The same with another decoder, such as what one of several devices has of it."""
        return replace(self, language=decoder, vocabulary=decoder.vocabulary)

    @cached_property
    def tower(self) -> Transformer:
        """The encoder without its projection."""
        assert self.image.encoder is not None
        return replace(self.image, encoder=replace(self.image.encoder, pooled=0))

    @property
    def patches(self) -> int:
        """Tokens of an image."""
        assert self.image.encoder is not None and self.image.encoder.image is not None
        return self.image.encoder.image.patches

    @property
    def _pixels(self) -> int:
        assert self.image.encoder is not None and self.image.encoder.image is not None
        return self.image.encoder.image.channels * self.image.encoder.image.size**2

    def seen(self, layers: Layers, batch: int) -> int:
        """The patches of images as tokens."""
        layers.prefix = TOWER
        places = layers.take(table(self.tower, batch, self.tower.context))
        layers.prefix, rows, width = PROJECTOR, batch * self.patches, self.language.hidden
        up = layers.linear("1", places["feed_forward_add"], rows=rows, n=width, k=self.image.hidden, bias=width)
        active = layers.each("gelu", "gelu", [up], rows * width, GELU_OPS["none"])
        last = layers.linear("2", active, rows=rows, n=width, k=width, bias=width)
        layers.prefix = ""
        return last

    def layers(self) -> Layers:
        """Encoder, projector and decoder."""
        layers = Layers()
        self.seen(layers, 1)
        layers.take(table(self.decoder, 1, 1))
        return layers

    @property
    def embedding_parameters(self) -> int:
        """Of the words."""
        return self.decoder.embedding_parameters


@lru_cache(maxsize=32)
def _prompts(net: VisionLanguage, every: bool) -> Family:
    """The tables of prompts with an image."""
    images = [Layers(), Layers()]
    for samples, layers in enumerate(images, 1):
        net.seen(layers, samples)
    decoder = family_of(net.decoder, every, one=False, steps=1)
    member = net._row_by_row(1, net.patches + 1, 0, every, None)
    return Family(member, behind(decoder.found, *images), (0,) * len(images[0].ops) + decoder.places)


def _seen_at(net: VisionLanguage, tokens: int, past: int, every: bool, batch: int) -> Workload:
    return net.table(batch, tokens, past, every=every)

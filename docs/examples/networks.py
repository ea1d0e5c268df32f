"""Networks with random weights as factories, for any command that takes a network:

    rooflint measure network docs/examples/networks.py:whisper docs/examples/networks.py:unet_block -b 1 -b 4
    rooflint compare docs/examples/networks.py:whisper

Each returns a module and what it is called with, batch first. Sizes are those of the smallest published model of the
family, named beside them.
"""

import torch
import transformers
from torch import nn


def llama():
    """Llama 2 with 15 million parameters, of "stories15M" in llama2.c: 128 tokens."""
    sizes = {"hidden_size": 288, "intermediate_size": 768, "num_hidden_layers": 6, "num_attention_heads": 6}
    network = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(vocab_size=32000, max_position_embeddings=256, use_cache=False, **sizes)
    )
    return network, {"input_ids": torch.randint(0, 32000, (1, 128))}


def bert():
    """BERT-tiny, two layers of 128 (arXiv:1908.08962): 128 tokens."""
    sizes = {"hidden_size": 128, "intermediate_size": 512, "num_hidden_layers": 2, "num_attention_heads": 2}
    return transformers.BertModel(transformers.BertConfig(**sizes)), {"input_ids": torch.randint(0, 30522, (1, 128))}


def whisper():
    """Whisper tiny (arXiv:2212.04356, table 1): the encoder over 30 s of sound, and the decoder over 16 tokens."""
    config = transformers.WhisperConfig(
        d_model=384,
        encoder_layers=4,
        decoder_layers=4,
        encoder_attention_heads=6,
        decoder_attention_heads=6,
        encoder_ffn_dim=1536,
        decoder_ffn_dim=1536,
        use_cache=False,
    )
    inputs = {"input_features": torch.randn(1, 80, 3000), "decoder_input_ids": torch.randint(0, 50000, (1, 16))}
    return transformers.WhisperForConditionalGeneration(config), inputs


def clip():
    """CLIP ViT-B/32 (arXiv:2103.00020): a picture and a text of 77 tokens each."""
    inputs = {"input_ids": torch.randint(0, 49408, (1, 77)), "pixel_values": torch.randn(1, 3, 224, 224)}
    return transformers.CLIPModel(transformers.CLIPConfig()), inputs


class UNetBlock(nn.Module):
    """A residual block that knows the time step, then attention over the picture and over the words of a prompt."""

    def __init__(self, channels: int, time: int, words: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.GroupNorm(32, channels) for _ in range(2))
        self.convolutions = nn.ModuleList(nn.Conv2d(channels, channels, 3, padding=1) for _ in range(2))
        self.time = nn.Linear(time, channels)
        self.layer_norms = nn.ModuleList(nn.LayerNorm(channels) for _ in range(2))
        self.queries = nn.ModuleList(nn.Linear(channels, channels, bias=False) for _ in range(2))
        self.keys_values = nn.ModuleList(nn.Linear(size, 2 * channels, bias=False) for size in (channels, words))
        self.results = nn.ModuleList(nn.Linear(channels, channels) for _ in range(2))

    def forward(self, picture: torch.Tensor, step: torch.Tensor, prompt: torch.Tensor) -> torch.Tensor:
        """[batch, channels, height, width], [batch, time], [batch, tokens, words]."""
        x = self.convolutions[0](nn.functional.silu(self.norms[0](picture)))
        x = x + self.time(nn.functional.silu(step))[:, :, None, None]
        x = picture + self.convolutions[1](nn.functional.silu(self.norms[1](x)))
        rows = x.flatten(2).transpose(1, 2)
        for number, seen in enumerate((None, prompt)):
            normed = self.layer_norms[number](rows)
            rows = rows + self._attended(number, normed, normed if seen is None else seen)
        return rows.transpose(1, 2).reshape(x.shape)

    def _attended(self, number: int, rows: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
        keys, values = self.keys_values[number](seen).chunk(2, dim=-1)
        parts = [
            one.unflatten(2, (self.heads, -1)).transpose(1, 2) for one in (self.queries[number](rows), keys, values)
        ]
        return self.results[number](nn.functional.scaled_dot_product_attention(*parts).transpose(1, 2).flatten(2))


def unet_block():
    """A block of the UNet of Stable Diffusion 1 (arXiv:2112.10752) at 320 channels, for a picture of 256 pixels."""
    inputs = (torch.randn(1, 320, 32, 32), torch.randn(1, 1280), torch.randn(1, 77, 768))
    return UNetBlock(320, 1280, 768, 8), inputs

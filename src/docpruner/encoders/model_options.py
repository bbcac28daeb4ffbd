"""How a model that is named is run; nothing of it changes what the model is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from docpruner.encoders.encoder_name import Attention, EncoderName
from docpruner.errors import EncoderError
from docpruner.types import Prompt

if TYPE_CHECKING:
    from docpruner.encoders.registry import Encoder


@dataclass(frozen=True)
class ModelOptions:
    """What `load_encoder` takes besides the name, to be kept until the name is known.

    device: cuda, cuda:1, mps or cpu; by default the best there is.
    devices: several of them, with an encoder process on each.
    dtype: float32, bfloat16 or float16; by default what the device is good at.
    batch_size: pages at once; by default as many as fit.
    attention: "sdpa", "flash" or "eager"; by default flash where it is installed.
    max_visual_tokens: vectors that a page may have at most, which becomes part of the name.
    trust_remote_code: lets a model (Jina v4) run code from its repository.
    """

    device: str | None = None
    devices: tuple[str, ...] = ()
    dtype: str | None = None
    batch_size: int | None = None
    attention: Attention | None = None
    max_visual_tokens: int | None = None
    trust_remote_code: bool = False

    def load(self, name: str, *, prompt: Prompt | None = None) -> Encoder:
        if self.devices:
            if self.device is not None:
                raise EncoderError("give one of device and devices")
            from docpruner.encoders.device_pool import DevicePool

            return DevicePool(name, self, prompt=prompt)
        from docpruner.encoders.registry import load_encoder

        return load_encoder(
            name,
            device=self.device,
            dtype=self.dtype,
            batch_size=self.batch_size,
            attention=self.attention,
            max_visual_tokens=self.max_visual_tokens,
            prompt=prompt,
            trust_remote_code=self.trust_remote_code,
        )


def gives_importance(encoder: Encoder) -> bool:
    """Whether its pages come with importance; all do, but for those of a server."""
    return bool(getattr(encoder, "gives_importance", True))


def gives_centrality(encoder: Encoder) -> bool:
    """Whether its pages come with centrality beside importance, which its name says."""
    return EncoderName.read(encoder.name).importance == "both"


def read_devices(text: str) -> tuple[str, ...]:
    """Devices with commas between them; a bare number is that of a CUDA device."""
    names = [part.strip() for part in text.split(",")]
    if not all(names):
        raise EncoderError(f"{text!r} is not a list of devices, such as 0,1 or cpu,cpu")
    return tuple(f"cuda:{name}" if name.isdecimal() else name for name in names)

"""A small Qwen2.5-VL with the seams of the one that Jina Embeddings v4 ships.

Class names, attribute paths and call signatures are Jina's; the bodies are written for the tests.
What matters to a reader of attention: the attention classes come from a table of this file, not
from the registry of transformers, every projection wants the task, and `self_attn` gets all its
arguments by keyword.
"""
# ruff: noqa: N801, ARG002

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import PreTrainedModel, Qwen2_5_VLConfig
from transformers.modeling_outputs import BaseModelOutput

Task = str | list[str]
Rotation = tuple[Tensor, Tensor]


def apply_multimodal_rotary_pos_emb(
    q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, mrope_section: list[int]
) -> tuple[Tensor, Tensor]:
    """Turn (B, H, T, D) states by angles of (3, B, T, D): time, row and column take channels."""
    cos, sin = (_of_each_axis(angle, mrope_section) for angle in (cos, sin))
    return _turn(q, cos, sin), _turn(k, cos, sin)


def _of_each_axis(angle: Tensor, mrope_section: list[int]) -> Tensor:
    axis = torch.arange(3, device=angle.device).repeat_interleave(
        torch.tensor(mrope_section, device=angle.device)
    )
    axis = axis.repeat(2).expand(1, *angle.shape[1:])
    return angle.gather(0, axis).transpose(0, 1)  # (B, 1, T, D)


def _turn(states: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    half = states.shape[-1] // 2
    quarter_turn = torch.cat((-states[..., half:], states[..., :half]), dim=-1)
    return states * cos + quarter_turn * sin


class Qwen2RMSNorm(nn.Module):
    def __init__(self, hidden_size: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.eps = eps

    def forward(self, states: Tensor) -> Tensor:
        wide = states.float()
        scale = (wide.square().mean(-1, keepdim=True) + self.eps).rsqrt()
        return self.weight * (wide * scale).to(states.dtype)


def rope_settings(config: Any) -> dict[str, Any]:
    """As transformers 5 has them in one place, 4 in two."""
    if hasattr(config, "rope_parameters"):
        return config.rope_parameters
    return {"rope_theta": config.rope_theta, **config.rope_scaling}


class Qwen2_5_VLRotaryEmbedding(nn.Module):
    def __init__(self, config: Any) -> None:
        super().__init__()
        self.head_dim = config.hidden_size // config.num_attention_heads
        self.theta = rope_settings(config)["rope_theta"]

    def forward(self, x: Tensor, position_ids: Tensor) -> Rotation:
        """Cosines and sines of (3, B, T, D) for positions of (3, B, T)."""
        exponent = torch.arange(0, self.head_dim, 2, device=x.device) / self.head_dim
        angle = position_ids[..., None].float() * self.theta**-exponent
        angle = torch.cat((angle, angle), dim=-1)
        return angle.cos().to(x.dtype), angle.sin().to(x.dtype)


class Qwen2_5_VLAttention(nn.Module):
    """The eager kernel, the only one that can return its weights."""

    def __init__(self, config: Any, layer_idx: int) -> None:
        super().__init__()
        self.config = config
        self.layer_idx = layer_idx
        self.hidden_size = config.hidden_size
        self.num_heads = config.num_attention_heads
        self.head_dim = self.hidden_size // self.num_heads
        self.num_key_value_heads = config.num_key_value_heads
        self.num_key_value_groups = self.num_heads // self.num_key_value_heads
        self.rope_scaling = rope_settings(config)
        width = self.num_key_value_heads * self.head_dim
        self.q_proj = nn.Linear(self.hidden_size, self.hidden_size)
        self.k_proj = nn.Linear(self.hidden_size, width)
        self.v_proj = nn.Linear(self.hidden_size, width)
        self.o_proj = nn.Linear(self.hidden_size, self.hidden_size, bias=False)

    def forward(
        self,
        task_label: Task,
        hidden_states: Tensor,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        past_key_value: None = None,
        output_attentions: bool = False,
        use_cache: bool = False,
        cache_position: Tensor | None = None,
        position_embeddings: Rotation | None = None,
    ) -> tuple[Tensor, Tensor | None, None]:
        q, k, v = self._project(hidden_states, task_label, position_embeddings)
        scores = q @ k.transpose(2, 3) * self.head_dim**-0.5
        if attention_mask is not None:
            scores = scores + attention_mask
        weights = scores.float().softmax(dim=-1).to(q.dtype)
        output = self._merge_heads(weights @ v, task_label)
        return output, weights if output_attentions else None, None

    def _project(
        self, hidden_states: Tensor, task_label: Task, position_embeddings: Rotation
    ) -> tuple[Tensor, Tensor, Tensor]:
        q = self._split_heads(self.q_proj(hidden_states, task_label))
        k = self._split_heads(self.k_proj(hidden_states, task_label))
        v = self._split_heads(self.v_proj(hidden_states, task_label))
        section = self.rope_scaling["mrope_section"]
        q, k = apply_multimodal_rotary_pos_emb(q, k, *position_embeddings, section)
        k, v = (states.repeat_interleave(self.num_key_value_groups, dim=1) for states in (k, v))
        return q, k, v

    def _split_heads(self, states: Tensor) -> Tensor:
        return states.unflatten(-1, (-1, self.head_dim)).transpose(1, 2)  # (B, H, T, D)

    def _merge_heads(self, states: Tensor, task_label: Task) -> Tensor:
        return self.o_proj(states.transpose(1, 2).flatten(2), task_label)


class Qwen2_5_VLSdpaAttention(Qwen2_5_VLAttention):
    """Falls back to the eager kernel when the weights are asked for."""

    def forward(
        self,
        task_label: Task,
        hidden_states: Tensor,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        past_key_value: None = None,
        output_attentions: bool = False,
        use_cache: bool = False,
        cache_position: Tensor | None = None,
        position_embeddings: Rotation | None = None,
    ) -> tuple[Tensor, Tensor | None, None]:
        if output_attentions:
            return super().forward(
                task_label,
                hidden_states,
                attention_mask,
                output_attentions=True,
                position_embeddings=position_embeddings,
            )
        q, k, v = self._project(hidden_states, task_label, position_embeddings)
        states = functional.scaled_dot_product_attention(
            q, k, v, attn_mask=attention_mask, is_causal=attention_mask is None
        )
        return self._merge_heads(states, task_label), None, None


QWEN2_5_VL_ATTENTION_CLASSES = {"eager": Qwen2_5_VLAttention, "sdpa": Qwen2_5_VLSdpaAttention}


class Qwen2MLP(nn.Module):
    def __init__(self, config: Any) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.up_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)

    def forward(self, x: Tensor, task_label: Task) -> Tensor:
        gate = functional.silu(self.gate_proj(x, task_label))
        return self.down_proj(gate * self.up_proj(x, task_label), task_label)


class Qwen2_5_VLDecoderLayer(nn.Module):
    def __init__(self, config: Any, layer_idx: int) -> None:
        super().__init__()
        attention = QWEN2_5_VL_ATTENTION_CLASSES[config._attn_implementation]
        self.self_attn = attention(config, layer_idx)
        self.mlp = Qwen2MLP(config)
        self.input_layernorm = Qwen2RMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.post_attention_layernorm = Qwen2RMSNorm(config.hidden_size, eps=config.rms_norm_eps)

    def forward(
        self, task_label: Task, hidden_states: Tensor, **attention_arguments: Any
    ) -> tuple[Tensor, Tensor | None]:
        attended, weights, _ = self.self_attn(
            task_label=task_label,
            hidden_states=self.input_layernorm(hidden_states),
            **attention_arguments,
        )
        hidden_states = hidden_states + attended
        normed = self.post_attention_layernorm(hidden_states)
        return hidden_states + self.mlp(normed, task_label), weights


class Qwen2_5_VLPreTrainedModel(PreTrainedModel):
    config_class = Qwen2_5_VLConfig
    base_model_prefix = "model"
    _supports_sdpa = True


class Qwen2_5_VLTextModel(Qwen2_5_VLPreTrainedModel):
    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(
            Qwen2_5_VLDecoderLayer(config, index) for index in range(config.num_hidden_layers)
        )
        self.norm = Qwen2RMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.rotary_emb = Qwen2_5_VLRotaryEmbedding(config)
        self.post_init()

    def forward(
        self,
        task_label: Task,
        inputs_embeds: Tensor,
        attention_mask: Tensor,
        position_ids: Tensor,
        output_attentions: bool = False,
    ) -> BaseModelOutput:
        arguments = {
            "attention_mask": self._update_causal_mask(
                attention_mask, inputs_embeds, output_attentions
            ),
            "position_ids": position_ids,
            "past_key_value": None,
            "output_attentions": output_attentions,
            "use_cache": False,
            "cache_position": torch.arange(inputs_embeds.shape[1], device=inputs_embeds.device),
            "position_embeddings": self.rotary_emb(inputs_embeds, position_ids),
        }
        states, every_state, every_weight = inputs_embeds, [], []
        for layer in self.layers:
            every_state.append(states)
            states, weights = layer(task_label=task_label, hidden_states=states, **arguments)
            every_weight.append(weights)
        states = self.norm(states)
        return BaseModelOutput(
            last_hidden_state=states,
            hidden_states=(*every_state, states),
            attentions=tuple(every_weight) if output_attentions else None,
        )

    def _update_causal_mask(
        self, attention_mask: Tensor, inputs_embeds: Tensor, output_attentions: bool
    ) -> Tensor | None:
        """The additive mask of (B, 1, T, T), or None where sdpa's causal flag says it all."""
        sdpa = self.config._attn_implementation == "sdpa" and not output_attentions
        if sdpa and bool(attention_mask.all()):
            return None
        length = attention_mask.shape[1]
        causal = torch.ones(length, length, dtype=torch.bool, device=attention_mask.device).tril()
        allowed = causal & attention_mask[:, None, None, :].bool()
        mask = torch.zeros(allowed.shape, dtype=inputs_embeds.dtype, device=allowed.device)
        return mask.masked_fill(~allowed, torch.finfo(inputs_embeds.dtype).min)


class Qwen2_5_VLVisionBlock(nn.Module):
    def __init__(self, config: Any) -> None:
        super().__init__()
        self.num_heads = config.num_heads
        self.norm1 = Qwen2RMSNorm(config.hidden_size)
        self.qkv = nn.Linear(config.hidden_size, 3 * config.hidden_size)
        self.proj = nn.Linear(config.hidden_size, config.hidden_size)
        self.norm2 = Qwen2RMSNorm(config.hidden_size)
        self.mlp = nn.Sequential(
            nn.Linear(config.hidden_size, config.intermediate_size),
            nn.SiLU(),
            nn.Linear(config.intermediate_size, config.hidden_size),
        )

    def forward(self, patches: Tensor, patches_of_each_image: list[int]) -> Tensor:
        q, k, v = self.qkv(self.norm1(patches)).unflatten(-1, (3, self.num_heads, -1)).unbind(1)
        images = zip(*(states.split(patches_of_each_image) for states in (q, k, v)), strict=True)
        attended = [
            functional.scaled_dot_product_attention(*(states.transpose(0, 1) for states in image))
            for image in images
        ]
        patches = patches + self.proj(torch.cat(attended, dim=1).transpose(0, 1).flatten(1))
        return patches + self.mlp(self.norm2(patches))


class Qwen2_5_VisionTransformerPretrainedModel(Qwen2_5_VLPreTrainedModel):
    """Patches to tokens, four to one. No windows and no rotation, unlike the original."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.merged = config.spatial_merge_size**2
        pixels = config.in_channels * config.temporal_patch_size * config.patch_size**2
        self.patch_embed = nn.Linear(pixels, config.hidden_size, bias=False)
        self.blocks = nn.ModuleList(Qwen2_5_VLVisionBlock(config) for _ in range(config.depth))
        self.merger = nn.Linear(self.merged * config.hidden_size, config.out_hidden_size)
        self.post_init()

    def forward(self, hidden_states: Tensor, grid_thw: Tensor) -> Tensor:
        patches, patches_of_each_image = self.patch_embed(hidden_states), grid_thw.prod(-1).tolist()
        for block in self.blocks:
            patches = block(patches, patches_of_each_image)
        return self.merger(patches.view(-1, self.merged * patches.shape[-1]))


class Qwen2_5_VLModel(Qwen2_5_VLPreTrainedModel):
    base_model_prefix = ""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.visual = Qwen2_5_VisionTransformerPretrainedModel(config.vision_config)
        self.language_model = Qwen2_5_VLTextModel(config.text_config)
        self.post_init()

    def get_rope_index(
        self,
        input_ids: Tensor,
        image_grid_thw: Tensor | None = None,
        attention_mask: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Positions of (3, B, T), counted from the first token that is no padding."""
        attention_mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        grids = iter(() if image_grid_thw is None else image_grid_thw.tolist())
        positions = torch.ones(3, *input_ids.shape, dtype=torch.long, device=input_ids.device)
        for row, (ids, real) in enumerate(zip(input_ids, attention_mask.bool(), strict=True)):
            positions[:, row, real] = self._positions(ids[real], grids).to(positions.device)
        return positions, positions.amax((0, 2)) + 1 - input_ids.shape[1]

    def _positions(self, ids: Tensor, grids: Iterator[list[int]]) -> Tensor:
        is_image = ids == self.config.image_token_id
        values, lengths = torch.unique_consecutive(is_image, return_counts=True)
        runs, start = [], 0
        for image, length in zip(values.tolist(), lengths.tolist(), strict=True):
            run = self._grid(next(grids)) if image else torch.arange(length).expand(3, -1)
            runs.append(run + start)
            start = int(runs[-1].max()) + 1
        return torch.cat(runs, dim=1)

    def _grid(self, thw: list[int]) -> Tensor:
        merge = self.config.vision_config.spatial_merge_size
        time, height, width = thw[0], thw[1] // merge, thw[2] // merge
        return torch.cartesian_prod(*map(torch.arange, (time, height, width))).T

    def forward(
        self,
        task_label: Task,
        input_ids: Tensor,
        attention_mask: Tensor,
        position_ids: Tensor,
        pixel_values: Tensor | None = None,
        image_grid_thw: Tensor | None = None,
        output_attentions: bool | None = None,
    ) -> BaseModelOutput:
        embeds = self.language_model.embed_tokens(input_ids)
        if pixel_values is not None:
            tokens = self.visual(pixel_values, grid_thw=image_grid_thw)
            is_image = (input_ids == self.config.image_token_id)[..., None]
            embeds = embeds.masked_scatter(is_image, tokens.to(embeds.dtype))
        return self.language_model(
            task_label=task_label,
            inputs_embeds=embeds,
            attention_mask=attention_mask,
            position_ids=position_ids,
            output_attentions=bool(output_attentions),
        )


class Qwen2_5_VLForConditionalGeneration(Qwen2_5_VLPreTrainedModel):
    """Without the language head: nothing reads its logits."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.model = Qwen2_5_VLModel(config)
        self.post_init()

    def forward(
        self,
        task_label: Task,
        input_ids: Tensor,
        attention_mask: Tensor,
        position_ids: Tensor,
        pixel_values: Tensor | None = None,
        image_grid_thw: Tensor | None = None,
        output_attentions: bool | None = None,
        **_ignored: Any,
    ) -> BaseModelOutput:
        return self.model(
            task_label=task_label,
            input_ids=input_ids,
            attention_mask=attention_mask,
            position_ids=position_ids,
            pixel_values=pixel_values,
            image_grid_thw=image_grid_thw,
            output_attentions=output_attentions,
        )

"""A linear layer that holds one low-rank update for each task and picks one at call time."""

from typing import Any

import torch
from peft.tuners.lora import LoraLayer
from torch import Tensor, nn


class MultiAdapterLinear(nn.Module, LoraLayer):
    """Needs the task at every call: a plain `linear(x)` is an error, as in the original."""

    def __init__(
        self,
        base_layer: nn.Linear,
        adapter_name: str,
        task_names: list[str],
        r: int,
        lora_alpha: int,
        **_options: Any,
    ) -> None:
        super().__init__()
        LoraLayer.__init__(self, base_layer)
        self._active_adapter = adapter_name
        self.r[adapter_name] = r
        self.lora_alpha[adapter_name] = lora_alpha
        self.scaling[adapter_name] = lora_alpha / r
        self.lora_A[adapter_name] = _one_linear_per_task(task_names, self.in_features, r)
        self.lora_B[adapter_name] = _one_linear_per_task(task_names, r, self.out_features)
        self.set_adapter(self.active_adapters)

    def forward(self, x: Tensor, task_label: str | list[str]) -> Tensor:
        result = self.base_layer(x)
        for adapter in self.active_adapters:
            result = result + self.scaling[adapter] * self._update(adapter, x, task_label)
        return result

    def _update(self, adapter: str, x: Tensor, task_label: str | list[str]) -> Tensor:
        down, up = self.lora_A[adapter], self.lora_B[adapter]
        if isinstance(task_label, str):
            return up[task_label](down[task_label](x))
        rows = zip(x, task_label, strict=True)
        return torch.stack([up[task](down[task](row)) for row, task in rows])


def _one_linear_per_task(tasks: list[str], in_features: int, out_features: int) -> nn.ModuleDict:
    return nn.ModuleDict({task: nn.Linear(in_features, out_features, bias=False) for task in tasks})

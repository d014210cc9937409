"""Prefill by transformers on torch in bfloat16 with random weights. Arguments:
config.json, threads, most tokens."""
import sys

import torch
from transformers import AutoConfig, AutoModelForCausalLM

from worker import serve

torch.set_num_threads(int(sys.argv[2]))
config = AutoConfig.from_pretrained(sys.argv[1])
with torch.device("meta"):
    model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
model = model.to_empty(device="cpu").eval()
with torch.inference_mode():
    for weight in model.parameters():
        weight.normal_(0, 0.02)
for module in model.modules():  # what to_empty left of buffers: the rotary frequencies
    if hasattr(module, "inv_freq"):
        for name, buffer in type(module)(config).named_buffers():
            setattr(module, name, buffer)


def prefill(ids):
    with torch.inference_mode():
        model(torch.tensor([ids]), logits_to_keep=1, use_cache=False)


serve(prefill, config.vocab_size)

#!/usr/bin/env python3
"""Writes variants.json: settings of the families that the tiny checkpoints beside it leave out, and what transformers makes of them.
Usage: make.py      Needs: torch, transformers 5.24, safetensors, numpy.
No weights are stored: element i of a tensor follows from its name, as values() says. An entry holds config.json, the tensors' extents,
one prompt, and the logits of every fourth position (f32 arithmetic, eager attention). Its salt is the first for which weights
that are off by 2e-5 choose the same experts everywhere.
"""
import json, os, tempfile
import numpy as np, torch
from safetensors.torch import load_file, save_file
import transformers
from transformers import AutoConfig, AutoModelForCausalLM
transformers.utils.logging.set_verbosity_error(); transformers.utils.logging.disable_progress_bar()
torch.set_num_threads(1)

MASK = (1 << 64) - 1
TOKENS = 24

def draw(name, n):
    """n numbers in [-1,1): 24 bits of splitmix64, which starts from the FNV-1a hash of the name."""
    h = 0xcbf29ce484222325
    for b in name.encode(): h = (h ^ b) * 0x100000001b3 & MASK
    with np.errstate(over='ignore'):
        z = np.uint64(h) + np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9e3779b97f4a7c15)
        z = (z ^ z >> np.uint64(30)) * np.uint64(0xbf58476d1ce4e5b9)
        z = (z ^ z >> np.uint64(27)) * np.uint64(0x94d049bb133111eb)
    return ((z ^ z >> np.uint64(31)) >> np.uint64(40)).astype(np.float64) / (1 << 23) - 1

def values(salt, name, shape):
    r = draw(f'{salt} {name}', int(np.prod(shape)))
    if name.endswith('expert_bias'): x = 0.5 * r
    elif len(shape) == 1: x = 1 + 0.4 * r
    elif 'embed_tokens' in name: x = r
    elif name.endswith('.gate.weight'): x = 4 * r / np.sqrt(shape[-1])
    elif len(shape) == 3: x = r
    else: x = 2 * r / np.sqrt(shape[-1])
    return torch.from_numpy(x.astype(np.float32).reshape(shape))

base = dict(vocab_size=48, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, num_experts_per_tok=2,
    max_position_embeddings=64, rope_theta=10000.0, tie_word_embeddings=False)
olmoe = dict(base, architectures=['OlmoeForCausalLM'], model_type='olmoe', intermediate_size=24, num_experts=6, rms_norm_eps=1e-5)
qwen3 = dict(base, architectures=['Qwen3MoeForCausalLM'], model_type='qwen3_moe', intermediate_size=40, moe_intermediate_size=24, num_experts=6,
    head_dim=20, rms_norm_eps=1e-6, norm_topk_prob=True, decoder_sparse_step=1, mlp_only_layers=[], use_sliding_window=False)
mixtral = dict(base, architectures=['MixtralForCausalLM'], model_type='mixtral', intermediate_size=24, num_local_experts=6, rms_norm_eps=1e-5)
lfm2 = dict(base, architectures=['Lfm2MoeForCausalLM'], model_type='lfm2_moe', intermediate_size=40, moe_intermediate_size=24, num_hidden_layers=3,
    layer_types=['conv', 'full_attention', 'conv'], num_dense_layers=1, num_experts=6, norm_eps=1e-5, conv_L_cache=3, conv_bias=False,
    use_expert_bias=True, norm_topk_prob=True, routed_scaling_factor=1.0)
deepseek = dict(base, architectures=['DeepseekV2ForCausalLM'], model_type='deepseek_v2', intermediate_size=40, moe_intermediate_size=24,
    num_key_value_heads=4, n_routed_experts=8, n_shared_experts=1, num_experts_per_tok=3, first_k_dense_replace=1, moe_layer_freq=1, q_lora_rank=None,
    kv_lora_rank=20, qk_nope_head_dim=12, qk_rope_head_dim=8, v_head_dim=10, topk_method='greedy', scoring_func='softmax', norm_topk_prob=False,
    routed_scaling_factor=1.0, rms_norm_eps=1e-6)
yarn = dict(rope_type='yarn', factor=4.0, original_max_position_embeddings=16)

VARIANTS = {
    'olmoe, few keys, clipped, normalized': dict(olmoe, clip_qkv=0.75, norm_topk_prob=True),
    'olmoe, many keys, linear': dict(olmoe, num_key_value_heads=4, clip_qkv=None, norm_topk_prob=False, rope_scaling=dict(rope_type='linear', factor=4.0)),
    'qwen3, some layers dense, tied, not normalized': dict(qwen3, num_hidden_layers=4, decoder_sparse_step=2, mlp_only_layers=[1], norm_topk_prob=False, tie_word_embeddings=True),
    'qwen3, yarn': dict(qwen3, rope_scaling=yarn),
    'qwen3, yarn with every setting, window': dict(qwen3, use_sliding_window=True, sliding_window=5,
        rope_scaling=dict(yarn, attention_factor=1.25, beta_fast=4.0, beta_slow=0.5, truncate=False)),
    'mixtral, window': dict(mixtral, sliding_window=5, num_experts_per_tok=3),
    'mixtral, wide heads, tied': dict(mixtral, sliding_window=None, head_dim=20, tie_word_embeddings=True),
    'lfm2, no bias, not normalized, scaled': dict(lfm2, use_expert_bias=False, norm_topk_prob=False, routed_scaling_factor=1.5, conv_L_cache=4),
    'lfm2, no dense layers, bias, tied': dict(lfm2, num_dense_layers=0, routed_scaling_factor=0.5, conv_L_cache=2, tie_word_embeddings=True),
    'deepseek, low-rank queries, groups': dict(deepseek, q_lora_rank=28, topk_method='group_limited_greedy', n_group=4, topk_group=2, routed_scaling_factor=2.0),
    'deepseek, yarn, mscale apart': dict(deepseek, first_k_dense_replace=0, n_shared_experts=2, rope_scaling=dict(yarn, mscale=1.0, mscale_all_dim=0.5)),
    'deepseek, yarn without mscale': dict(deepseek, rope_scaling=dict(yarn, factor=40.0, original_max_position_embeddings=8)),
    'deepseek, linear, tied': dict(deepseek, tie_word_embeddings=True, rope_scaling=dict(rope_type='linear', factor=2.0)),
}

def load(d, dtype):
    return AutoModelForCausalLM.from_pretrained(d, dtype=dtype, attn_implementation='eager', experts_implementation='eager').eval()

@torch.no_grad()
def variant(config):
    with tempfile.TemporaryDirectory() as d:
        json.dump(config, open(d + '/config.json', 'w'))
        m = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(d), dtype=torch.float32)
        m.save_pretrained(d)
        json.dump(config, open(d + '/config.json', 'w'))
        shapes = {n: list(t.shape) for n, t in load_file(d + '/model.safetensors').items()}
        for salt in range(100):
            ids = torch.from_numpy(((draw(f'{salt} ids', TOKENS) + 1) / 2 * config['vocab_size']).astype(np.int64))[None]
            weights = {n: values(salt, n, s) for n, s in shapes.items()}
            def run(dtype, noise=0):
                save_file({n: w * (1 + noise * torch.from_numpy(draw('noise ' + n, w.numel()).astype(np.float32).reshape(w.shape))) for n, w in weights.items()}, d + '/model.safetensors', metadata={'format': 'pt'})
                return load(d, dtype)(input_ids=ids, use_cache=False).logits[0].double()
            logits = run(torch.float32)
            if (run(torch.float64) - logits).abs().max() < 2e-5 and (run(torch.float64, 2e-5) - logits).abs().max() < 2e-3: break
        else: raise SystemExit('no salt does')
    return dict(config=config, tensors=shapes, salt=salt, ids=ids[0].tolist(), logits=[[round(x, 5) for x in row] for row in logits[::4].tolist()])

out = []
for name, config in VARIANTS.items():
    v = variant(config); out.append(dict(name=name, **v))
    print(f"{name}: salt {v['salt']}, {sum(int(np.prod(s)) for s in v['tensors'].values())} parameters, largest logit {max(map(max, v['logits']))}", flush=True)
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'variants.json'), 'w') as f:
    f.write('[\n' + ',\n'.join(json.dumps(v, separators=(',', ':')) for v in out) + '\n]\n')

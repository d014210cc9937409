"""Writes a GGUF of an OLMoE shape with random Q4_0 weights. Needs gguf and numpy."""
import argparse
import json

p = argparse.ArgumentParser(description=__doc__)
p.add_argument("config", help="config.json of an OLMoE shape")
p.add_argument("file", help="GGUF file to write")
a = p.parse_args()

import gguf  # after the arguments, so that --help needs neither
import numpy as np

c = json.load(open(a.config))
w = gguf.GGUFWriter(a.file, "olmoe")
rng = np.random.default_rng(1)
hidden, width, experts, vocabulary = c["hidden_size"], c["intermediate_size"], c["num_experts"], c["vocab_size"]
heads, groups = c["num_attention_heads"], c["num_key_value_heads"]
kv = hidden // heads * groups

w.add_context_length(c["max_position_embeddings"])
w.add_embedding_length(hidden)
w.add_block_count(c["num_hidden_layers"])
w.add_feed_forward_length(width)
w.add_head_count(heads)
w.add_head_count_kv(groups)
w.add_layer_norm_rms_eps(c["rms_norm_eps"])
w.add_rope_freq_base(c["rope_theta"])
w.add_expert_count(experts)
w.add_expert_used_count(c["num_experts_per_tok"])
w.add_vocab_size(vocabulary)
w.add_file_type(gguf.LlamaFileType.MOSTLY_Q4_0)
w.add_tokenizer_model("none")


def matrix(name, *shape):
    """Blocks of 32 codes of four bits behind an f16 scale; values of about 0.02."""
    blocks = int(np.prod(shape)) // 32
    data = rng.integers(0, 256, (blocks, 18), dtype=np.uint8)
    data[:, :2] = rng.uniform(0.003, 0.005, (blocks, 1)).astype(np.float16).view(np.uint8)
    w.add_tensor(name, data.reshape(*shape[:-1], shape[-1] // 32 * 18), raw_dtype=gguf.GGMLQuantizationType.Q4_0)


def vector(name, n):
    w.add_tensor(name, np.ones(n, np.float32))


matrix("token_embd.weight", vocabulary, hidden)
vector("output_norm.weight", hidden)
matrix("output.weight", vocabulary, hidden)
for l in range(c["num_hidden_layers"]):
    b = f"blk.{l}."
    for name in ("attn_norm", "ffn_norm", "attn_q_norm"):
        vector(b + name + ".weight", hidden)
    vector(b + "attn_k_norm.weight", kv)
    matrix(b + "attn_q.weight", hidden, hidden)
    matrix(b + "attn_k.weight", kv, hidden)
    matrix(b + "attn_v.weight", kv, hidden)
    matrix(b + "attn_output.weight", hidden, hidden)
    w.add_tensor(b + "ffn_gate_inp.weight", rng.normal(0, 0.02, (experts, hidden)).astype(np.float32))
    matrix(b + "ffn_gate_exps.weight", experts, width, hidden)
    matrix(b + "ffn_up_exps.weight", experts, width, hidden)
    matrix(b + "ffn_down_exps.weight", experts, hidden, width)
w.write_header_to_file()
w.write_kv_data_to_file()
w.write_tensors_to_file()
w.close()

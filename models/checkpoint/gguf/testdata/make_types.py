#!/usr/bin/env python3
"""Writes types.gguf, random blocks of every type that is read, and types.safetensors, their values as the Python package
gguf decodes them. Needs gguf, numpy, safetensors (made with gguf 0.19.0). Usage: make_types.py FOLDER
"""
import sys
import gguf, numpy as np
from gguf import GGMLQuantizationType as T, quants
from safetensors.numpy import save_file

# Where a block has f16 numbers, which must be finite.
HALVES = {T.F16: [0], T.Q4_0: [0], T.Q4_1: [0, 2], T.Q5_0: [0], T.Q5_1: [0, 2], T.Q8_0: [0], T.Q2_K: [80, 82], T.Q3_K: [108],
          T.Q4_K: [0, 2], T.Q5_K: [0, 2], T.Q6_K: [208], T.IQ4_NL: [0], T.IQ4_XS: [0], T.MXFP4: [], T.BF16: [], T.F32: []}
ROWS, WIDTH = 3, 512

r = np.random.default_rng(5)
w = gguf.GGUFWriter(sys.argv[1] + "/types.gguf", "types")
want = {}
for t, halves in HALVES.items():
    per, size = gguf.GGML_QUANT_SIZES[t]
    blocks = r.integers(0, 256, (ROWS * WIDTH // per, size), dtype=np.uint8)
    for at in halves:
        scale = (r.standard_normal(len(blocks)) * 10.0 ** r.integers(-8, 3, len(blocks))).astype(np.float16)  # zero and subnormal too
        blocks[:, at:at + 2] = scale.view(np.uint8).reshape(-1, 2)
    if t == T.MXFP4:
        blocks[:, 0] = np.arange(len(blocks)) * 5  # exponents: the least, and all over the range
    if t in (T.F32, T.BF16):
        values = r.standard_normal((ROWS, WIDTH)).astype(np.float32)
        blocks = values if t == T.F32 else quants.quantize(values, t)
    data = np.ascontiguousarray(blocks).view(np.uint8).reshape(ROWS, -1)
    w.add_tensor(t.name, data, raw_dtype=t, raw_shape=data.shape)
    want[t.name] = quants.dequantize(data, t).astype(np.float32).reshape(ROWS, WIDTH)
w.write_header_to_file(); w.write_kv_data_to_file(); w.write_tensors_to_file(); w.close()
save_file(want, sys.argv[1] + "/types.safetensors")

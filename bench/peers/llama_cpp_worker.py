"""Prefill by llama.cpp with its defaults: batches of 2048, micro-batches of 512,
weights repacked at load unless a fourth argument is "mapped": then they stay in the
file, which is mapped. Keys and values are in f16. Arguments: GGUF, threads, most tokens."""
import sys

import llama_cpp

from worker import serve

path, threads, most = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
if sys.argv[4:] == ["mapped"]:
    defaults = llama_cpp.llama_cpp.llama_model_default_params

    def mapped():
        params = defaults()
        params.use_extra_bufts = False
        return params

    llama_cpp.llama_cpp.llama_model_default_params = mapped
llm = llama_cpp.Llama(path, n_ctx=most, n_batch=2048, n_ubatch=512, n_threads=threads, n_threads_batch=threads, use_mmap=True, verbose=False)


def prefill(ids):
    llm.reset()
    llm.eval(ids)


serve(prefill, llm.n_vocab())

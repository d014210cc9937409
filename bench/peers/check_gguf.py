#!/usr/bin/env python3
"""Compares estream with llama.cpp on a tiny GGUF file of each family.

The tests of models/all write the files, from the checkpoints in testdata, as
llama.cpp's converter would: weights in f32, DeepSeek's latent matrix whole and taken
apart. Both programs run the same tokens, llama.cpp with keys and values in f32, and
the logits of the last position are compared.

    pip install llama-cpp-python numpy
    python3 bench/peers/check_gguf.py

Exit code 1 if logits differ by more than --tolerance, or if llama.cpp refuses a file.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

IDS = [i * (i + 5) % 47 for i in range(33)]  # of the smallest vocabulary, 48
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--tolerance", type=float, default=1e-4, help="of logits, whose spread is some units (default 0.0001)")
    p.add_argument("--verbose", action="store_true", help="show what llama.cpp says while it loads")
    a = p.parse_args()
    global llama_cpp, np  # imported once the arguments are read, so that --help needs neither
    import llama_cpp
    import numpy as np

    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        run("go", "test", "./models/all", "-count=1", "-run", "TestFamiliesAsGGUF|TestPeerFiles", "-gguf", work)
        run("go", "build", "-o", work / "estream", "./tools/estream")
        files = sorted(work.glob("*.gguf"))
        bad = [f.name for f in files if not agrees(work, f, a)]
    if bad or not files:
        sys.exit(f"differ or were refused: {', '.join(bad) or 'there are no files'}")


def run(*command):
    subprocess.run([str(c) for c in command], check=True, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=None if command[0] == "go" else subprocess.DEVNULL)


def agrees(work, file, a):
    try:
        theirs = peer(file, a.verbose)
    except ValueError as e:
        print(f"{file.name:22} llama.cpp: {e}")
        return False
    ours = estream(work, file)
    difference = np.abs(ours - theirs)
    top = "the same" if ours.argmax() == theirs.argmax() else "another"
    print(f"{file.name:22} largest difference {difference.max():.2e}, mean {difference.mean():.2e}, of logits from {theirs.min():.2f} to {theirs.max():.2f}; {top} likeliest token")
    return bool(difference.max() <= a.tolerance)


def peer(file, verbose):
    f32 = llama_cpp.GGML_TYPE_F32
    llm = llama_cpp.Llama(str(file), n_ctx=64, n_batch=64, n_threads=1, n_threads_batch=1, type_k=f32, type_v=f32, flash_attn=False, verbose=verbose)
    llm.eval(IDS)
    size = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(llm.model))
    logits = np.ctypeslib.as_array(llama_cpp.llama_get_logits_ith(llm.ctx, -1), (size,)).copy()
    llm.close()
    return logits


def estream(work, file):
    package, out = work / (file.stem + ".estream"), work / (file.stem + ".safetensors")
    run(work / "estream", "pack", "--encoding", "f32", file, package)
    run(work / "estream", "run", "--tokens", ",".join(map(str, IDS)), "-o", out, package)
    return tensor(out, "logits")[-1]


def tensor(file, name):
    """A tensor of a safetensors file."""
    data = file.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    t = json.loads(data[8:start])[name]
    begin, end = t["data_offsets"]
    return np.frombuffer(data[start + begin : start + end], {"F32": "<f4", "I32": "<i4"}[t["dtype"]]).reshape(t["shape"])


if __name__ == "__main__":
    main()

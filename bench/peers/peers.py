#!/usr/bin/env python3
"""Times estream beside other programs on one machine: prefill of random tokens.

Both sides run the shape of OLMoE-1B-7B (or of another config.json) with random
weights: a peer in the nearest thing it has to Q4_0, estream in the encodings that
are named. Runs alternate, peer, estream, peer, estream, so that a busy moment of the
machine hits both. What is printed is minimum, median and maximum of each, the
ratio of the medians, and the largest resident memory of each process.

    python3 bench/peers/peers.py                        # llama.cpp, all lengths
    python3 bench/peers/peers.py --peer transformers --tokens 128,512 --runs 3

Needs Go, Python 3.10 with venv, a C++ compiler (pip builds llama.cpp from source),
and about 10 GB of disk for each peer; everything is made in one folder, which is
removed at the end unless --keep is given.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PACKAGES = {
    "llama.cpp": ["llama-cpp-python", "gguf", "numpy"],
    "transformers": ["torch", "transformers", "numpy"],
}
GB = 1 << 30
NEEDS = {"llama.cpp": 6 * GB, "transformers": 3 * GB}


def main():
    a = arguments()
    work = pathlib.Path(a.dir or tempfile.mkdtemp(prefix="peers-", dir="."))
    work.mkdir(parents=True, exist_ok=True)
    try:
        free, needed = shutil.disk_usage(work).free, NEEDS[a.peer] + 5 * GB * len(a.encodings)
        if free < needed:
            sys.exit(f"{work}: {free / GB:.1f} GB free, {needed / GB:.1f} needed: name a folder with more room by --dir")
        compare(a, work)
    finally:
        if not a.keep:
            shutil.rmtree(work)


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--peer", choices=PACKAGES, default="llama.cpp")
    p.add_argument("--config", default=str(ROOT / "testdata/configs/OLMoE-1B-7B-0924.config.json"), help="config.json of an OLMoE shape")
    p.add_argument("--tokens", default="16,64,128,256,512,1024,2048,4096")
    p.add_argument("--encodings", default="w4g128", help="of estream, separated by commas")
    p.add_argument("--memory", default="resident", help="estream's --memory, or resident: all weights stay in memory, or least: all are streamed")
    p.add_argument("--threads", type=int, default=os.cpu_count())
    p.add_argument("--runs", type=int, default=5, help="of the peer; each is followed by a process of estream that runs three times")
    p.add_argument("--dir", help="folder to work in, kept from run to run with --keep")
    p.add_argument("--keep", action="store_true")
    a = p.parse_args()
    a.tokens = [int(n) for n in a.tokens.split(",")]
    a.encodings = a.encodings.split(",")
    return a


def compare(a, work):
    python = install(a.peer, work)
    binary = work / "estream"
    run("go", "build", "-o", binary, "./tools/estream", cwd=ROOT)
    model = work / "model.gguf"
    if a.peer == "llama.cpp" and not model.exists():
        run(python, HERE / "write_gguf.py", a.config, model)
    for e in a.encodings:
        if not (work / f"{e}.estream").exists():
            run(binary, "synth", "--encoding", e, "--config", a.config, work / f"{e}.estream")
    peer = Peer(python, a, model if a.peer == "llama.cpp" else a.config)
    head = ["tokens", f"{a.peer}, s"] + [f"{e}, s | ratio" for e in a.encodings]
    print("|" + "|".join(f" {h} " for h in head) + "|\n|" + "---|" * (1 + 1 + 2 * len(a.encodings)), flush=True)
    peak = dict.fromkeys(a.encodings, 0)
    for n in a.tokens:
        theirs, ours = [], {e: [] for e in a.encodings}
        peer.prefill(n)  # warm
        for _ in range(a.runs):
            theirs.append(peer.prefill(n))
            for e in a.encodings:
                r = estream(binary, work / f"{e}.estream", n, a)
                ours[e] += [ns / 1e9 for ns in r["samples_ns"]]
                peak[e] = max(peak[e], r["peak_bytes"])
        cells = [str(n), spread(theirs)]
        for e in a.encodings:
            cells += [spread(ours[e]), f"{statistics.median(ours[e]) / statistics.median(theirs):.3f}"]
        print("|" + "|".join(f" {c} " for c in cells) + "|", flush=True)
    print(f"peak resident memory: {a.peer} {peer.close() / GB:.2f} GiB, " + ", ".join(f"estream {e} {b / GB:.2f} GiB" for e, b in peak.items()))


def spread(s):
    return f"{min(s):.3f}/{statistics.median(s):.3f}/{max(s):.3f}"


def run(*command, **kw):
    print("+", *map(str, command), file=sys.stderr, flush=True)
    subprocess.run([str(c) for c in command], check=True, stdout=sys.stderr, **kw)


def install(peer, work):
    venv = work / "venv"
    python = venv / "bin" / "python"
    if not python.exists():
        run(sys.executable, "-m", "venv", venv)
    run(python, "-m", "pip", "install", "--quiet", *PACKAGES[peer])
    return python


def estream(binary, package, tokens, a):
    command = [binary, "bench", package, "-p", tokens, "-r", 3, "-t", a.threads, "-o", "json"]
    if a.memory == "resident":
        command += ["--resident"]
    elif a.memory != "least":
        command += ["--memory", a.memory]
    out = subprocess.run([str(c) for c in command], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return json.loads(out.stdout)[0]


class Peer:
    """A process that holds the peer's model: a number of tokens in, seconds out."""

    def __init__(self, python, a, model):
        script = HERE / (a.peer.replace(".", "_") + "_worker.py")
        command = [python, script, model, a.threads, max(a.tokens)]
        self.process = subprocess.Popen([str(c) for c in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def prefill(self, tokens):
        return float(self.ask(str(tokens)))

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(f"the peer ended with status {self.process.wait()}")
        return answer

    def close(self):
        peak = int(self.ask("peak"))
        self.process.stdin.close()
        self.process.wait()
        return peak


if __name__ == "__main__":
    main()

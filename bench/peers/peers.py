#!/usr/bin/env python3
"""Times estream beside other programs on one machine: prefill of random tokens.

Both sides run the shape of OLMoE-1B-7B (or of another config.json) with random
weights: a peer in the nearest thing it has to Q4_0, estream in the encodings that
are named. Runs alternate, peer, estream, peer, estream, so that a busy moment of the
machine hits both. What is printed is minimum, median and maximum of each, the
ratio of the medians, and the largest resident memory of each process.

    python3 bench/peers/peers.py                        # llama.cpp, all lengths
    python3 bench/peers/peers.py --peer transformers --tokens 128,512 --runs 3

With --limit each run is a process of its own in a control group of so much memory
(which takes root), with nothing of the model in the page cache: llama.cpp with its
weights repacked, its default, then mapped as they are in the file, then estream.
The time is from the start of the process to its answer.

    sudo python3 bench/peers/peers.py --limit 538MiB --tokens 512 --runs 3

Needs Go, Python 3.10 with venv, a C++ compiler (pip builds llama.cpp from source),
and 10 to 12 GB of disk for each peer; everything is made in a folder of its own,
which is removed at the end, or in that of --keep, which stays for the next time.
"""
import argparse
import json
import os
import pathlib
import random
import re
import signal
import statistics
import subprocess
import sys

import limit
import workfolder

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PACKAGES = {
    "llama.cpp": ["llama-cpp-python", "gguf", "numpy"],
    "transformers": ["torch", "transformers", "numpy"],
}
UNITS = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
HEADROOM = 1.05  # of a limit over what estream plans


def main():
    a = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the folder is removed
    with workfolder.folder(a.dir, a.keep, a.config, a.peer, a.encodings) as work:
        python, binary, model = make(a, work)
        if a.limit:
            compare_limited(a, work, python, binary, model)
        else:
            compare(a, work, python, binary, model)


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--peer", choices=PACKAGES, default="llama.cpp", help="the other program (default: %(default)s)")
    p.add_argument("--config", default=str(ROOT / "testdata/configs/OLMoE-1B-7B-0924.config.json"), help="config.json of an OLMoE shape (default: OLMoE-1B-7B's, in testdata)")
    p.add_argument("--tokens", default="16,64,128,256,512,1024,2048,4096", help="lengths of prompts, separated by commas (default: %(default)s)")
    p.add_argument("--encodings", default="w4g128", help="of estream, separated by commas (default: %(default)s)")
    p.add_argument("--memory", help="estream's --memory, or resident: all weights stay in memory (the default), or least: all are streamed; with --limit the default is the limit less 5 %%")
    p.add_argument("--limit", type=size, help="bytes of the control group that each run is alone in, such as 538MiB (default: no group)")
    p.add_argument("--patience", type=int, default=900, help="seconds after which a run under --limit is given up (default: %(default)s)")
    p.add_argument("--threads", type=int, default=os.cpu_count(), help="of each program (default: as many as processors, %(default)s)")
    p.add_argument("--runs", type=int, default=5, help="of the peer; each is followed by a process of estream, which without --limit runs three times (default: %(default)s)")
    p.add_argument("--dir", default=".", help="folder to make the work folder in (default: this one)")
    p.add_argument("--keep", help="a new folder to work in, or one of an earlier run, which stays as it is at the end (default: one of its own, removed at the end)")
    a = p.parse_args()
    a.tokens = [int(n) for n in a.tokens.split(",")]
    a.encodings = a.encodings.split(",")
    if a.limit and a.peer != "llama.cpp":
        p.error("--limit is for llama.cpp, which maps its weights from a file")
    if a.limit and a.memory == "resident":
        p.error("--limit with --memory resident: leave one out")
    a.memory = a.memory or (str(int(a.limit / HEADROOM)) if a.limit else "resident")
    return a


def size(text):
    m = re.fullmatch(r"(\d+)([KMG]iB)?", text)
    if not m:
        raise argparse.ArgumentTypeError(f"{text!r} is no size: give bytes, or such as 538MiB or 2GiB")
    return int(m[1]) * UNITS[m[2] or ""]


def make(a, work):
    """What runs need: the peer's Python, the binary, and what the peer opens."""
    python = install(a.peer, work)
    binary = work / "estream"
    run("go", "build", "-o", binary, "./tools/estream", cwd=ROOT)
    model = work / "model.gguf" if a.peer == "llama.cpp" else a.config
    if a.peer == "llama.cpp" and not model.exists():
        part = work / "model.gguf.partial"
        run(python, HERE / "write_gguf.py", a.config, part)
        part.rename(model)
    for e in a.encodings:
        if not (work / f"{e}.estream").exists():
            run(binary, "synth", "--encoding", e, "--config", a.config, work / f"{e}.estream")
    return python, binary, model


def compare(a, work, python, binary, model):
    row(["tokens", f"{a.peer}, s"] + [h for e in a.encodings for h in (f"{e}, s", "ratio")], head=True)
    peak = dict.fromkeys(a.encodings, 0)
    with Peer(python, a, model, work / "peer.log") as peer:
        for n in a.tokens:
            theirs, ours = [], {e: [] for e in a.encodings}
            peer.prefill(n)  # warm
            for _ in range(a.runs):
                theirs.append(peer.prefill(n))
                for e in a.encodings:
                    r = estream(binary, work / f"{e}.estream", n, a)
                    ours[e] += [ns / 1e9 for ns in r["samples_ns"]]
                    peak[e] = max(peak[e], r["peak_bytes"])
            cells = [n, spread(theirs)]
            for e in a.encodings:
                cells += [spread(ours[e]), f"{statistics.median(ours[e]) / statistics.median(theirs):.3f}"]
            row(cells)
        print(f"peak resident memory: {a.peer} {gib(peer.peak())}, " + ", ".join(f"estream {e} {gib(b)}" for e, b in peak.items()))


def compare_limited(a, work, python, binary, model):
    vocabulary = json.loads(pathlib.Path(a.config).read_text())["vocab_size"]
    print(f"a group of {a.limit / (1 << 20):.0f} MiB; estream --memory {a.memory}; seconds from the start of a process to its answer, with Python's own start for llama.cpp\n")
    row(["tokens", "program", "from start, s", "prefill alone, s", "peak resident", "killed or given up"], head=True)
    for n in a.tokens:
        ids = work / "tokens.txt"
        ids.write_text(",".join(str(random.randrange(vocabulary)) for _ in range(n)))
        worker = [python, HERE / "llama_cpp_worker.py", model, a.threads, n]
        cases = [("llama.cpp, repacked", worker, model, theirs), ("llama.cpp, mapped", worker + ["mapped"], model, theirs)]
        for e in a.encodings:
            package = work / f"{e}.estream"
            command = [binary, "run", "--json", "--threads", a.threads, "--tokens-file", ids, package]
            cases.append((f"estream {e}", command if a.memory == "least" else command + ["--memory", a.memory], package, ours))
        results = {name: [] for name, *_ in cases}
        for _ in range(a.runs):
            for name, command, files, _ in cases:
                limit.forget(files)
                results[name].append(limit.once(command, f"{n}\npeak\n", a.limit, a.patience))
        for name, _, _, read in cases:
            done = [(s, *read(text)) for s, text in results[name] if s is not None]
            lost = [text for s, text in results[name] if s is None]
            cells = [spread(done, 0), spread(done, 1), gib(max(d[2] for d in done))] if done else ["-"] * 3
            row([n, name, *cells, f"{len(lost)} of {a.runs}" + "".join(f", {why}" for why in sorted(set(lost)))])


def theirs(text):
    """Seconds of prefill, and peak resident bytes, of what a worker printed."""
    seconds, peak = text.split()
    return float(seconds), int(peak)


def ours(text):
    r = json.loads(text)
    return r["run_s"], r["peak_bytes"]


def row(cells, head=False):
    print("|" + "|".join(f" {c} " for c in cells) + "|", flush=True)
    if head:
        print("|" + "---|" * len(cells), flush=True)


def spread(samples, i=None):
    s = samples if i is None else [x[i] for x in samples]
    return f"{min(s):.3f}/{statistics.median(s):.3f}/{max(s):.3f}"


def gib(n):
    return f"{n / (1 << 30):.3f} GiB"


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
    command = [str(c) for c in command]
    out = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if out.returncode:
        sys.exit(f"{' '.join(command)}: status {out.returncode}\n{out.stderr}")
    return json.loads(out.stdout)[0]


class Peer:
    """A process that holds the peer's model: a number of tokens in, seconds out."""

    def __init__(self, python, a, model, log):
        script = HERE / (a.peer.replace(".", "_") + "_worker.py")
        command = [python, script, model, a.threads, max(a.tokens)]
        self.log = log
        with open(log, "w") as errors:
            self.process = subprocess.Popen([str(c) for c in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def prefill(self, tokens):
        return float(self.ask(str(tokens)))

    def peak(self):
        return int(self.ask("peak"))

    def ask(self, line):
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # its end is told below
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(f"the peer ended with status {self.process.wait()}:\n{self.log.read_text()}")
        return answer


if __name__ == "__main__":
    main()

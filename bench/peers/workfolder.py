"""The folder that peers.py works in: one of its own, or one that it made before."""
import contextlib
import hashlib
import json
import pathlib
import shutil
import sys
import tempfile

GB = 1 << 30
MARK = "peers.json"  # says that a folder is ours, and for which shape its models are
TOOLS = {"llama.cpp": 1 * GB, "transformers": 7 * GB}
WEIGHT = {"llama.cpp": 0.57, "w4": 0.66, "w8": 1.2, "bf16": 2.1, "f32": 4.2}  # bytes a parameter


@contextlib.contextmanager
def folder(parent, keep, config, peer, encodings):
    """A folder made in parent and removed at the end, or keep, which stays."""
    if keep:
        work = adopt(pathlib.Path(keep), config)
        check(work, config, peer, encodings)
        yield work
        return
    parent = pathlib.Path(parent)
    if not parent.is_dir():
        sys.exit(f"--dir {parent} is no folder: make it, or name another")
    work = pathlib.Path(tempfile.mkdtemp(prefix="peers-", dir=parent))
    try:
        check(work, config, peer, encodings)
        yield work
    finally:
        shutil.rmtree(work)


def adopt(work, config):
    """work if it is new, empty, or was made by this script for the same shape."""
    mark, shape = work / MARK, hashlib.sha256(pathlib.Path(config).read_bytes()).hexdigest()
    work.mkdir(parents=True, exist_ok=True)
    if not mark.exists():
        if any(work.iterdir()):
            sys.exit(f"--keep {work} has files that are not of this script: name a new folder, or an empty one")
        mark.write_text(json.dumps({"config_sha256": shape}) + "\n")
    elif json.loads(mark.read_text())["config_sha256"] != shape:
        sys.exit(f"--keep {work} has models of another config.json than {config}: name another folder")
    return work


def check(work, config, peer, encodings):
    """Ends the program where the disk is too small for what is not there yet."""
    params = parameters(json.loads(pathlib.Path(config).read_text()))
    parts = {"venv": TOOLS[peer]} | {f"{e}.estream": params * weight(e) for e in encodings}
    if peer in WEIGHT:
        parts["model.gguf"] = params * WEIGHT[peer]
    needed = sum(n for name, n in parts.items() if not (work / name).exists())
    free = shutil.disk_usage(work).free
    if free < needed:
        sys.exit(f"{work}: {free / GB:.1f} GiB free, {needed / GB:.1f} needed: name a folder with more room by --dir or --keep")


def weight(encoding):
    return next((n for name, n in WEIGHT.items() if encoding.startswith(name)), WEIGHT["f32"])


def parameters(c):
    """How many an OLMoE shape has, but for norms."""
    hidden, groups = c["hidden_size"], c["num_key_value_heads"] / c["num_attention_heads"]
    layer = hidden * hidden * (2 + 2 * groups) + c["num_experts"] * hidden * (1 + 3 * c["intermediate_size"])
    return int(c["num_hidden_layers"] * layer + 2 * c["vocab_size"] * hidden)

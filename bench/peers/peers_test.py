"""Tests of the scripts beside it, on programs that only pretend: python3 -m unittest discover -p '*_test.py'"""
import argparse
import contextlib
import io
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import limit
import peers
import workfolder

SHAPE = {"vocab_size": 100, "hidden_size": 8, "intermediate_size": 4, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "num_experts": 3}


class Case(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.dir = pathlib.Path(made.name)
        self.config = self.dir / "config.json"
        self.config.write_text(json.dumps(SHAPE))

    def script(self, name, text):
        path = self.dir / name
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
        return path

    def refused(self, want, do, *args):
        with self.assertRaises(SystemExit) as e:
            do(*args)
        self.assertIn(want, str(e.exception))


class Help(unittest.TestCase):
    def help(self, name):
        """What --help prints where nothing but Python's own library is installed (-S)."""
        script = pathlib.Path(__file__).with_name(name)
        return subprocess.run([sys.executable, "-S", script, "--help"], capture_output=True, text=True, check=True).stdout

    def test_needs_no_packages(self):
        self.assertIn("usage: check_gguf.py [-h] [--tolerance TOLERANCE] [--verbose]", self.help("check_gguf.py"))
        self.assertIn("usage: write_gguf.py [-h] config file", self.help("write_gguf.py"))

    def test_every_option_has_help_and_default(self):
        with mock.patch.dict("os.environ", COLUMNS="1000"):
            text = self.help("peers.py")
        options = re.split(r"\n  (?=--)", text)[1:]
        self.assertEqual([o.split()[0] for o in options], ["--peer", "--config", "--tokens", "--encodings", "--memory", "--limit", "--patience", "--threads", "--runs", "--dir", "--keep"])
        for o in options:
            self.assertRegex(o, r"\s{2,}\w.*default")


class Folder(Case):
    def open(self, parent=".", keep=None, config=None, encodings=("w4",)):
        with workfolder.folder(parent, keep, config or self.config, "llama.cpp", encodings) as work:
            (work / "made").write_text("x")
        return work

    def enough(self, free=1 << 40):
        return mock.patch("shutil.disk_usage", return_value=argparse.Namespace(free=free))

    def test_own_folder_is_removed_and_nothing_else(self):
        (self.dir / "precious.txt").write_text("x")
        with self.enough():
            work = self.open(self.dir)
        self.assertEqual(work.parent, self.dir)
        with self.enough(free=0):
            self.refused("0.0 GiB free", self.open, self.dir)
        self.assertEqual(sorted(p.name for p in self.dir.iterdir()), ["config.json", "precious.txt"])
        self.refused("is no folder", self.open, self.dir / "missing")

    def test_kept_folder_stays(self):
        keep = self.dir / "kept"
        with self.enough():
            self.open(keep=keep)
            self.open(keep=keep)
            other = self.dir / "other.json"
            other.write_text(json.dumps(SHAPE | {"num_experts": 4}))
            self.refused("another config.json", self.open, ".", keep, other)
        with self.enough(free=0):
            self.refused("--keep", self.open, ".", keep)
        self.assertTrue((keep / "made").exists())

    def test_folder_of_others_is_refused(self):
        with self.enough():
            self.refused("not of this script", self.open, ".", self.dir)
        self.assertEqual([p.name for p in self.dir.iterdir()], ["config.json"])

    def test_what_is_there_needs_no_room(self):
        keep = self.dir / "kept"
        with self.enough():
            self.open(keep=keep)
        for name in ("venv", "model.gguf", "w4.estream"):
            (keep / name).mkdir()
        with self.enough(free=0):
            self.open(keep=keep)

    def test_parameters(self):
        self.assertEqual(workfolder.parameters(SHAPE), 2 * (3 * 8 * 8 + 3 * 8 * 13) + 2 * 100 * 8)


class Limit(Case):
    def setUp(self):
        super().setUp()
        try:
            limit.Group(1 << 30).close()
        except SystemExit as e:
            self.skipTest(str(e))

    def once(self, code, asked="", patience=30):
        return limit.once([sys.executable, "-c", code], asked, 48 << 20, patience)

    def test_answer(self):
        seconds, text = self.once("print(input() + 'b'); print(2)", "a\n")
        self.assertGreater(seconds, 0)
        self.assertEqual(text, "ab\n2\n")

    def test_killed(self):
        self.assertEqual(self.once("print(len(b'x' * (200 << 20)))"), (None, "killed"))

    def test_late(self):
        self.assertEqual(self.once("import time; time.sleep(60)", patience=0.2), (None, "no answer in 0.2 s"))

    def test_failure_tells_why(self):
        self.refused("status 3\nbroken", self.once, "import sys; sys.stderr.write('broken'); sys.exit(3)")

    def test_table(self):
        python = self.script("python", 'while read n; do case "$n" in peak) echo 1073741824;; *) echo 2.5;; esac; done')
        binary = self.script("estream", """echo '{"run_s": 0.5, "peak_bytes": 536870912}'""")
        (self.dir / "model.gguf").write_text("x")
        (self.dir / "w4.estream").mkdir()
        a = argparse.Namespace(config=self.config, tokens=[3], encodings=["w4"], memory="60000000", limit=63 << 20, patience=30, threads=1, runs=2)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            peers.compare_limited(a, self.dir, python, binary, self.dir / "model.gguf")
        lines = out.getvalue().splitlines()
        self.assertIn("63 MiB; estream --memory 60000000", lines[0])
        time = r"\d\.\d{3}/\d\.\d{3}/\d\.\d{3}"
        for line, (name, alone, peak) in zip(lines[4:], [("llama.cpp, repacked", "2.500", "1.000"), ("llama.cpp, mapped", "2.500", "1.000"), ("estream w4", "0.500", "0.500")], strict=True):
            self.assertRegex(line, rf"^\| 3 \| {name} \| {time} \| {alone}/{alone}/{alone} \| {peak} GiB \| 0 of 2 \|$")


class Groups(Case):
    def test_files_of_each_version(self):
        mkdir = pathlib.Path.mkdir
        for version, folder, files in (
            (1, "memory", {"memory.limit_in_bytes": "7", "memory.memsw.limit_in_bytes": "7"}),
            (2, "", {"memory.max": "7", "memory.swap.max": "0"}),
        ):
            root = self.dir / str(version)
            mkdir(root / folder, parents=True)

            def make(path, *args, **kw):
                mkdir(path, *args, **kw)
                for name in files:
                    (path / name).write_text("")

            with mock.patch.object(pathlib.Path, "mkdir", make):
                group = limit.Group(7, root)
            self.assertEqual(group.path.parent, root / folder)
            self.assertEqual({name: (group.path / name).read_text() for name in files}, files)
            (group.path / group.kills).write_text("oom 4\noom_kill 2\n")
            self.assertEqual(group.killed(), 2)

    def test_refused(self):
        self.refused("takes root", limit.Group, 7, self.dir / "missing")


class Compare(Case):
    def test_table(self):
        python = self.script("python", 'while read n; do case "$n" in peak) echo 2147483648;; *) echo 2;; esac; done')
        binary = self.script("estream", """echo '[{"samples_ns": [500000000, 1000000000, 400000000], "peak_bytes": 1073741824}]'""")
        a = argparse.Namespace(peer="llama.cpp", tokens=[16, 64], encodings=["w4"], memory="resident", threads=1, runs=2)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            peers.compare(a, self.dir, python, binary, "model")
        self.assertEqual(
            out.getvalue().splitlines(),
            [
                "| tokens | llama.cpp, s | w4, s | ratio |",
                "|---|---|---|---|",
                "| 16 | 2.000/2.000/2.000 | 0.400/0.500/1.000 | 0.250 |",
                "| 64 | 2.000/2.000/2.000 | 0.400/0.500/1.000 | 0.250 |",
                "peak resident memory: llama.cpp 2.000 GiB, estream w4 1.000 GiB",
            ],
        )

    def test_failures_tell_why(self):
        a = argparse.Namespace(peer="llama.cpp", tokens=[16], encodings=["w4"], memory="1MiB", threads=1, runs=1)
        broken = self.script("broken", "echo a remedy >&2; exit 3")
        self.refused("--memory 1MiB: status 3\na remedy", peers.estream, broken, "w4.estream", 16, a)
        with contextlib.redirect_stdout(io.StringIO()):
            self.refused("ended with status 3:\na remedy", peers.compare, a, self.dir, broken, broken, "model")

    def test_sizes(self):
        self.assertEqual([peers.size(s) for s in ("7", "538MiB", "2GiB")], [7, 538 << 20, 2 << 30])
        for bad in ("", "5M", "1.5GiB", "-1"):
            self.assertRaises(argparse.ArgumentTypeError, peers.size, bad)


if __name__ == "__main__":
    unittest.main()

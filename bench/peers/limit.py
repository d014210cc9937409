"""Single runs, each of a process of its own, in a control group of so many bytes of
memory, with nothing of the model in the page cache."""
import os
import pathlib
import subprocess
import sys
import threading
import time

VERSIONS = (  # folder, files of the limit and of that with swap, the latter's value (empty: the limit), file of the kills
    ("memory", "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "", "memory.oom_control"),
    ("", "memory.max", "memory.swap.max", "0", "memory.events"),
)


class Group:
    """A control group of version 1 or 2 that holds what joins it to a limit."""

    def __init__(self, limit, root="/sys/fs/cgroup"):
        for folder, most, swap, value, self.kills in VERSIONS:
            parent = pathlib.Path(root, folder)
            self.path = parent / f"estream-peers-{os.getpid()}"
            try:
                self.path.mkdir()
            except OSError:
                continue
            if not (self.path / most).exists():
                write(parent / "cgroup.subtree_control", "+memory")
            if (self.path / most).exists() and write(self.path / most, str(limit)):
                write(self.path / swap, value or str(limit))  # where swap is counted
                return
            self.path.rmdir()
        sys.exit(f"no control group of memory can be made in {root}: --limit takes root, and a system that lets root make them")

    def join(self):
        """Moves the process that calls it into the group."""
        (self.path / "cgroup.procs").write_text("0")

    def killed(self):
        """How many processes went over the limit and were ended by the system."""
        lines = dict(line.split() for line in (self.path / self.kills).read_text().splitlines())
        return int(lines.get("oom_kill", 0))

    def close(self):
        for _ in range(100):  # the last process may not have left it yet
            try:
                return self.path.rmdir()
            except OSError:
                time.sleep(0.05)
        self.path.rmdir()


def write(path, text):
    try:
        path.write_text(text)
    except OSError:
        return False
    return True


def forget(path):
    """Writes the files at or below path to disk and drops them from the page cache."""
    for file in [path] if path.is_file() else [f for f in path.rglob("*") if f.is_file()]:
        fd = os.open(file, os.O_RDONLY)
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


def once(command, asked, limit, patience):
    """Runs command in a group, with the text asked as its input. Returns the seconds
    from the start of the process to its first line, and all lines; or None, and
    what became of it."""
    group = Group(limit)
    try:
        begun = time.perf_counter()
        process = subprocess.Popen([str(c) for c in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=group.join)
        timer = threading.Timer(patience, process.kill)
        timer.start()
        try:
            seconds, lines, errors = converse(process, asked, begun)
        finally:
            late = not timer.is_alive()
            timer.cancel()
            process.kill()
            process.wait()
            process.stdout.close()
            process.stderr.close()
        if group.killed():
            return None, "killed"
        if late:
            return None, f"no answer in {patience} s"
        if process.returncode:
            sys.exit(f"{' '.join(map(str, command))}: status {process.returncode}\n{errors}")
        return seconds, lines
    finally:
        group.close()


def converse(process, asked, begun):
    errors = []
    reader = threading.Thread(target=lambda: errors.append(process.stderr.read()))
    reader.start()
    try:
        process.stdin.write(asked)
        process.stdin.close()
    except BrokenPipeError:
        pass  # it ended before it read
    first = process.stdout.readline()
    seconds = time.perf_counter() - begun
    rest = process.stdout.read()
    reader.join()
    process.wait()
    return seconds, first + rest, "".join(errors)

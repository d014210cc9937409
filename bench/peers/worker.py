"""What the peers' workers share: the loop that answers peers.py."""
import random
import sys
import time


def serve(prefill, vocabulary):
    """Reads numbers of tokens, one a line, and prints the seconds that prefill(ids) takes."""
    rng = random.Random(1)
    for line in sys.stdin:
        if line.strip() == "peak":
            print(peak(), flush=True)
            continue
        ids = [rng.randrange(vocabulary) for _ in range(int(line))]
        begun = time.perf_counter()
        prefill(ids)
        print(time.perf_counter() - begun, flush=True)


def peak():
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0

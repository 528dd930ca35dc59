"""Runs of `coda train` that are killed at random moments, and ones that are interrupted.

Resumed until it is done, a run has the same last checkpoint and the same metrics, but for times,
bit for bit, as one that was left alone.
"""

import json
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
CODA = Path(os.environ.get("CODA_TEST_PROGRAMS", ROOT / "build/tests")).parent / "coda"
KILLS = 12
SECONDS = 60  # by then every run is long done; else something hangs
INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

CONFIG = {
    "model_type": "llama",
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 16,
    "vocab_size": 256,
    "max_position_embeddings": 64,
    "tie_word_embeddings": True,
}


def set_signals(ignored: tuple[signal.Signals, ...]) -> None:
    """Whatever this process was started with, as by nohup."""
    for number in INTERRUPTS:
        signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)


def catches(process: subprocess.Popen, number: signal.Signals) -> bool:
    status = Path(f"/proc/{process.pid}/status").read_text()
    caught = re.search(r"^SigCgt:\s*([0-9a-f]+)", status, re.MULTILINE)
    return caught is not None and int(caught[1], 16) >> (number - 1) & 1 == 1


class Runs:
    def __init__(self, folder: Path, steps: int, save_every: int) -> None:
        self.folder = folder
        (folder / "model").mkdir()
        (folder / "model/config.json").write_text(json.dumps(CONFIG))
        words = random.Random(1).choices(["one ", "two ", "three ", "four.\n"], k=4000)
        (folder / "data.txt").write_text("".join(words))
        self.options = [
            *("--data", folder / "data.txt", "--model", folder / "model"),
            *("--steps", str(steps), "--batch", "4", "--seq", "32", "--warmup", "5"),
            *("--save-every", str(save_every), "--evaluate-every", "7", "--read-every", "2"),
            *("--held-out-batches", "2"),
        ]

    def start(
        self, name: str, resume: bool, ignored: tuple[signal.Signals, ...] = ()
    ) -> subprocess.Popen:
        out = self.folder / name
        arguments = ["--resume", out] if resume else ["--out", out, *self.options]
        return subprocess.Popen(
            [CODA, "train", "--threads", "1", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: set_signals(ignored),
        )

    def wait_for_steps(self, name: str) -> None:
        metrics = self.folder / name / "metrics.jsonl"
        while not (metrics.exists() and metrics.read_text().count("\n") > 3):
            time.sleep(0.005)

    def last_checkpoint(self, name: str) -> Path | None:
        return max((self.folder / name).glob("step-*"), default=None)

    def finish(self, name: str, resume: bool) -> None:
        process = self.start(name, resume)
        _, errors = process.communicate(timeout=SECONDS)
        assert process.returncode == 0, f"status {process.returncode}: {errors}"

    def expect_same(self, name: str, expected: str) -> None:
        ours, theirs = self.last_checkpoint(name), self.last_checkpoint(expected)
        assert ours.name == theirs.name, f"{ours} is not the step of {theirs}"
        files = sorted(path.name for path in theirs.iterdir())
        assert sorted(path.name for path in ours.iterdir()) == files, ours
        for file in files:
            same = (ours / file).read_bytes() == (theirs / file).read_bytes()
            assert same, f"{ours / file} differs from {theirs / file}"
        assert self.metrics(name) == self.metrics(expected), f"metrics of {name} differ"
        left = list((self.folder / name).glob(".tmp-*"))
        assert not left, f"left behind: {left}"

    def metrics(self, name: str) -> list[dict]:
        lines = (self.folder / name / "metrics.jsonl").read_text().splitlines()
        times = ("seconds", "tokens_per_second")
        return [{k: v for k, v in json.loads(x).items() if k not in times} for x in lines]


def check_kills(folder: Path) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    draw = random.Random(seed)
    runs = Runs(folder, steps=90, save_every=draw.randint(1, 3))
    begin = time.monotonic()
    runs.finish("whole", resume=False)
    whole_seconds = time.monotonic() - begin
    kills = finished = 0
    while kills < KILLS or finished == 0:
        name = f"killed {finished}"
        while True:
            process = runs.start(name, resume=runs.last_checkpoint(name) is not None)
            try:
                _, errors = process.communicate(timeout=draw.uniform(0, 0.6 * whole_seconds))
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                kills += process.returncode == -signal.SIGKILL
                continue
            assert process.returncode == 0, f"seed {seed}: {errors}"
            break
        finished += 1
        runs.expect_same(name, "whole")
    print(f"{kills} kills in {finished} runs of {whole_seconds:.2f} s")


def check_interrupts(folder: Path) -> None:
    runs = Runs(folder, steps=400, save_every=0)
    runs.finish("whole", resume=False)
    for number in INTERRUPTS:
        name = f"interrupted by {number.name}"
        process = runs.start(name, resume=False)
        runs.wait_for_steps(name)
        process.send_signal(number)
        if number == signal.SIGHUP:  # comes again, from the system
            while catches(process, number):
                pass
            process.send_signal(number)
        out, errors = process.communicate(timeout=SECONDS)
        assert process.returncode == 130, f"status {process.returncode}: {out}{errors}"
        command = re.search(r"coda train --resume (.*)", out)
        assert command and shlex.split(command[1]) == [str(folder / name)], out
        step = int(runs.last_checkpoint(name).name.removeprefix("step-"))
        assert 0 < step < 400, f"stopped at step {step}"
        runs.finish(name, resume=True)
        runs.expect_same(name, "whole")


def check_ignored(folder: Path) -> None:
    """As under nohup."""
    runs = Runs(folder, steps=400, save_every=0)
    process = runs.start("run", resume=False, ignored=INTERRUPTS)
    runs.wait_for_steps("run")
    for number in INTERRUPTS:
        process.send_signal(number)
    out, errors = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, f"status {process.returncode}: {out}{errors}"
    assert runs.last_checkpoint("run").name == "step-00000400", out


def main() -> None:
    if not CODA.exists():
        print(f"skipped: no {CODA}")
        sys.exit(77)
    for check in (check_kills, check_interrupts, check_ignored):
        with tempfile.TemporaryDirectory() as folder:
            check(Path(folder))


if __name__ == "__main__":
    main()

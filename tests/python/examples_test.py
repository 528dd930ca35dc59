"""examples/train_fsdp.py learns, and goes on where it stopped."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import torch
from transformers import LlamaConfig, LlamaForCausalLM

EXAMPLE = Path(__file__).resolve().parent.parent.parent / "examples" / "train_fsdp.py"
LIMIT = 600  # seconds: for a run that hangs


def run(*command: str) -> str:
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    done = subprocess.run(
        [sys.executable, *command], env=environment, timeout=LIMIT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_train_fsdp(tmp_path):
    """Two processes: the first loss is that of one stock model on all batches; what follows is the
    same when the run is cut in two."""
    data = tmp_path / "text.txt"
    data.write_bytes(bytes(range(32, 127)) * 40)
    options = dict(steps=4, tokens=48, batch=2, accumulate=2, warmup=2, seed=3)
    options |= {"checkpoint-every": 2, "lr": 3e-3}
    command = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command += [str(EXAMPLE), "--model", "tiny", "--data", str(data)]
    command += ["--out", str(tmp_path / "run")]
    for name, value in options.items():
        command += [f"--{name}", str(value)]
    whole = run(*command)
    losses = [float(loss) for loss in re.findall(r"loss ([\d.]+)", whole)]
    assert len(losses) == 4 and losses[3] < losses[0] - 0.3
    assert abs(losses[0] - stock_loss(data, options)) < 2e-3  # bf16

    shutil.rmtree(tmp_path / "run" / "step_00000004")
    rest = run(*command)
    assert rest.startswith("goes on after step 2\nstep 3:")
    results = [re.findall(r"(step [34]: loss [\d.]+, norm [\d.]+)", text) for text in (whole, rest)]
    assert len(results[1]) == 2 and results[0] == results[1]


def stock_loss(data: Path, options: dict) -> float:
    """Of the first step, of a model that coda has not touched, in one process."""
    spec = importlib.util.spec_from_file_location("train_fsdp", EXAMPLE)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    torch.manual_seed(options["seed"])
    model = LlamaForCausalLM(LlamaConfig(**example.TINY))
    tokens = torch.tensor(list(data.read_bytes()))
    shape = (options["accumulate"], 2, options["batch"])  # two processes
    generator = torch.Generator().manual_seed(options["seed"] * 1_000_003)
    begins = torch.randint(len(tokens) - options["tokens"] + 1, shape, generator=generator)
    batch = tokens[begins.reshape(-1, 1) + torch.arange(options["tokens"])]
    with torch.no_grad():
        return model(input_ids=batch, labels=batch).loss.item()

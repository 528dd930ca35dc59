"""examples/train_fsdp.py learns, goes on where it stopped, and leaves a model for transformers."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
)

EXAMPLE = Path(__file__).resolve().parent.parent.parent / "examples" / "train_fsdp.py"
LIMIT = 600  # seconds: for a run that hangs
TEXT = bytes(range(32, 127)) * 40
# Always in the warm-up: a step does not depend on how many are to come.
OPTIONS = {"steps": 4, "tokens": 48, "batch": 2, "accumulate": 2, "warmup": 5, "seed": 3}
OPTIONS |= {"checkpoint-every": 2, "lr": 3e-3}


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("train_fsdp", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(folder: Path, model: str, **changed) -> str:
    """Two processes."""
    data = folder / "text.txt"
    data.write_bytes(TEXT)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc-per-node", "2", str(EXAMPLE), "--model", model, "--data", str(data)]
    command += ["--out", str(folder / "run"), "--export", str(folder / "exported")]
    for name, value in (OPTIONS | changed).items():
        command += [f"--{name}", str(value)]
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    done = subprocess.run(command, env=environment, timeout=LIMIT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def stock_loss(model, tokens: torch.Tensor, step: int) -> float:
    """Of the batches of all processes in a step (from 0), of a model that coda has not touched."""
    shape = (OPTIONS["accumulate"], 2, OPTIONS["batch"])
    generator = torch.Generator().manual_seed(OPTIONS["seed"] * 1_000_003 + step)
    begins = torch.randint(len(tokens) - OPTIONS["tokens"] + 1, shape, generator=generator)
    batch = tokens[begins.reshape(-1, 1) + torch.arange(OPTIONS["tokens"])]
    with torch.no_grad():
        return model(input_ids=batch, labels=batch).loss.item()


def losses_of(output: str) -> list[float]:
    return [float(loss) for loss in re.findall(r"loss ([\d.]+)", output)]


def test_train_fsdp(tmp_path, example):
    """The first loss is that of one stock model on all batches; what follows is the same when the
    run is cut in two; the exported model has the loss that the run has after as many steps."""
    tokens = torch.tensor(list(TEXT))
    whole = run(tmp_path, "tiny")
    losses = losses_of(whole)
    assert len(losses) == 4 and losses[3] < losses[0] - 0.3
    torch.manual_seed(OPTIONS["seed"])
    first = LlamaForCausalLM(LlamaConfig(**example.TINY))
    assert abs(losses[0] - stock_loss(first, tokens, step=0)) < 2e-3  # bf16
    exported = AutoModelForCausalLM.from_pretrained(tmp_path / "exported")
    assert type(exported) is LlamaForCausalLM and exported.dtype == torch.float32

    shutil.rmtree(tmp_path / "run" / "step_00000004")
    rest = run(tmp_path, "tiny", steps=5)
    assert rest.startswith("goes on after step 2\nstep 3:")
    results = [re.findall(r"(step [34]: loss [\d.]+, norm [\d.]+)", text) for text in (whole, rest)]
    assert len(results[1]) == 2 and results[0] == results[1]
    assert abs(losses_of(rest)[2] - stock_loss(exported, tokens, step=4)) < 2e-3
    again = AutoModelForCausalLM.from_pretrained(tmp_path / "exported")  # takes the place of it
    assert stock_loss(again, tokens, step=4) < stock_loss(exported, tokens, step=4)
    assert not list(tmp_path.glob(".exported*"))


def gpt2_folder(folder: Path) -> GPT2LMHeadModel:
    """A small GPT-2 on bytes, with its tokenizer."""
    alphabet = {letter: i for i, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    tokenizer = Tokenizer(models.BPE(vocab=alphabet, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer).save_pretrained(folder)
    sizes = dict(vocab_size=256, n_embd=64, n_layer=2, n_head=2, n_positions=64)
    ends = dict(bos_token_id=0, eos_token_id=0)
    torch.manual_seed(1)
    model = GPT2LMHeadModel(
        GPT2Config(**sizes, **ends, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
    )
    model.save_pretrained(folder)
    return model


def test_train_fsdp_gpt2(tmp_path):
    model = gpt2_folder(tmp_path / "model")
    losses = losses_of(run(tmp_path, str(tmp_path / "model"), steps=2))
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "exported")
    tokens = torch.tensor(tokenizer(TEXT.decode())["input_ids"])
    assert tokenizer.decode(tokens) == TEXT.decode()
    assert abs(losses[0] - stock_loss(model, tokens, step=0)) < 2e-3
    exported = AutoModelForCausalLM.from_pretrained(tmp_path / "exported")
    assert type(exported) is GPT2LMHeadModel
    assert stock_loss(exported, tokens, step=1) < losses[1] < losses[0]


BAD = {
    "steps": ("0", "whole number of at least 1"),
    "tokens": ("1", "whole number of at least 2"),
    "batch": ("-2", "whole number of at least 1"),
    "accumulate": ("0", "whole number of at least 1"),
    "lr": ("nan", "number above 0"),
    "warmup": ("-1", "whole number of at least 0"),
    "weight-decay": ("-0.1", "number of 0 or more"),
    "clip": ("0", "number above 0"),
    "checkpoint-every": ("2.5", "whole number of at least 1"),
    "keep": ("0", "whole number of at least 1"),
    "seed": ("-1", "whole number of at least 0"),
    "model": ("no/such/folder", "expected `tiny` or a folder with config.json"),
    "data": ("no_such_file", "expected a file"),
    "export": (str(EXAMPLE.parent), "expected no folder, or one with an earlier model"),
}


def parse(example, monkeypatch, **changed):
    options = {"model": "tiny", "data": str(EXAMPLE), "out": "runs/none"} | changed
    given = [f"--{key}={text}" for key, text in options.items()]
    monkeypatch.setattr(sys, "argv", [str(EXAMPLE), *given])
    return example.parse_arguments()


@pytest.mark.parametrize("name", BAD)
def test_train_fsdp_says_what_is_wrong(name, example, monkeypatch, capsys):
    value, message = BAD[name]
    with pytest.raises(SystemExit):
        parse(example, monkeypatch, **{name: value})
    said = capsys.readouterr().err
    assert f"--{name}: " in said and message in said and value in said


def test_train_fsdp_does_not_replace_its_checkpoints(example, monkeypatch, capsys, tmp_path):
    """By the exported model, whatever the two folders are called; beside or inside is fine."""
    (tmp_path / "linked").symlink_to(tmp_path / "mine")
    out = tmp_path / "mine" / "run"
    for export in (out, out.parent, out / ".." / "run", tmp_path / "linked"):
        with pytest.raises(SystemExit):
            parse(example, monkeypatch, out=out, export=export)
        assert "--export: expected a folder without --out" in capsys.readouterr().err
    for export in (out / "model", out.parent / "model", tmp_path / "mine" / "ru"):
        assert parse(example, monkeypatch, out=out, export=export).export == export

"""The coda command where a standard stream is closed, on a full disk, or has lost its reader."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
CODA = Path(os.environ.get("CODA_TEST_PROGRAMS", ROOT / "build/tests")).parent / "coda"
SECONDS = 60

CONFIG = {
    "model_type": "llama",
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "vocab_size": 256,
    "max_position_embeddings": 64,
}


def coda(*arguments: str | Path, redirection: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        ["sh", "-c", f'"$0" "$@" {redirection}', CODA, *arguments],
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )


def check_closed(folder: Path) -> None:
    """Nothing that is printed goes into a file of the run."""
    (folder / "model").mkdir()
    (folder / "model/config.json").write_text(json.dumps(CONFIG))
    (folder / "data.txt").write_text("one two three four.\n" * 200)
    data = ["--data", folder / "data.txt", "--model", folder / "model"]
    sizes = ["--steps", "3", "--batch", "2", "--seq", "16", "--threads", "1"]
    for number, redirection in enumerate(["<&- >&-", "2>&-", "<&- >&- 2>&-"]):
        run = folder / str(number)
        result = coda("train", *data, *sizes, "--out", run, redirection=redirection)
        assert result.returncode == 0, f"{redirection}: {result.returncode}, {result.stderr}"
        lines = (run / "metrics.jsonl").read_text().splitlines()
        steps = [json.loads(line)["step"] for line in lines]
        assert steps == [0, 1, 2, 3, 3], f"{redirection}: {lines}"
    assert coda("list", redirection=">&-").returncode == 0


def check_full_stderr(folder: Path) -> None:
    """What is said there may be lost, but not a run."""
    data = ["--data", folder / "data.txt", "--model", folder / "model", "--out", folder / "full"]
    sizes = ["--steps", "3", "--batch", "2", "--seq", "16", "--threads", "1"]
    result = coda("train", *data, *sizes, redirection="2> /dev/full")
    assert result.returncode == 0, f"status {result.returncode}"
    assert "3 steps (to step 3)" in result.stdout, result.stdout
    result = coda("lst", redirection="2> /dev/full")
    assert result.returncode == 2, f"status {result.returncode}"


def check_lost_reader(folder: Path) -> None:
    """As where `tee` ends at Ctrl-C: the run goes on, and is saved."""
    data = ["--data", folder / "data.txt", "--model", folder / "model", "--out", folder / "lost"]
    sizes = ["--steps", "3", "--batch", "2", "--seq", "16", "--threads", "1"]
    reader, writer = os.pipe()
    os.close(reader)
    result = subprocess.run(
        [CODA, "train", *data, *sizes], stdout=subprocess.PIPE, stderr=writer, timeout=SECONDS
    )
    os.close(writer)
    assert result.returncode == 0, f"status {result.returncode}"
    assert (folder / "lost/step-00000003").is_dir(), list((folder / "lost").iterdir())
    # Of stdout the first line is read, and nothing of the summary, which is more than a stream's
    # buffer holds: it names long paths.
    out = folder / ("lines" * 40) / ("more" * 50)
    command = [CODA, "train", *data[:-1], out, *sizes]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(SECONDS) == 0, f"status {process.returncode}"
    assert (out / "step-00000003").is_dir(), list(out.iterdir())


def check_full_disk() -> None:
    for arguments in (["list", "linear"], ["derive", "linear_swiglu"], ["--help"]):
        result = coda(*arguments, redirection="> /dev/full")
        assert result.returncode == 2, f"{arguments}: status {result.returncode}"
        assert "No space left on device" in result.stderr, result.stderr


def main() -> None:
    if not CODA.exists():
        print(f"skipped: no {CODA}")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        check_closed(Path(folder))
        check_full_stderr(Path(folder))
        check_lost_reader(Path(folder))
    check_full_disk()


if __name__ == "__main__":
    main()

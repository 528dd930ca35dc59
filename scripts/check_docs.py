"""Checks that the documentation speaks of what exists.

- A path in backticks in a Markdown file exists: from the root, from coda/ or beside the file.
- A code block under `<!-- file: PATH -->` is that file, to the letter; with `lines: A-B` behind the
  path, those lines of it.
- A link leads to a file here, and to a heading of it where it names one.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

FENCE = re.compile(r"^```.*?^```[ \t]*$", re.MULTILINE | re.DOTALL)
QUOTED = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"[\w.*-]*[\w*-][\w.*/-]*")
MARKED = re.compile(
    r"<!-- file: (?P<path>\S+)(?: lines: (?P<first>\d+)-(?P<last>\d+))? -->\s*\n"
    r"```[^\n]*\n(?P<code>.*?)^```[ \t]*$",
    re.MULTILINE | re.DOTALL,
)
LINK = re.compile(r"\]\((?P<path>[^)\s#]*)(?:#(?P<anchor>[^)\s]+))?\)")
HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
SUFFIXES = (".h", ".cpp", ".cu", ".cuh", ".py", ".sh", ".md", ".cmake", ".json", ".txt", ".toml")
MADE_LATER = (
    "build/",
    "build-",
    ".venv/",
    "runs/",
)  # by building or running, not in the repository


def listed_files() -> list[str]:
    command = ["git", "ls-files", "-co", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.split("\n") if name and (ROOT / name).is_file()]


def looks_like_path(text: str) -> bool:
    if not PATH.fullmatch(text) or text.startswith(MADE_LATER):
        return False
    if text.endswith(SUFFIXES):
        return True
    return "/" in text and (ROOT / text.split("/")[0]).is_dir()


def exists(text: str, beside: Path, names: set[str]) -> bool:
    if "/" not in text and text in names:
        return True
    folders = (ROOT, ROOT / "coda", beside)
    return any(next(folder.glob(text), None) is not None for folder in folders)


def anchors(text: str) -> set[str]:
    """Of its headings, as GitHub names them."""
    headings = HEADING.findall(FENCE.sub("", text))
    return {re.sub(r"[^\w -]", "", one).lower().replace(" ", "-") for one in headings}


def check_links(name: str, document: Path, text: str) -> list[str]:
    errors = []
    for match in LINK.finditer(QUOTED.sub("", FENCE.sub("", text))):
        if "://" in match["path"]:
            continue
        target = document.parent / match["path"] if match["path"] else document
        if not target.exists():
            errors.append(f"{name}: the link to {match['path']} leads nowhere")
        elif match["anchor"] and match["anchor"] not in anchors(target.read_text("utf-8")):
            errors.append(f"{name}: {target.name} has no heading #{match['anchor']}")
    return errors


def check(name: str, file_names: set[str]) -> list[str]:
    document = ROOT / name
    text = document.read_text(encoding="utf-8")
    errors = []
    for match in MARKED.finditer(text):
        path = ROOT / match["path"]
        if not path.is_file():
            errors.append(f"{name}: no file {match['path']} for the code block marked with it")
            continue
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        if match["first"]:
            lines = lines[int(match["first"]) - 1 : int(match["last"])]
        if match["code"] != "".join(lines):
            errors.append(f"{name}: the code block marked {match['path']} differs from that file")
    for match in QUOTED.finditer(FENCE.sub("", text)):
        if looks_like_path(match[1]) and not exists(match[1], document.parent, file_names):
            errors.append(f"{name}: `{match[1]}` does not exist")
    return errors + check_links(name, document, text)


def main() -> int:
    names = listed_files()
    documents = [name for name in names if name.endswith(".md")]
    file_names = {Path(name).name for name in names}
    errors = [error for name in documents for error in check(name, file_names)]
    for error in errors:
        print(error)
    print(f"{len(documents)} documents: {len(errors)} errors")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())

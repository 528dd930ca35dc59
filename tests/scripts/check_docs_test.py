"""scripts/check_docs.py: links to headings and files, paths, and blocks that are files."""

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

import check_docs  # noqa: E402

GOOD = """# One, two
[here](#one-two), [programs](#programs-of-ones-own), [there](other.md#its-end), [a page](other.md),
[elsewhere](https://example.org/x#y), `a[0](#nothing)`, `other.md`
## Programs of one's own
```
# no heading
[no link](#nowhere)
```
<!-- file: code.py -->
```python
x = 1
```
"""
BAD = (
    ("[here](#one-two)", "[here](#three)", "no heading #three"),
    ("[here](#one-two)", "[here](#no-heading)", "no heading #no-heading"),
    ("other.md#its-end", "other.md#its-start", "other.md has no heading #its-start"),
    ("(other.md)", "(gone.md)", "link to gone.md leads nowhere"),
    ("`other.md`", "`gone.md`", "`gone.md` does not exist"),
    ("x = 1", "x = 2", "differs from that file"),
    ("file: code.py", "file: gone.py", "no file gone.py"),
)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        check_docs.ROOT = Path(folder)
        (Path(folder) / "other.md").write_text("## Its end\n", encoding="utf-8")
        (Path(folder) / "code.py").write_text("x = 1\n", encoding="utf-8")
        document = Path(folder) / "page.md"
        document.write_text(GOOD, encoding="utf-8")
        found = check_docs.check("page.md", {"other.md"})
        assert not found, found
        for old, new, message in BAD:
            assert old in GOOD
            document.write_text(GOOD.replace(old, new), encoding="utf-8")
            found = check_docs.check("page.md", {"other.md"})
            assert len(found) == 1 and message in found[0], (new, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())

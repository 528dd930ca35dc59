"""What the results of bench/decode.py say: speed over stock by number of tokens."""

ENOUGH = 0.98  # of stock's speed: what noise leaves of "not slower"


def speeds(results: list[dict], name: str) -> dict[int, list[float]]:
    """Of a contender over stock, in all cases of each number of tokens."""
    found: dict[int, list[float]] = {}
    for r in sorted(results, key=lambda r: r["tokens"]):
        found.setdefault(r["tokens"], []).append(r["ms"]["stock"] / r["ms"][name])
    return found


def least_of(results: list[dict], name: str) -> dict[int, float]:
    return {tokens: min(values) for tokens, values in speeds(results, name).items()}


def enough_from(results: list[dict]) -> int | None:
    """The least number of tokens from which `patched` is fast enough in every case; None where it
    is not at the largest number."""
    start = None
    for tokens, value in reversed(least_of(results, "patched").items()):
        if value < ENOUGH:
            break
        start = tokens
    return start


def verdict(results: list[dict]) -> str:
    """What follows "of stock's speed"."""
    start, most = enough_from(results), max(r["tokens"] for r in results)
    kept = f"calls are at {ENOUGH} or more in every case from {start} tokens on"
    slow = f"{most} tokens are still below {ENOUGH}"
    return f"run as coda programs, {kept if start else slow}"

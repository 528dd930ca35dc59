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
    start, most = enough_from(results), max(r["tokens"] for r in results)
    speed = f"{ENOUGH} of the stock model's speed in every case"
    kept, slow = (
        f"calls reach {speed} from {start} tokens on",
        f"{most} tokens do not reach {speed}",
    )
    return f"Run as coda programs, {kept if start else slow}."

"""Contenders that take turns in one process.

A contender is a list of phases that follow each other (forward, backward); each is timed by itself.
On a GPU a turn lasts about 16 ms, so that the clock which the neighbours left does not count: its
first half is not timed. Whoever takes ten times as long runs once, and all of it counts. Nobody
waits for the GPU inside a round: launches are asynchronous on both sides, and no CUDA graph is used
by either.
"""

import math
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import torch

TURN_MS = 16.0


@dataclass
class Contender:
    name: str
    phases: dict[str, Callable[[], object]]
    ms: dict[str, list[float]] = field(default_factory=dict)
    repetitions: int = 1

    def add(self, phase: str, ms: float) -> None:
        self.ms.setdefault(phase, []).append(ms)

    def medians(self) -> dict[str, float]:
        return {phase: statistics.median(ms) for phase, ms in self.ms.items()}


def run_on_cpu(contender: Contender) -> dict[str, list[float]]:
    times = {}
    for phase, run in contender.phases.items():
        start = time.perf_counter()
        run()
        times[phase] = [(time.perf_counter() - start) * 1e3]
    return times


def run_on_gpu(contender: Contender) -> list[list[torch.cuda.Event]]:
    """Events around every phase of every repetition."""
    marks = []
    for _ in range(contender.repetitions):
        events = [torch.cuda.Event(enable_timing=True) for _ in range(len(contender.phases) + 1)]
        events[0].record()
        for event, run in zip(events[1:], contender.phases.values()):
            run()
            event.record()
        marks.append(events)
    return marks


def read(contender: Contender, marks: list[list[torch.cuda.Event]]) -> dict[str, list[float]]:
    counted = marks[len(marks) // 2 :]
    return {
        phase: [events[i].elapsed_time(events[i + 1]) for events in counted]
        for i, phase in enumerate(contender.phases)
    }


def one_round(contenders: list[Contender], device: str) -> list[dict[str, list[float]]]:
    if device == "cpu":
        return [run_on_cpu(contender) for contender in contenders]
    marks = [run_on_gpu(contender) for contender in contenders]
    torch.cuda.synchronize()
    return [read(*pair) for pair in zip(contenders, marks)]


def race(contenders: list[Contender], rounds: int, device: str) -> None:
    """Fills in their times: `rounds` of each phase. The order is drawn anew in every round."""
    order = random.Random(1)
    for _ in range(2):  # to compile, and to warm up
        warm = one_round(contenders, device)
    for contender, times in zip(contenders, warm):
        ms = sum(statistics.median(one) for one in times.values())
        short = device == "cuda" and ms < 10 * TURN_MS
        contender.repetitions = 2 * max(1, math.ceil(TURN_MS / 2 / ms)) if short else 1
    for _ in range(rounds):
        shuffled = order.sample(contenders, len(contenders))
        for contender, times in zip(shuffled, one_round(shuffled, device)):
            for phase, ms in times.items():
                contender.add(phase, statistics.fmean(ms))

"""Devices and seeds of the tests."""

import pytest
import torch

import coda  # noqa: F401 (registers the operators)

DEVICES = ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(7)


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    """These shapes are so small that a second thread costs more than it brings."""
    torch.set_num_threads(1)

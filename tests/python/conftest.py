"""Devices and seeds of the tests. A test that needs a GPU carries the marker `gpu` and is skipped
where there is none: by itself where a parameter is "cuda", else by decorator."""

import pytest
import torch

import coda  # noqa: F401 (registers the operators)

DEVICES = ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])


def on_cuda(parameter: object) -> bool:
    """Whether a test's parameter is the device, or has it among others."""
    parts = parameter if isinstance(parameter, tuple) else (parameter,)
    return any(isinstance(part, str) and part == "cuda" for part in parts)


@pytest.hookimpl(tryfirst=True)  # before -m chooses among them
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        call = getattr(item, "callspec", None)
        if call is not None and any(map(on_cuda, call.params.values())):
            item.add_marker(pytest.mark.gpu)
        if item.get_closest_marker("gpu") and not torch.cuda.is_available():
            item.add_marker(pytest.mark.skip(reason="no GPU"))


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

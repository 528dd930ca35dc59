"""A LLaMA layer without attention, forward and backward: coda beside PyTorch and beside its bare
GEMMs.

    python bench/layer.py --json bench/results/layer_h200.json                  # GPU
    python bench/layer.py --device cpu --json bench/results/layer_cpu.json

Contenders take turns in one process (race.py): coda's operations with norm weights kept and folded,
through the C interface; the PyTorch package's halves of layers; torch.compile (on the CPU eager
too, on a GPU Liger where it is installed); the layer's GEMMs alone by torch.mm into given memory.
`inference` is a forward pass that keeps nothing; `forward` keeps what `backward` reads. Folding γ
into the weights happens once per update of the weights; it is measured as `fold` and is in no other
figure. First, every gradient is compared with autograd in fp64: none is timed that is more than
twice as far off as eager PyTorch.
"""

import argparse
import gc
import importlib.util
import sys

import arguments
import torch  # before libcoda, so that both use one OpenMP runtime
from capi import Coda
from coda_layer import CodaLayer, Recorder
from machine import PowerMeter, check_one_openmp, keep_memory, write_results
from package_layer import PackageLayer, joined, liger_layer
from race import Contender, race
from torch_layer import (
    Shape,
    TorchLayer,
    bare_gemms,
    layer,
    llama_shape,
    make_gradients,
    make_rotation,
    make_tensors,
)

DEFAULTS = {"cuda": (16384, [2048, 4096, 8192]), "cpu": (2048, [1024])}
FORMS = {"coda kept": False, "coda folded": True}
PACKAGE = "coda package"


class Case:
    """A layer of one size with its data."""

    def __init__(self, shape: Shape, device: str, zeros: bool = False):
        self.shape, self.device, self.zeros = shape, device, zeros
        self.tensors = make_tensors(shape, device, zeros)
        self.rotation = make_rotation(shape, device)
        self.incoming = make_gradients(shape, device, zeros)

    def coda(self, run, folded: bool) -> CodaLayer:
        return CodaLayer(run, self.shape, self.tensors, self.rotation, folded)

    def package(self) -> PackageLayer:
        return PackageLayer(self.shape, self.tensors, self.rotation, self.incoming)

    def torch(self, function) -> TorchLayer:
        return TorchLayer(function, self.shape, self.tensors, self.rotation, self.incoming)


def relative_error(got: torch.Tensor, exact: torch.Tensor) -> float:
    return ((got.double() - exact).norm() / exact.norm()).item()


def outputs_of(coda: Coda, case: Case, folded: bool) -> dict[str, torch.Tensor]:
    ours = case.coda(coda.run, folded)
    saved = ours.forward()
    forward = (saved.two.x, saved.heads.q, saved.heads.k, saved.heads.v)
    results = dict(zip(("x2", "q", "k", "v"), forward))
    gradients = ours.backward(saved, case.incoming).items()
    return results | {f"d{name}": value for name, value in gradients.items()}


def torch_outputs(theirs: TorchLayer | PackageLayer) -> dict[str, torch.Tensor]:
    results = dict(zip(("x2", "q", "k", "v"), theirs.forward()))
    gradients = theirs.backward()
    gradients = joined(gradients) if isinstance(theirs, PackageLayer) else gradients
    return results | {f"d{name}": value for name, value in gradients.items()}


def errors(coda: Coda, shape: Shape, device: str) -> dict[str, dict[str, float]]:
    """Of every result against autograd in fp64, of coda's ways and of eager PyTorch."""
    case = Case(shape, device)
    exact_case = Case.__new__(Case)
    exact_case.__dict__ = dict(case.__dict__, tensors=case.tensors.to(torch.float64))
    exact_case.incoming = tuple(one.double() for one in case.incoming)
    exact = torch_outputs(exact_case.torch(layer))
    contenders = {"eager": torch_outputs(case.torch(layer))}
    contenders |= {name: outputs_of(coda, case, folded) for name, folded in FORMS.items()}
    contenders[PACKAGE] = torch_outputs(case.package())
    return {
        name: {output: relative_error(results[output], exact[output]) for output in exact}
        for name, results in contenders.items()
    }


def check(coda: Coda, shape: Shape, device: str) -> dict:
    found = errors(coda, shape, device)
    floor = 2**-24 * max(shape.hidden, shape.ffn, shape.tokens) ** 0.5
    for form in (*FORMS, PACKAGE):
        for output, ours in found[form].items():
            limit = 2 * found["eager"][output] + floor
            if not ours <= limit:
                raise SystemExit(
                    f"{form}: {output}: error {ours:.2e}, at most {limit:.2e}: not timed"
                )
    return found


def peak_bytes(step) -> int:
    """Most memory that a step has allocated beside what was there before it."""
    step()  # compiles, and makes what stays
    gc.collect()
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    step()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before


def peak_memory(coda: Coda, case: Case, layers: dict) -> dict[str, int]:
    def step_of(layer: TorchLayer | PackageLayer):
        def step():
            layer.forward()
            layer.backward()

        return step

    result = {name: peak_bytes(step_of(layer)) for name, layer in layers.items()}
    for name, folded in FORMS.items():
        ours = case.coda(coda.run, folded)
        result[name] = peak_bytes(lambda ours=ours: ours.backward(ours.forward(), case.incoming))
    return result


def coda_contender(coda: Coda, case: Case, name: str, folded: bool) -> list[Contender]:
    """A training step, and a forward pass of inference."""
    recorder = Recorder(coda)
    ours = case.coda(recorder.run, folded)
    phases = {"fold": recorder.replay()} if folded else {}
    saved = ours.forward()
    phases["forward"] = recorder.replay()
    ours.backward(saved, case.incoming)
    phases["backward"] = recorder.replay()
    ours.forward(keep=False)
    return [Contender(name, phases), Contender(name, {"inference": recorder.replay()})]


def torch_contender(name: str, layer: TorchLayer | PackageLayer) -> list[Contender]:
    phases = {"forward": layer.forward, "backward": layer.backward}
    return [Contender(name, phases), Contender(name, {"inference": layer.inference})]


def torch_layers(case: Case) -> dict[str, TorchLayer | PackageLayer]:
    """What runs by autograd."""
    compiled = torch.compile(layer, fullgraph=True, dynamic=False)
    layers = {PACKAGE: case.package(), "torch.compile": case.torch(compiled)}
    if case.device == "cpu":
        layers["torch eager"] = case.torch(layer)
    elif importlib.util.find_spec("liger_kernel"):
        layers["Liger"] = case.torch(liger_layer)
    return layers


def measure(coda: Coda, case: Case, rounds: int) -> dict:
    torch._dynamo.reset()
    device, layers = case.device, torch_layers(case)
    memory = peak_memory(coda, case, layers) if device == "cuda" else None
    contenders = [one for item in FORMS.items() for one in coda_contender(coda, case, *item)]
    contenders += [one for item in layers.items() for one in torch_contender(*item)]
    contenders.append(Contender("GEMMs", bare_gemms(case.shape, device, case.zeros)))
    with PowerMeter() as meter:
        race(contenders, rounds, device)
    ms: dict[str, dict[str, float]] = {}
    for contender in contenders:
        ms.setdefault(contender.name, {}).update(contender.medians())
    for phases in ms.values():
        phases["forward+backward"] = phases["forward"] + phases["backward"]
    return {
        "hidden": case.shape.hidden,
        "ffn": case.shape.ffn,
        "tokens": case.shape.tokens,
        "regime": "zeros" if case.zeros else "random",
        "rounds": rounds,
        "ms": ms,
        "peak_bytes": memory,
        **meter.reading(),
    }


def torch_ms(ms: dict, phase: str) -> float:
    """The faster of PyTorch's ways, over a whole step or one phase."""
    return min(times[phase] for name, times in ms.items() if name.startswith("torch"))


def print_table(results: list[dict]) -> None:
    print(
        f"{'h':>6} {'regime':8}{'phase':18}{'form':13}{'ms':>9}{'over torch':>12}{'over GEMMs':>12}"
    )
    for r in results:
        ms = r["ms"]
        for phase in ("inference", "forward", "backward", "forward+backward"):
            for form in (*FORMS, PACKAGE):
                ours, gemms = ms[form][phase], ms["GEMMs"].get(phase, ms["GEMMs"]["forward"])
                ratios = f"{torch_ms(ms, phase) / ours:12.3f}{gemms / ours:12.3f}"
                print(f"{r['hidden']:6} {r['regime']:8}{phase:18}{form:13}{ours:9.3f}{ratios}")
        if r["peak_bytes"]:
            peaks = "  ".join(f"{n} {b / 2**30:.2f} GiB" for n, b in r["peak_bytes"].items())
            print(f"{r['hidden']:6} {r['regime']:8}peak memory beside weights: {peaks}")


def main() -> int:
    parser = argparse.ArgumentParser(description="A layer without attention beside PyTorch")
    parser.add_argument("--device", type=arguments.device, choices=DEFAULTS, default="cuda")
    parser.add_argument("--hidden", type=arguments.width, nargs="+")
    parser.add_argument("--tokens", type=arguments.count)
    parser.add_argument("--rounds", type=arguments.count, default=20)
    parser.add_argument("--threads", type=arguments.count, default=2, help="on the CPU")
    parser.add_argument("--json", type=arguments.result_file, metavar="FILE")
    a = parser.parse_args()
    device = a.device
    tokens, hidden = DEFAULTS[device]
    if device == "cpu":
        keep_memory()
        torch.set_num_threads(a.threads)
    torch.manual_seed(1)
    coda = Coda(device, a.threads)
    if device == "cpu":
        check_one_openmp()
    checked = check(coda, llama_shape(384, 512), device)
    results = []
    for h in a.hidden or hidden:
        for zeros in (False, True) if device == "cuda" else (False,):
            case = Case(llama_shape(a.tokens or tokens, h), device, zeros)
            results.append(measure(coda, case, a.rounds))
            print_table(results[-1:])
            del case
            gc.collect()
            if device == "cuda":
                torch.cuda.empty_cache()
    document = write_results(a.json, coda, results, kind="layer", errors=checked)
    print(f"\n{document['gpu'] or document['machine']}; commit {document['commit']}")
    print_table(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""What makes a patched layer run stock: said once, exact to the bit, and an error where strict."""

import warnings
from collections import OrderedDict

import pytest
import torch
from operator_calls import Calls
from tiny_models import batch, fused_layers, tiny, trained
from torch import nn
from torch.nn.utils import parametrize, prune

import coda


def in_use(family):
    """A patched model that has run: its layers were found stock and are remembered so."""
    model = coda.patch(tiny(family))
    with Calls() as calls:
        trained(model, batch())
    assert fused_layers(family, calls.names) == 2
    return model


def layer_of(model, index=0):
    return model.model.layers[index]


def check_first_layer_runs_stock(model, reason: str, fused: int = 1) -> None:
    """Of two patched layers `fused` are fused; a warning with the reason comes once."""
    inputs = batch()
    with pytest.warns(UserWarning, match=reason) as caught, Calls() as calls:
        got = trained(model, inputs)
    assert sum("coda" in str(warning.message) for warning in caught) == 1
    assert fused_layers(model.config.model_type, calls.names) == fused
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="coda")
        trained(model, inputs)
    coda.unpatch(model)
    want = trained(model, inputs)
    for name, tensor in want.items():
        torch.testing.assert_close(got[name], tensor, rtol=2e-4, atol=2e-5)
    with pytest.raises(RuntimeError, match=reason):
        trained(coda.patch(model, strict=True), inputs)


def lora(model, **options):
    peft = pytest.importorskip("peft")
    config = peft.LoraConfig(task_type="CAUSAL_LM", r=4, init_lora_weights=False, **options)
    return peft.get_peft_model(model, config)


def test_lora_before_patching():
    model = lora(tiny("llama"), target_modules=["q_proj", "v_proj"], layers_to_transform=[0])
    check_lora(model, coda.patch(model))


def test_lora_after_patching():
    model = in_use("llama")
    check_lora(lora(model, target_modules=["q_proj", "v_proj"], layers_to_transform=[0]), model)


def check_lora(model, patched):
    """The first layer, with its adapters, runs stock; the second, frozen, fused."""
    inputs = batch()
    reason = "q_proj is a peft.tuners.lora.layer.Linear, not a torch.nn"
    with pytest.warns(UserWarning, match=reason), Calls() as calls:
        got = trained(model, inputs)
    assert calls.names.count("linear_rope") == 1
    assert calls.names.count("linear_weight_grad") == 0  # nothing of the second layer learns
    coda.unpatch(patched)
    want = trained(model, inputs)
    assert got.keys() == want.keys() and any("lora_A" in name for name in got)
    for name, tensor in want.items():
        torch.testing.assert_close(got[name], tensor, rtol=2e-4, atol=2e-5)


def test_all_layers_with_lora_warn_once():
    model = coda.patch(lora(tiny("qwen2"), target_modules=["q_proj"]))
    with pytest.warns(UserWarning) as caught:
        trained(model, batch())
    assert sum("coda" in str(warning.message) for warning in caught) == 1


def test_forward_hook():
    model = in_use("llama")
    seen = []
    handle = layer_of(model).mlp.gate_proj.register_forward_hook(lambda *args: seen.append(1))
    check_first_layer_runs_stock(model, "gate_proj has a forward hook")
    assert seen
    handle.remove()
    trained(coda.patch(model, strict=True), batch())


def test_hooks_that_come_in_a_dictionary_of_their_own():
    """As those of a module whose state somebody set."""
    model, seen = in_use("llama"), []
    up = layer_of(model).mlp.up_proj
    up._forward_hooks = OrderedDict({0: lambda *args: seen.append(1)})
    check_first_layer_runs_stock(model, "up_proj has a forward hook")
    assert seen


@pytest.mark.parametrize("where", ["self_attn", "mlp", "input_layernorm", "self_attn.o_proj"])
def test_hooks_anywhere(where):
    model = in_use("qwen3")
    module = layer_of(model).get_submodule(where)
    module.register_forward_pre_hook(lambda module, args: None)
    check_first_layer_runs_stock(model, "has a forward hook")


def test_backward_hook():
    model = in_use("llama")
    layer_of(model).mlp.down_proj.register_full_backward_hook(lambda *args: None)
    check_first_layer_runs_stock(model, "down_proj has a backward hook")


def test_some_biases():
    model = in_use("qwen2")
    layer_of(model).self_attn.k_proj.bias = None
    check_first_layer_runs_stock(model, "some of q_proj, k_proj and v_proj have a bias")


def test_head_norms_with_other_epsilons():
    model = in_use("qwen3")
    layer_of(model).self_attn.k_norm.variance_epsilon = 0.1
    check_first_layer_runs_stock(model, "q_norm and k_norm have other epsilons, 1e-06 and 0.1")


def test_hook_for_all_modules():
    model = in_use("llama")
    handle = nn.modules.module.register_module_forward_hook(lambda *args: None)
    try:
        check_first_layer_runs_stock(model, "hook for all modules", fused=0)
    finally:
        handle.remove()


def test_hooks_around_layers_run_with_fused_ones():
    """Hooks of a layer itself see hidden states, as they would of a stock one."""
    model, seen = coda.patch(tiny("llama"), strict=True), []
    layer_of(model).register_forward_pre_hook(lambda module, args: seen.append(args[0].shape))
    with Calls() as calls:
        trained(model, batch())
    assert seen == [(2, 65, 96)] and calls.names.count("linear_rope") == 2


def test_parametrisation():
    model = in_use("llama")

    class Doubled(nn.Module):
        def forward(self, weight):
            return 2 * weight

    linear = layer_of(model).self_attn.k_proj
    parametrize.register_parametrization(linear, "weight", Doubled())
    check_first_layer_runs_stock(model, "k_proj is a torch.nn.utils.parametrize.ParametrizedLinear")


def test_pruning():
    model = in_use("llama")
    prune.random_unstructured(layer_of(model).mlp.up_proj, "weight", 0.3)
    check_first_layer_runs_stock(model, "up_proj has a forward hook")


def test_another_linear():
    """As quantised ones are: of another class."""

    class Other(nn.Linear):
        pass

    model = in_use("llama")
    mlp = layer_of(model).mlp
    other = Other(160, 96, bias=False)
    other.weight = mlp.down_proj.weight
    mlp.down_proj = other
    check_first_layer_runs_stock(model, "down_proj is a .*Other, not a torch.nn.*linear.Linear")


def test_another_class_of_the_same_module():
    """As fully_shard gives one to what it shards."""
    model = in_use("llama")
    mlp = layer_of(model).mlp
    mlp.__class__ = type("Sharded", (type(mlp),), {})
    check_first_layer_runs_stock(model, "mlp is a .*Sharded, not a .*modeling_llama.LlamaMLP")


def test_a_bias_where_there_was_none():
    model = in_use("llama")
    layer_of(model).mlp.down_proj.bias = nn.Parameter(torch.randn(96))
    check_first_layer_runs_stock(model, "down_proj has a bias")


def test_sparse_weight():
    model, inputs = in_use("llama").eval(), batch()
    linear = layer_of(model).mlp.down_proj
    linear.weight = nn.Parameter(linear.weight.detach().to_sparse_csr(), requires_grad=False)
    with torch.no_grad():
        want = coda.unpatch(model)(**inputs).logits
        coda.patch(model)
        match = "down_proj.weight is a Parameter of torch.sparse_csr, not a plain parameter"
        with pytest.warns(UserWarning, match=match), Calls() as calls:
            torch.testing.assert_close(model(**inputs).logits, want)
    assert fused_layers("llama", calls.names) == 1


def test_tensor_subclass():
    """As torchao's quantised weights and DTensor are."""

    class Wrapped(torch.Tensor):
        pass

    model = in_use("llama")
    linear = layer_of(model).self_attn.v_proj
    weight = linear.weight.detach().as_subclass(Wrapped).requires_grad_()
    del linear.weight
    linear._parameters["weight"] = weight
    check_first_layer_runs_stock(model, "v_proj.weight is a Wrapped, not a plain parameter")


def test_replaced_forward():
    model = in_use("llama")
    mlp = layer_of(model).mlp
    stock = mlp.forward
    mlp.forward = lambda x: stock(x)
    check_first_layer_runs_stock(model, "the forward of mlp was replaced")


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64])
def test_types_without_programs(dtype):
    model = coda.patch(tiny("llama", dtype))
    with pytest.warns(UserWarning, match=f"the type is {dtype}"), Calls() as calls:
        trained(model, batch())
    assert calls.names == []
    with pytest.raises(RuntimeError, match="strict=False"):
        trained(coda.patch(model, strict=True), batch())


def test_fp64_under_autocast():
    """Which leaves it as it is."""
    model, inputs = tiny("llama", torch.float64), batch()
    with torch.autocast("cpu", torch.bfloat16):
        want = trained(model, inputs)
        coda.patch(model)
        with pytest.warns(UserWarning, match="the type is torch.float64"), Calls() as calls:
            got = trained(model, inputs)
    assert calls.names == [] and all(torch.equal(got[name], want[name]) for name in want)


@pytest.mark.gpu
def test_fp32_on_a_gpu():
    model, inputs = coda.patch(tiny("llama", device="cuda")), batch(device="cuda")
    with pytest.warns(UserWarning, match="fp32 on a GPU.*use torch.autocast"), Calls() as calls:
        trained(model, inputs)
    assert calls.names == []
    with torch.autocast("cuda", torch.bfloat16), Calls() as calls:
        model(**inputs)
    assert calls.names.count("linear_rope") == 2


def test_attention_weights():
    model = coda.patch(tiny("llama", attn_implementation="eager"))
    # transformers 4.57 replaces forwards to record them.
    reason = "attention weights are asked for|the forward of self_attn was replaced"
    with pytest.warns(UserWarning, match=reason):
        outputs = model(**batch(), output_attentions=True)
    assert len(outputs.attentions) == 2


def test_another_loss_function():
    model = in_use("llama")
    model.loss_function = lambda logits, labels, **options: logits.square().mean()
    with pytest.warns(UserWarning, match="loss_function"), Calls() as calls:
        trained(model, batch())
    assert "linear_cross_entropy" not in calls.names and "linear_rope" in calls.names


def test_hook_of_the_head():
    model = in_use("llama")
    model.lm_head.register_forward_hook(lambda *args: None)
    with pytest.warns(UserWarning, match="lm_head has a forward hook"), Calls() as calls:
        trained(model, batch())
    assert "linear_cross_entropy" not in calls.names


def test_few_tokens_are_no_reason_to_warn():
    model = coda.patch(tiny("llama"), strict=True, min_tokens=64)
    with Calls() as calls:
        trained(model, batch(sequences=1, tokens=63))
        assert calls.names == []
        trained(model, batch(sequences=1, tokens=64))
        assert calls.names.count("linear_rope") == 2

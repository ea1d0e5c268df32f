"""`rl.generate`: runs as values, of one device and batch or of many."""

import numpy as np
import pytest

import rooflint as rl


@pytest.fixture(scope="module")
def found():
    return rl.generate(
        "llama-3.1-8b", ["l4", "t4"], prompt=512, generate=33, precision=["bf16", "w4a16"], batch=[4, 1],
        require="per-token<40ms",
    )  # fmt: skip


def test_columns_have_a_row_for_each_device_precision_and_batch(found):
    columns = found.columns
    # bf16 on a T4 has a reason instead of figures
    assert columns["device"].tolist() == ["nvidia/l4"] * 4 + ["nvidia/t4"] * 3
    assert columns["compute"].tolist() == ["bf16", "bf16", "w4a16", "w4a16", "bf16", "w4a16", "w4a16"]
    assert np.array_equal(columns["batch"], [1, 4, 1, 4, np.nan, 1, 4], equal_nan=True)
    assert columns["not_supported"][4].startswith("nvidia/t4 does not support bf16")


def test_pareto_keeps_what_is_required(found):
    assert {one.name for one in found.found} == {"l4 bf16", "l4 w4a16", "t4 w4a16"}
    assert found.pareto
    assert all(one.token_s < 0.04 and one.fits for one in found.pareto)
    assert [one.setting.compute for one in found.pareto] == ["w4a16"] * len(found.pareto)


def test_one_run_is_a_comparison_and_several_are_a_sweep(found):
    one = rl.generate("llama-3.1-8b", "l4", prompt=512, generate=33, precision="w4a16")
    assert one.answer().record.schema_ == "rooflint.generate/1"
    assert found.answer().record.schema_ == "rooflint.generate-sweep/1"
    assert repr(found) == "<Generations of llama-3.1-8b on nvidia/l4, nvidia/t4>"
    assert "Pareto line" in found._repr_html_()


def test_defaults_are_those_of_the_command():
    run = rl.generate("gpt-j-6b", "l4").found[0].run
    # its context of 2048 leaves 1792 for the prompt
    assert (run.batch, run.prompt, run.generate) == (1, 2048 - 256, 256)


def test_unknown_names_are_refused():
    with pytest.raises(rl.RooflintError, match=r"unknown network 'lama-3\.1-8b'; did you mean"):
        rl.generate("lama-3.1-8b", "l4")
    with pytest.raises(rl.RooflintError, match=r"unknown precision 'w4a17' .*policies: w4a16"):
        rl.generate("llama-3.1-8b", "l4", precision="w4a17")


@pytest.mark.slow
def test_without_a_device_all_systems_that_are_large_enough_are_compared():
    found = rl.generate("llama-3.1-8b", generate=4, prompt=64, tp=8)
    systems = [one.place.system.short for one in found.candidates]
    assert len(systems) == len(set(systems)) >= 9
    assert "hgx-h100" in systems
    of_sixteen = rl.generate("llama-3.1-8b", generate=4, prompt=64, tp=8, pp=2).candidates
    assert "pcie-l40s-8" not in {one.place.system.short for one in of_sixteen}  # has no cards to join two


@pytest.mark.parametrize(
    "name", ["resnet18", "torchvision/resnet18", "nets.py:make", "nets:make", "net.pt2", "net.onnx"]
)
def test_a_network_that_is_known_by_its_ops_alone_is_refused_as_such(name):
    needs = "need a language model by name, or a config.json"
    with pytest.raises(rl.RooflintError) as error:
        rl.generate(name, "l4")
    assert str(error.value) == f"{name}: --generate, --tp, --pp, --cp and --ep {needs}"
    with pytest.raises(rl.RooflintError) as error:
        rl.train(name, "l4")
    assert str(error.value) == f"{name}: training needs a language model by name, or a config.json"


def test_a_network_that_sees_writes_by_its_name():
    run = rl.generate("llava-1.5-7b", "hgx-h100", tp=2, prompt=1024, generate=33).found[0]
    assert run.first_token_s > run.token_s
    assert (run.place.how.tp, run.run.network.configuration.parameters) == (2, 7_063_427_072)

"""Changes of facts and files: one planted change at a time, with the factor that a hand calculation gives."""

import pytest

X1 = "specs/hardware/acme/x1.yaml"
X2 = "specs/hardware/acme/x2.yaml"
A1 = "specs/architectures/acme/a1.yaml"
LAYER = "specs/workloads/layer.yaml"
ROWS = 2 * 2 * 3
"""Points × precisions that acme/x1 has × runs of the matrix."""


# ---- facts


def test_nothing_moves_where_nothing_changed(acme, diffed):
    found = diffed(acme)
    assert (found["moved"], found["changes"], found["moves"]) == ({"predictions": 0, "devices": 0}, [], [])
    assert found["matrix"]["predictions"] == 2 * 4 * 3  # points × precisions × runs of one network


def test_comments_and_other_sources_move_nothing(acme, diffed):
    acme.edit(X1, "kind: npu", "# what Acme calls it\nkind: npu")
    acme.edit(X1, "pin_rate: [6.4 Gbit/s, brief, p. 3]", "pin_rate: [6.4 Gbit/s, brief, p. 4]")
    found = diffed(acme)
    assert (found["changes"], found["moves"], found["citations_changed"]) == ([], [], 1)


def test_one_fact_moves_what_rests_on_it_by_its_factor(acme, diffed, of):
    acme.edit(X1, "6.4 Gbit/s", "12.8 Gbit/s")
    found = diffed(acme)
    latency = of(found)
    # twice the pins' rate: half the memory time
    assert (latency["rows"], latency["of"], latency["low"], latency["high"]) == (ROWS, ROWS, 0.5, 0.5)
    assert latency["factor"] == "×0.5"
    assert latency["together"] == ""
    (change,) = found["changes"]
    assert change["path"] == "memories.lpddr5.pin_rate"
    assert (change["file"], change["line"]) == (X1, acme.line(X1, "12.8"))
    assert (change["old"]["text"], change["new"]["text"]) == ("6.4 Gbit/s", "12.8 Gbit/s")
    assert (change["new"]["document"], change["new"]["grade"]) == ("Acme X1 architecture brief, 2025", "read")
    assert (change["devices"], change["predictions"]) == (["acme/x1"], ROWS)
    assert change["moves"][0] == {
        **{"quantity": "latency_s", "word": "latency", "rows": ROWS},
        **{"low": 0.5, "high": 0.5, "factor": "×0.5", "knowledge": []},
    }


def test_a_fact_that_nothing_waits_for_is_said_to_move_nothing(acme, diffed):
    acme.edit(X1, "clock: [1000 MHz", "clock: [1001 MHz")
    found = diffed(acme)
    assert not [one for one in found["moves"] if one["quantity"] == "latency_s"]
    assert [one["path"] for one in found["changes"]] == ["units.mac_array.clock"]


def test_a_fact_of_an_operating_point_moves_that_point_alone(acme, diffed, of):
    acme.edit(X1, "{tdp: [7 W", "{memories.lpddr5.pin_rate: [3.2 Gbit/s, brief, p. 4], tdp: [7 W")
    found = diffed(acme)
    assert (of(found)["rows"], of(found)["low"]) == (ROWS // 2, 2.0)
    (change,) = found["changes"]
    assert (change["at"], change["old"]) == ("low", None)
    assert change["text"] == "memories.lpddr5.pin_rate at low nothing → 3.2 Gbit/s"


def test_two_facts_are_told_apart_and_multiply(acme, diffed, of):
    acme.edit(X1, "6.4 Gbit/s", "12.8 Gbit/s")
    acme.edit(X1, "128 bit", "512 bit")
    found = diffed(acme)
    # ×2 pins' rate, ×4 bus
    assert (of(found)["low"], of(found)["high"]) == (0.125, 0.125)
    message = "together ×0.125, alone ×0.25 (memories.lpddr5.bus) and ×0.5 (memories.lpddr5.pin_rate)"
    assert of(found)["together"] == message
    assert {one["path"]: one["moves"][0]["factor"] for one in found["changes"]} == {
        "memories.lpddr5.bus": "×0.25",
        "memories.lpddr5.pin_rate": "×0.5",
    }


def test_two_facts_that_cancel_are_both_named(acme, diffed):
    acme.edit(X1, "6.4 Gbit/s", "12.8 Gbit/s")
    acme.edit(X1, "128 bit", "64 bit")
    found = diffed(acme)
    assert not [one for one in found["moves"] if one["quantity"] == "latency_s"]
    assert sorted(one["moves"][0]["factor"] for one in found["changes"]) == ["×0.5", "×2"]


def test_facts_that_act_only_together_are_said_to(acme, diffed, of):
    # 1/16 of the cores: breakpoints of 1280 and 160 at the lowest, nothing waits for them; with 8 times the bandwidth
    # one of 20 in fp16 at the point low, below the 31 op/B of batch 32
    acme.edit(X1, "6.4 Gbit/s", "51.2 Gbit/s")
    acme.edit(X1, "groups: [256,", "groups: [16,")
    found = diffed(acme)
    assert (of(found)["low"], of(found)["high"] > 0.15) == (0.125, True)
    message = f"together {of(found)['factor']}, alone ×0.125 (memories.lpddr5.pin_rate); the rest is interaction"
    assert of(found)["together"] == message


@pytest.mark.slow
def test_what_a_device_no_longer_supports_is_no_longer_known(acme, diffed, of):
    acme.edit(X1, ", fp16: [1024 MAC, brief, p. 2]", "")
    found = diffed(acme)
    latency = of(found)
    assert (latency["rows"], latency["of"], latency["unknown"], latency["factor"]) == (ROWS // 2, ROWS, ROWS // 2, "")
    assert latency["knowledge"] == [f"{ROWS // 2} no longer known"]
    assert found["changes"][0]["text"] == "units.mac_array.macs_per_clock.fp16 1024 MAC → nothing"
    assert f"latency {ROWS // 2} no longer known" in found["changes"][0]["alone"]
    back = diffed(acme, "specs", "HEAD")
    assert of(back)["knowledge"] == [f"{ROWS // 2} newly known"]


def test_beyond_some_number_of_trials_changes_are_listed_and_not_tried(acme, monkeypatch, diffed):
    monkeypatch.setattr("pytest_rooflint.history.comparison.MOST_TRIALS", 1)
    acme.edit(X1, "6.4 Gbit/s", "12.8 Gbit/s")
    acme.edit(X1, "128 bit", "512 bit")
    first, second = diffed(acme)["changes"]
    assert (first["predictions"], first["untried"]) == (ROWS, "")
    assert (second["predictions"], second["moves"]) == (None, [])
    assert second["alone"] == "not tried alone: more than 1 devices would be predicted again"


def test_what_is_no_fact_but_decides_is_named(acme, diffed):
    acme.edit(X1, "circuit: systolic_mac", "circuit: simd_packed")
    (change,) = diffed(acme)["changes"]
    assert (change["what"], change["text"]) == ("trait", "circuits mac_array systolic_mac → simd_packed")


def test_another_kind_of_device_is_named(acme, diffed):
    acme.edit(X1, "kind: npu", "kind: tpu")
    (change,) = diffed(acme)["changes"]
    assert change["text"] == "kind npu → tpu"


# ---- architectures


def test_a_fact_of_an_architecture_names_every_device_that_it_moves(family, diffed, of):
    family.edit(A1, "6.4 Gbit/s", "12.8 Gbit/s")
    found = diffed(family)
    (change,) = found["changes"]
    assert (change["file"], change["devices"]) == (A1, ["acme/x1", "acme/x2"])
    assert change["predictions"] == 2 * ROWS
    assert [of(found, device=name)["low"] for name in ("acme/x1", "acme/x2")] == [0.5, 0.5]


def test_a_device_that_says_otherwise_is_not_moved_by_its_architecture(family, git, diffed):
    family.edit(X2, "bus: [128 bit, brief, p. 3]", "bus: [128 bit, brief, p. 3], pin_rate: [6.4 Gbit/s, brief, p. 9]")
    git(family.root, "commit", "-q", "-am", "X2 has its own")
    family.edit(A1, "6.4 Gbit/s", "12.8 Gbit/s")
    found = diffed(family)
    assert [one["devices"] for one in found["changes"]] == [["acme/x1"]]
    assert found["moved"]["devices"] == 1


# ---- what appears and vanishes


def test_a_new_device_is_listed_and_moves_nothing(acme, diffed):
    acme.write(X2, acme.read(X1).replace("Acme X1", "Acme X2"))
    found = diffed(acme)
    assert found["devices"] == {"appeared": ["acme/x2"], "vanished": []}
    assert (found["moves"], found["matrix"]["devices"]) == ([], 1)
    back = diffed(acme, "specs", "HEAD")
    assert back["devices"] == {"appeared": [], "vanished": ["acme/x2"]}


def test_a_new_operating_point_is_listed(acme, diffed):
    acme.write(X1, acme.read(X1) + "  high: {tdp: [30 W, brief, p. 4]}\n")
    found = diffed(acme)
    assert (found["points"]["appeared"], found["moves"]) == (["acme/x1 at high"], [])


def test_a_new_network_is_listed(acme, diffed):
    table = acme.read(LAYER).replace("name: layer", "name: second")
    acme.write("specs/workloads/second.yaml", table)
    found = diffed(acme)
    assert found["networks"]["appeared"] == ["second"]
    assert [one["text"] for one in found["changes"]] == ["workloads/second.yaml appeared"]
    assert found["moves"] == []


def test_an_op_table_that_changed_is_tried_alone(acme, write_layer, diffed, of):
    write_layer(acme, [1024, 2048])
    found = diffed(acme)
    (change,) = found["changes"]
    assert (change["text"], change["devices"]) == ("workloads/layer.yaml changed", ["acme/x1"])
    assert of(found)["low"] > 1.9  # twice the weights, the same input
    assert of(found)["together"] == ""


@pytest.mark.slow
def test_energies_that_changed_are_tried_alone(acme, diffed, of, keep):
    seven = keep("process/7nm.yaml")
    acme.write(seven, f"# a comment\n{acme.read(seven)}")
    assert diffed(acme)["changes"] == []
    acme.edit(seven, "int8: [0.07 pJ/op", "int8: [7 pJ/op")
    found = diffed(acme)
    (change,) = found["changes"]
    assert change["text"] == "readings.tpu.multiply.int8 0.07 pJ/op → 7 pJ/op"
    assert (change["file"], change["line"]) == (seven, acme.line(seven, "[7 pJ/op"))
    assert (change["what"], change["devices"]) == ("fact", ["acme/x1"])
    assert of(found, "energy_j")["low"] > 1
    assert of(found, "energy_j")["together"] == ""
    assert {one["quantity"] for one in found["moves"]} == {"energy_j", "power_w"}


@pytest.mark.slow
def test_two_energies_are_told_apart(acme, diffed, of, keep):
    seven = keep("process/7nm.yaml")
    acme.edit(seven, "int8: [0.07 pJ/op", "int8: [7 pJ/op")
    acme.edit(seven, "fp16: [0.34 pJ/op", "fp16: [3.4 pJ/op")
    found = diffed(acme)
    assert {one["path"]: one["predictions"] for one in found["changes"]} == {
        "readings.tpu.multiply.int8": ROWS // 2,
        "readings.tpu.multiply.fp16": ROWS // 2,
    }
    assert of(found, "energy_j")["rows"] == ROWS


@pytest.mark.slow
def test_a_file_of_energies_that_is_built_otherwise_is_tried_as_a_whole(acme, diffed, keep):
    seven = keep("process/7nm.yaml")
    acme.edit(seven, "int8: [0.07 pJ/op", "int16: [0.07 pJ/op")
    acme.edit(seven, "    op: {fp32:", "    multiply: {int8: [7 pJ/op, log, nowhere]}\n    op: {fp32:")
    (change,) = diffed(acme)["changes"]
    assert (change["what"], change["text"], change["predictions"]) == ("file", "process/7nm.yaml changed", ROWS // 2)

"""The answer to `rooflint sweep --generate`: the best batch by device and precision, and the Pareto line."""

import csv
import io
import json

import pytest
from typer.testing import CliRunner

import rooflint as rl
from rooflint.answers.generation_sweep import GenerateSweepRecord
from rooflint.base.errors import RooflintError
from rooflint.cli.networks import app


def run(*arguments):
    result = CliRunner(env={"COLUMNS": "80", "NO_COLOR": "1"}).invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


ASKED = (
    "sweep", "llama-3.1-70b", "-d", "h100-sxm5,mi300x,t4", "-p", "bf16,fp8-kv8,w4a16", "--prompt", "1024",
    "--generate", "64", "--batch", "1:16",
)  # fmt: skip


@pytest.fixture(scope="module")
def record():
    found = json.loads(run(*ASKED, "-f", "json"))
    GenerateSweepRecord.model_validate_json(json.dumps(found))
    return found


def test_every_device_is_asked_in_every_precision_at_every_batch(record):
    assert record["batches"] == [1, 2, 4, 8, 16]
    asked = [(one["device"].rpartition("/")[2], one["compute"]) for one in record["sweeps"]]
    devices, precisions = ("h100-sxm5-80gb", "mi300x", "t4"), ("bf16", "fp8-kv8", "w4a16")
    assert asked == [(device, precision) for device in devices for precision in precisions]
    able = [one for one in record["sweeps"] if "points" in one]
    assert all([point["batch"] for point in one["points"]] == record["batches"] for one in able)
    refused = {(one["device"], one["compute"]) for one in record["sweeps"] if "not_supported" in one}
    assert refused == {("nvidia/t4", "bf16"), ("nvidia/t4", "fp8-kv8")}


def test_a_sweep_says_of_each_batch_what_a_comparison_says(record):
    alone = rl.generate("llama-3.1-70b", "mi300x", prompt=1024, generate=64, precision="w4a16", batch=8).found[0]
    (swept,) = (one for one in record["sweeps"] if (one["device"], one["compute"]) == ("amd/mi300x", "w4a16"))
    point = swept["points"][3]
    for name in ("first_token_s", "token_s", "tokens_per_s_of_device", "tokens_per_s_of_user"):
        assert point[name] == pytest.approx(getattr(alone, name), rel=1e-12)
    assert point["energy_per_token_j"] == pytest.approx(alone.token_j, rel=1e-12)
    assert point["usd_per_million_tokens"] == pytest.approx(alone.usd_per_million, rel=1e-12)
    assert swept["largest_batch"] == alone.largest_batch


def test_no_run_that_fits_beats_one_of_the_pareto_line(record):
    fitting = [
        (point["tokens_per_s_of_device"], point["tokens_per_s_of_user"])
        for one in record["sweeps"]
        for point in one.get("points", ())
        if point["fits"]
    ]
    front = [(one["tokens_per_s_of_device"], one["tokens_per_s_of_user"]) for one in record["pareto"]]
    assert set(front) <= set(fitting)
    beaten = {one for one in fitting if any(a >= one[0] and b >= one[1] and (a, b) != one for a, b in fitting)}
    assert set(front) == set(fitting) - beaten
    assert [user for _, user in front] == sorted((user for _, user in front), reverse=True)


def test_requirements_choose_the_batch():
    free, bound = (json.loads(run(*ASKED, "-f", "json", *more)) for more in ((), ("--require", "first-token<1s")))
    (most,), (least,) = (
        [one for one in found["sweeps"] if (one["device"], one["compute"]) == ("amd/mi300x", "w4a16")]
        for found in (free, bound)
    )
    assert most["best_batch"] == 16
    kept = [point["batch"] for point in least["points"] if point["first_token_s"] < 1]
    assert least["best_batch"] == max(kept) < 16
    assert all(one["batch"] in kept for one in bound["pareto"] if one["compute"] == "w4a16")


def test_text_fits_a_terminal_and_names_the_best():
    text = run(*ASKED)
    assert max(map(len, text.splitlines())) <= 80
    for heading in ("Best batch", "Pareto line", "Throughput over speed", "Limitations", "Does not fit"):
        assert f"{heading} ──" in text
    assert "have no batch that fits" in text
    assert "mi300x          fp8-kv8       16" in text


def test_few_combinations_have_a_table_over_batches_each():
    text = run("sweep", "llama-3.1-8b", "-d", "l4", "-p", "w4a16,bf16", "--generate", "16", "--batches", "1,512")
    assert "l4 w4a16 ──" in text
    assert "512 ✗" in text
    assert "weights 4.125 bit, cache bf16; the largest batch that fits is" in text


@pytest.mark.slow
def test_many_devices_are_cut_in_text_and_whole_in_csv():
    asked = ("sweep", "llama-3.1-8b", "-d", "nvidia/*", "-p", "fp16,w4a16", "--generate", "16", "--batch", "1,8")
    assert "; the first 20 of" in " ".join(run(*asked).split())
    rows = list(csv.DictReader(io.StringIO(run(*asked, "-f", "csv"))))
    assert len({row["device"] for row in rows}) > 40
    assert {row["batch"] for row in rows if not row["not_supported"]} == {"1", "8"}


def test_html_draws_the_line(tmp_path):
    page = tmp_path / "sweep.html"
    run(*ASKED, "-o", str(page))
    text = page.read_text(encoding="utf-8")
    assert "Throughput over speed" in text
    assert "<svg" in text


def test_first_tokens_alone_have_no_pareto_line():
    text = run("sweep", "llama-3.1-8b", "-d", "l4", "--prompt", "16", "--generate", "1", "--batch", "1,8")
    assert text.startswith("llama-3.1-8b: 1 token after a prompt of 16, over batches")
    assert "Best batch" in text
    assert "Pareto line" not in text and "Throughput over speed" not in text


def test_options_of_one_pass_are_refused():
    with pytest.raises(RooflintError, match="--past cannot be used with --generate"):
        run(*ASKED, "--past", "3")
    with pytest.raises(RooflintError, match="'latency<1s': want first-token, per-token, throughput, user, energy, mem"):
        run(*ASKED, "--require", "latency<1s")


@pytest.mark.slow
def test_the_api_prints_what_the_command_prints():
    found = rl.generate(
        "llama-3.1-70b", ["h100-sxm5", "mi300x", "t4"], prompt=1024, generate=64,
        precision=["bf16", "fp8-kv8", "w4a16"], batch=[1, 2, 4, 8, 16],
    )  # fmt: skip
    assert str(found) + "\n" == run(*ASKED)
    assert [one.run.batch for one in found.pareto] == [
        one["batch"] for one in json.loads(run(*ASKED, "-f", "json"))["pareto"]
    ]
    assert len(found.found) == 7 * 5
    with pytest.raises(RooflintError, match="want at least one precision and one batch"):
        rl.generate("llama-3.1-8b", "l4", batch=[])


def test_numbers_of_devices_are_compared_with_one_another():
    asked = ("sweep", "llama-3.1-70b", "-d", "hgx-h100,mi300x", "--tp", "4,8", "-p", "fp8-kv8", "--batch", "16")
    found = json.loads(run(*asked, "--generate", "16", "-f", "json"))
    members = [(one["system"], one["members"]) for one in found["sweeps"]]
    assert members == [(system, tp) for tp in (4, 8) for system in ("nvidia/hgx-h100", "amd/mi300x-platform")]
    alone = rl.generate("llama-3.1-70b", "hgx-h100", tp=8, precision="fp8-kv8", batch=16, generate=16).found[0]
    assert found["sweeps"][2]["points"][0]["tokens_per_s_of_device"] == pytest.approx(alone.tokens_per_s / 8, rel=1e-12)
    text = run(*asked, "--generate", "16")
    assert "8 × mi300x          fp8-kv8       16" in text
    assert "fp8-kv8 (weights 8 bit, cache fp8), not fused" in text


def test_several_precisions_are_named_without_the_terms_of_one():
    assert run(*ASKED).splitlines()[1].startswith("bf16, fp8-kv8, w4a16, not fused, stream launches")


def test_one_token_has_no_speed_of_a_user():
    text = run("sweep", "llama-3.1-8b", "-d", "l4", "--generate", "1", "--batch", "1,2", "-p", "bf16")
    assert "Best batch" in text
    assert "—" in text

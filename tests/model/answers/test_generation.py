"""The answer to `rooflint compare NETWORK --generate N`: what it says, and what it says of what does not fit."""

import csv
import io
import json
import re

import pytest
from typer.testing import CliRunner

import rooflint as rl
from rooflint.answers.generation import GenerateRecord
from rooflint.base.errors import RooflintError
from rooflint.cli.networks import app
from rooflint.prediction.generation import competing, pareto


def run(*arguments):
    result = CliRunner(env={"COLUMNS": "80", "NO_COLOR": "1"}).invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


ASKED = ("compare", "llama-3.1-70b", "-d", "h100-sxm5,mi300x,t4", "--prompt", "2048", "--generate", "256", "-b", "32")


@pytest.mark.slow
def test_every_option_of_a_generation_is_obeyed_or_refused():
    cached, uncached = (json.loads(run(*ASKED, "-f", "json", *more)) for more in ((), ("--uncached",)))
    assert (cached["cached"], uncached["cached"]) == (True, False)
    for more, name in ((("--level", "detailed"), "level"), (("--past", "3"), "past"), (("--input", "8,3"), "input")):
        with pytest.raises(RooflintError, match=f"--{name} cannot be used with --generate"):
            run(*ASKED, *more)


def test_text_says_in_one_sentence_what_does_not_fit():
    text = " ".join(run(*ASKED).split())
    # 70 553 706 496 × 2 B; (32 × 2303 tokens) × 80 layers × 2 × 8 × 128 × 2 B; see the memory of a run
    assert "llama-3.1-70b does not fit h100-sxm5-80gb: it needs 166.8 GB, 2.08 × the 80 GB" in text
    assert "the weights alone take 141.1 GB" in text
    assert "keys and values of 2303 tokens of 32 sequences" in text
    assert "nvidia/t4 does not support bf16" in text


def test_what_fits_in_a_smaller_batch_is_told():
    (sentence,) = rl.generate("llama-3.1-8b", "h100-sxm5", prompt=8000, batch=64).answer().record.does_not_fit
    largest = rl.generate("llama-3.1-8b", "h100-sxm5", prompt=8000).found[0].largest_batch
    assert sentence.endswith(f"a batch of {largest} fits")
    assert 1 < largest < 64


def test_a_lower_bound_does_not_win_against_calibrated_times():
    found = rl.generate("llama-3.1-8b", ["h100-sxm5", "mi300x"], prompt=512, generate=64, fidelity="silicon")
    (h100,), (mi300x,) = (one.runs for one in found.candidates)
    assert (h100.is_floor, mi300x.is_floor) == (False, True)
    assert mi300x.tokens_per_s > h100.tokens_per_s
    grid = next(one for one in found.answer().sections if one.heading == "Generation")
    assert grid.strong == (0,)
    assert [row[1].startswith("≥ ") for row in grid.table.rows] == [False, True]
    assert "≥ roofline time, a lower bound, not ranked against calibrated times" in grid.note
    assert competing([mi300x]) == [mi300x]
    assert pareto([h100, mi300x]) == (h100,)


def test_a_run_and_a_candidate_are_shown_in_a_line():
    (candidate,) = rl.generate("llama-3.1-8b", "h100-sxm5", prompt=512, generate=64).candidates
    assert repr(candidate) == "<Candidate nvidia/h100-sxm5-80gb bf16: 1 run>"
    rate = f"{candidate.runs[0].tokens_per_s:.4g} tokens/s"
    assert repr(candidate.runs[0]) == f"<Generation on h100-sxm5-80gb bf16, batch 1: {rate}>"


def test_launches_that_engines_save_and_prices_of_other_years_are_told():
    def told(*devices, **more):
        return rl.generate("llama-3.1-8b", list(devices), prompt=512, generate=64, **more).answer().record.caveats

    plain, graph, large = told("h100-sxm5"), told("h100-sxm5", launch="graph"), told("h100-sxm5", batch=256)
    (sentence,) = (one for one in plain if "launches take" in one)
    share = float(sentence.split()[2])
    assert 10 < share < 50
    assert sentence.endswith(
        "of a decode step on h100-sxm5-80gb; serving engines replay decode as a graph: --launch graph"
    )
    assert not any("launches take" in one for one in (*graph, *large))
    assert not any("launches take" in one for one in told("mi300x"))  # its launches are borrowed from its graph
    assert not any("prices date" in one for one in told("h100-sxm5", "mi300x"))
    (prices,) = (one for one in told("h100-sxm5", "h200-sxm") if "prices date" in one)
    assert prices.startswith("prices date from 2025-03-17 (h200-sxm-141gb) to 2026-05-18 (h100-sxm5-80gb), so ")


def test_json_is_the_record_and_csv_has_a_row_a_device():
    found = json.loads(run(*ASKED, "-f", "json"))
    GenerateRecord.model_validate_json(json.dumps(found))
    assert (found["schema"], found["prompt"], found["generate"]) == ("rooflint.generate/1", 2048, 256)
    h100, mi300x, t4 = found["devices"]
    assert (h100["fits"], mi300x["fits"]) == (False, True)
    assert h100["total_s"] == pytest.approx(h100["first_token_s"] + 255 * h100["token_s"])
    assert "does not support bf16" in t4["not_supported"]
    rows = list(csv.DictReader(io.StringIO(run(*ASKED, "-f", "csv"))))
    assert [row["device"] for row in rows] == ["nvidia/h100-sxm5-80gb", "amd/mi300x", "nvidia/t4"]


def test_text_fits_eighty_columns():
    assert max(map(len, run(*ASKED).splitlines())) <= 80


@pytest.mark.parametrize("option", [("--past", "8"), ("--baseline", "gpu")])
def test_options_of_one_pass_are_refused_beside_generate(option):
    result = CliRunner().invoke(app, [*ASKED, *option])
    assert isinstance(result.exception, RooflintError)
    assert str(result.exception).startswith(f"{option[0]} cannot be used with --generate")


def test_the_api_prints_what_the_command_prints():
    found = rl.generate("llama-3.1-70b", ["h100-sxm5", "mi300x", "t4"], prompt=2048, generate=256, batch=32)
    assert [one.label for one in found.found] == ["nvidia/h100-sxm5-80gb", "amd/mi300x"]
    assert found.columns["first_token_s"][0] == found.found[0].first_token_s
    assert json.loads(run(*ASKED, "-f", "json")) == found.answer().record.dump()
    assert "Generations of llama-3.1-70b on nvidia/h100-sxm5-80gb" in repr(found)


def test_only_a_language_model_generates():
    with pytest.raises(
        RooflintError, match=r"^resnet18: --generate, .* need a language model by name, or a config\.json$"
    ):
        rl.generate("resnet18", "h100-sxm5")


@pytest.mark.slow
def test_analyze_and_compare_say_how_many_tokens():
    text = " ".join(run("analyze", "llama-3.1-8b", "h100-sxm5", "--prompt", "1", "--past", "512").split())
    assert "1 new token after 512, batch 1, bf16" in text
    assert "cache 67.24 MB keys and values of all tokens" in text  # 513 × 131 072 B
    found = json.loads(run("compare", "llama-3.1-8b", "-d", "h100-sxm5", "--prompt", "64", "-f", "json"))
    assert found["tokens"] == {"new": 64, "past": 0, "steps": 1}
    assert "--prompt 64" in run("compare", "llama-3.1-8b", "-d", "h100-sxm5", "--prompt", "64")
    assert "tokens" not in json.loads(run("compare", "resnet18", "-d", "h100-sxm5", "-f", "json"))


# ---- several devices

TOGETHER = (
    *("compare", "llama-3.1-70b", "-d", "h100-sxm5,mi300x,pcie-l40s-8", "--tp", "8"),
    *("--generate", "256", "--batch", "32"),
)


def test_devices_together_are_told_with_their_system_and_what_they_wait_for():
    text = run(*TOGETHER)
    plain = " ".join(text.split())
    assert "not fused, stream launches, tp 8; roofline latency" in plain
    assert "hgx-h100 8 252.7 115.9 compute 62.4 % memory 70.3 %" in plain
    # 4 prompts of 2048 tokens a pass: 2 · 7/8 of 80 × 134 MB
    assert "all-reduce, attention 8 80 × 134 MB 18.8 GB 80 × 524 kB 73.4 MB" in plain
    assert "weights 17.64 GB a part of 70,553,706,496 parameters" in plain
    assert "does not fit" not in text.partition("Generation")[0]
    assert max(map(len, text.splitlines())) <= 80


def test_the_record_of_devices_together_has_network_and_exchanges():
    found = json.loads(run(*TOGETHER, "-f", "json"))
    GenerateRecord.model_validate_json(json.dumps(found))
    h100, mi300x, l40s = found["devices"]
    assert (found["tp"], found["pp"], found["ep"]) == (8, 1, 1)
    assert (h100["device"], h100["members"], h100["system"]) == ("8 × nvidia/h100-sxm5-80gb", 8, "nvidia/hgx-h100")
    assert (mi300x["system"], l40s["prefill"]["bound"]) == ("amd/mi300x-platform", "network")
    for one in (h100, mi300x, l40s):
        assert sum(one["prefill"]["waits_s"].values()) == pytest.approx(one["first_token_s"])
        assert one["tokens_per_s_of_device"] == pytest.approx(one["tokens_per_s"] / 8)
        assert one["tokens_per_s_of_user"] == pytest.approx(1 / one["token_s"])
    assert {one["name"] for one in found["exchanges"]} == {"embedding", "attention", "feed-forward", "head"}
    (row, *_) = csv.DictReader(io.StringIO(run(*TOGETHER, "-f", "csv")))
    assert (row["members"], row["system"]) == ("8", "nvidia/hgx-h100")


def test_analyze_runs_one_system():
    text = " ".join(run("analyze", "deepseek-v3", "hgx-h200", "--ep", "8", "-p", "fp8", "--generate", "8").split())
    assert "all-to-all, to experts 8 58 ×" in text
    assert "8 × h200-sxm-141gb" in text
    # one sequence of eight groups is one of a device
    assert "tokens of 1 sequence" in text


def test_bytes_on_the_wire_of_a_ring_are_told():
    asked = {"batch": 8, "prompt": 256, "generate": 16, "tp": 8}
    told = rl.generate("llama-3.1-70b", "hgx-h100", **asked).answer().record.exchanges
    attention = {one.name: one for one in told}["attention"]
    assert attention.prefill_message_bytes == 8 * 256 * 8192 * 2
    assert attention.prefill_sent_bytes == pytest.approx(2 * 7 / 8 * attention.prefill_message_bytes)
    assert attention.decode_message_bytes == 8 * 8192 * 2
    # what a policy makes narrow is not what devices exchange
    narrow, *_ = rl.generate("llama-3.1-70b", "hgx-h100", precision="fp8-kv8", **asked).answer().record.exchanges
    assert narrow.prefill_message_bytes == 8 * 256 * 8192 * 2


def test_a_system_wants_to_be_told_how_it_shares():
    with pytest.raises(
        RooflintError, match=r"^'hgx-h100' is 8 devices; add --tp, --pp, --cp or --ep, or name nvidia/h1"
    ):
        rl.generate("llama-3.1-8b", "hgx-h100", generate=8)
    one, two = rl.generate("llama-3.1-8b", "hgx-h100", generate=8, tp=[1, 2]).columns["total_s"]
    assert one == rl.generate("llama-3.1-8b", "h100-sxm5", generate=8).columns["total_s"][0]
    assert one > two


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (
            ("-d", "h100-sxm5", "--tp", "16", "--generate", "8"),
            "--tp: want at most the 8 devices of nvidia/hgx-h100, found 16",
        ),
        (("-d", "t4", "--tp", "2", "--generate", "8"), "nvidia/t4: tp 2: want a system of such devices, found none"),
        (
            ("-d", "h100-sxm5", "--tp", "2", "--past", "9"),
            "--past cannot be used with --tp, --pp, --cp and --ep, which read",
        ),
        (("-d", "h100-sxm5", "--tp", "8", "--ep", "4", "--generate", "8"), "--ep: want a multiple of --tp, 8, found 4"),
    ],
)
def test_what_cannot_be_shared_is_refused_in_a_sentence(arguments, problem):
    result = CliRunner().invoke(app, ["compare", "llama-3.1-70b", *arguments])
    assert isinstance(result.exception, RooflintError)
    assert str(result.exception).startswith(problem)


def test_parts_of_sequences_are_told_with_their_exchanges_and_their_cache():
    asked = ("compare", "llama-3.1-70b", "-d", "hgx-h100", "--tp", "2", "--cp", "4")
    asked += ("--prompt", "65536", "--generate", "64", "--batch", "4")
    plain = " ".join(run(*asked).split())
    assert "tp 2, cp 4; roofline latency" in plain
    # 2 · 4 · 128 · 2 B of 65 536 tokens in 80 layers, of which 3/4 are sent; in decode there are none
    assert "all-gather, keys and 4 80 × 134 MB 8.05 GB — 0 B values" in plain
    assert "keys and values of 16 400 tokens of 4 sequences" in plain
    found = rl.generate("llama-3.1-70b", "hgx-h100", prompt=65536, generate=64, batch=4, tp=2, cp=4)
    assert json.loads(run(*asked, "-f", "json")) == found.answer().record.dump()
    assert found.answer().record.dump()["cp"] == 4
    analyzed = json.loads(run("analyze", *asked[1:], "-f", "json"))
    assert analyzed["devices"] == found.answer().record.dump()["devices"]
    swept = json.loads(run("sweep", *asked[1:-2], "--batches", "2,4", "-f", "json"))
    assert swept["sweeps"][0]["points"][1]["first_token_s"] == found.found[0].first_token_s


def test_a_training_step_has_no_parts_of_sequences():
    with pytest.raises(RooflintError, match=r"^--cp is not modelled for training; want no --cp$"):
        run("analyze", "llama-3.1-8b", "hgx-h100", "--train", "--cp", "2")


def test_several_devices_read_a_prompt_alone():
    first, both = (
        json.loads(run("compare", "llama-3.1-70b", "-d", "hgx-h100", "--tp", "8", "-f", "json", *more))["devices"][0]
        for more in ((), ("--generate", "9"))
    )
    assert (first["decode"], first["token_s"]) == (None, None)
    assert first["first_token_s"] == both["first_token_s"]
    with pytest.raises(
        RooflintError, match=r"bert-base: is an encoder, .* want no --generate, --tp, --pp, --cp or --ep"
    ):
        run("compare", "bert-base", "-d", "hgx-h100", "--tp", "2")


def test_requirements_are_checked_against_first_token_and_token():
    wanted = ("--require", "first-token<10s, per-token<40ms")
    found = json.loads(run(*ASKED, "-f", "json", *wanted))
    h100, mi300x, _ = found["devices"]
    assert found["requirements"] == ["first-token<10s", "per-token<40ms"]
    # what does not fit meets nothing, however fast it would be
    assert (h100["meets_all"], mi300x["meets_all"]) == (
        False,
        mi300x["first_token_s"] < 10 and mi300x["token_s"] < 0.04,
    )
    text = run(*ASKED, *wanted)
    assert "no, it does not fit" in text
    assert max(map(len, text.splitlines())) <= 80


def test_cost_is_the_rent_of_the_time_that_a_million_tokens_take():
    _, mi300x, _ = json.loads(run(*ASKED, "-f", "json"))["devices"]
    (price,) = re.findall(r"mi300x: .* USD for 10⁶ tokens by rent at (.*?) USD/h", " ".join(run(*ASKED).split()))
    assert mi300x["usd_per_million_tokens"] == pytest.approx(
        float(price) / 3600 * 1e6 / mi300x["tokens_per_s"], rel=1e-9
    )
    assert mi300x["cost_basis"]


def test_analyze_lists_kernels_of_both_phases_that_add_up():
    text = run("analyze", "llama-3.1-8b", "l4", "--prompt", "512", "--generate", "9", "-p", "w4a16")
    rows = text.partition("Kernels ──")[2]
    assert [rows.count(phase) for phase in ("prefill ", "decode ")] == [9, 9]
    shares = [float(share) for share in re.findall(r"([0-9.]+) %$", rows, re.MULTILINE)]
    assert sum(shares[:9]) == pytest.approx(100, abs=0.5)
    assert sum(shares[9:18]) == pytest.approx(100, abs=0.5)
    assert "stored as w4a16: weights 4.125 bit, cache bf16, all else 16 bit" in text


def test_analyze_lists_kernels_and_collectives_of_several_devices():
    text = run("analyze", "llama-3.1-8b", "-d", "hgx-h100", "--tp", "2", "--prompt", "512", "--generate", "9")
    rows = text.partition("Kernels ──")[2]
    assert rows.count("all-reduce, attention") == 2
    shares = [float(share) for share in re.findall(r"([0-9.]+) %$", rows, re.MULTILINE)]
    assert sum(shares[:9]) == pytest.approx(100, abs=0.5)


@pytest.mark.slow
def test_a_phase_alone_has_all_of_its_kernels():
    asked = ("analyze", "llama-3.1-8b", "-d", "l4", "--prompt", "512", "-p", "w4a16", "--phase")
    text = run(*asked, "decode")
    rows = text.partition("Kernels ──")[2]
    assert "256 tokens after a prompt of 512" in text
    assert (rows.count("prefill "), rows.count(" others")) == (0, 0)
    shares = [float(share) for share in re.findall(r"([0-9.]+) %$", rows, re.MULTILINE)]
    assert len(shares) > 9
    assert sum(shares) == pytest.approx(100, abs=0.5)
    assert "1 token after a prompt of 512" in run(*asked, "prefill")
    for words, problem in (
        (("decod",), "--phase: want prefill or decode, found 'decod'"),
        (("decode", "--generate", "1"), "--phase: want prefill, found 'decode'"),
    ):
        with pytest.raises(RooflintError, match=problem):
            run(*asked, *words)


@pytest.mark.parametrize("device", [(), ("l4", "-d", "t4")])
def test_analyze_wants_one_device(device):
    with pytest.raises(
        RooflintError, match="analyze: want a device, such as h100-sxm5, behind the network or behind -d"
    ):
        run("analyze", "llama-3.1-8b", *device)


def test_a_share_of_the_memory_is_kept_free():
    whole, part = (
        json.loads(run("compare", "llama-3.1-8b", "-d", "l4", "--generate", "9", "-f", "json", *more))["devices"][0]
        for more in ((), ("--memory-share", "0.9"))
    )
    assert part["capacity_bytes"] == pytest.approx(0.9 * whole["capacity_bytes"], rel=1e-12)
    assert part["largest_batch"] < whole["largest_batch"]
    with pytest.raises(RooflintError, match="--memory-share needs --generate"):
        run("compare", "llama-3.1-8b", "-d", "l4", "--memory-share", "0.9")

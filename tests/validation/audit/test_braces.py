"""Figures of devices in source code of languages with braces, by the statements in which people write them."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rooflint.audit.braces import _Parser, read_braces, scripts_of
from pytest_rooflint.audit.tokens import Source

DEVICES = {"a100", "h100", "h100 sxm", "h100 pcie", "v100", "rtx 4090", "mi300x", "tpu v4", "l40s"}


def figures(source, tmp_path, name="specs.ts"):
    """(line, device, column, text) of every figure."""

    def is_device(text):
        return text.lower().replace("_", " ").replace("-", " ").strip() in DEVICES

    rows = read_braces(source, tmp_path / name, is_device)
    return [
        (cell.line, row["device"].text, column, cell.text)
        for row in rows
        for column, cell in row.items()
        if column != "device"
    ]


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        # TypeScript and JavaScript
        ("export const PEAK: Record<string, number> = { 'h100': 989e12 };", [(1, "h100", "PEAK", "989e12")]),
        (
            "const GPUS = [\n  { name: 'H100', bf16Tflops: 989, tdp: 700 }, // SXM\n] as const",
            [(2, "H100", "bf16Tflops", "989"), (2, "H100", "tdp", "700")],
        ),
        ("const T = new Map([['h100', { tflops: 989 }]])", [(1, "h100", "tflops", "989")]),
        ("const T = { [GPU.H100]: { tflops: 989.5 } }", [(1, "H100", "tflops", "989.5")]),
        ("const TB = 1e12\nconst S = {h100: {bandwidth: 3.35 * TB}}", [(2, "h100", "bandwidth", "3.35e+12")]),
        (
            "function peakFlops(name) {\n  if (name.includes('h100')) return 989e12;\n  else if (name === 'A100') {\n"
            "    return 312e12\n  }\n}",
            [(2, "h100", "peakFlops", "989e12"), (4, "A100", "peakFlops", "312e12")],
        ),
        ("const peakFlops = (name) => name === 'h100' ? 989e12 : 1", [(1, "h100", "peakFlops", "989e12")]),
        (
            "function tflops(g) { switch (g) { case 'h100': case 'L40S': return 362; default: return 1 } }",
            [(1, "h100", "tflops", "362"), (1, "L40S", "tflops", "362")],
        ),
        ("setup(() => { const H100_TFLOPS = 989; })", [(1, "H100", "TFLOPS", "989")]),
        ("(function () {\n  const G = [{ id: 'h100', tdp: 700 }];\n})();", [(2, "h100", "tdp", "700")]),
        ("(async function load(x) { const H100_TFLOPS = 989; }());", [(1, "H100", "TFLOPS", "989")]),
        (
            "(() => { const H100_TFLOPS = 989; })();\nconst H100_TDP = 700",
            [(1, "H100", "TFLOPS", "989"), (2, "H100", "TDP", "700")],
        ),
        # Rust
        ("pub const H100_PEAK_FLOPS: f64 = 989e12_f64;", [(1, "H100", "PEAK FLOPS", "989e12")]),
        (
            "pub struct Gpu {\n  pub name: &'static str,\n  pub tflops: f64,\n}\nimpl Gpu { fn f(&self) {} }\n"
            'pub const X: Gpu = Gpu::new("h100", 989.0);',
            [(6, "h100", "tflops", "989.0")],
        ),
        (
            'fn h100() -> Gpu {\n  Gpu {\n    name: "H100".to_string(),\n    fp16_tflops: Some(989.0),\n  }\n}',
            [(4, "H100", "fp16_tflops", "989.0")],
        ),
        (
            'fn tflops(n: &str) -> f64 { match n { "h100" | "l40s" => 362.0, _ => 1.0 } }',
            [
                (1, "h100", "tflops", "362.0"),
                (1, "l40s", "tflops", "362.0"),
            ],
        ),
        ("fn f() { let mut p = h100(); p.peak_flops *= 0.75; }", []),  # what it was is not said
        # Go
        (
            'var specs = map[string]Spec{\n\t"H100": {Tflops: 989, MemoryGB: 80},\n}',
            [(2, "H100", "Tflops", "989"), (2, "H100", "MemoryGB", "80")],
        ),
        ('var l = []Spec{{Name: "H100", Tflops: 989}}', [(1, "H100", "Tflops", "989")]),
        (
            "const (\n\tH100Tflops = 989\n\tA100Tflops = 312\n)",
            [(2, "H100", "Tflops", "989"), (3, "A100", "Tflops", "312")],
        ),
        # C++, Java, Kotlin
        (
            "struct Spec {\n  const char* name;\n  double bf16_tflops;\n  double bandwidth_gbps = 0;\n};\n"
            'static const Spec table[] = {\n  {"H100", 989.0, 3350},\n};',
            [(7, "H100", "bf16_tflops", "989.0"), (7, "H100", "bandwidth_gbps", "3350")],
        ),
        ('Spec s = {.name = "H100", .bf16_tflops = 989.0f};', [(1, "H100", "bf16_tflops", "989.0")]),
        (
            'double tflops(const std::string& n) { if (n == "h100") { return 989; } return 1; }',
            [(1, "h100", "tflops", "989")],
        ),
        ('val T = mapOf("H100" to Spec(tflops = 989.0))', [(1, "H100", "tflops", "989.0")]),
        # what cannot be read gives no figure
        ("const x = y.map(g => g.tflops * 2)", []),
        ("// H100: 989 TFLOPS\nimport { a } from './b'", []),
    ],
)
def test_figures_are_read_where_people_write_them(source, wanted, tmp_path):
    assert figures(source, tmp_path) == wanted


def test_comments_head_and_follow_figures(tmp_path):
    source = "/** Peak of an H100 */\nconst tflops = 989\n\nconst bwGbps = 2039 // A100\n"
    assert figures(source, tmp_path) == [(2, "H100", "tflops", "989"), (4, "A100", "bwGbps", "2039")]


def test_scripts_of_a_page_keep_their_lines(tmp_path):
    page = "<p>H100 is 'fast'</p>\n<script>\nconst S = [{name: 'H100', tflops: 989}]\n</script>\n<p>{tflops: 1}</p>"
    assert scripts_of(page).splitlines()[2] == "const S = [{name: 'H100', tflops: 989}]"
    assert figures(page, tmp_path, "page.html") == [(3, "H100", "tflops", "989")]


@given(st.text(alphabet="ab1.\"'`(){}[]<>=>:;,?!&|/*+-\n #@", max_size=60))
def test_any_text_is_read_to_its_end(text):
    source = Source(text)
    parser = _Parser(source, source.tokens())
    tree = ast.Module(body=parser.statements(len(parser.tokens)), type_ignores=[])
    assert isinstance(ast.unparse(ast.fix_missing_locations(tree)), str)

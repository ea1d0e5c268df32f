"""A table means the same whichever way it lies."""

import pytest

from pytest_rooflint.audit.grids import Grid, rows
from rooflint.base.errors import InputError


def cells(grid, tmp_path):
    """Texts by column of each row, with the line of the last one."""
    found = rows(Grid(tuple(enumerate(grid, 1))), tmp_path / "t.csv", lambda name: name.lower() in ("a100", "h100"))
    return [({name: cell.text for name, cell in row.items()}, [*row.values()][-1].line) for row in found]


def test_a_table_has_a_row_per_device(tmp_path):
    grid = [("gpu", "bf16"), ("A100", "312"), ("H100", "")]
    assert cells(grid, tmp_path) == [({"gpu": "A100", "bf16": "312"}, 2), ({"gpu": "H100"}, 3)]


def test_a_transposed_table_has_a_column_per_device(tmp_path):
    grid = [("", "A100", "H100", "unit"), ("BF16", "312", "989", "TFLOPS"), ("TDP (W)", "400", "700", "W")]
    assert cells(grid, tmp_path) == [
        ({"device": "A100", "BF16 (TFLOPS)": "312", "TDP (W)": "400"}, 3),
        ({"device": "H100", "BF16 (TFLOPS)": "989", "TDP (W)": "700"}, 3),
    ]


def test_devices_in_header_and_first_column_are_not_transposed(tmp_path):
    grid = [("gpu", "A100", "H100"), ("A100", "1", "3.2"), ("H100", "0.3", "1")]
    assert next(row for row, _ in cells(grid, tmp_path)) == {"gpu": "A100", "A100": "1", "H100": "3.2"}


def test_a_long_table_has_a_row_per_figure(tmp_path):
    grid = [("gpu", "metric", "value", "unit"), ("A100", "bf16", "312", "TFLOPS"), ("A100", "tdp", "400", "W")]
    assert cells(grid, tmp_path) == [
        ({"gpu": "A100", "bf16 (TFLOPS)": "312"}, 2),
        ({"gpu": "A100", "tdp (W)": "400"}, 3),
    ]


def test_every_figure_of_the_three_layouts_is_judged_alike(audited):
    wide = "gpu,bf16_tflops,tdp_w\nA100 SXM4 80GB,312,300\n"
    long = "gpu,metric,value\nA100 SXM4 80GB,bf16_tflops,312\nA100 SXM4 80GB,tdp_w,300\n"
    turned = "metric,A100 SXM4 80GB,H100 SXM5\nbf16_tflops,312,989\ntdp_w,300,700\n"
    assert [one.status for one in audited(wide)] == ["right", "wrong"]
    assert [one.status for one in audited(long)] == ["right", "wrong"]
    found = {(one.line, one.device, one.status) for one in audited(turned)}
    assert found == {
        (2, "A100 SXM4 80GB", "right"),
        (3, "A100 SXM4 80GB", "wrong"),
        (2, "H100 SXM5", "right"),
        (3, "H100 SXM5", "right"),
    }


@pytest.mark.parametrize(
    ("header", "text", "wanted"),
    [
        ("Shaders / TMUs / ROPs", "4864 / 152 / 80", {"Shaders": "4864", "TMUs": "152", "ROPs": "80"}),
        ("Shaders:TMUs:ROPs", "4864:152:80", {"Shaders": "4864", "TMUs": "152", "ROPs": "80"}),
        ("Shaders:TMUs:ROPs", "4864", None),
        ("Shaders:TMUs:ROPs", "a:b:c", None),
        ("VRAM / Bus", "80 GB / 5120", {"VRAM": "80 GB", "Bus": "5120"}),
        ("FP16 / FP8 (TFLOPS)", "989 / 1979", {"FP16 (TFLOP/s)": "989", "FP8 (TFLOPS)": "1979"}),
        ("FP16/BF16 (TFLOPS)", "989 / 1979", None),  # two names of one figure, which is dense and sparse
        ("FP16 (dense/sparse)", "989/1979", None),
        ("Memory GB/s", "3350", None),
    ],
)
def test_a_header_of_several_names_is_as_many_columns(header, text, wanted, tmp_path):
    ((row, _),) = cells([("gpu", header), ("H100", text)], tmp_path)
    assert row == {"gpu": "H100", **(wanted or {header: text})}


def test_a_line_that_is_longer_than_its_header_is_refused(tmp_path):
    with pytest.raises(InputError, match=r":2  want 2 columns, found 3"):
        cells([("gpu", "bf16"), ("A100", "1", "2")], tmp_path)


def test_a_repeated_column_has_its_position_behind_its_name(tmp_path):
    assert list(cells([("gpu", "bf16", "bf16"), ("A100", "1", "2")], tmp_path)[0][0]) == [
        "gpu", "bf16 (column 2)", "bf16 (column 3)",
    ]  # fmt: skip


def test_rows_of_one_name_in_a_transposed_table_are_told_apart(tmp_path):
    grid = [("", "A100", "H100"), ("FP8", "9999", "1"), ("FP8", "1979", "2"), ("TDP", "400", "")]
    [(first, _), (second, _)] = cells(grid, tmp_path)
    assert first == {"device": "A100", "FP8 (column 1)": "9999", "FP8 (column 2)": "1979", "TDP": "400"}
    assert second == {"device": "H100", "FP8 (column 1)": "1", "FP8 (column 2)": "2"}

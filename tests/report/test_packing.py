"""What is packed into a page: the same text each time, smaller, and nothing of it outside its block."""

from tests.report.pages import unpacked

from rooflint_report.packing import data_block, folded, packed


def test_data_come_out_as_they_went_in():
    data = {"rows": [[1, None, "× </script> <b>"], ["", 0.5, True]]}
    assert unpacked(data_block("x", data), "x") == data


def test_no_text_can_leave_its_block():
    assert not set(packed(["</script>", "<!--", '"', "&"])) & set("<>\"&'- ")


def test_the_same_data_give_the_same_text():
    assert packed(["abc", 1]) == packed(["abc", 1])


def test_repeated_markup_shrinks_to_a_tenth():
    rows = "".join(f"<tr><th>{number}</th><td>peak tensor_core fp16</td></tr>" for number in range(1000))
    assert len(packed(rows)) < len(rows) / 10


def test_templates_are_emptied_numbered_and_packed_in_their_order():
    plain = "<details><summary>x</summary><p>y</p></details>"
    page = (
        '<body><details id="a">\n<summary>A</summary>\n<template><p>a</p></template></details>'
        f"{plain}<details><summary>B</summary><template>c\nd</template></details></body>"
    )
    found = folded(page)
    assert found.startswith(
        '<body><details id="a" data-part="0">\n<summary>A</summary></details>'
        f'{plain}<details data-part="1"><summary>B</summary></details>'
    )
    assert unpacked(found, "folded") == ["<p>a</p>", "c\nd"]
    assert found.endswith("</script>\n</body>")


def test_a_page_without_templates_stays_as_it_is():
    assert folded("<body>a</body>") == "<body>a</body>"

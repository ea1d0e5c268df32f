"""Texts come back as they were added, from memory or from a file."""

import pytest

from pytest_rooflint.session.spool import Spool


@pytest.mark.parametrize("most_bytes", [1, 12, 1000])
def test_texts_come_back_in_any_order_and_between_additions(most_bytes):
    spool, texts = Spool(most_bytes), ["one", "", "2 × 2", "three"]
    assert not spool
    for number, text in enumerate(texts, 1):
        spool.put(str(number), text)
        assert len(spool) == number
        assert spool[0] == b"one"
    assert [one.decode() for one in spool] == texts
    assert (spool[-1], spool[1:3]) == (b"three", [b"", "2 × 2".encode()])
    with pytest.raises(IndexError):
        spool[4]
    spool.close()


def test_a_text_replaces_the_one_of_its_name_and_may_be_forgotten():
    spool = Spool()
    for name, text in (("a", "first"), ("b", "other"), ("a", "second")):
        spool.put(name, text)
    assert [*spool] == [b"other", b"second"]
    spool.forget("b")
    spool.forget("never there")
    assert [*spool] == [b"second"]
    spool.close()

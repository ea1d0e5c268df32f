"""Devices of a glob: what a law lists, and which excuses are refused."""

import pytest

from pytest_rooflint.claims.device_glob import display_of_devices, matching_devices, shown_lines, wrong_devices


def test_breaches_are_listed_unless_excused_and_excuses_must_be_needed():
    broken = {"a/1": ["too slow", "too hot"], "a/2": [], "a/3": ["too slow"]}
    assert list(wrong_devices(broken, {"a/3": "known"})) == [("a/1", "too slow"), ("a/1", "too hot")]
    excused = {"a/1": "known", "a/2": "known", "a/9": "known", "a/3": "known"}
    assert list(wrong_devices(broken, excused)) == [
        ("a/2", "obeys the law; remove it from 'except'"),
        ("a/9", "was not tested; remove it from 'except'"),
    ]


def test_twelve_breaches_are_shown_and_the_rest_is_counted():
    twelve = [(f"a/{number}", "slow") for number in range(12)]
    assert [line.split() for line in shown_lines(twelve)] == [[device, "slow"] for device, _ in twelve]
    assert [line.strip() for line in shown_lines([*twelve, ("a/12", "slow"), ("a/13", "slow")])][12:] == ["and 2 more"]


def test_devices_are_counted_not_breaches():
    assert display_of_devices(1, {}, []) == "holds on 1 device"
    assert display_of_devices(3, {"a/1": "known"}, []) == "holds on 3 devices, 1 of them excused"
    assert display_of_devices(3, {}, [("a/1", "slow"), ("a/1", "hot"), ("a/2", "hot")]) == "broken by 2 of 3 devices"


def test_a_glob_matches_ids_and_passes_over_an_invalid_spec(acme):
    acme.write("specs/hardware/acme/k2.yaml", "name: [\n")
    suite = acme.suite()
    assert [one.id for one in matching_devices(suite, "acme/*")] == ["acme/k1"]
    assert [one.id for one in matching_devices(suite, "other/*")] == []


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("devices: 3", "devices: want a glob"),
        ("devices: ''", "devices: want a glob"),
        ("except: {acme/k1: ''}", "except: want a reason for each device"),
        ("except: [acme/k1]", "except: want a reason for each device"),
    ],
)
def test_invalid_globs_and_excuses_are_refused(refusal, option, says):
    assert says in refusal(f"monotone: peak width, {option}")


def test_the_id_has_the_glob_where_it_is_not_every_device(one):
    assert one("monotone: peak width").claim.id == "monotone-peak-width"
    assert one("monotone: peak width, devices: 'acme/*'").claim.id == "monotone-peak-width-on-acme/all"

"""The shape of spec files: one test for each thing that may not stand in them, with its line and its sentence."""

import pytest

from rooflint.base.errors import InputError
from rooflint.base.precision import PRECISIONS
from rooflint.hardware.registry import Registry
from rooflint.hardware.schema import READERS, ArchitectureSpec, HardwareSpec, kind_of, reader_of

PRECISION_NAMES = ", ".join(PRECISIONS)

UNIT = "units: {tc: {group: SM, groups: [2, wp, p], per_group: [4, wp, p], clock: [1 GHz, wp, p], %s}}  # here\n"


def test_a_spec_says_what_it_means(specs):
    # 2 × 4 × 8 × 2 × 1e9 = 128e9
    device = specs.device(UNIT % "macs_per_clock: {fp16: [8 MAC, wp, p. 20]}")
    assert device.unit("tc").peak_ops_per_s("fp16") == 128e9
    fact = device.facts["units.tc.macs_per_clock.fp16"]
    assert (fact.display, fact.source.document, fact.source.grade, fact.where, fact.line) == (
        "8 MAC",
        "White paper",
        "quoted",
        "p. 20",
        4,
    )


def test_a_place_may_be_a_bare_page_number(specs):
    assert specs.device("tdp: [700 W, wp, 15]\n").facts["tdp"].where == "15"


def test_numbers_are_kept_as_they_are_written(specs):
    # section 1.10 is not section 1.1, and 1.50 is printed to a hundredth
    device = specs.device(UNIT % "macs_per_clock: {fp16: [8 MAC, wp, 1.10]}, sparsity: {fp16: [1.50, wp, p]}")
    assert device.facts["units.tc.macs_per_clock.fp16"].where == "1.10"
    sparsity = device.facts["units.tc.sparsity.fp16"]
    assert (sparsity.display, sparsity.quantity.step) == ("1.50", 0.01)


def test_a_key_without_a_value_is_refused(specs):
    # half a line is no way to say that there is no TDP
    with pytest.raises(InputError):
        specs.device("tdp:\n")


# ---------------------------------------------------------------------------------------------------------------- keys


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("tpd: [700 W, wp, p]  # here", "unknown key 'tpd'; did you mean 'tdp'?"),
        ("frobnicate: 1  # here", "unknown key 'frobnicate'"),
        ("units: {tc: {clck: [1 GHz, wp, p]}}  # here", "unknown key 'units.tc.clck'; did you mean 'clock'?"),
        ("units:\n  tc:\n    circiut: cuda_core  # here", "unknown key 'units.tc.circiut'; did you mean 'circuit'?"),
        ("memories:\n  m:\n    pinrate: 1  # here", "unknown key 'memories.m.pinrate'; did you mean 'pin_rate'?"),
        ("caches: {l2: {capacty: 1}}  # here", "unknown key 'caches.l2.capacty'; did you mean 'capacity'?"),
        ("clocks: {bost: 1}  # here", "unknown key 'clocks.bost'; did you mean 'boost'?"),
        (
            "powers: {measured_maximum: 1}  # here",
            "unknown key 'powers.measured_maximum'; did you mean 'measured_max'?",
        ),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest_one(refused, body, sentence):
    assert refused(body) == [sentence]


def test_an_unknown_key_of_a_source_is_refused(refused):
    head = "name: One\nkind: gpu\n"
    body = "sources:\n  wp: {documnt: x, document: White paper, grade: quoted}  # here\n"
    assert refused(body, head=head) == ["unknown key 'sources.wp.documnt'; did you mean 'document'?"]


def test_an_architecture_has_no_tdp(specs):
    file = specs.write("acme/arch", "name: A\nkind: gpu\ntdp: [700 W, wp, p]\n", "architectures")
    with pytest.raises(InputError) as caught:
        specs.registry().architecture("acme/arch")
    (problem,) = caught.value.problems
    assert (problem.file, problem.line) == (file, 3)
    assert problem.message.startswith("unknown key 'tdp'")


TYPED = "states a peak; peaks are derived from facts, and a vendor's figure is a claim in golden/"


@pytest.mark.parametrize(
    ("body", "key"),
    [
        ("peak: [989 TFLOP/s, wp, p]  # here", "peak"),
        ("tops: 170  # here", "tops"),
        ("units: {tc: {peak_tflops: {fp16: 989}}}  # here", "peak_tflops"),
        ("units: {tc: {ops_per_s: [989 TFLOP/s, wp, p]}}  # here", "ops_per_s"),
        ("units: {tc: {TOPS: 170}}  # here", "TOPS"),
    ],
)
def test_a_typed_peak_is_refused(refused, body, key):
    assert refused(body) == [f"'{key}' {TYPED}"]


def test_a_peak_in_the_place_of_a_rate_is_refused(refused):
    assert refused(UNIT % "macs_per_clock: {fp16: [989.4 TFLOP/s, wp, p]}") == [
        "units.tc.macs_per_clock.fp16: want MAC per clock of one unit in MAC such as 512 MAC, found '989.4 TFLOP/s'"
    ]


# ------------------------------------------------------------------------------------------------- value, source, place

WISH = "tdp: want [value, source, where]"


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("700 W", f"{WISH}, found '700 W'"),
        ("700", f"{WISH}, found 700"),
        ("[700 W]", f"{WISH}, found ['700 W']"),
        ("[700 W, wp]", f"{WISH}, found ['700 W', 'wp']"),
        ("[700 W, wp, p, q]", f"{WISH}, found ['700 W', 'wp', 'p', 'q']"),
        ("{value: 700 W}", f"{WISH}, found {{'value': '700 W'}}"),
        ("[700 W, 5, p]", f"{WISH} with a source key and a place, found ['700 W', 5, 'p']"),
        ("[700 W, wp, '']", f"{WISH} with a source key and a place, found ['700 W', 'wp', '']"),
        ("[700 W, wp, true]", f"{WISH} with a source key and a place, found ['700 W', 'wp', True]"),
        ("[700 W, wp, ]", f"{WISH}, found ['700 W', 'wp']"),
        ("[700 W, wp, [p]]", f"{WISH} with a source key and a place, found ['700 W', 'wp', ['p']]"),
    ],
)
def test_a_number_without_source_and_place_is_refused(refused, value, sentence):
    assert refused(f"tdp: {value}  # here") == [sentence]


def test_digits_with_separators_fall_apart_and_are_refused(refused):
    assert refused("clocks: {boost: [1,980 MHz, wp, p]}  # here") == [
        "clocks.boost: want [value, source, where], found [1, '980 MHz', 'wp', 'p']"
    ]


def test_a_source_that_is_not_listed_is_refused_with_those_that_are(refused):
    assert refused("tdp: [700 W, ds, p]  # here") == ["tdp: unknown source 'ds' (listed: wp)"]


def test_a_source_is_refused_where_none_is_listed(refused):
    head = "name: One\nkind: gpu\n"
    assert refused("tdp: [700 W, ds, p]  # here", head=head) == ["tdp: unknown source 'ds' (the file lists none)"]


def test_a_device_does_not_cite_the_sources_of_its_architecture(specs, refused):
    text = "name: A\nkind: gpu\nsources: {book: {document: B, grade: read}}\n"
    specs.write("acme/arch", text, "architectures")
    assert refused("architecture: acme/arch\ntdp: [700 W, book, p]  # here\n") == [
        "tdp: unknown source 'book' (listed: wp)"
    ]


@pytest.mark.parametrize(
    ("grade", "found"),
    [("seen", "'seen'"), ("Read", "'Read'"), ("5", "5"), ("", "None")],
)
def test_a_grade_is_one_of_five(refused, grade, found):
    assert refused(
        f"sources:\n  wp: {{document: White paper, grade: {grade}}}  # here\n", head="name: One\nkind: gpu\n"
    ) == [f"sources.wp.grade: want 'read', 'device', 'quoted', 'recalled' or 'estimate', found {found}"]


# --------------------------------------------------------------------------------------------------------------- values


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("700", "want a power in W such as 700 W, found '700'"),
        ("700 MHz", "want a power in W such as 700 W, found '700 MHz'"),
        ("700 w", "unknown unit 'w'; write W; want a power in W such as 700 W"),
        (
            "700W",
            "'700W' is not a number with a unit; put a space between number and unit; want a power in W such as 700 W",
        ),
        ("700 W ± 5", "unknown unit 'W ± 5'; want a power in W such as 700 W"),
        ("true", "want a power in W such as 700 W, found True"),
        ("null", "want a power in W such as 700 W, found nothing"),
        ("[700 W]", "want a power in W such as 700 W, found ['700 W']"),
        ("''", "'' is not a number with a unit; want a power in W such as 700 W"),
        ("nan W", "'nan W' is not a number with a unit; want a power in W such as 700 W"),
        ("inf W", "'inf W' is not a number with a unit; want a power in W such as 700 W"),
        ("1e400 W", "'1e400 W' is out of range, 1e-40 to 1e+40 in base units; want a power in W such as 700 W"),
        ("1/0 W", "'1/0 W' divides by zero; want a power in W such as 700 W"),
        ("0 W", "want a value above zero, found '0 W'"),
        ("-700 W", "want a value above zero, found '-700 W'"),
        ("1e-400 W", "want a value above zero, found '1e-400 W'"),
        ("700 mW", None),
        ("700 kW", "'700 kW' is 700000 W, outside 0.01 W … 100000 W; wrong unit or prefix?"),
        ("7 mW", "'7 mW' is 0.007 W, outside 0.01 W … 100000 W; wrong unit or prefix?"),
    ],
)
def test_a_power_is_in_watts_above_zero_and_within_reason(specs, refused, value, sentence):
    body = f"tdp: [{value}, wp, p]  # here"
    if sentence is None:
        assert specs.device(body).tdp_w == pytest.approx(0.7)
    else:
        assert refused(body) == [f"tdp: {sentence}"]


@pytest.mark.parametrize("value", [".nan", ".inf", "-.inf"])
def test_nan_and_infinities_of_yaml_are_refused(refused, value):
    assert refused(f"tdp: [{value}, wp, p]  # here") == [f"want a finite number, found {value}"]


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("1830 mHz", "'1830 mHz' is 1.83 Hz, outside 1 MHz … 20 GHz; wrong unit or prefix?"),
        ("1.83 THz", "'1.83 THz' is 1.83 THz, outside 1 MHz … 20 GHz; wrong unit or prefix?"),
        ("1830 kHz", None),
        ("1830 MHZ", "unknown unit 'MHZ'; write MHz; want a clock in Hz such as 1830 MHz"),
        ("1830 GB", "want a clock in Hz such as 1830 MHz, found '1830 GB'"),
        ("1830", "want a clock in Hz such as 1830 MHz, found '1830'"),
    ],
)
def test_a_clock_with_a_wrong_prefix_is_refused(specs, refused, value, sentence):
    body = f"clocks: {{boost: [{value}, wp, p]}}  # here"
    if sentence is None:
        assert specs.device(body).facts["clocks.boost"].value == 1.83e6
    else:
        assert refused(body) == [f"clocks.boost: {sentence}"]


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("2.5", "want a whole number, found '2.5'"),
        ("0", "want a value above zero, found '0'"),
        ("-4", "want a value above zero, found '-4'"),
        ("1000000000", "'1000000000' is 1000000000, outside 1 … 10000000; wrong unit or prefix?"),
        ("4 W", "want a count such as 132, found '4 W'"),
        ("four", "'four' is not a number with a unit; want a count such as 132"),
    ],
)
def test_a_count_is_a_whole_number(refused, value, sentence):
    assert refused(f"units: {{tc: {{groups: [{value}, wp, p]}}}}  # here") == [f"units.tc.groups: {sentence}"]


@pytest.mark.parametrize("value", ["13200 %", "132 inferences", "132 B/B"])
def test_a_count_is_a_bare_number_even_where_its_unit_cancels(refused, value):
    assert refused((UNIT % "macs_per_clock: {fp16: [8 MAC, wp, p]}").replace("groups: [2,", f"groups: [{value},")) == [
        f"units.tc.groups: want a count such as 132, found '{value}'"
    ]


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("512", "want MAC per clock of one unit in MAC such as 512 MAC, found '512'"),
        ("1024 op", "want MAC per clock of one unit in MAC such as 512 MAC, found '1024 op'"),
        ("1 kMAC", "want MAC per clock of one unit in MAC such as 512 MAC, found '1 kMAC'"),
        (
            "512 MACs",
            "unknown unit 'MACs'; write MAC; want MAC per clock of one unit in MAC such as 512 MAC",
        ),
        ("1e-4 MAC", "'1e-4 MAC' is 0.0001 MAC, outside 0.001 MAC … 1e+07 MAC; wrong unit or prefix?"),
    ],
)
def test_a_rate_is_in_mac_because_an_op_would_be_half_of_it(refused, value, sentence):
    assert refused(UNIT % f"macs_per_clock: {{fp16: [{value}, wp, p]}}") == [
        f"units.tc.macs_per_clock.fp16: {sentence}"
    ]


def test_a_rate_may_be_a_fraction(specs):
    # one MAC every 32 clocks: 2 × 4 × 1/32 × 2 × 1e9 = 0.5e9
    device = specs.device(UNIT % "macs_per_clock: {fp64: [1/32 MAC, wp, p]}")
    assert device.unit("tc").peak_ops_per_s("fp64") == 0.5e9


@pytest.mark.parametrize("key", ["macs_per_clock: {fp17: [8 MAC, wp, p]}", "clock_of: {fp17: [1 GHz, wp, p]}"])
def test_an_unknown_precision_is_refused_with_those_that_exist(refused, key):
    place = f"units.tc.{key.split(':')[0]}.fp17"
    assert refused(UNIT % key) == [f"{place}: unknown precision 'fp17' (known: {PRECISION_NAMES})"]


def test_a_sparsity_is_a_factor(refused):
    assert refused(UNIT % "sparsity: {fp16: [32, wp, p]}") == [
        "units.tc.sparsity.fp16: '32' is 32, outside 1 … 16; wrong unit or prefix?"
    ]


@pytest.mark.parametrize(
    ("fact", "sentence"),
    [
        ("capacity: [80, wp, p]", "capacity: want a capacity in B such as 80 GB, found '80'"),
        ("capacity: [80 gb, wp, p]", "capacity: unknown unit 'gb'; write GB; want a capacity in B such as 80 GB"),
        ("capacity: [80 B, wp, p]", "capacity: '80 B' is 80 B, outside 1 kB … 100 TB; wrong unit or prefix?"),
        ("bus: [640 B, wp, p]", "bus: want a bus width in bit such as 5120 bit, found '640 B'"),
        ("bus: [5120, wp, p]", "bus: want a bus width in bit such as 5120 bit, found '5120'"),
        (
            "pin_rate: [5.24 Gbps, wp, p]",
            "pin_rate: unknown unit 'Gbps'; write GB/s or Gbit/s; want a rate per pin in bit/s such as 5.24 Gbit/s",
        ),
        (
            "pin_rate: [5.24 GT/s, wp, p]",
            "pin_rate: unknown unit 'GT/s'; write Gbit/s (per pin); want a rate per pin in bit/s such as 5.24 Gbit/s",
        ),
        ("bandwidth: [3.35 TB, wp, p]", "bandwidth: want a bandwidth in B/s such as 3.35 TB/s, found '3.35 TB'"),
        (
            "bandwidth: [3.35 MB/s, wp, p]",
            "bandwidth: '3.35 MB/s' is 3.35 MB/s, outside 100 MB/s … 1 PB/s; wrong unit or prefix?",
        ),
    ],
)
def test_memory_facts_have_their_units(refused, fact, sentence):
    assert refused(f"memories: {{m: {{{fact}}}}}  # here") == [f"memories.m.{sentence}"]


def test_a_pin_rate_in_bytes_is_refused(refused):
    # 5.24 GB/s on a pin would be 41.9 Gbit/s: eight times what the author meant
    assert refused("memories: {m: {bus: [256 bit, wp, p], pin_rate: [5.24 GB/s, wp, p]}}  # here") == [
        "memories.m.pin_rate: want a rate per pin in bit/s such as 5.24 Gbit/s, found '5.24 GB/s'"
    ]


def test_a_bus_outside_its_window_is_shown_in_bit(specs):
    # 900 000 bit are 112 500 B; the message speaks of bits
    with pytest.raises(InputError, match=r"memories\.m\.bus: '900000 bit' is 900000 bit, outside "):
        specs.device("memories: {m: {bus: [900000 bit, wp, p], pin_rate: [5 Gbit/s, wp, p]}}\n")


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("process: [4 mm, wp, p]", "process: '4 mm' is 4 mm, outside 100 pm … 1 µm; wrong unit or prefix?"),
        ("process: [4, wp, p]", "process: want a process node in m such as 4 nm, found '4'"),
        ("launched: [22, wp, p]", "launched: '22' is 22, outside 1990 … 2100; wrong unit or prefix?"),
        ("launch_overhead: [5 s, wp, p]", "launch_overhead: '5 s' is 5 s, outside 100 ps … 1 s; wrong unit or prefix?"),
        ("parts: {gcd: [1.5, wp, p]}", "parts.gcd: want a whole number, found '1.5'"),
        (
            "caches: {l2: {capacity: [50 MHz, wp, p]}}",
            "caches.l2.capacity: want a capacity in B such as 80 GB, found '50 MHz'",
        ),
    ],
)
def test_other_facts_have_units_and_windows_too(refused, body, sentence):
    assert refused(f"{body}  # here") == [sentence]


# ---------------------------------------------------------------------------------------------------------------- types


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("units: [tc]", "units: want a valid dictionary, found ['tc']"),
        ("units: {tc: SM}", None),
        ("aliases: One", "aliases: want a valid list, found 'One'"),
        ("aliases: [8]", "aliases.0: want a valid string, found 8"),
        ("compute_capability: 9.0", "compute_capability: want a valid string, found 9.0"),
        ("scope: rack", "scope: want 'core', 'die', 'package', 'module', 'chip' or 'board', found 'rack'"),
        ("notes: ''", "notes: want a text that should have at least 1 character, found ''"),
        (
            "units: {Tensor Core: {group: SM}}",
            "units.Tensor Core: want a text that should match pattern '^[a-z][a-z0-9_]*$', found 'Tensor Core'",
        ),
        (
            "operating_points: {30W: {}}",
            "operating_points.30W: want a text that should match pattern '^[a-z0-9][a-z0-9_]*$', found '30W'",
        ),
        ("operating_points: {30w: }", "operating_points.30w: want a valid dictionary, found None"),
    ],
)
def test_values_are_not_converted(specs, refused, body, sentence):
    if sentence is None:
        with pytest.raises(InputError, match=r"one\.yaml:4  units\.tc: .*found 'SM'"):
            specs.device(body)
    else:
        assert refused(f"{body}  # here") == [sentence]


def test_a_circuit_is_one_that_energies_are_known_for(specs):
    with pytest.raises(InputError, match=r"one\.yaml:4  units\.tc\.circuit: want 'x86_performance', .*found 'magic'"):
        specs.device("units: {tc: {circuit: magic}}\n")


def test_a_kind_is_one_of_the_table(refused):
    (message,) = refused("kind: toaster  # here\n", head="name: One\n")
    assert message.startswith("kind: want 'cpu', 'gpu', 'tpu', 'kpu'")
    assert message.endswith(", found 'toaster'")


@pytest.mark.parametrize(("text", "key"), [("kind: gpu  # here\n", "name"), ("name: One  # here\n", "kind")])
def test_a_name_and_a_kind_must_be_there(refused, text, key):
    assert refused(text, head="") == [f"{key}: is missing"]


def test_a_text_has_an_end(refused):
    long = "x" * 4001
    assert refused(f"notes: {long}  # here") == [
        f"notes: want a text that should have at most 4000 characters, found '{'x' * 56}…"
    ]


@pytest.mark.parametrize("text", ["- a  # here\n", "word  # here\n", "---  # here\n"])
def test_a_spec_is_a_mapping(refused, text):
    assert refused(text, head="") == ["want a mapping of keys, found something else"]


def test_all_problems_are_said_at_once(specs):
    with pytest.raises(InputError) as caught:
        specs.device("tdp: 700 W\nclocks:\n  boost: [1830 mHz, wp, p]\nfoo: 1\n")
    assert [problem.line for problem in caught.value.problems] == [4, 6, 7]


# ------------------------------------------------------------------------------------------------------- paths of facts


def test_facts_can_stand_at_these_paths_and_at_no_others():
    assert set(READERS) == {
        *(
            "process",
            "launched",
            "tdp",
            "launch_overhead",
            "parts.*",
            "full_die.*",
            "resident_warps.*",
            "warp_threads.*",
            "warp_schedulers.*",
            "dispatch_units.*",
            "special_function_units.*",
            "dies",
            "clocks.base",
            "clocks.boost",
        ),
        *(
            "powers.typical",
            "powers.measured_max",
            "powers.measured_mean",
            "powers.idle",
            "powers.limit",
            "powers.peak",
        ),
        *("units.*.groups", "units.*.per_group", "units.*.issue_threads", "units.*.clock", "units.*.clock_of.*"),
        *("units.*.macs_per_clock.*", "units.*.sparsity.*"),
        *("memories.*.capacity", "memories.*.bus", "memories.*.pin_rate", "memories.*.bandwidth"),
        *("memories.*.ecc", "caches.*.capacity"),
        *("links.*.count", "links.*.rate"),
    }


@pytest.mark.parametrize(
    "path", ["", "name", "units", "units.tc", "units.tc.peak", "units.tc.clock.fp16", "tdp.x", "*"]
)
def test_where_no_fact_can_stand_there_is_no_reader(path):
    assert reader_of(path) is None


def test_a_reader_reads_what_the_schema_reads():
    raw = reader_of("units.tensor_core.clock")(["612 MHz", "np", "GPU MAX_FREQ"])
    assert (raw.quantity.value, raw.source, raw.where) == (612e6, "np", "GPU MAX_FREQ")
    assert reader_of("units.a.macs_per_clock.int8")(["512 MAC", "np", "p"]).quantity.value == 512


def test_every_shipped_fact_has_a_reader_for_its_path():
    registry = Registry()
    for device in map(registry.get, registry.ids()):
        points = [path for overlay in device.operating_points.values() for path in overlay]
        assert [path for path in (*device.facts, *points) if reader_of(path) is None] == []


# -------------------------------------------------------------------------------------------------------------- export


@pytest.mark.parametrize("model", [HardwareSpec, ArchitectureSpec])
def test_the_exported_schema_is_strict_and_describes_facts(model):
    schema = model.model_json_schema()
    assert schema["additionalProperties"] is False
    assert all(part["additionalProperties"] is False for part in schema["$defs"].values())
    assert schema["required"] == ["name", "kind"]
    (process,) = [option for option in schema["properties"]["process"]["anyOf"] if option["type"] == "array"]
    assert process["description"] == "a process node: [value, source, where]"
    assert (process["minItems"], process["maxItems"]) == (3, 3)
    assert process["examples"] == [["4 nm", "wp", "table 3"]]


def test_a_kind_reads_a_value_alone_and_shows_it_in_its_unit():
    # 12.5 Gbit/s are 1.5625 GB/s
    rate = kind_of("memories.hbm3.pin_rate")
    assert rate.quantity("12.5 Gbit/s").value == 1.5625e9
    assert rate.show(1.5625e9) == "12.5 Gbit/s"
    assert kind_of("units.tensor_core.groups").whole
    assert kind_of("units.tensor_core.macs_per_clock.fp15") is None
    assert kind_of("peak") is None

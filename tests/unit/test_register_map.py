"""Register maps: those of the package, and one refusal for each way to be wrong."""

from __future__ import annotations

import re
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import pytest

from compliance.errors import InputError, NotFound, RuleError
from compliance.model.register_map import Order, RegisterType, Table, register_map, unconfirmed
from compliance.model.sites import Instrument
from compliance.records.maps import sha256
from ingest import library
from ingest.linked import wanted

FLOW = {"name": "flow", "table": "holding", "address": 2, "printed": "40003"}
SOUND = {
    **{"name": "m", "vendor": "v", "model": "m", "role": "r", "document": "d"},
    "entries": [{**FLOW, "type": "float32", "evidence": "manual", "unit": "gpm"}],
}


def with_entry(**changes: object) -> dict[str, object]:
    document = deepcopy(SOUND)
    document["entries"][0].update(changes)
    return document


def test_a_sound_map_is_read():
    entry = register_map(SOUND, file="m.yaml").entries["flow"]
    assert (entry.table, entry.address, entry.words) == (Table.HOLDING, 2, 2)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"adress": 2}, "'adress' is not known"),
        ({"type": "float"}, "type is 'float'"),
        ({"type": None}, "type is None"),
        ({"table": "coils"}, "table is 'coils'"),
        ({"order": "BACD"}, "order is 'BACD'"),
        ({"unit": "GPM"}, "unit is 'GPM'"),
        ({"words": 1}, "expected 2, which a float32 takes"),
        ({"address": 65535, "printed": "x"}, "from 0 to 65534"),
        ({"address": 3}, "printed '40003' and holding address 3 disagree"),
        ({"table": "input"}, "disagree"),
        ({"address": "0123"}, "0123 is octal"),
        ({"scale": 0.1}, "write it in quotes"),
        ({"scale": "0"}, "other than 0"),
        ({"scale": "a tenth"}, "scale is 'a tenth'"),
        ({"missing": [-1]}, "missing is"),
        ({"missing": [0x1_0000_0000]}, "fit 2 register"),
        ({"status": "nowhere"}, "no entry of this map"),
        ({"unit_register": "nowhere"}, "no entry of this map"),
        ({"quality": {0: "fine"}}, "good, uncertain, bad or missing"),
        ({"evidence": ""}, "evidence is ''"),
        ({"verify": "yes"}, "true or false"),
        ({"kind": "guage"}, "kind is 'guage'"),
        ({"printed": "0x0004", "address": 2}, "expected 0x0002"),
        ({"printed": "register 7"}, "expected 2 or 3"),
        ({"low": 14, "high": 0}, "under high, which is 0"),
        ({"low": 0.5}, "write it in quotes"),
        ({"resolution": 0}, "over 0"),
        ({"modulus": 100}, "only what counts up"),
        ({"kind": "total", "modulus": -1}, "over 0"),
        ({"share": True}, "the channel's span has the unit"),
        ({"type": "bits", "words": 5}, "from 1 to 4"),
        ({"type": "mod10k", "words": 9}, "from 1 to 4"),
        ({"type": "mod10k"}, "how many registers"),
        ({"table": "coil", "printed": "00003"}, "one bit"),
        ({"kind": "time"}, "one of the two ways to write a time"),
        ({"clock": "unix_seconds"}, "with kind: time alone"),
        ({"clock": "second minute hour day month year", "kind": "time"}, "bits for a time"),
        ({"clock": "local"}, "clock is 'local'"),
        ({"status": "flow"}, "the name of another entry"),
        ({"exponent_register": "nowhere"}, "no entry of this map"),
        ({"alternative_to": "nowhere"}, "no entry of this map"),
        ({"codes": {"a": "b"}}, "whole numbers to words"),
    ],
)
def test_a_map_that_cannot_be_meant_is_refused_in_one_sentence(changes, says):
    with pytest.raises(RuleError) as refusal:
        register_map(with_entry(**changes), file="m.yaml")
    assert says in str(refusal.value)
    assert str(refusal.value).startswith("m.yaml")
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("top", "says"),
    [
        ({"max_registers": 1}, "which would tear it"),
        ({"max_registers": 0}, "from 1 to 125"),
        ({"max_registers": 126}, "from 1 to 125"),
        ({"max_registers": 3, "link": {"multiple_of": 2}}, "expected a multiple of 2"),
        ({"printed_base": 0}, "disagree"),
        ({"base_address": 65535}, "keeps every entry under 65536"),
        ({"needs_write": "yes"}, "true or false"),
        ({"entries": []}, "a list of entries"),
        ({"entries": ["flow"]}, "expected a mapping"),
        ({"link": "rtu"}, "expected a mapping such as"),
        ({"link": {"protocol": "rtu"}}, "'protocol' is not known"),
        ({"link": {"protocols": ["modbus"]}}, "a list of tcp, rtu, ascii"),
        ({"link": {"baud": ["fast"]}}, "a list of rates"),
        ({"link": {"parity": ["even"]}}, "data bits, parity, stop bits"),
        ({"link": {"default": "9600"}}, "such as 9600 8E1"),
        ({"link": {"timeout_ms": 0}}, "from 1 to 600000"),
        ({"link": {"pause_ms": "a while"}}, "from 0 to 600000"),
        ({"link": {"wide_registers": True, "wake_up_s": -1}}, "from 1 to 86400"),
    ],
)
def test_a_link_or_a_head_that_cannot_be_meant_is_refused_in_one_sentence(top, says):
    with pytest.raises(RuleError) as refusal:
        register_map({**deepcopy(SOUND), **top}, file="m.yaml")
    assert says in str(refusal.value)
    assert "\n" not in str(refusal.value)


def second(**entry: object) -> dict[str, object]:
    return {"name": "beside", "table": "holding", "address": 8, "printed": "x", "type": "uint16",
            "evidence": "manual", **entry}  # fmt: skip


@pytest.mark.parametrize(
    ("link", "beside", "says"),
    [
        ("status", {"kind": "status"}, "with a quality for its codes"),
        ("status", {"type": "uint32", "quality": {0: "good"}}, "one register"),
        ("unit_register", {"type": "float32"}, "an entry of one register"),
        ("temperature_register", {"codes": {0: "gpm"}}, "degC, degF or K"),
        ("temperature_register", {}, "degC, degF or K"),
        ("exponent_register", {}, "a power of ten, with its sign"),
        ("exponent_register", {"type": "int16", "scale": 10}, "a power of ten, with its sign"),
        ("multiplier_register", {"type": "string", "words": 2}, "no other register multiplies"),
        ("rollover_register", {}, "of kind counter"),
        ("time_register", {}, "of kind time"),
    ],
)
def test_a_link_to_an_entry_that_cannot_serve_is_refused(link, beside, says):
    document = with_entry(**{link: "beside"})
    document["entries"].append(second(**beside))
    with pytest.raises(RuleError, match=says):
        register_map(document, file="m.yaml")


def test_a_value_of_a_wide_register_takes_one_address():
    document = {**deepcopy(SOUND), "link": {"wide_registers": True}}
    document["entries"].append(second(address=3, printed="40004", type="uint32"))
    entry = register_map(document, file="m.yaml").entries["flow"]
    assert (entry.words, entry.registers, entry.end) == (2, 1, 3)
    document["entries"].append(second(name="narrow", address=9))
    with pytest.raises(RuleError, match="four bytes each"):
        register_map(document, file="m.yaml")


def test_a_value_may_be_torn_only_where_the_link_says_that_it_must():
    document = {**deepcopy(SOUND), "max_registers": 1, "link": {"split_values": True}}
    assert register_map(document, file="m.yaml").wire.split_values


def test_two_models_may_keep_two_things_in_one_place_when_the_map_says_so():
    document = deepcopy(SOUND)
    level = {**document["entries"][0], "name": "level", "unit": "ft"}
    document["entries"].append({**level, "alternative_to": "flow"})
    assert len(register_map(document, file="m.yaml").entries) == 2
    document["entries"][1]["type"] = "uint16"
    with pytest.raises(RuleError, match="overlap"):
        register_map(document, file="m.yaml")


def test_a_misprint_of_the_manual_is_read_by_the_wire_and_verified():
    found = register_map(with_entry(printed="40009", misprint=True), file="m.yaml")
    assert found.entries["flow"].verify
    assert "contradicts itself" in found.unverified[0]


@pytest.mark.parametrize(
    ("printed", "address", "base"),
    [("R40,062", 61, 1), ("4:03003", 3002, 1), ("30002", 2, 0), ("40001-40002", 0, 1),
     ("0x00CF", 207, 1), ("100,101", 99, 1), ("register 930", 930, 1), ("+4,5", 4, 1),
     ("400108", 107, 1), ("P633", 5, 1)],
)  # fmt: skip
def test_an_address_is_understood_as_manuals_print_it(printed, address, base):
    table = "input" if printed.startswith("3") else "holding"
    document = {**with_entry(printed=printed, address=address, table=table), "printed_base": base}
    assert register_map(document, file="m.yaml").entries["flow"].address == address


def test_a_base_address_moves_every_entry_and_an_open_one_is_known_as_such():
    moved = register_map({**deepcopy(SOUND), "base_address": 1000}, file="m.yaml")
    assert moved.entries["flow"].address == 1002
    assert register_map({**deepcopy(SOUND), "base_address": None}, file="m.yaml").base_open


@pytest.mark.parametrize(
    ("changes", "order", "confirmed", "says"),
    [
        ({"order": "ABCD"}, None, None, ""),
        ({}, None, None, "none is set"),
        ({}, None, "A. Meyer", "none is set"),
        ({}, "CDAB", None, "nobody has compared it"),
        ({}, "CDAB", "A. Meyer", ""),
        ({"order": "ABCD", "evidence": "library"}, None, None, "evidence is 'library'"),
        ({"order": "ABCD", "evidence": "library"}, None, "A. Meyer", ""),
    ],
)
def test_a_point_counts_once_its_order_is_settled_and_confirmed(changes, order, confirmed, says):
    found = register_map(with_entry(**changes), file="m.yaml")
    instrument = Instrument(
        id=1,
        gateway_id=1,
        unit_id=1,
        map_name="m",
        order=order,
        confirmed_by=confirmed,
        confirmed_at=None,
    )
    said = unconfirmed(found, found.entries["flow"], instrument)
    assert (says in said) if says else said == ""
    open_base = replace(found, base_open=True)
    assert "where the instrument's block begins" in unconfirmed(
        open_base, found.entries["flow"], instrument
    )


@pytest.mark.parametrize(
    ("second", "says"),
    [
        ({}, "is there twice"),
        ({"name": "other", "address": 3, "printed": "40004"}, "overlap at holding address 3"),
    ],
)
def test_two_entries_may_share_neither_name_nor_register(second, says):
    document = deepcopy(SOUND)
    document["entries"].append({**document["entries"][0], **second})
    with pytest.raises(RuleError, match=says):
        register_map(document, file="m.yaml")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name: [", "no usable YAML"),
        ("- a", "holds no mapping"),
        ("name: m\nname: n", "'name' is there twice in line 1"),
        ("name: other\nvendor: v", "model is None"),
    ],
)
def test_an_unreadable_file_is_refused_in_one_sentence(tmp_path: Path, text, says):
    file = tmp_path / "m.yaml"
    file.write_text(text)
    with pytest.raises(RuleError) as refusal:
        library.load_file(file)
    assert says in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_an_octal_looking_address_in_a_file_is_no_number(tmp_path: Path):
    file = tmp_path / "m.yaml"
    file.write_text("address: 0123\nplain: 123\nhex: 0x7B\n")
    assert library.read_yaml(file) == {"address": "0123", "plain": 123, "hex": 123}


def test_an_unknown_map_names_those_there_are():
    with pytest.raises(NotFound, match="siemens-mag6000"):
        library.load("mag6000")


def test_a_map_of_the_installation_goes_before_the_package(tmp_path: Path):
    (tmp_path / "maps").mkdir()
    text = (library.PACKAGED / "campbell-pvs5120.yaml").read_text()
    (tmp_path / "maps" / "campbell-pvs5120.yaml").write_text(
        text.replace("order: null", "order: CDAB")
    )
    assert library.load("campbell-pvs5120", tmp_path).entries["bottle"].order is Order.CDAB
    assert library.load("campbell-pvs5120").entries["bottle"].order is None


def test_the_fingerprint_follows_the_content_and_not_the_comments(tmp_path: Path):
    text = (library.PACKAGED / "campbell-pvs5120.yaml").read_text()
    packaged = sha256(library.load("campbell-pvs5120"))
    same = tmp_path / "campbell-pvs5120.yaml"
    same.write_text(f"# a remark\n{text}")
    assert sha256(library.load_file(same)) == packaged
    same.write_text(text.replace("40023 & 40024", "register 23"))
    assert sha256(library.load_file(same)) != packaged


def own_map(home: Path, name: str, text: str) -> None:
    (home / "maps").mkdir(exist_ok=True)
    (home / "maps" / f"{name}.yaml").write_text(text)


def test_a_map_may_add_to_another_and_to_its_own_name(tmp_path: Path):
    own_map(tmp_path, "siemens-mag6000", "inherits: siemens-mag6000\nentries:\n"
            "  - {name: volume_flow, order: CDAB, high: \"0.2\"}\n")  # fmt: skip
    found, packaged = library.load("siemens-mag6000", tmp_path), library.load("siemens-mag6000")
    flow = found.entries["volume_flow"]
    assert (flow.order, str(flow.high), flow.address) == (Order.CDAB, "0.2", 3002)
    assert flow.status == "run_indicator"
    assert list(found.entries) == list(packaged.entries)
    assert packaged.entries["volume_flow"].order is None


def test_a_slot_of_an_analyser_is_a_map_of_its_own(tmp_path: Path):
    own_map(tmp_path, "slot-1", "inherits: yokogawa-flxa402-ph\nname: slot-1\nbase_address: 300\n")
    found = library.load("slot-1", tmp_path)
    assert not found.base_open
    assert found.entries["ph"].address == 306
    with pytest.raises(InputError, match="make a map of your own"):
        wanted(library.load("yokogawa-flxa402-ph"), "ph")


@pytest.mark.parametrize("parent", ["a", "nowhere", "b"])
def test_a_map_cannot_inherit_from_what_is_not_there_or_from_its_heirs(tmp_path: Path, parent):
    own_map(tmp_path, "a", f"inherits: {parent}\nname: a\n")
    own_map(tmp_path, "b", "inherits: a\nname: b\n")
    with pytest.raises(RuleError, match=r"inherits is '\w+'; expected another of"):
        library.load("a", tmp_path)


def test_a_sampler_has_the_values_of_the_platform_it_is_built_on():
    sampler, platform = (library.load(f"eh-{n}") for n in ("liquistation-csf", "liquiline-cm44x"))
    assert set(platform.entries) < set(sampler.entries)
    assert set(platform.quirks) < set(sampler.quirks)
    assert [p.value for p in sampler.wire.protocols] == ["rtu", "ascii"]


def test_the_package_s_maps_say_what_their_instruments_need():
    aqua, isco = library.load("abb-aquamaster3"), library.load("isco-2100")
    wire = aqua.wire
    assert (wire.multiple_of, wire.pause_ms, wire.timeout_ms, wire.wake_up_s) == (2, 800, 1000, 10)
    assert isco.needs_write
    assert [p.value for p in isco.wire.protocols] == ["ascii"]
    assert library.load("hach-sc4500").heartbeat.name == "heartbeat"
    assert library.load("xylem-magflux").wire.default_parity == "8E1"
    assert library.load("sigma-980").entries["total_flow_1"].multiplier_register
    assert [n for n in library.names() if library.load(n).needs_write] == ["isco-2100"]


@pytest.mark.parametrize("name", library.names())
def test_what_no_manual_settles_is_to_be_verified_on_site(name):
    found = library.load(name)
    for entry in found.entries.values():
        settled = entry.evidence == "manual" and (entry.order or not entry.needs_order)
        assert entry.verify or settled
    assert len(found.unverified) == sum(entry.verify for entry in found.entries.values())


FACTS = {
    "abb-aquamaster3": "abb.aquamaster-3",
    "ads-flowshark": "ads.flowshark",
    "eh-liquistation-csf": "endress-hauser.liquistation-csf",
    "eh-promag53": "endress-hauser.promag-53",
    "hach-1200s-ph": "hach.1200-s-sc.ph",
    "hach-fl900": "hach.fl900",
    "isco-2100": "teledyne-isco.2100",
    "krohne-ifc300": "krohne.ifc300",
    "nivus-nivusonic": "nivus.nivusonic",
    "sigma-980": "sigma.980",
    "xylem-magflux": "xylem.magflux",
    "yokogawa-flxa402-ph": "yokogawa.flxa402.ph",
    "siemens-mag6000": "siemens.sitrans-fm.mag6000-usm2",
    "badger-m2000": "badger.modmag-m2000",
    "eh-liquiline-cm44x": "endress-hauser.liquiline-cm44x",
    "hach-sc4500": "hach.sc4500",
    "siemens-hydroranger200": "siemens.hydroranger-200",
    "campbell-pvs5120": "campbell.pvs5120",
}
TYPES = {"f32": "float32", "f64": "float64", "u8": "uint16", "bitfield": "bits", "coil": "bits"}


def _spelled(kind: str) -> str:
    """A type of the collected facts in our spelling."""
    return TYPES.get(kind) or re.sub(r"^(u?)i?(\d+)$", r"\1int\2", kind)


@pytest.mark.parametrize("name", FACTS)
def test_the_package_s_maps_say_what_the_collected_facts_say(shared: Path, name):
    devices = library.read_yaml(shared / "data" / "device_maps.json")["devices"]
    device = next(each for each in devices if each["id"] == FACTS[name])
    parent = next((each for each in devices if each["id"] == device.get("inherits")), None)
    told = [*(parent["registers"] if parent else ()), *device["registers"]]
    facts = {(r["table"], r["address"]): r for r in told}
    found = library.load(name).entries.values()
    assert {(e.table.value, e.address) for e in found} == set(facts)
    for entry in found:
        fact = facts[(entry.table.value, entry.address)]
        if entry.clock is not None:
            assert entry.words == fact["registers"]
            continue
        assert (entry.words, entry.evidence, entry.printed) == (
            fact["registers"],
            fact["evidence"],
            fact["printed"],
        )
        assert entry.type is RegisterType(_spelled(fact["type"]))

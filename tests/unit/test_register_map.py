"""Register maps: those of the package, and one refusal for each way to be wrong."""

from __future__ import annotations

import re
from copy import deepcopy
from pathlib import Path

import pytest

from compliance.errors import NotFound, RuleError
from compliance.model.register_map import Order, RegisterType, Table, register_map
from ingest import library

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
    ],
)
def test_a_map_that_cannot_be_meant_is_refused_in_one_sentence(changes, says):
    with pytest.raises(RuleError) as refusal:
        register_map(with_entry(**changes), file="m.yaml")
    assert says in str(refusal.value)
    assert str(refusal.value).startswith("m.yaml")
    assert "\n" not in str(refusal.value)


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
    packaged = library.sha256(library.load("campbell-pvs5120"))
    same, other = tmp_path / "campbell-pvs5120.yaml", tmp_path / "x"
    same.write_text("# a remark\n" + text)
    assert library.sha256(library.load_file(same)) == packaged
    other.mkdir()
    (other / same.name).write_text(text.replace("40023 & 40024", "register 23"))
    assert library.sha256(library.load_file(other / same.name)) != packaged


@pytest.mark.parametrize("name", library.names())
def test_what_no_manual_settles_is_to_be_verified_on_site(name):
    found = library.load(name)
    for entry in found.entries.values():
        settled = entry.evidence == "manual" and (entry.order or not entry.needs_order)
        assert entry.verify or settled
    assert len(found.unverified) == sum(entry.verify for entry in found.entries.values())


FACTS = {
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
    facts = {(r["table"], r["address"]): r for r in device["registers"]}
    for entry in library.load(name).entries.values():
        fact = facts[(entry.table.value, entry.address)]
        assert (entry.words, entry.evidence, entry.printed) == (
            fact["registers"],
            fact["evidence"],
            fact["printed"],
        )
        assert entry.type is RegisterType(_spelled(fact["type"]))

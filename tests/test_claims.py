# SPDX-License-Identifier: GPL-2.0
"""The list of what the papers contain: it names only what exists, and has the state of each."""

import re
from collections import Counter

import pytest

from labkit.errors import LabError
from labkit.model import scenario
from labkit.tell import claims, page

SCENARIO = """
title = "Speeds"
paper = "999 (NONE)"
figure = "Figs. 1-3, Table II, on two links"
about = "None."
cc = ["reno"]
[[finding]]
claim = "Pigs fly"
measure = "mean('goodput_bps')"
low = 1
[[finding]]
claim = "Pigs swim"
measure = "mean('goodput_bps')"
high = 0
"""

LIST = """
[[paper]]
name = "999 (NONE)"
title = "On <Pigs>"
[[paper.entry]]
at = "Fig. 1"
says = "Height over time"
todo = "the clouds"
[[paper.entry]]
at = "Fig. 2"
says = "Distance"
by = ["pigs: Pigs fly"]
[[paper.entry]]
at = "Fig. 3"
says = "Depth"
by = ["pigs: Pigs swim"]
[[paper.entry]]
at = "Table II"
says = "Speed"
[[paper.entry]]
at = "Eq. 1"
says = "Lift"
by = ["kunit/fly_test.c: lifts", "test_fly.py: test_wings", "selftests/fly.sh: soars"]
[[paper.entry]]
at = "Section V"
says = "Snow"
todo = "winter"
[[paper.entry]]
at = "Section V"
says = "The moon"
why_not = "too far"
"""

TESTS = {
    "kunit/fly_test.c": "static struct kunit_case cases[] = {\n\tKUNIT_CASE(lifts),\n};\n",
    "test_fly.py": "def test_wings(lab):\n    pass\n",
    "selftests/fly.sh": "soars()\n{\n}\n",
}


@pytest.fixture
def lists(tmp_path, monkeypatch):
    """write(): a list, a scenario and tests in a directory of the test."""
    monkeypatch.setattr(scenario, "SCENARIOS", tmp_path)
    monkeypatch.setattr(claims, "LIST", tmp_path / "claims.txt")
    monkeypatch.setattr(claims, "TESTS", tmp_path / "tests")
    for name, text in TESTS.items():
        path = tmp_path / "tests" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def write(listed=LIST, of=SCENARIO):
        (tmp_path / "claims.txt").write_text(listed)
        (tmp_path / "pigs.toml").write_text(of)
        return claims.load()

    return write


def flying(of, finding):
    """The findings about flying were measured and hold; those about swimming do not hold."""
    return "fly" in finding.claim


def test_the_papers_are_complete() -> None:
    """The committed list is valid, and has each number of each paper once, in the paper's order."""
    found = {p.name: [c.entry.number for c in p.claims if c.entry.number] for p in claims.load()}
    roman = ["I", "II", "III", "IV", "V"]
    wanted = {
        "000 (CCPD)": {"Table": roman, "Fig.": range(1, 10), "Eq.": range(1, 7)},
        "001 (ACP)": {
            "Table": ["I"], "Fig.": range(1, 21), "Eq.": range(1, 21), "Theorem": [1],
        },
        "002 (ESTCP)": {"Table": [1], "Fig.": [1, 2, "3a", "3b", 4]},
        "003 (NIST)": {
            "Table": [f"5-{n}" for n in range(1, 12)], "Fig.": [f"5-{n}" for n in range(1, 34)],
            "Eq.": range(1, 43),
        },
        "004 (MCCP)": {"Table": [1, 2], "Fig.": range(1, 5), "Eq.": range(1, 7)},
    }  # fmt: skip
    assert list(found) == list(wanted)
    for paper, kinds in wanted.items():
        for kind, numbers in kinds.items():
            have = [n for n in found[paper] if re.fullmatch(rf"{kind} ([IV]+|[\d-]+[ab]?)", n)]
            assert have == [f"{kind} {n}" for n in numbers], paper


@pytest.mark.parametrize(
    ("figure", "names"),
    [
        ("Fig. 1", "Fig. 1"),
        ("Figs. 1-3", "Fig. 1|Fig. 2|Fig. 3"),
        ("Figs. 1 and 3", "Fig. 1|Fig. 3"),
        ("Figs. 1, 3, Table I", "Fig. 1|Fig. 3|Table I"),
        ("Tables 5-1 and 5-2, Figs. 5-7 to 5-9", "Table 5-1|Table 5-2|Fig. 5-7|Fig. 5-8|Fig. 5-9"),
        ("Table I, in short", "Table I"),
        ("the path of Table I, at 1 Gb/s", ""),
        ("section I", ""),
        ("ccpd_path", ""),
    ],
)
def test_a_figure_s_names(figure, names) -> None:
    there = "Table I|Table 5-1|Table 5-2|Fig. 1|Eq. 1|Fig. 2|Fig. 3|Fig. 5-7|Fig. 5-8|Fig. 5-9"
    of = scenario.Scenario("x", "X", figure=figure)
    assert claims.names_of(of, there.split("|")) == set(filter(None, names.split("|")))


def test_states(lists) -> None:
    (paper,) = lists()
    states = [c.state(flying) for c in paper.claims]
    assert states == [
        "holds in part", "holds", "does not hold", "holds in part", "tested", "to do", "not shown",
    ]  # fmt: skip
    unknown = [c.state(lambda of, f: None if "fly" in f.claim else False) for c in paper.claims]
    assert unknown[:4] == ["not run yet", "not run yet", "does not hold", "not run yet"]
    assert {*states, *unknown} == {*claims.STATES}


def test_table(lists) -> None:
    papers = lists()
    lines = claims.table(papers, flying).splitlines()
    first = "  Fig. 1     holds in part  Height over time; pigs (1 of 2 hold); to do: the clouds"
    assert first in lines
    assert "  Fig. 2     holds          Distance; pigs: Pigs fly" in lines
    assert "  Fig. 3     does not hold  Depth; pigs: Pigs swim (does not hold)" in lines
    assert "  Section V  not shown      The moon; not shown: too far" in lines
    assert lines[-1].split() == ["999", "(NONE)", *"1 2 1 0 1 1 1 7".split()]
    lines = claims.table(papers, lambda of, f: None).splitlines()
    assert "  Table II   not run yet    Speed; pigs (2 not run yet)" in lines


def test_page(lists) -> None:
    papers = lists()
    text = page.compose_claims(papers, flying, [scenario.load("pigs")])
    assert "On &lt;Pigs&gt;" in text and text.count("<tr>") == 2 + 1 + 7
    states = Counter(re.findall(r'<td class="\w*">([\w ]+)</td>', text))
    assert states == Counter(claims.STATES) + Counter({"holds in part": 1, "not run yet": -1})
    assert '<a href="index.html#pigs">pigs</a>: Pigs fly' in text
    assert {*re.findall(r'href="#([^"]+)"', text)} <= {*re.findall(r'id="([^"]+)"', text)}
    assert "index.html#" not in page.compose_claims(papers, flying, [])


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('at = "Fig. 2"', 'at = "Fig. 1"', "999 (NONE) has Fig. 1 more than once"),
        ('at = "Fig. 2"', 'says = "x"', "claims.txt: "),
        ('says = "Speed"', "", "999 (NONE) Table II: an entry needs at and says"),
        ("todo", "tofu", "999 (NONE) Fig. 1: no tofu; keys are at, says, by, todo, why_not"),
        ('todo = "the clouds"', "todo = 2", "999 (NONE) Fig. 1: todo must be text"),
        ('["pigs: Pigs fly"]', '"pigs"', "999 (NONE) Fig. 2: by must be a list"),
        ('["pigs: Pigs fly"]', "[2]", "999 (NONE) Fig. 2: by must be a list"),
        ("pigs: Pigs fly", "cows", "999 (NONE) Fig. 2: its paper has no scenario 'cows'"),
        ("Pigs fly", "Pigs sing", "999 (NONE) Fig. 2: pigs has no finding 'Pigs sing'"),
        ("fly_test.c", "swim_test.c", "999 (NONE) Eq. 1: no test file tests/kunit/swim_test.c"),
        ("fly.sh", "fly.txt", "no test file tests/selftests/fly.txt"),
        ("c: lifts", "c: lift", "tests/kunit/fly_test.c has no test 'lift'"),
        ("test_wings", "test_wing", "tests/test_fly.py has no test 'test_wing'"),
        ("soars", "dives", "tests/selftests/fly.sh has no test 'dives'"),
        ('todo = "winter"', "", "Section V: it has no evidence: add by, todo or why_not"),
        ('"Table II"', '"Table I"', "pigs.toml: figure: claims.txt has no Table II of 999 (NONE)"),
        ('"Fig. 3"', '"Fig. 3c"', "pigs.toml: figure: claims.txt has no Fig. 3 of 999 (NONE)"),
        ("999 (NONE)", "998 (NONE)", "pigs.toml: claims.txt has no paper '999 (NONE)'"),
    ],
)
def test_what_is_wrong_is_named(lists, old, new, says) -> None:
    assert old in LIST
    with pytest.raises(LabError) as error:
        lists(LIST.replace(old, new, 1))
    assert says in str(error.value)


def test_a_scenario_that_is_gone_is_missed(lists, tmp_path) -> None:
    lists()
    (tmp_path / "pigs.toml").rename(tmp_path / "cows.toml")
    with pytest.raises(LabError, match="its paper has no scenario 'pigs'"):
        claims.load()


def test_the_terminal(lab) -> None:
    """The command prints the results that this machine has."""
    lines = lab("claims").stdout.splitlines()
    assert lines[0].startswith("000 (CCPD): TCP Congestion Avoidance")
    for paper, line in zip(claims.load(), lines[-5:], strict=True):
        *_, total = numbers = [int(n) for n in re.sub(r"^.*\)", "", line).split()]
        assert line.split(")")[0].strip() + ")" == paper.name
        assert sum(numbers[:-1]) == total == len(paper.claims)


# For each free setting that numbers of a paper have chosen: the findings with these numbers, and a
# finding of the paper that depends on the setting, but did not choose it.
HELD_OUT = {
    "buffer at 40 ms": (["ccpd-table1: Table I, s"], "ccpd-table1: Table I with Kd of 1000"),
    "rate and buffer at 20 ms": (
        ["ccpd-table2: Table II, s", "ccpd-table4: Table IV of CCPD"], "ccpd-table4: Table IV, s"),
    "buffer at 190 ms": (
        ["ccpd-table3: Table III, s: ccpd", "ccpd-table5: Table V of CCPD",
         "ccpd-table5: CCPD(2,100) needs", "ccpd-table5: CCPD(4,100) needs"],
        "ccpd-table5: Table V, s: ccp(4)"),
    "ends of slow start": (
        ["ccpd-table3: Table III, s: reno", "ccpd-table3: Table III, s: cubic",
         "ccpd-table3: CUBIC, CCP(4) and"], "ccpd-table5: Table V, s: reno (200)"),
    "ssthresh of 24": (
        ["mccp-table1: Table 1", "mccp-table2: Table 2, NewReno's utilization, as in Table 1",
         "mccp-fig1: Fig. 1"], "mccp-table2: Table 2, NewReno's utilization: reno, 80 Mb/s"),
    "the packet that is lost": (
        ["mccp-fig3: Fig. 3, b/s without", "mccp-fig3: Fig. 3, b/s of NewReno"],
        "mccp-fig3: Fig. 3, b/s with the mechanisms: mccp, at 20 Mb/s"),
    "rate of UDP": (["mccp-window: Without the mechanisms the window reaches"],
                    "mccp-fig4: mccp uses 95 %"),
    "buffer of RCP": (["acp-fig16: RCP of 2005 loses nothing"], "acp-fig16: RCP of 2005 needs"),
    "one host": (["nist: Behind one host's"], "nist: Scalable stays unfair at every round trip"),
    "the kernel's search": (["nist: BIC with the kernel's search fills"],
                            "nist: BIC with the kernel's search converges"),
}  # fmt: skip


def test_what_a_number_has_chosen_is_tested_by_another() -> None:
    """All calibrated findings of the papers' scenarios are in HELD_OUT, with one that is not."""
    kinds = {f"{of.name}: {finding.claim}": finding.kind
             for of in map(scenario.load, scenario.names()) if of.paper
             for finding in of.finding}  # fmt: skip
    calibrated = {claim for claim, kind in kinds.items() if kind == "calibrated"}
    chosen = [start for starts, _ in HELD_OUT.values() for start in starts]
    for start in chosen:
        assert {kinds[claim] for claim in kinds if claim.startswith(start)} == {"calibrated"}, start
    assert {claim for claim in calibrated if not claim.startswith(tuple(chosen))} == set()
    for setting, (_, other) in HELD_OUT.items():
        found = {kinds[claim] for claim in kinds if claim.startswith(other)}
        assert found == {"paper"}, (setting, other)

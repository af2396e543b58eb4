"""What goes wrong in the demo follows from its seed."""

from cli.demo.chance import DOWN_ODDS, GATEWAY, ODDS, Chance


def test_same_seed_same_fates() -> None:
    one, two = Chance(7, 0), Chance(7, 0)
    fates = [(tool, second) for second in range(50) for tool in ODDS]
    assert [one.fate(*fate) for fate in fates] == [two.fate(*fate) for fate in fates]


def test_gateway_goes_down_now_and_then_and_comes_back() -> None:
    chance = Chance(7, started_s=1000)
    down = [chance.gateway_is_down(1000 + second) for second in range(3600)]
    starts = [second for second in range(1, 3600) if down[second] and not down[second - 1]]
    assert 60 <= starts[0] <= 90
    assert 8 <= len(starts) <= 20
    assert 0.1 < sum(down) / len(down) < 0.4


def test_outage_hits_the_tools_of_the_gateway_alone() -> None:
    chance = Chance(7, 0)
    at = next(second for second in range(200) if chance.gateway_is_down(second))
    assert {chance.fate("charge_card", at) for _ in range(200)} == set(DOWN_ODDS)
    assert [chance.fate("get_order", at) for _ in range(400)].count("transient") < 40
    assert set(ODDS) > GATEWAY


def test_durations_have_a_tail_with_an_end() -> None:
    chance = Chance(7, 0)
    drawn = sorted(chance.seconds(0.1) for _ in range(2000))
    assert 0.05 < drawn[1000] < 0.2
    assert drawn[-1] <= 1.2

"""Addresses under the path of the server."""

import pytest

from core.errors import TiebreakError
from core.own_addresses import cookie_path, own_address, route_path, set_base_path


@pytest.fixture(autouse=True)
def whole_host():
    yield
    set_base_path("")


@pytest.mark.parametrize(
    ("base", "address", "cookies"),
    [
        ("", "/ready", "/"),
        ("/", "/ready", "/"),
        ("tiebreak", "/tiebreak/ready", "/tiebreak"),
        ("/lab/tie-break/", "/lab/tie-break/ready", "/lab/tie-break"),
    ],
)
def test_addresses_begin_with_the_path_of_the_server(base, address, cookies):
    set_base_path(base)
    assert (own_address("/ready"), cookie_path(), route_path(address)) == (address, cookies, "/ready")


@pytest.mark.parametrize(
    ("path", "route"),
    [
        ("/tiebreak", "/"),
        ("/tiebreak/", "/"),
        ("/tiebreak/tiebreak/x", "/tiebreak/x"),
        ("/ready", ""),
        ("/account/sign-in", ""),
        ("/tiebreaker/ready", ""),
    ],
)
def test_a_path_outside_is_no_route(path, route):
    set_base_path("tiebreak")
    assert route_path(path) == route


@pytest.mark.parametrize("base", ["a b", "a;Domain=x", 'a"onload=', "a//b", "../a", "a/..", "ä"])
def test_other_characters_than_those_of_a_plain_path_are_refused(base):
    with pytest.raises(TiebreakError, match="baseUrlPath"):
        set_base_path(base)

"""Proposals of which AIUs of two extractions are the same."""

from core.aiu_texts import match_aius
from core.critiques import Aiu


def aius(*texts: str, prefix: str = "a") -> list[Aiu]:
    return [Aiu(id=f"{prefix}{number}", text=text) for number, text in enumerate(texts)]


def test_the_most_similar_texts_are_paired_and_each_aiu_once() -> None:
    old = aius("The answer is wrong.", "A ball is round.")
    new = aius("The answer is wrong indeed.", "The answer is wrong!", "A cube has corners.", prefix="b")
    matches = match_aius(old, new)
    assert [(match.old.id, match.new.id) for match in matches] == [("a0", "b1")]
    assert matches[0].similarity == 1


def test_other_texts_are_not_proposed_and_equal_ids_are_the_same_already() -> None:
    assert match_aius(aius("A ball is round."), aius("Cubes have eight corners.", prefix="b")) == []
    assert match_aius(aius("A ball is round."), aius("A ball is round.")) == []
    assert match_aius([], []) == []

"""Every prompt of DnA-Eval and its baselines as a model receives it."""

from core.items import Criterion
from core.protocols.dna_baselines.protocol import Settings as Baseline
from core.trace import Ask
from tests.core.protocols.scorings import Scoring, an_item, judges, play, saying, settings
from tests.golden.files import golden

GIVEN = (Criterion(name="truth", definition="Nothing in it is wrong."), Criterion(name="depth"))


def prompt(scoring: Scoring, step: str, number: int = 0) -> str:
    return next(ask.prompt for ask in scoring.asked if (ask.step, ask.round) == (step, number))


def two(**more) -> Scoring:
    return play(saying("60 40", scores=["7 6", "5 8"], **more), settings(aspects=GIVEN))


def test_a_proposal_of_aspects() -> None:
    golden("dna_eval/aspects.txt", prompt(play(saying(aspects="?"), settings(aspects=())), "aspects"))


def test_weights() -> None:
    golden("dna_eval/weights.txt", prompt(two(), "weights"))


def test_scores_on_one_aspect() -> None:
    golden("dna_eval/score.txt", prompt(two(), "score", 1))


def test_scores_of_three_responses() -> None:
    scoring = play(saying("100", scores=["7 6 5"]), settings(aspects=("depth",)), an_item(3, context="At an airport."))
    golden("dna_eval/score_of_three.txt", prompt(scoring, "score", 1))


def test_overall_scores_in_a_chain_of_aspects() -> None:
    script = saying(scores=["7 6", "5 8"], overall="6 7")
    golden(
        "dna_eval/overall.txt", prompt(play(script, settings(aspects=GIVEN, aggregation="chain of aspects")), "overall")
    )


def test_asking_again() -> None:
    def last(step: str, **fields) -> str:
        asked: list[Ask] = play(saying(**{step: "Hm."}), settings(**fields)).asked
        return [ask.prompt for ask in asked if ask.step == step][-1]

    golden("dna_eval/again_aspects.txt", last("aspects", aspects=()))
    golden("dna_eval/again_weights.txt", last("weights", aspects=GIVEN))
    golden("dna_eval/again_scores.txt", last("score", aspects=("depth",)))


def test_direct_scoring() -> None:
    golden("dna_baselines/direct.txt", prompt(play(lambda ask: "7 8", Baseline(judges=judges("a"))), "direct"))


def test_direct_scoring_with_criteria() -> None:
    chosen = Baseline(judges=judges("a"), aspects=GIVEN)
    golden("dna_baselines/direct_with_criteria.txt", prompt(play(lambda ask: "7 8", chosen), "direct"))


def test_scoring_with_reasons() -> None:
    chosen = Baseline(judges=judges("a"), reasons=True, words=100)
    golden("dna_baselines/reasoned.txt", prompt(play(lambda ask: "Both.\n\n7 8", chosen), "reasoned"))

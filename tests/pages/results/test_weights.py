"""The page of weight distances."""

from tests.pages.visits import page_text, prepare_sample, visit

ASPECTS = ("accuracy", "helpfulness", "relevance", "level of detail")


def test_figures_of_the_sample() -> None:
    prepare_sample("dna_eval")
    app = visit("results/weights")
    text = page_text(app).replace("\\", "")
    assert "Between people: 0.06 " in text and "(8 weightings, 3 annotators)." in text
    assert "Of 2 judges, the nearest weights are those of " in text and "from people (" in text
    pairs, averages = (table.value for table in app.dataframe)
    assert pairs[["Rater", "Other rater"]].to_numpy().tolist()[:4] == [
        ["people", "people"],
        ["judge A", "people"],
        ["judge B", "people"],
        ["annotator 1", "annotator 2"],
    ]
    assert averages.set_index("Category").loc["math", "accuracy"] == "50.0"


# The page of the weights laboratory


def test_the_answer_is_shown() -> None:
    prepare_sample("dna_eval")
    app = visit("results/laboratory", annotator="zoe")
    assert "equal weights" in list(app.dataframe[0].value["Weights"])
    assert "too few for a conclusion" in page_text(app)

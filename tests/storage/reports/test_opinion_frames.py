"""Opinions as data frames: with texts, and with categories for large studies."""

import pandas as pd
from pandas.testing import assert_frame_equal
from sqlalchemy import Engine

from core.statistics.data.frames import select_rows, target_codes
from storage.db import connections
from storage.reports import opinions
from tests.storage.reports.planted_judges import planted_records
from tests.storage.reports.test_alignment import import_study


def test_categories_are_the_texts_in_less_memory_and_some_kinds_are_read(engine: Engine) -> None:
    study = import_study(engine, planted_records(20))
    with connections.reading(engine) as session:
        texts = opinions.opinion_frame(session, study.id)
        categories = opinions.categorical_opinions(session, study.id)
        for kinds in (["preference"], ["score"], ["preference", "score"], []):
            expected = texts[texts["kind"].isin(kinds)].reset_index(drop=True)
            found = opinions.opinion_frame(session, study.id, kinds)
            assert found.to_numpy().tolist() == expected.to_numpy().tolist()
    assert len(texts) and list(texts.columns) == opinions.OPINION_COLUMNS
    assert (categories[["item", "criterion", "rater", "stage"]].dtypes == "category").all()
    assert_frame_equal(opinions.with_texts(categories), texts)
    assert pd.factorize(target_codes(categories))[0].tolist() == pd.factorize(target_codes(texts))[0].tolist()
    criterion, scenario = texts["criterion"].iloc[0], texts["scenario"].iloc[0]
    for chosen in (("preference", criterion, scenario), ("preference", criterion, "none"), ("preference", "", None)):
        assert select_rows(categories, *chosen).index.tolist() == select_rows(texts, *chosen).index.tolist()


def test_targets_of_several_frames_are_numbered_together() -> None:
    labels = pd.DataFrame({"item": ["a", "b"], "criterion": ["x", "x"], "part": [None, "1"]})
    judged = pd.DataFrame({"item": ["b", "a", "c"], "criterion": ["x", "x", "x"], "part": ["1", "", "1"]})
    codes = target_codes(labels, judged.astype("category")).tolist()
    assert codes[:2] == [codes[3], codes[2]] and len(set(codes)) == 3

from storage.db.connections import writing
from storage.studies import annotators, studies
from storage.studies.studies import Guidelines
from tests.sessions import read, write


def update(engine, study, text):
    write(engine, studies.update, study.id, description="", guidelines=text, rules=study.rules)


def test_a_new_text_is_a_new_version_and_the_same_text_is_not(engine, a_study):
    assert read(engine, studies.current_guidelines, a_study.id) == Guidelines(0, "")
    for text in ("Be fair.", "Be fair.", "Be very fair."):
        update(engine, a_study, text)
    assert read(engine, studies.current_guidelines, a_study.id) == Guidelines(2, "Be very fair.")


def test_the_newest_version_that_was_read_and_exists_counts(engine, a_study):
    for text in ("one", "two"):
        update(engine, a_study, text)
    with writing(engine) as session:
        ann = annotators.get_or_create_id(session, "ann")
        assert studies.read_guidelines_version(session, a_study.id, ann) == 0
        for version in (2, 1, 99):
            studies.mark_guidelines_read(session, a_study.id, ann, version)
            assert studies.read_guidelines_version(session, a_study.id, ann) == 2

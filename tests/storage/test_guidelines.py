from storage.db.connections import reading, writing
from storage.studies import annotators, studies
from storage.studies.studies import Guidelines


def update(engine, study, text):
    with writing(engine) as session:
        studies.update(session, study.id, description="", guidelines=text, rules=study.rules)


def test_a_new_text_is_a_new_version_and_the_same_text_is_not(engine, a_study):
    with reading(engine) as session:
        assert studies.current_guidelines(session, a_study.id) == Guidelines(0, "")
    for text in ("Be fair.", "Be fair.", "Be very fair."):
        update(engine, a_study, text)
    with reading(engine) as session:
        assert studies.current_guidelines(session, a_study.id) == Guidelines(2, "Be very fair.")


def test_the_newest_version_that_was_read_counts(engine, a_study):
    for text in ("one", "two"):
        update(engine, a_study, text)
    with writing(engine) as session:
        ann = annotators.get_or_create_id(session, "ann")
        assert studies.read_guidelines_version(session, a_study.id, ann) == 0
        for version in (2, 1):
            studies.mark_guidelines_read(session, a_study.id, ann, version)
            assert studies.read_guidelines_version(session, a_study.id, ann) == 2


def test_a_version_that_does_not_exist_yet_is_not_read(engine, a_study):
    update(engine, a_study, "one")
    with writing(engine) as session:
        ann = annotators.get_or_create_id(session, "ann")
        studies.mark_guidelines_read(session, a_study.id, ann, 99)
        assert studies.read_guidelines_version(session, a_study.id, ann) == 1

"""The registry: what is imported when, and what every entry declares."""

import re
import subprocess
import sys
from importlib import metadata
from pkgutil import resolve_name

import pytest
import yaml

from core.errors import TiebreakError
from core.frozen import help_text
from core.llm.costs import estimate_run
from core.protocols import registry
from core.protocols.registry import PROTOCOLS, usable, with_artifact
from core.protocols.settings_file import parse_run_file
from tests.conftest import make_item
from tests.paths import ROOT


def imported_modules(statement: str) -> list[str]:
    """Return the project's modules that a new interpreter has imported after the statement."""
    script = f"import sys\n{statement}\nprint(*sys.modules)"
    output = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    return [name for name in output.split() if name.split(".")[0] in ("core", "storage", "pages")]


def test_listing_the_protocols_imports_none_of_them() -> None:
    modules = imported_modules("from core.protocols.registry import PROTOCOLS\nassert 'refer' in PROTOCOLS")
    assert [name for name in modules if name.startswith("core.protocols.")] == ["core.protocols.registry"]


@pytest.mark.parametrize("name", list(PROTOCOLS))
def test_an_entry_has_its_own_name_existing_files_a_view_a_form_and_help_texts(name: str) -> None:
    protocol = PROTOCOLS[name]
    assert protocol.name == name and protocol.prompts and protocol.paper
    assert all(protocol.example_path(example).is_file() for example in protocol.examples)
    assert (protocol.folder / "sample.jsonl").is_file() == protocol.sample or name != protocol.folder.name
    assert callable(resolve_name(protocol.view).render) and callable(resolve_name(protocol.form))
    assert [field for field in protocol.settings.model_fields if not help_text(protocol.settings, field)] == []


def test_protocols_are_found_by_their_artifact() -> None:
    assert with_artifact("peer reviews") == ["refer"]
    assert with_artifact("aspects") == ["dna_eval"]


@pytest.fixture
def entry_points(monkeypatch: pytest.MonkeyPatch):
    """`entry_points(name=location, ...)`: the entry points that are installed."""

    def install(**locations: str) -> None:
        installed = tuple(metadata.EntryPoint(name, location, registry.GROUP) for name, location in locations.items())
        monkeypatch.setattr(registry, "_entry_points", lambda: installed)

    return install


def test_a_package_that_cannot_be_imported_leaves_the_others_usable(entry_points, caplog) -> None:
    entry_points(broken="no_such_package:PROTOCOL")
    with pytest.raises(TiebreakError, match="cannot be loaded: ModuleNotFoundError"):
        registry.get("broken")
    assert set(usable()) == set(registry.BUILT_IN)
    assert "no_such_package" in caplog.text


def test_an_entry_point_has_the_name_of_its_protocol(entry_points) -> None:
    entry_points(debate="core.protocols.scaleeval:PROTOCOL")
    with pytest.raises(TiebreakError, match="provides the protocol 'scaleeval'; the names must be equal"):
        registry.get("debate")


# The pages in docs/protocols name what the protocols have


DOCS = ROOT / "docs" / "protocols"


def test_the_example_of_a_replaced_prompt_can_be_used() -> None:
    text = (DOCS / "README.md").read_text(encoding="utf-8")
    example = next(block for block in re.findall(r"```yaml\n(.*?)```", text, re.S) if "prompts:" in block)
    debate = {"judges": [{"name": name, "model": name} for name in "ab"], "criterion": "helpfulness"}
    settings, own = parse_run_file(yaml.safe_dump(debate) + example, PROTOCOLS["scaleeval"], ())
    templates = PROTOCOLS["scaleeval"].prompts_with(own.prompts)
    assert estimate_run(PROTOCOLS["scaleeval"], [make_item()], settings, templates=templates).calls_at_least == 2

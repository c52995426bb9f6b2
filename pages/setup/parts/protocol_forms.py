"""Asks for a protocol's settings with the form that its registry entry names: important ones first, the rest collapsed.

A form is a function `render(form) -> draft`. The draft holds the settings as YAML would; the protocol's
settings class validates them.
"""

from pkgutil import resolve_name

from core.protocols import registry
from pages.setup.parts.settings_form import Draft, SettingsForm


def render(protocol: str, form: SettingsForm) -> Draft:
    """Return the settings of a protocol as far as they are chosen; fields that the form does not show are unchanged."""
    draft: Draft = resolve_name(registry.get(protocol).form)(form)
    names = form.settings.model_fields
    return {name: value for name, value in form.start.items() if name in names} | draft

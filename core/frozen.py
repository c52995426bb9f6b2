"""Values are frozen: what was judged, asked or said never changes after the fact."""

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """A value without identity: equal when its fields are, refused when a field is unknown."""

    model_config = ConfigDict(frozen=True, extra="forbid")

"""Who receives the texts that are sent to a model: a server's address, or a provider."""

from collections.abc import Iterable

from core.llm import costs, local_server
from core.trace import Spec


def receivers(specs: Iterable[Spec]) -> list[str]:
    """Return the addresses and providers behind models, each once; the model on this machine is none."""
    return list(dict.fromkeys(receiver(spec) for spec in specs if not local_server.is_local(spec)))


def receiver(spec: Spec) -> str:
    """Return the address of a model's server, or the name of its provider as litellm knows it."""
    if spec.address is not None:
        return spec.address
    prefix, slash, _ = spec.model.partition("/")
    info = costs.model_info(spec)
    provider = prefix if slash else str(info.get("litellm_provider", "")) if info else ""
    return provider or f"the provider of {spec.model}"

"""The family of a model: who trained it, from its name."""

import re
from collections.abc import Mapping

# Family -> words that begin a model's name. A fine-tuned model with its own name is its own family.
FAMILIES: Mapping[str, tuple[str, ...]] = {
    "OpenAI": ("gpt", "chatgpt", "davinci", "o1", "o3", "o4"),
    "Anthropic": ("claude",),
    "Google": ("gemini", "gemma", "palm", "bard"),
    "Meta": ("llama",),
    "Mistral": ("mistral", "mixtral", "ministral", "magistral"),
    "Alibaba": ("qwen", "qwq"),
    "DeepSeek": ("deepseek",),
    "Microsoft": ("phi",),
    "Cohere": ("command", "aya"),
    "xAI": ("grok",),
    "Amazon": ("nova", "titan"),
    "Zhipu": ("glm", "chatglm"),
    "01.AI": ("yi",),
    "Databricks": ("dbrx", "dolly"),
    "Shanghai AI Laboratory": ("internlm",),
    "Baichuan": ("baichuan",),
    "TII": ("falcon",),
    "LMSYS": ("vicuna",),
}
# Models that others trained and named after the architecture; they have no family here.
OTHER_GPTS = re.compile(r"(cerebras[-_ .]?gpt|gpt[-_ .]?(neox|neo|j|4all|sw3)|(deci|biomed|nano|open|hf)gpt)(?![a-z])")
WORD_SEPARATOR = re.compile(r"[^a-z0-9]+")


def find_family(name: str, named: Mapping[str, str] | None = None) -> str | None:
    """Return the family of a model or a system; None if its name has none, or words of several families.

    `named`: family by model or system, in any case, which has precedence. A word matches if it is one of `FAMILIES`,
    or begins with one and continues with a digit: "openai/gpt-4o", "gpt35", "Llama-2-13b". A distilled model such as
    "deepseek-r1-distill-qwen" has words of two families, and therefore none.
    """
    for model, family in (named or {}).items():
        if model.casefold() == name.casefold():
            return family
    if OTHER_GPTS.search(name.casefold()):
        return None
    words = WORD_SEPARATOR.split(name.casefold())
    found = {
        family
        for family, prefixes in FAMILIES.items()
        for word in words
        for prefix in prefixes
        if word == prefix or (word.startswith(prefix) and word[len(prefix)].isdigit() and not prefix[-1].isdigit())
    }
    return found.pop() if len(found) == 1 else None

"""English phrases around the name of a response that say whether it is the chosen one."""

import re

IT_IS = re.compile(r"^\W*(?:so\s+)?(?:the\s+)?\w+\s+\w+\W?\s+it (?:is|must be|has to be)(?:,? then)?\W*$", re.I)
"""`Response 2 it is.`"""
MINE = re.compile(
    r"\bis the one (?:that )?I(?:'d| would)(?: rather)? (?:send|pick|choose|use|go with|recommend|show|give|keep)\b|"
    r"\bwürde ich\b.{1,30}\b(?:wählen|bevorzugen|nehmen)\b"
)
PART_OF = re.compile(
    r"\W*(?:the|that|this|its)\s+(?:\w+\s+)?(?:half|part|section|paragraph|sentence|style|tone|structure|format|beginning|ending|"
    r"introduction|conclusion|opening|example|examples|wording)\s+(?:of|in|from)\b",
    re.I,
)
"""`I prefer the second half of Response 1.`"""
FAULT = re.compile(
    r"\s*(?:is|was)\s+(?:\w+ly\s+)?(?:wrong|incorrect|false|flawed|inaccurate|misleading|incomplete|vague|bad)\b"
)
"""`Verdict: Response 2 is wrong` does not choose it."""
RANKING = re.compile(r"\W*(?:I'd|I|I would|my|the|so,?|final|overall)\s[\w ]{0,20}\brank\w*(?:\s+\w+){0,2}:\s*", re.I)
"""`I'd rank them: ` before `A > B`."""
FORCED = re.compile(
    r"^\W*(?:but |so |still, )?(?:if (?:I (?:had to|have to|must|(?:were|am) (?:forced|pressed) to)|forced to|pressed)|"
    r"wenn ich mich [^,]{0,20}?entscheiden (?:muss|müsste)|si je (?:devais|dois)|si (?:tuviera|tengo) que|"
    r"se (?:dovessi|devo)|se (?:tivesse|tenho) (?:de|que))"
    r"(?:\s(?:choose|pick|decide|select|say|choisir|trancher|elegir|decidir|escolher|scegliere|decidere)"
    r"(?:\s(?:one|a winner|between (?:them|the two|these two)))?)?,\s*",
    re.I,
)
"""`If I had to choose, ` before a choice that is made nevertheless."""
MOVED = re.compile(
    r"\bI(?:'m|'ve| am| have)?\s+(?:now\s+)?(?:switch|chang|mov|shift)\w*\b.{0,40}\bfrom\b.{1,40}\bto\b", re.I
)
"""`I'm switching from Response 2 to Response 1.`"""
OWN = re.compile(r"(?:I|we|my)\b", re.I)
"""`I have changed my mind: Response 2 is better.` is no judgement of a part, as `Style: Response 2 is better.` is."""
THINKS = re.compile(
    r"\b(?:pense|crois|estime|trouve|considère|dirais|creo|pienso|opino|acho|penso|credo)\s+(?:que|che)(?:\s+\w{1,2})?$"
)
MOVES = re.compile(r"\b(?:chang|switch|mov|shift|differ)\w*\b")

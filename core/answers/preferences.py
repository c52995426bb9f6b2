"""English phrases around the name of a response that say whether it is the chosen one."""

import re

IT_IS = re.compile(r"^\W*(?:so\s+)?(?:the\s+)?\w+\s+\w+\W?\s+it (?:is|must be|has to be)(?:,? then)?\W*$", re.I)
"""`Response 2 it is.`"""
MINE = re.compile(
    r"\bis the one (?:that )?I(?:'d| would)(?: rather)? (?:send|pick|choose|use|go with|recommend|show|give|keep)\b"
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
MOVED = re.compile(
    r"\bI(?:'m|'ve| am| have)?\s+(?:now\s+)?(?:switch|chang|mov|shift)\w*\b.{0,40}\bfrom\b.{1,40}\bto\b", re.I
)
"""`I'm switching from Response 2 to Response 1.`"""
OWN = re.compile(r"(?:I|we|my)\b", re.I)
"""`I have changed my mind: Response 2 is better.` is no judgement of a part, as `Style: Response 2 is better.` is."""

"""The domain of Tiebreak: what is judged, by whom, how, and how far it can be trusted.

Knows no screen and no database.
"""
